// The journal model as a Target: a small file system with a write-ahead journal, after ext3.
//
//   TargetKind kind = journal::kind_of(journal::Config{});
//   std::unique_ptr<Target> target = kind.make();
//
// Its claims depend on the mode. Every fsync, fdatasync and sync commits all ops before it, in their order.
// So the recovered tree is an earlier tree: with mode=data exactly, with mode=ordered except for file data
// that was overwritten in place, with mode=writeback in its structure only. docs/models/journal.md describes
// the disk, the algorithms and the planted bugs.
#pragma once

#include "models/journal/config.h"
#include "target/target.h"

namespace sisyfs::journal {

TargetKind kind_of(const Config& config);

}  // namespace sisyfs::journal
