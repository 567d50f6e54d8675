/* The malloc family of the private namespace. Compiled with -fno-builtin, or else the body of calloc would
 * become a call of calloc. Who asked is kept for reports of leaks. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "adapters/plugin/arena/heap.h"

enum { kPage = 4096 };

#define CALLER __builtin_return_address(0)

static int is_power_of_two(size_t n) { return n != 0 && (n & (n - 1)) == 0; }

SISYFS_EXPORT void* malloc(size_t size) { return heap_take(0, size, 0, CALLER); }

SISYFS_EXPORT void free(void* memory) {
  if (memory != NULL) heap_give(memory, CALLER);
}

SISYFS_EXPORT void* calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  return heap_take(0, bytes, 1, CALLER);
}

static void* resize(void* memory, size_t size, const void* caller) {
  if (memory == NULL) return heap_take(0, size, 0, caller);
  if (size != 0) return heap_resize(memory, size, caller);
  heap_give(memory, caller); /* as glibc does */
  return NULL;
}

SISYFS_EXPORT void* realloc(void* memory, size_t size) { return resize(memory, size, CALLER); }

SISYFS_EXPORT void* reallocarray(void* memory, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
  return resize(memory, bytes, CALLER);
}

SISYFS_EXPORT int posix_memalign(void** out, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int before = errno;
  void* memory = heap_take(alignment, size, 0, CALLER);
  errno = before;
  if (memory == NULL) return ENOMEM;
  *out = memory;
  return 0;
}

static void* aligned(size_t alignment, size_t size, const void* caller) {
  if (is_power_of_two(alignment)) return heap_take(alignment, size, 0, caller);
  errno = EINVAL;
  return NULL;
}

SISYFS_EXPORT void* aligned_alloc(size_t alignment, size_t size) { return aligned(alignment, size, CALLER); }
SISYFS_EXPORT void* memalign(size_t alignment, size_t size) { return aligned(alignment, size, CALLER); }
SISYFS_EXPORT void* valloc(size_t size) { return heap_take(kPage, size, 0, CALLER); }
SISYFS_EXPORT void* pvalloc(size_t size) {
  return heap_take(kPage, (size + kPage - 1) / kPage * kPage, 0, CALLER);
}

SISYFS_EXPORT size_t malloc_usable_size(void* memory) { return memory == NULL ? 0 : heap_size(memory); }
SISYFS_EXPORT void cfree(void* memory) {
  if (memory != NULL) heap_give(memory, CALLER);
}
