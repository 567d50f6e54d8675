#include "crash/files/file_runs.h"

#include <utility>

#include "base/assert.h"

namespace sisyfs {

class FileRuns::Walk {
 public:
  Walk(const FileRuns& runs, const FileStates& states, uint64_t acked,
       const std::function<void(const Met&)>& met, std::vector<Missing>& missing,
       const std::set<SlotId>& alike)
      : runs_(runs), states_(states), acked_(acked), met_(met), missing_(missing), alike_(alike) {}

  void visit(uint32_t index, const FileStates::Ranges& ranges, uint32_t left) {
    const Node& node = runs_.nodes_[index];
    if (node.is_end) {
      met_({node.outcome, ranges, losses_});
      return;
    }
    if (node.slot == kAckedSlot) {
      step(index, acked_, ranges, left);
      return;
    }
    const uint32_t low = states_.low(ranges, node.slot), high = states_.high(ranges, node.slot);
    for (uint32_t version = high + 1; version-- > low;) {
      const uint32_t cost = version == high ? 0 : 1;
      if (cost != 0 && alike_.contains(node.slot)) return;
      if (cost > left) {
        cut_off_ = true;
        return;
      }
      if (cost != 0) losses_.push_back({node.slot, version});
      FileStates::Ranges picked = ranges;
      states_.pick(picked, node.slot, version);
      step(index, states_.value(node.slot, version), picked, left - cost);
      if (cost != 0) losses_.pop_back();
    }
  }

  bool cut_off() const { return cut_off_; }

 private:
  void step(uint32_t index, uint64_t value, const FileStates::Ranges& ranges, uint32_t left) {
    const Node& node = runs_.nodes_[index];
    path_.push_back({node.slot, value});
    if (const auto next = node.next.find(value); next != node.next.end())
      visit(next->second, ranges, left);
    else if (wanted_.emplace(index, value).second)
      missing_.push_back({path_, ranges, acked_, losses_});
    path_.pop_back();
  }

  const FileRuns& runs_;
  const FileStates& states_;
  const uint64_t acked_;
  const std::function<void(const Met&)>& met_;
  std::vector<Missing>& missing_;
  const std::set<SlotId>& alike_;
  std::vector<FileRead> path_;
  std::vector<FileLoss> losses_;
  std::set<std::pair<uint32_t, uint64_t>> wanted_;
  bool cut_off_ = false;
};

bool FileRuns::walk(const FileStates& states, uint64_t acked, uint32_t losses,
                    const std::function<void(const Met&)>& met, std::vector<Missing>& missing,
                    const std::set<SlotId>& alike) const {
  if (nodes_.empty()) {
    missing.push_back({{}, states.all(), acked, {}});
    return true;
  }
  Walk walk(*this, states, acked, met, missing, alike);
  walk.visit(0, states.all(), losses);
  return walk.cut_off();
}

void FileRuns::add(std::span<const FileRead> reads, uint32_t outcome) {
  ++count_;
  if (nodes_.empty()) nodes_.emplace_back();
  uint32_t at = 0;
  for (const FileRead& read : reads) {
    if (nodes_[at].next.empty()) nodes_[at].slot = read.slot;
    SISYFS_ASSERT(nodes_[at].slot == read.slot && !nodes_[at].is_end, "a run goes on where its path ends");
    const auto [next, is_new] = nodes_[at].next.emplace(read.value, static_cast<uint32_t>(nodes_.size()));
    at = next->second;
    if (is_new) nodes_.emplace_back();
  }
  nodes_[at].is_end = true;
  nodes_[at].outcome = outcome;
}

FilePicks::FilePicks(const FileStates& states, const FileRuns::Missing& run)
    : states_(states), ranges_(run.ranges), acked_(run.acked), reads_(run.path) {
  for (const FileRead& read : reads_) known_.emplace(read.slot, read.value);
}

uint64_t FilePicks::value(SlotId slot) {
  if (const auto known = known_.find(slot); known != known_.end()) return known->second;
  const uint32_t version = states_.high(ranges_, slot);
  states_.pick(ranges_, slot, version);
  const uint64_t value = states_.value(slot, version);
  known_.emplace(slot, value);
  reads_.push_back({slot, value});
  return value;
}

uint64_t FilePicks::acked() {
  if (known_.emplace(kAckedSlot, acked_).second) reads_.push_back({kAckedSlot, acked_});
  return acked_;
}

}  // namespace sisyfs
