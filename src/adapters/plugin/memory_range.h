// MemoryRange: a piece of memory that a plug-in may change, and that a snapshot therefore holds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sisyfs {

inline constexpr size_t kPageSize = 4096;

struct MemoryRange {
  std::byte* begin = nullptr;
  size_t size = 0;  // bytes
  // The range is whole pages, whose changes can be tracked. Otherwise all of it is compared each time, so it
  // should be small.
  bool paged = true;
  // Points into the range: how many of its bytes are in use. All bytes after those are zero. Null: all bytes
  // are in use.
  const uint64_t* used = nullptr;
};

}  // namespace sisyfs
