// serve_search: the work of a worker that runs elsewhere: expands the states that a search names, or takes
// its random walks, and sends back what the successors are (worker_link.h, worker_messages.h).
//
//   SocketLink link(socket);
//   const std::optional<message::Begin> begin = await_begin(link);
//   if (begin) serve_search(system, *begin, link, {});
#pragma once

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>

#include "explore/state_path.h"
#include "explore/walker.h"
#include "explore/worker_link.h"
#include "explore/worker_messages.h"

namespace sisyfs {

// The first message of a search. Nothing if the search is gone.
std::optional<message::Begin> await_begin(WorkerLink& link);

namespace detail {

// The worker's end of a link.
class SearchEnd {
 public:
  explicit SearchEnd(WorkerLink& link) : link_(link) {}

  // The next order but Stop. Nothing when the search is gone.
  std::optional<message::Any> next();
  void send(const message::Any& message);
  // Whether the search has ended. Looks every few milliseconds.
  bool told_to_stop();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kLookEach{5};

  // False if nothing arrived in time.
  bool take_in(std::chrono::milliseconds patience);

  WorkerLink& link_;
  std::vector<std::byte> bytes_;
  std::deque<message::Any> orders_;
  bool told_to_stop_ = false, gone_ = false;
  Clock::time_point looked_ = Clock::now();
};

// Sends the successors of states, in parts.
template <class System>
class PartSink : public FullSink<System> {
 public:
  using State = typename System::State;
  static constexpr bool kPrintsOnly = true;
  PartSink(const System& system, const message::Begin& begin, SearchEnd& search)
      : system_(system),
        search_(search),
        dedups_(begin.dedup != Dedup::kNone),
        counts_marks_(begin.order == SearchOrder::kRarest),
        recent_(dedups_ ? kRecent : 0) {}

  // The states that follow are the first ones of an Expand, the second, and so on.
  void begin_states() { at_ = 0; }
  void next_state() { ++at_; }

  State& next() { return state_; }
  void commit(Choice choice, Outcome outcome) {
    ++part_.transitions;
    part_.marks |= outcome.marks;
    if (outcome.findings != 0) part_.shown.push_back({outcome.findings, choice, at_});
    if (counts_marks_) part_.mark_counts.resize(32);
    if (counts_marks_)
      for (uint32_t left = outcome.marks; left != 0; left &= left - 1)
        ++part_.mark_counts[static_cast<size_t>(std::countr_zero(left))];
    Digest print{};
    if (dedups_) {
      // States come in the order of the tree. So an equal fingerprint that was sent earlier comes first.
      print = system_.fingerprint(state_);
      uint64_t& recent = recent_[print.hi & (kRecent - 1)];
      if (recent == print.lo) return;
      recent = print.lo;
    }
    part_.successors.push_back({print, choice, at_, outcome.marks, outcome.work, outcome.new_edges});
    if (part_.successors.size() >= kLargePart) send(message::Part::Ends::kMore);
  }

  // Only systems with slow successors ask. What they have so far is sent now and then, so that progress
  // moves.
  bool stopped() const {
    auto& self = const_cast<PartSink&>(*this);
    if (Clock::now() - sent_ >= kSendEach) self.send(message::Part::Ends::kMore);
    return search_.told_to_stop();
  }
  void send(message::Part::Ends ends, const CrashCounts& counts = {}) {
    part_.ends = ends;
    part_.counts = counts;
    search_.send(part_);
    part_.transitions = 0;
    part_.marks = 0;
    part_.mark_counts.clear();
    part_.successors.clear();
    part_.shown.clear();
    sent_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kRecent = 1 << 14;
  static constexpr size_t kLargePart = 256;  // while it is read, the worker goes on
  static constexpr std::chrono::milliseconds kSendEach{50};

  const System& system_;
  SearchEnd& search_;
  const bool dedups_, counts_marks_;
  std::vector<uint64_t> recent_;
  message::Part part_;
  uint32_t at_ = 0;  // the state that is expanded
  Clock::time_point sent_ = Clock::now();
  State state_;
};

// Sends what is met on walks, in parts.
class WalkWatch {
 public:
  explicit WalkWatch(SearchEnd& search) : search_(search), recent_(kRecent) {}

  void judged(uint64_t walk, const Trace& before, Choice choice, Outcome outcome, const Digest& print) {
    const auto depth = static_cast<uint32_t>(before.size() + 1);
    Tally& tally = part_.tally;
    ++tally.transitions;
    tally.depth = std::max(tally.depth, depth);
    tally.note(outcome, depth);
    if (outcome.findings != 0) met_.note(outcome.findings, walk, before, choice);
    uint64_t& recent = recent_[print.hi & (kRecent - 1)];
    if (recent == print.lo) return;
    recent = print.lo;
    part_.prints.push_back(print);
  }
  void step_done() { send_now_and_then(); }
  bool cut() const { return search_.told_to_stop(); }
  bool stopped() {
    send_now_and_then();
    return cut();
  }
  void send(message::Ends ends, const CrashCounts& counts) {
    part_.ends = ends;
    part_.counts = counts;
    met_.each([&](uint32_t kind, uint64_t, const Trace& trace) {
      part_.met.push_back({kind, static_cast<uint32_t>(trace.size())});
      part_.choices.insert(part_.choices.end(), trace.begin(), trace.end());
    });
    search_.send(part_);
    part_ = {};
    if (ends != message::Ends::kMore) met_ = {};
    sent_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kRecent = 1 << 14;
  static constexpr std::chrono::milliseconds kSendEach{50};

  // So that progress moves.
  void send_now_and_then() {
    if (Clock::now() - sent_ >= kSendEach) send(message::Ends::kMore, {});
  }

  SearchEnd& search_;
  std::vector<uint64_t> recent_;
  message::Walked part_;
  WalksMet met_;
  Clock::time_point sent_ = Clock::now();
};

template <class System>
void serve_walk(const System& system, const message::Walk& order, SearchEnd& search, WalkWatch& watch,
                const std::function<CrashCounts()>& counts) {
  const CrashCounts before = counts();
  Walker<System, WalkWatch>(system, order.options, watch).walk(order.number, order.length);
  watch.send(search.told_to_stop() ? message::Ends::kCut : message::Ends::kDone, counts() - before);
}

}  // namespace detail

// What a worker reports beside successors.
struct WorkerReport {
  std::function<CrashCounts()> counts = [] { return CrashCounts{}; };             // of all expansions so far
  std::function<message::Account()> account = [] { return message::Account{}; };  // called at the end
};

// Returns when the search ends or is gone.
template <TransitionSystem System>
void serve_search(const System& system, const message::Begin& begin, WorkerLink& link,
                  const WorkerReport& report) {
  detail::SearchEnd search(link);
  struct Asks {
    bool stopped() const { return search.told_to_stop(); }
    detail::SearchEnd& search;
  } const asks{search};
  detail::StatePath<System> path(system, StopSignal::of(asks));
  detail::PartSink<System> sink(system, begin, search);
  detail::WalkWatch watch(search);
  uint32_t level = 0;  // of the last state
  // False if there is no such path.
  const auto go = [&](const message::Expand::Path& step, std::span<const Choice> added) {
    level = std::min(level, step.kept);
    for (const Choice choice : added) {
      if (!path.follow(level + 1, choice)) return false;
      ++level;
    }
    return level == step.kept + step.added;
  };
  search.send(message::Ready{system.fingerprint(path.at(0))});
  while (const std::optional<message::Any> order = search.next()) {
    if (std::holds_alternative<message::End>(*order)) {
      search.send(report.account());
      return;
    }
    if (const auto* walk = std::get_if<message::Walk>(&*order)) {
      detail::serve_walk(system, *walk, search, watch, report.counts);
      continue;
    }
    const auto* expand = std::get_if<message::Expand>(&*order);
    if (expand == nullptr) return;  // no search says that
    const CrashCounts before = report.counts();
    std::span<const Choice> added(expand->added);
    bool found = true;
    sink.begin_states();
    for (const message::Expand::Path& step : expand->paths) {
      found = step.added <= added.size() && go(step, added.first(step.added));
      if (!found) break;
      added = added.subspan(step.added);
      system.expand(path.at(level), sink);
      sink.next_state();
      if (search.told_to_stop()) break;
    }
    const bool cut = search.told_to_stop();
    if (!found && !cut)
      search.send(message::Lost{});
    else
      sink.send(cut ? message::Part::Ends::kCut : message::Part::Ends::kDone, report.counts() - before);
  }
}

}  // namespace sisyfs
