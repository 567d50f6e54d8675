// DiskTeller: tells a trace of the adapter: ops with their writes, what a power cut left of them, what
// recovery saw, and what should have been there.
#pragma once

#include <vector>

#include "judge/disk_rig.h"
#include "judge/story.h"

namespace sisyfs {

class DiskSystem;

class DiskTeller {
 public:
  explicit DiskTeller(const DiskSystem& system);
  void step(const DiskSystemState& from, Choice choice, const DiskSystemState& to);
  Story take() { return std::move(story_); }

 private:
  void tell_op(const Op& op, bool cut);
  void tell_repair(const Op& op);
  uint32_t last_write_to(uint32_t address, uint32_t blocks) const;
  std::string fate_of_block(const Problem& problem, const ProblemKind& kind) const;
  void tell_writes(StoryStep& step, const Log& log, size_t from);
  void tell_cut(StoryStep& step, uint32_t level, const Log& log);
  void tell_crash(const Op& op);
  void tell_recovery(StoryStep& step);
  // Which promise the tree that came back breaks; empty if no single one.
  std::string broken_promise() const;
  // Every write that is still in doubt, except these, has reached the disk.
  void settle_others(const std::vector<uint32_t>& in_doubt);
  WriteRecord& write(uint32_t number) { return story_.writes[number - 1]; }

  RigPool::Lease rig_;
  Story story_;
  std::vector<Tree> past_;          // trees before the one that is right now
  std::vector<std::string> calls_;  // "'fsync /a' (step 3)", by the number that the expectation gives
  std::string before_calls_;        // who promised what there was before them
};

}  // namespace sisyfs
