#include "explore/remote_worker.h"

#include <algorithm>

namespace sisyfs {

RemoteWorker::RemoteWorker(Harvest& harvest, Team& team, unsigned number)
    : harvest_(harvest), team_(team), number_(number), hand_(harvest.hand(number)) {
  start();
}

void RemoteWorker::start() {
  while (link_ == nullptr && !team_.stopped()) {
    Result<std::unique_ptr<WorkerLink>> link = team_.options().start_worker(number_);
    if (!link) return harvest_.report_trouble(link.error());
    link_ = *std::move(link);
    path_.clear();
    told_to_stop_.reset();
    const SearchOptions& options = team_.options();
    link_->send(message::encode(
        message::Begin{options.order, options.dedup, options.prints_are_shapes, options.shape_ops}));
    switch (listen()) {
      case Heard::kGone:
        replace();
        break;
      case Heard::kLost:
      case Heard::kStopped:
        link_.reset();
        break;
      case Heard::kAnswer:
        if (const auto* refused = std::get_if<message::Refused>(&answer_))
          return harvest_.report_trouble(system_error(refused->why));
        const auto* ready = std::get_if<message::Ready>(&answer_);
        if (ready == nullptr || ready->initial != harvest_.initial())
          harvest_.report_trouble(system_error(
              "the target is not deterministic: its initial state is another one in each process"));
    }
  }
}

// A worker may be killed by somebody else, for example by a system that is out of memory. But if several die
// over the same work, and nobody knows why, so will the next one.
void RemoteWorker::replace() {
  const Result<Obituary> obituary = link_->mourn();
  link_.reset();
  if (!obituary) return harvest_.report_trouble(obituary.error());
  if (!obituary->explained && ++unexplained_ > kMostUnexplained)
    harvest_.report_trouble(system_error("workers of the search die over and over: " + obituary->text));
}

// If the worker is gone, the answer tells.
void RemoteWorker::order(const Range& range) {
  message::Expand expand;
  for (uint32_t i = range.begin; i < range.end; ++i) {
    Trace path = harvest_.tree().path_to(harvest_.agenda().node(i));
    const auto same = std::mismatch(path.begin(), path.end(), path_.begin(), path_.end()).first;
    expand.paths.push_back(
        {static_cast<uint32_t>(same - path.begin()), static_cast<uint32_t>(path.end() - same)});
    expand.added.insert(expand.added.end(), same, path.end());
    path_ = std::move(path);
  }
  link_->send(message::encode(expand));
}

RemoteWorker::Heard RemoteWorker::listen() {
  for (;;) {
    switch (link_->receive(bytes_, kLookEach)) {
      case Receipt::kGone:
        return Heard::kGone;
      case Receipt::kMessage:
        if (std::optional<message::Any> answer = message::decode(bytes_)) {
          answer_ = *std::move(answer);
          return Heard::kAnswer;
        }
        return Heard::kGone;
      case Receipt::kNothing:
        if (!team_.stopped()) break;
        if (!told_to_stop_) {
          told_to_stop_ = Clock::now();
          link_->send(message::encode(message::Stop{}));
        } else if (Clock::now() - *told_to_stop_ > kLastWords) {
          return Heard::kStopped;
        }
    }
  }
}

RemoteWorker::Before RemoteWorker::before() const {
  return {hand_.candidates.size(), hand_.marks, hand_.tally, hand_.met};
}

void RemoteWorker::take_back(const Before& before) {
  hand_.candidates.resize(before.candidates);
  hand_.marks = before.marks;
  hand_.tally = before.tally;
  hand_.met = before.met;
}

void RemoteWorker::add(const message::Part& part, const Range& range) {
  hand_.tally.transitions += part.transitions;
  hand_.tally.marks |= part.marks;
  for (size_t i = 0; i < std::min(part.mark_counts.size(), hand_.marks.size()); ++i)
    hand_.marks[i] += part.mark_counts[i];
  for (const message::Part::Shown& shown : part.shown) {
    const uint32_t node = harvest_.agenda().node(range.begin + static_cast<uint32_t>(shown.state));
    const uint32_t depth = harvest_.depth_of(node) + 1;
    hand_.tally.note_findings(shown.findings, depth);
    hand_.met.note(shown.findings, depth, node, shown.choice);
  }
  for (const message::Part::Successor& one : part.successors) {
    if (harvest_.dedups() && harvest_.visited().contains(one.print)) continue;
    const uint32_t node = harvest_.agenda().node(range.begin + one.state);
    hand_.candidates.push_back({one.print, one.choice, node, one.marks, one.work, one.new_edges});
  }
  harvest_.report_in_node(number_);
}

RemoteWorker::Heard RemoteWorker::hear(const Range& range) {
  for (;;) {
    const Heard heard = listen();
    if (heard != Heard::kAnswer) return heard;
    if (std::holds_alternative<message::Lost>(answer_)) return Heard::kLost;
    if (const auto* refused = std::get_if<message::Refused>(&answer_)) {
      harvest_.report_trouble(system_error(refused->why));
      return Heard::kStopped;
    }
    const auto* part = std::get_if<message::Part>(&answer_);
    if (part == nullptr) return Heard::kGone;
    add(*part, range);
    if (part->ends == message::Part::Ends::kMore) continue;
    counts_ += part->counts;
    return part->ends == message::Part::Ends::kDone ? Heard::kAnswer : Heard::kStopped;
  }
}

void RemoteWorker::work_round() {
  for (;;) {
    // A slow node must not wait behind another one while a worker has nothing to do.
    const size_t most = harvest_.claims_one_by_one() ? 1 : 2;
    for (Range range; link_ != nullptr && ordered_.size() < most && harvest_.claim(range.begin, range.end);) {
      ordered_.push_back(range);
      order(range);
    }
    if (ordered_.empty()) return;
    const Range range = ordered_.front();
    const Before before = this->before();
    switch (link_ == nullptr ? Heard::kStopped : hear(range)) {
      case Heard::kAnswer:
        ordered_.pop_front();
        unexplained_ = 0;
        harvest_.put_down(hand_.tally.transitions - before.tally.transitions);
        team_.report(number_, hand_.tally);
        break;
      case Heard::kLost:
        harvest_.report_lost(harvest_.agenda().node(range.begin));
        [[fallthrough]];
      case Heard::kStopped:
        harvest_.report_unfinished();
        ordered_.clear();
        return;
      case Heard::kGone:
        take_back(before);
        replace();
        start();
        for (const Range& again : ordered_)
          if (link_ != nullptr) order(again);
    }
  }
}

void RemoteWorker::finish() {
  harvest_.add(counts_);
  if (link_ == nullptr || harvest_.is_broken()) return;
  link_->send(message::encode(message::End{}));
  while (listen() == Heard::kAnswer)
    if (const auto* account = std::get_if<message::Account>(&answer_)) {
      harvest_.add(*account);
      break;
    }
  link_.reset();
}

}  // namespace sisyfs
