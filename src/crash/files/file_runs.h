// FileRuns: what runs of a program have read, and how they ended.
//
// A run begins with nothing decided. The first read of a slot picks a version, and the run then stands for
// all states that agree with what it has picked. Its reads are a path in a tree: at each node a slot was
// read, and for each value there is a branch. At the end of the path is the outcome. The tree serves all
// moments of a log: where the same values are read, the same outcome follows. A walk through it with the
// states of a moment meets the outcomes that are known and lists the runs that are missing.
//
//   FileRuns runs;
//   runs.walk(states, acked, 1, on_outcome, missing);          // states with at most one loss
//   for (FileRuns::Missing& one : missing) { FilePicks picks(states, one); ...; runs.add(one, picks.reads(),
//   outcome); }
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "crash/files/file_states.h"

namespace sisyfs {

// Stands for the number of acknowledgements, which a run may read too.
inline constexpr SlotId kAckedSlot = UINT32_MAX;

struct FileRead {
  SlotId slot = 0;
  uint64_t value = 0;
};

// A version that is not the newest one that could have been picked.
struct FileLoss {
  SlotId slot = 0;
  uint32_t version = 0;
};

class FileRuns {
 public:
  struct Missing {
    std::vector<FileRead> path;
    FileStates::Ranges ranges;  // what is picked on the path
    uint64_t acked = 0;
    std::vector<FileLoss> losses;
  };
  struct Met {
    uint32_t outcome = 0;
    const FileStates::Ranges& ranges;
    std::span<const FileLoss> losses;
  };

  // Goes through all states with at most so many losses. Whether there are states with more. Slots of `alike`
  // do not matter: of these only the newest version is tried.
  bool walk(const FileStates& states, uint64_t acked, uint32_t losses,
            const std::function<void(const Met&)>& met, std::vector<Missing>& missing,
            const std::set<SlotId>& alike = {}) const;
  // `reads`: all of the run, those of the path first.
  void add(std::span<const FileRead> reads, uint32_t outcome);
  size_t size() const { return count_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    bool is_end = false;
    uint32_t outcome = 0;
    SlotId slot = 0;
    std::map<uint64_t, uint32_t> next;  // by value
  };
  class Walk;

  std::vector<Node> nodes_;  // the first one is the root
  size_t count_ = 0;
};

// What one run picks. The values of the path are given; what is read beyond it is the newest that is left.
class FilePicks {
 public:
  FilePicks(const FileStates& states, const FileRuns::Missing& run);
  // No path: everything is as new as it can be.
  FilePicks(const FileStates& states, uint64_t acked)
      : states_(states), ranges_(states.all()), acked_(acked) {}

  uint64_t value(SlotId slot);
  // The number of acknowledgements.
  uint64_t acked();
  const std::vector<FileRead>& reads() const { return reads_; }
  const FileStates::Ranges& ranges() const { return ranges_; }

 private:
  const FileStates& states_;
  FileStates::Ranges ranges_;
  uint64_t acked_;
  std::vector<FileRead> reads_;
  std::map<SlotId, uint64_t> known_;
};

}  // namespace sisyfs
