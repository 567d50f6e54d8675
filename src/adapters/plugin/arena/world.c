/* What the private namespace learns of the world: a clock that stands still, random numbers from a seed,
 * sleep that takes no time; and how it ends: abort, assert and exit tell the engine, which goes on with
 * something else. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "adapters/plugin/arena/heap.h"

#define CALLER __builtin_return_address(0)

/* --- the clock */

static struct timespec now(void) {
  struct sisyfs_arena_control* control = heap_open();
  if (control == NULL) return (struct timespec){0};
  control->clock_asked++;
  return (struct timespec){control->clock_seconds, control->clock_nanoseconds};
}

SISYFS_EXPORT int clock_gettime(clockid_t clock_id, struct timespec* out) {
  (void)clock_id;
  *out = now();
  return 0;
}
SISYFS_EXPORT int timespec_get(struct timespec* out, int base) {
  *out = now();
  return base;
}
SISYFS_EXPORT time_t time(time_t* out) {
  const time_t seconds = now().tv_sec;
  if (out != NULL) *out = seconds;
  return seconds;
}
SISYFS_EXPORT int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  const struct timespec t = now();
  *out = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
  return 0;
}
SISYFS_EXPORT clock_t clock(void) {
  const struct timespec t = now();
  return t.tv_sec * CLOCKS_PER_SEC + t.tv_nsec / 1000;
}

SISYFS_EXPORT unsigned sleep(unsigned seconds) {
  (void)seconds;
  return 0;
}
SISYFS_EXPORT int usleep(useconds_t microseconds) {
  (void)microseconds;
  return 0;
}
SISYFS_EXPORT int nanosleep(const struct timespec* wanted, struct timespec* left) {
  (void)wanted;
  if (left != NULL) *left = (struct timespec){0};
  return 0;
}
SISYFS_EXPORT int clock_nanosleep(clockid_t clock_id, int flags, const struct timespec* wanted,
                                  struct timespec* left) {
  (void)clock_id;
  (void)flags;
  return nanosleep(wanted, left);
}

/* --- random numbers */

static uint64_t random_word(void) {
  struct sisyfs_arena_control* control = heap_open();
  if (control == NULL) return 0;
  control->random_asked++;
  uint64_t z = control->seed + 0x9e3779b97f4a7c15u * ++control->state->random_count; /* splitmix64 */
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void fill(void* out, size_t length) {
  unsigned char* byte = out;
  uint64_t word = 0;
  for (size_t i = 0; i < length; i++, word >>= 8) {
    if (i % 8 == 0) word = random_word();
    byte[i] = (unsigned char)word;
  }
}

SISYFS_EXPORT ssize_t getrandom(void* out, size_t length, unsigned flags) {
  (void)flags;
  fill(out, length);
  return (ssize_t)length;
}
SISYFS_EXPORT int getentropy(void* out, size_t length) {
  fill(out, length);
  return 0;
}
SISYFS_EXPORT uint32_t arc4random(void) { return (uint32_t)random_word(); }
SISYFS_EXPORT void arc4random_buf(void* out, size_t length) { fill(out, length); }
SISYFS_EXPORT uint32_t arc4random_uniform(uint32_t bound) {
  return bound == 0 ? 0 : (uint32_t)(random_word() % bound);
}

/* --- the end */

void end_with(const struct sisyfs_arena_end* end) {
  struct sisyfs_arena_control* control = heap_open();
  if (control != NULL && control->on_end != NULL) control->on_end(control, end);
  if (end->kind != SISYFS_END_EXIT) raise(SIGABRT);
  end_process(end->kind == SISYFS_END_EXIT ? end->status : 134);
}

static void __attribute__((noreturn)) leave(int status, const void* caller) {
  const struct sisyfs_arena_end end = {.kind = SISYFS_END_EXIT, .status = status, .caller = caller};
  end_with(&end);
}

SISYFS_EXPORT void abort(void) {
  const struct sisyfs_arena_end end = {.kind = SISYFS_END_ABORT, .caller = CALLER};
  end_with(&end);
}
SISYFS_EXPORT void __assert_fail(const char* text, const char* file, unsigned line, const char* function) {
  const struct sisyfs_arena_end end = {.kind = SISYFS_END_ASSERT,
                                       .text = text,
                                       .file = file,
                                       .function = function,
                                       .line = line,
                                       .caller = CALLER};
  end_with(&end);
}
void __stack_chk_fail(void);
SISYFS_EXPORT void __attribute__((noreturn)) __stack_chk_fail(void) {
  const struct sisyfs_arena_end end = {.kind = SISYFS_END_STACK_SMASHED, .caller = CALLER};
  end_with(&end);
}
SISYFS_EXPORT void exit(int status) { leave(status, CALLER); }
SISYFS_EXPORT void _exit(int status) { leave(status, CALLER); }
SISYFS_EXPORT void _Exit(int status) { leave(status, CALLER); }
SISYFS_EXPORT void quick_exit(int status) { leave(status, CALLER); }

/* --- the namespace */

SISYFS_EXPORT int sisyfs_arena_objects(sisyfs_arena_visit_fn visit, void* data) {
  /* libc takes the namespace from its return address, so that this must not become a jump. */
  volatile int result = dl_iterate_phdr(visit, data);
  return result;
}

/* Text in a buffer would be part of the memory that is saved: each line printed would make another state. */
static void __attribute__((constructor)) print_at_once(void) {
  heap_open();
  setvbuf(stdout, NULL, _IONBF, 0);
}
