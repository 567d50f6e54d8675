// What the tests of the F2FS model share: a mounted target with its disk, and a source of random ops.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "disk/mem_disk.h"
#include "models/f2fs_target.h"
#include "tree/tree_text.h"
#include "workload/op.h"

namespace sisyfs::f2fs {

inline Config small_config() {
  Config config;
  config.segments = 24;
  config.reserved_segments = 18;
  config.dentry_blocks = 1;
  return config;
}

struct World {
  explicit World(const Config& config)
      : target(make_target(config)),
        disk(Image(Geometry{kBlockBytes, BlockCount(target->traits().block_count)})) {
    EXPECT_EQ(target->format(disk), 0);
    disk.load(DiskState(disk.state().current));
    EXPECT_EQ(target->mount(disk), 0);
  }
  // As the judge does it: sync and remount are ops too.
  OpResult perform(const Op& op) {
    if (op.kind != OpKind::kRemount) return target->apply(op);
    if (const int error = target->unmount()) return OpResult::of(error);
    return OpResult::of(target->mount(disk));
  }
  std::unique_ptr<Target> target;
  MemDisk disk;
};

// Everything in turn, or few names that are written again and again with hardly a sync.
enum class Mix : uint8_t { kBroad, kChurn };

class RandomOps {
 public:
  RandomOps(uint32_t seed, bool bytes, Mix mix = Mix::kBroad) : random_(seed), bytes_(bytes), mix_(mix) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  Path path() {
    static constexpr const char* kNames[] = {"a", "b", "c", "d", "e", "f"};
    const bool churn = mix_ == Mix::kChurn;
    Path out("/");
    for (uint32_t depth = churn ? 1 : 1 + below(3); depth > 0; --depth)
      out = out.child(kNames[below(churn ? 3 : 6)]);
    return below(40) == 0 ? Path("/") : out;
  }
  uint64_t extent(uint32_t blocks) {
    const uint64_t size = uint64_t{below(blocks + 1)} * kBlockBytes;
    return bytes_ && below(2) == 0 ? size + below(kBlockBytes) : size;
  }
  Op next(bool syncs) {
    const auto version = static_cast<uint8_t>(below(200));
    if (mix_ == Mix::kChurn) syncs = below(10) == 0;
    switch (below(syncs ? 22 : 18)) {
      case 0:
      case 1:
      case 2:
        return Op::of(OpKind::kCreate, path());
      case 3:
      case 4:
        return Op::of(OpKind::kMkdir, path());
      case 5:
      case 6:
        return Op::of(OpKind::kUnlink, path());
      case 7:
        return Op::of(OpKind::kRmdir, path());
      case 8:
      case 9:
        return Op::of(OpKind::kRename, path(), path());
      case 10:
      case 11:
      case 12:
        return Op::write(path(), extent(16), static_cast<uint32_t>(extent(6) + 1), version);
      case 13:
        return Op::append(path(), static_cast<uint32_t>(extent(6) + 1), version);
      case 14:
        return Op::truncate(path(), extent(20));
      case 15:
        return Op::read(path(), extent(20), 500);
      case 16:
        return Op::of(OpKind::kReaddir, path());
      case 17:
        return Op::of(OpKind::kStat, path());
      case 18:
      case 19:
        return Op::of(OpKind::kFsync, path());
      case 20:
        return Op::of(OpKind::kSync);
      default:
        return Op::of(OpKind::kRemount);
    }
  }

 private:
  std::mt19937 random_;
  bool bytes_;
  Mix mix_;
};

}  // namespace sisyfs::f2fs
