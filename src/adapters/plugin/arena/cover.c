/* Which edges of the code were reached, where that was compiled with -fsanitize-coverage.
 *
 * The compiler puts a call of ours into every edge: with trace-pc-guard (clang) it passes the number that we
 * gave the edge when the library was loaded, with trace-pc (gcc) it passes nothing, and the edge is known by
 * where the call returns to, counted from the start of the code that it is in. That number is the same in
 * every process.
 *
 * An edge that is known costs a look at one byte. The guards lie in memory that is saved, so they are not
 * written once they have their numbers.
 */
#define _GNU_SOURCE
#include <link.h>

#include "adapters/plugin/arena/heap.h"

enum { kMostCodes = 16, kShortestCall = 4 }; /* no two calls return to places that are nearer than this */

struct code {
  uintptr_t begin, size;
  uintptr_t first; /* bytes of the codes before it */
};

static struct code codes[kMostCodes];
static unsigned code_count;

static void reach(uintptr_t edge) {
  struct sisyfs_arena_control* control = heap_open();
  if (control == NULL) return;
  unsigned char* place = &control->edges[edge % SISYFS_ARENA_EDGES];
  if (*place != 0) return;
  *place = 1;
  control->edges_reached++;
  control->new_edges++;
}

SISYFS_EXPORT void __sanitizer_cov_trace_pc_guard_init(uint32_t* start, uint32_t* stop) {
  struct sisyfs_arena_control* control = heap_open();
  if (control == NULL || start == stop || *start != 0) return; /* a library may call it more than once */
  for (uint32_t* guard = start; guard != stop; guard++) *guard = (uint32_t)++control->edges_known;
}

SISYFS_EXPORT void __sanitizer_cov_trace_pc_guard(const uint32_t* guard) {
  if (*guard != 0) reach(*guard - 1);
}

static int take_if_inside(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size;
  struct code* code = data;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr)* h = &object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + h->p_vaddr;
    if (h->p_type != PT_LOAD || code->begin - begin >= h->p_memsz) continue;
    code->begin = begin;
    code->size = h->p_memsz;
    return 1;
  }
  return 0;
}

/* Codes are numbered in the order in which they run first. Null: there is no room for another one. */
static const struct code* find_code(uintptr_t place) {
  for (unsigned i = 0; i < code_count; i++)
    if (place - codes[i].begin < codes[i].size) return &codes[i];
  if (code_count == kMostCodes) return NULL;
  struct code* code = &codes[code_count];
  const struct code* before = code_count == 0 ? NULL : code - 1;
  code->begin = place;
  code->first = before == NULL ? 0 : before->first + before->size;
  if (sisyfs_arena_objects(take_if_inside, code) == 0) return NULL;
  code_count++;
  return code;
}

SISYFS_EXPORT void __sanitizer_cov_trace_pc(void) {
  const uintptr_t place = (uintptr_t)__builtin_return_address(0);
  const struct code* code = find_code(place);
  if (code != NULL) reach((code->first + (place - code->begin)) / kShortestCall);
}
