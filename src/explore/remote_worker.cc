#include "explore/remote_worker.h"

#include <algorithm>
#include <utility>

namespace sisyfs {

RemoteWorker::RemoteWorker(Harvest& harvest, Team& team, unsigned number)
    : harvest_(harvest),
      team_(team),
      number_(number),
      hand_(harvest.hand(number)),
      end_(team, number, harvest.initial(),
           [&harvest](Error error) { harvest.report_trouble(std::move(error)); }) {
  end_.start();
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
  end_.send(expand);
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
    const Heard heard = end_.listen();
    if (heard != Heard::kAnswer) return heard;
    if (std::holds_alternative<message::Lost>(end_.answer())) return Heard::kLost;
    if (const auto* refused = std::get_if<message::Refused>(&end_.answer())) {
      harvest_.report_trouble(system_error(refused->why));
      return Heard::kStopped;
    }
    const auto* part = std::get_if<message::Part>(&end_.answer());
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
    for (Range range; end_.alive() && ordered_.size() < most && harvest_.claim(range.begin, range.end);) {
      ordered_.push_back(range);
      order(range);
    }
    if (ordered_.empty()) return;
    const Range range = ordered_.front();
    const Before before = this->before();
    switch (end_.alive() ? hear(range) : Heard::kStopped) {
      case Heard::kAnswer:
        ordered_.pop_front();
        end_.worked();
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
        path_.clear();
        end_.replace();
        for (const Range& again : ordered_)
          if (end_.alive()) order(again);
    }
  }
}

void RemoteWorker::finish() {
  harvest_.add(counts_);
  if (harvest_.is_broken()) return;
  if (const auto account = end_.finish()) harvest_.add(*account);
}

}  // namespace sisyfs
