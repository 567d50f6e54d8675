#include "explore/remote_walks.h"

#include <algorithm>
#include <utility>

namespace sisyfs {

void Elsewhere::report_trouble(Team& team, Error error) {
  const std::lock_guard lock(mutex_);
  team.stop(Stop::kHarness);
  if (!trouble_) trouble_ = std::move(error);
}

void Elsewhere::add(const CrashCounts& counts) {
  const std::lock_guard lock(mutex_);
  counts_ += counts;
}

void Elsewhere::add(Team& team, const message::Account& account) {
  if (!account.trouble.empty()) report_trouble(team, system_error(account.trouble));
  const std::lock_guard lock(mutex_);
  if (account.edges) edges_ = account.edges;
}

void Elsewhere::conclude(SearchResult& result) const {
  static_cast<CrashCounts&>(result) += counts_;
  if (edges_) result.edges = edges_;
  if (!trouble_) return;
  result.stopped = Stop::kHarness;
  result.trouble = trouble_;
}

RemoteWalks::RemoteWalks(Elsewhere& elsewhere, Team& team, unsigned number, const Digest& initial,
                         uint32_t length)
    : elsewhere_(elsewhere),
      team_(team),
      length_(length),
      end_(team, number, initial, [&](Error error) { elsewhere_.report_trouble(team_, std::move(error)); }) {
  end_.start();
}

void RemoteWalks::order(uint64_t walk) { end_.send(message::Walk{team_.options().walk, walk, length_}); }

RemoteWalks::Heard RemoteWalks::hear(uint64_t walk, Tally& tally, detail::WalksMet& met,
                                     const std::function<void(const Digest&)>& count,
                                     const std::function<void()>& part_done) {
  for (;;) {
    const Heard heard = end_.listen();
    if (heard != Heard::kAnswer) return heard;
    if (const auto* refused = std::get_if<message::Refused>(&end_.answer())) {
      elsewhere_.report_trouble(team_, system_error(refused->why));
      return Heard::kStopped;
    }
    const auto* part = std::get_if<message::Walked>(&end_.answer());
    if (part == nullptr) {
      elsewhere_.report_trouble(team_, system_error("a worker of the search answers what was not asked"));
      return Heard::kStopped;
    }
    tally.add(part->tally);
    for (const Digest& print : part->prints) count(print);
    auto at = part->choices.begin();
    for (const message::Walked::Met& one : part->met) {
      if (one.kind >= SearchResult::kKinds || one.length == 0 || one.length > part->choices.end() - at) break;
      const auto end = at + one.length;
      met.note(FindingBits{1} << one.kind, walk, Trace(at, end - 1), *(end - 1));
      at = end;
    }
    part_done();
    if (part->ends == message::Ends::kMore) continue;
    elsewhere_.add(part->counts);
    return part->ends == message::Ends::kDone ? Heard::kAnswer : Heard::kStopped;
  }
}

void RemoteWalks::take_all(const std::function<bool(uint64_t&)>& claim, Tally& tally, detail::WalksMet& met,
                           const std::function<void(const Digest&)>& count,
                           const std::function<void()>& part_done) {
  std::deque<uint64_t> ordered;  // and not answered
  for (;;) {
    for (uint64_t walk = 0; end_.alive() && ordered.size() < 2 && claim(walk);) {
      ordered.push_back(walk);
      order(walk);
    }
    if (ordered.empty() || !end_.alive()) break;
    const Tally tally_before = tally;
    const detail::WalksMet met_before = met;
    const Heard heard = hear(ordered.front(), tally, met, count, part_done);
    if (heard == Heard::kAnswer) {
      ordered.pop_front();
      end_.worked();
      continue;
    }
    if (heard != Heard::kGone) break;
    // States stay counted: the walk meets them again, and then they are not new.
    const uint64_t states = tally.states;
    tally = tally_before;
    tally.states = states;
    met = met_before;
    end_.replace();
    for (const uint64_t again : ordered)
      if (end_.alive()) order(again);
  }
  if (team_.stop_reason() == Stop::kHarness) return end_.end();
  if (const auto account = end_.finish()) elsewhere_.add(team_, *account);
}

}  // namespace sisyfs
