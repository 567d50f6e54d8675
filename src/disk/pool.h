// Memory for small immutable things: blocks, tree nodes, log events, snapshots.
//
// Exploring copies, changes and drops images millions of times a second. The pool keeps memory that was
// given back in lists of the thread, one per size class, so steady work never calls malloc and takes no
// lock. Memory may be given back on another thread than it was taken on; it then goes to the lists of that
// thread. Each list is bounded, so a thread that only gives memory back does not hoard it. Under a sanitizer
// the pool only calls malloc and free, so that misuse is found.
#pragma once

#include <cstddef>

namespace sisyfs {

// At least `bytes` bytes, aligned for any object; never null (running out of memory throws bad_alloc).
[[nodiscard]] void* pool_take(size_t bytes);

// Gives back what pool_take(bytes) returned, with the same number of bytes.
void pool_give(void* memory, size_t bytes) noexcept;

// The pool as an allocator of the standard library.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  explicit(false) PoolAllocator(const PoolAllocator<U>&) {}

  T* allocate(size_t n) { return static_cast<T*>(pool_take(n * sizeof(T))); }
  void deallocate(T* memory, size_t n) noexcept { pool_give(memory, n * sizeof(T)); }
  friend bool operator==(const PoolAllocator&, const PoolAllocator&) { return true; }
};

}  // namespace sisyfs
