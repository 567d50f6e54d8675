/* Not a file system: memory that is written in all the ways that C has, for the tests and the bench of
 * snapshots. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { kSlots = 64, kTable = 5000 };

static char* slots[kSlots];
static size_t sizes[kSlots];
static int table[kTable] = {1, 2, 3}; /* .data over several pages */
static char zeros[3 * 4096];          /* .bss */
static __thread uint64_t steps;

/* One op; what it does follows from its arguments and from the memory. */
void play_step(uint32_t op, uint32_t a, uint32_t b) {
  const uint32_t slot = a % kSlots;
  steps++;
  switch (op % 10) {
    case 0:
    case 1:
      free(slots[slot]);
      sizes[slot] = b % 16 == 0 ? b % 20000 : b % 200;
      slots[slot] = malloc(sizes[slot]);
      memset(slots[slot], (int)b, sizes[slot]);
      break;
    case 2:
      free(slots[slot]);
      slots[slot] = NULL;
      sizes[slot] = 0;
      break;
    case 3:
      if (sizes[slot] != 0) slots[slot][b % sizes[slot]] ^= (char)(1 + b % 7);
      break;
    case 4:
      table[a % kTable] += (int)b;
      break;
    case 5:
      zeros[a % sizeof zeros] = (char)b;
      break;
    case 6: {
      char text[40];
      snprintf(text, sizeof text, "%u-%u", a, b);
      free(slots[slot]);
      slots[slot] = strdup(text);
      sizes[slot] = strlen(text) + 1;
      break;
    }
    case 7:
      sizes[slot] = 1 + b % 3000;
      slots[slot] = realloc(slots[slot], sizes[slot]);
      slots[slot][sizes[slot] - 1] = (char)a;
      break;
    case 8: /* random's state lies in libc */
      table[a % kTable] = rand();
      break;
    default:
      free(slots[slot]);
      slots[slot] = NULL;
      sizes[slot] = posix_memalign((void**)&slots[slot], 64u << b % 6, b % 500) == 0 ? b % 500 : 0;
      break;
  }
}

uint64_t play_steps(void) { return steps; }
int play_random(void) { return rand(); }

/* --- a heap of so many pages, of which some are written: what the bench times */

static char* heap;
static size_t heap_pages;

int play_heap(size_t pages) {
  heap_pages = pages;
  heap = aligned_alloc(4096, pages * 4096);
  if (heap == NULL) return -ENOMEM;
  memset(heap, 1, pages * 4096);
  return 0;
}

/* Writes to `count` pages that lie apart, other ones for another seed. */
void play_dirty(size_t count, uint64_t seed) {
  size_t page = (size_t)(seed * 0x9e3779b97f4a7c15u >> 33);
  for (size_t i = 0; i < count; i++, page += 37) heap[page % heap_pages * 4096 + page % 4000]++;
}

/* --- one thing at a time */

void* play_malloc(size_t size) { return malloc(size); }
void* play_calloc(size_t count, size_t size) { return calloc(count, size); }
void* play_realloc(void* memory, size_t size) { return realloc(memory, size); }
void* play_aligned(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }
void play_free(void* memory) { free(memory); }
char* play_strdup(const char* text) { return strdup(text); }
int play_error(void) { return errno; }
int64_t play_time(void) { return time(NULL); }
int64_t play_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}
uint64_t play_getrandom(void) {
  uint64_t word = 0;
  return getrandom(&word, sizeof word, 0) == sizeof word ? word : 0;
}
int play_read(int file) { return (int)read(file, slots[0], 1); }

void play_abort(void) { abort(); }
void play_exit(int status) { exit(status); }
void play_assert_that(int truth) { assert(truth == 1 && "the truth"); }
/* What clang calls in code with -fsanitize-coverage=trace-pc-guard. Weak: only the arena has them. */
void __attribute__((weak)) __sanitizer_cov_trace_pc_guard_init(uint32_t* start, uint32_t* stop);
void __attribute__((weak)) __sanitizer_cov_trace_pc_guard(uint32_t* guard);
void play_guards(uint32_t* start, uint32_t* stop) { __sanitizer_cov_trace_pc_guard_init(start, stop); }
void play_edge(uint32_t* guard) { __sanitizer_cov_trace_pc_guard(guard); }
static volatile int* volatile nowhere; /* null */
void play_wild_write(void) { *nowhere = 1; }
void play_print(void) { printf(" "); }
