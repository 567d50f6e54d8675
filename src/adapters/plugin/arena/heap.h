/* The allocator behind malloc: first fit in the order of addresses, with all of its state in the arena. */
#pragma once

#include "adapters/plugin/arena/arena.h"

#define SISYFS_EXPORT __attribute__((visibility("default")))

/* Maps the arena at the first call. Null: there is no room for it. */
struct sisyfs_arena_control* heap_open(void);

/* An allocation. Null if fail_in or the limit makes it fail. `zero`: the memory is zero, as for calloc;
 * otherwise it is filled with fresh_byte. */
void* heap_take(size_t alignment, size_t size, int zero, const void* caller);
void heap_give(void* memory, const void* caller);
void* heap_resize(void* memory, size_t size, const void* caller);
size_t heap_size(const void* memory);

/* Ends the process as the plug-in asked for: tells the engine, which goes on with something else (world.c).
 */
void __attribute__((noreturn)) end_with(const struct sisyfs_arena_end* end);

/* Ends the process by a system call (process.c). */
void __attribute__((noreturn)) end_process(int status);
