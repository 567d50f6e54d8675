// The journal model as a Target: a small file system with a write-ahead journal, after ext3.
//
//   TargetKind kind = journal::kind_of(journal::Config{});
//   std::unique_ptr<Target> target = kind.make();
//
// What it promises over a power cut depends on the mode. Every fsync, fdatasync and sync commits everything
// that was done before, in the order in which it was done, so that what comes back is one tree that there
// was: with mode=data in all, with mode=ordered in all but file data that was overwritten in place, and with
// mode=writeback in its structure only. docs/models/journal.md describes the disk, the algorithms and
// the planted bugs.
#pragma once

#include "models/journal/config.h"
#include "target/target.h"

namespace sisyfs::journal {

TargetKind kind_of(const Config& config);

}  // namespace sisyfs::journal
