// The F2FS model as a Target: a complete small log-structured file system, after chapter 5 of the thesis.
//
//   TargetKind kind = f2fs::kind_of(f2fs::Config{});
//   std::unique_ptr<Target> target = kind.make();
//
// After sync and unmount everything is durable; after fsync and fdatasync the file's content, size and name.
// Everything else may be as in the last checkpoint. It has no hard or symbolic links. docs/models/f2fs.md
// describes the disk, the algorithms and the planted bugs.
#pragma once

#include "models/f2fs/config.h"
#include "target/target.h"

namespace sisyfs::f2fs {

TargetKind kind_of(const Config& config);

}  // namespace sisyfs::f2fs
