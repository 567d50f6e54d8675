// Memory for the small immutable things of this room: blocks, tree nodes, log events.
//
// Exploring copies, changes and drops images millions of times a second. The pool keeps what was
// given back in lists of its thread, one per size class, so that steady work never reaches malloc and
// takes no lock. Memory may be given back on another thread than it was taken on; it then stays there.
// Each list is bounded, so a thread that only gives does not hoard. Under a sanitizer the pool steps
// aside, so that misuse is seen.
#pragma once

#include <cstddef>

namespace sisyfs {

// At least `bytes` bytes, aligned for any object; never null (running out of memory throws bad_alloc).
[[nodiscard]] void* pool_take(size_t bytes);

// Gives back what pool_take(bytes) returned, with the same number of bytes.
void pool_give(void* memory, size_t bytes) noexcept;

}  // namespace sisyfs
