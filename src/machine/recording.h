// Recording: writes that were recorded elsewhere, and are played to the disk again instead of ops.
//
// A check of a recording has one path: the op play, again and again, up to a later entry of the recording
// each time (DiskSetup::script lists them). The power goes in each of them, the target recovers, and there
// the path ends: what would have been written next is not known. The reference model does not know either
// what the entries do to the tree. The recording says it: the tree that the target shows where everything up
// to there was written.
//
//   setup.recording = recording;                           // adapters/recorded makes one of a log
//   const Tree tree = recording->tree_after(Op::play(17));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tree/tree.h"
#include "workload/op.h"

namespace sisyfs {

class Recording {
 public:
  virtual ~Recording() = default;

  // The entry before which a check begins, and the number of entries: a play leads to one behind the first,
  // and not beyond the last.
  virtual uint64_t begin() const = 0;
  virtual uint64_t end() const = 0;
  // The tree after a play, which the target has done before.
  virtual Tree tree_after(const Op& play) const = 0;
  // For reports: what a play leads to, and the events of a play from one entry to another that change blocks,
  // in their order.
  virtual std::string describe(const Op& play) const = 0;
  virtual std::vector<std::string> names(uint64_t from, uint64_t to) const = 0;
  // Settings that say which recording it is, as "name=value".
  virtual std::vector<std::string> settings() const = 0;
};

}  // namespace sisyfs
