/* The private heap, clock and random numbers of a plug-in: the interface for the engine.
 *
 * libsisyfs_arena.so is the first object of a plug-in's private namespace (adapters/plugin/namespace.h).
 * There its malloc family, clock, random numbers and functions that end a process replace those of
 * libc. It is plain C and needs nothing but libc; the engine finds these functions by name and shares one
 * struct with it:
 *
 *     struct sisyfs_arena_control *control = sisyfs_arena_open();
 *     control->fail_in = 3;                        // the third allocation from now gives NULL
 *     call_into_the_plug_in();
 *     if (control->fault != SISYFS_FAULT_NONE) ... // a double free, a write behind a block
 *
 * All that the allocator remembers lies in the arena, so that a snapshot of the arena is complete. It is a
 * function of the blocks that are live (where they are and what they hold) and not of how they came to be:
 * free memory is zero, neighbouring holes are one hole, the list of holes is in the order of addresses, and a
 * block goes to the lowest place that fits. So equal heaps have equal bytes. The control block is the
 * engine's; it lies outside of what is saved and is never rolled back.
 *
 * One thread at a time.
 */
#pragma once

/* This is C. NOLINTBEGIN(modernize-*) */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Size of the edge map. In larger programs several edges share an entry. */
#define SISYFS_ARENA_EDGES (1u << 20)

/* The sixth argument of a system call that the kernel's filter lets pass (process_guard.h). */
#define SISYFS_ARENA_PASS 0x53697379

enum sisyfs_arena_fault {
  SISYFS_FAULT_NONE = 0,
  SISYFS_FAULT_NOT_LIVE = 1, /* free or realloc of what is not a live block: most often freed before */
  SISYFS_FAULT_FOREIGN = 2,  /* free or realloc of memory that is not of this heap */
  SISYFS_FAULT_OVERRUN = 3,  /* bytes behind the end of a block were changed */
  SISYFS_FAULT_WRITE_AFTER_FREE = 4, /* free memory was changed */
  SISYFS_FAULT_DAMAGED = 5, /* the header of a block or hole was changed: a write before or far behind one */
};

enum sisyfs_arena_end_kind {
  SISYFS_END_ABORT = 1,
  SISYFS_END_ASSERT = 2,        /* text, file, line and function are set */
  SISYFS_END_EXIT = 3,          /* exit(), _exit(), quick_exit(): status */
  SISYFS_END_STACK_SMASHED = 4, /* the stack protector of the compiler */
  SISYFS_END_STARTS = 5,        /* it starts a thread or forks: text is the function */
  SISYFS_END_PROCESS = 6        /* it changes the process, or signals another one: text is the function */
};

struct sisyfs_arena_end {
  enum sisyfs_arena_end_kind kind;
  int status;
  const char *text, *file, *function; /* null if not known */
  unsigned line;
  const void* caller;
};

/* Lies at the start of the arena and is saved with it. */
struct sisyfs_arena_state {
  uint64_t used; /* bytes from the start of the arena; all behind is zero and was never a block, or is free */
  uint64_t live_bytes; /* asked for and not freed */
  uint64_t live_blocks;
  uint64_t random_count; /* words of randomness that were given out */
  uint32_t first_hole;   /* in units of 16 bytes from the start of the arena; 0: none */
  uint32_t reserved[7];
};

/* LARGE CLASS: the one struct that the engine and the arena share, whose layout both know. */
struct sisyfs_arena_control {
  /* The arena. Its address is the same in every process, where that is free. */
  char* base;
  uint64_t reserved_bytes;
  struct sisyfs_arena_state* state;

  /* Allocation. */
  uint64_t limit;      /* bytes of the arena that may be in use; what goes beyond gets NULL */
  uint64_t over_limit; /* allocations that failed because of the limit */
  uint64_t calls;      /* allocations asked for; frees do not count */
  uint64_t fail_in;    /* n: the n-th allocation from now fails; 0: none does */
  uint64_t failed;     /* allocations that failed because of fail_in */
  uint64_t peak_bytes; /* the most live_bytes since the engine set it */
  uint32_t fresh_byte; /* malloc fills new memory with this byte. Another byte must not change what the
                          code does, unless it reads uninitialized memory. */

  /* The first fault; the engine sets it back to SISYFS_FAULT_NONE. on_fault may be null and may leave by
   * siglongjmp; if it returns the call goes on as well as it can. */
  uint32_t fault;
  const void* fault_address; /* the block, or the place in free memory */
  uint64_t fault_size;       /* of the block, where that is known */
  const void* fault_caller;  /* the code that called free or malloc; at a check, that allocated the block */
  void (*on_fault)(struct sisyfs_arena_control* control);

  /* The clock stands still until the engine moves it. Sleeping takes no time. */
  int64_t clock_seconds;
  int64_t clock_nanoseconds;
  uint64_t clock_asked;
  /* getrandom, getentropy and arc4random: a stream that begins with the seed, whose place is saved with the
   * arena. rand and random stay libc's: they begin the same way in each process and their state is saved with
   * libc's. */
  uint64_t seed;
  uint64_t random_asked;

  /* Descriptors that the engine keeps for itself; count 0: none. */
  uint32_t kept_first, kept_count;

  /* Edges of instrumented code (cover.c): 1 for each that was reached, and how many of them were. The engine
   * sets new_edges back to 0; to forget them all it clears the map and the count. */
  uint64_t edges_reached;
  uint64_t new_edges;
  uint64_t edges_known; /* edges in the code; 0: not known */
  unsigned char edges[SISYFS_ARENA_EDGES];

  /* Called instead of ending the process. Must not return; if it is null or returns, the process ends. */
  void (*on_end)(struct sisyfs_arena_control* control, const struct sisyfs_arena_end* end);
  void* engine; /* for the engine's callbacks */
};

struct sisyfs_arena_block {
  const void* address;
  uint64_t size;
  const void* caller; /* of malloc; null: not known. After a load it may be outdated. */
};

/* What the library exports beside libc's names. */
struct sisyfs_arena_control* sisyfs_arena_open(void);

/* Checks every block and hole. Returns the first fault, and puts it into the control block too. on_fault is
 * not called. */
enum sisyfs_arena_fault sisyfs_arena_check(void);

/* The live block that follows this one in address order; null: the first. Returns 0 if there is none. */
int sisyfs_arena_next(const void* after, struct sisyfs_arena_block* out);

/* dl_iterate_phdr over the objects of the private namespace; `visit` takes a struct dl_phdr_info. */
struct dl_phdr_info;
typedef int (*sisyfs_arena_visit_fn)(struct dl_phdr_info* info, size_t size, void* data);
int sisyfs_arena_objects(sisyfs_arena_visit_fn visit, void* data);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-*) */
