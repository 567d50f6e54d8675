// Parts of a write: what a power cut may leave of one write, for a target that claims split_writes.
//
//   each_part(op, tree, 512, [&](Tree part) { expectation.reach_part(std::move(part)); });
#pragma once

#include <cstdint>
#include <utility>

#include "workload/op.h"

namespace sisyfs {

// The ops that write bytes of a file.
inline constexpr OpSet kWriteOps(OpKind::kWrite, OpKind::kWriteSync, OpKind::kAppend, OpKind::kWriteDirect,
                                 OpKind::kWriteMapped, OpKind::kWriteHandle, OpKind::kAppendHandle);

// Calls `use` with the tree after each proper prefix of the write, or of the range of kRangeOps, that ends at
// a multiple of `unit` in the file, shortest first. Other ops have no parts.
template <class Use>
void each_part(const Op& op, const Tree& before, uint32_t unit, Use&& use) {
  if (!(kWriteOps | kRangeOps).has(op.kind)) return;
  uint64_t offset = op.offset;
  Stat stat;
  if (by_path(op.kind) == OpKind::kAppend && before.stat(op.path, &stat) == 0) offset = stat.size;
  for (uint64_t length = unit - offset % unit; length < op.length; length += unit) {
    Op part = op;
    part.length = static_cast<uint32_t>(length);
    Tree reached = before;
    if (apply(part, reached).error == 0) use(std::move(reached));
  }
}

}  // namespace sisyfs
