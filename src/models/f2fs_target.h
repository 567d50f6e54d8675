// The F2FS model as a target: ops by path, walk, fsck, names of blocks.
//
//   std::unique_ptr<Target> target = f2fs::make_target(config);
//
// What it promises over a power cut: after sync and remount everything is durable; after fsync and fdatasync
// the file's content, size and name are; all else may go back to the last checkpoint, but not in parts.
#pragma once

#include <memory>

#include "models/f2fs_layout.h"
#include "target/target.h"

namespace sisyfs::f2fs {

std::unique_ptr<Target> make_target(const Config& config);

}  // namespace sisyfs::f2fs
