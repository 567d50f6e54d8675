// MemoryRange: a piece of memory that a plug-in may change, and that a snapshot therefore holds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sisyfs {

inline constexpr size_t kPageSize = 4096;

struct MemoryRange {
  std::byte* begin = nullptr;
  size_t size = 0;  // bytes
  // Whole pages, whose changes can be tracked. Otherwise all of it is compared each time, so it had better be
  // small.
  bool paged = true;
  // Where the bytes in use are counted, inside of the range itself: all behind them is zero. Null: all are in
  // use.
  const uint64_t* used = nullptr;
};

}  // namespace sisyfs
