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
  // The thread-local variables of this module of the dynamic linker: each thread has its own, and `begin` is
  // that of the thread that asked. 0: the range is the same for all threads.
  size_t tls_module = 0;
};

// The thread-local variables of a module as this thread has them.
std::byte* thread_locals(size_t tls_module);

}  // namespace sisyfs
