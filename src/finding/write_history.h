// WriteHistory: the writes of a story in the order in which they were issued, and what becomes of each.
//
//   WriteHistory history(geometry, target);
//   step.writes = history.add(log, from, "append /a 512", disk_before_it);
//   history.persist_all_but(log_of_what_is_in_doubt);
//   history.cut(crash_state, next_serial, step);      // lost, torn or persisted
//   story.writes = history.take();
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "crash/crash_state.h"
#include "finding/story.h"
#include "target/target.h"

namespace sisyfs {

class WriteHistory {
 public:
  // `geometry` is that of all disks. Borrows the target, which names blocks.
  WriteHistory(const Geometry& geometry, Target& target);

  // Adds the writes of a log from position `from` on, which `op` has issued, and returns their numbers. A
  // write in several runs is one write. `before` is the content of the disks before them. A block is named on
  // the disk that the write leaves.
  std::vector<uint32_t> add(const Log& log, size_t from, const std::string& op, const Image& before);
  // The same for writes that are no part of the history, such as those of a trial of use: from position
  // `from` to `end`, numbered from `number` on.
  std::vector<WriteRecord> describe(const Log& log, size_t from, size_t end, const Image& before,
                                    uint32_t number) const;

  // Writes by their numbers, and what is said of each beside its block.
  void label(const std::vector<uint32_t>& numbers, const std::vector<std::string>& labels);

  // Every pending write has reached the disk, except those in this log.
  void persist_all_but(const Log& in_doubt);
  // A power cut: what became of the writes of its epoch. Writes from `next_serial` on had not been issued.
  // Adds to `step` what was lost or torn.
  void cut(const CrashState& state, uint64_t next_serial, StoryStep& step);

  // "; last written by write 3 of 'fsync /a', over write 1 of 'create /a': ..."; empty if no write of the
  // history has written the block. Notes that these writes are named.
  std::string history_of(BlockAddress block);

  std::vector<WriteRecord> take() { return std::move(writes_); }

 private:
  WriteRecord record_of(const Event& event, const Image& after) const;
  // The writes from `from` to `end`, without numbers, and their serial numbers.
  std::vector<std::pair<uint64_t, WriteRecord>> records(const Log& log, size_t from, size_t end,
                                                        Image disk) const;
  WriteRecord& at(uint32_t number) { return writes_[number - 1]; }
  // The number of the last write to any of these blocks that was not lost; 0 if there is none.
  uint32_t last_write_to(uint32_t disk, uint64_t address, uint64_t blocks);
  void settle(uint64_t serial, WriteRecord& record, WriteStatus status);
  void persist_others(const std::set<uint64_t>& in_doubt);

  const Geometry geometry_;
  Target& target_;
  std::vector<WriteRecord> writes_;
  std::map<uint64_t, uint32_t> numbers_;  // by serial number
  std::set<uint64_t> pending_;            // serial numbers; few, whatever came before
  std::map<std::pair<uint32_t, uint64_t>, std::vector<uint32_t>> writers_;  // numbers, by disk and block
};

}  // namespace sisyfs
