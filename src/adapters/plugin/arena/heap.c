/* The arena is a row of blocks and holes in units of 16 bytes, from behind its state up to `used`.
 *
 *     state | block | block | hole | block | hole | block |<- used          zero from here on
 *
 * A block is a header, what the caller asked for, and at least 8 bytes of canary that fill its last unit. A
 * hole is a header of one unit and zeros; holes are linked in the order of addresses, and no two of them
 * touch. A hole at the end is given back to the rest. Nothing else is remembered, so the bytes of the arena
 * follow from the blocks alone.
 *
 * The search for a hole starts at the lowest one each time. Heaps of file systems have few holes, and memory
 * that is packed at low addresses has few pages, which is what a snapshot pays for.
 */
#include "adapters/plugin/arena/heap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef SISYFS_ARENA_BASE
#define SISYFS_ARENA_BASE 0x500000000000u
#endif

enum { kUnit = 16, kCanarySize = 8, kCanaryByte = 0xFD };
static const uint64_t kReserve = 64u << 20;
static const uint64_t kStep = 1ull << 40; /* between the places of further arenas of one process */
static const uint64_t kBlockMark = 0xB10C5AFEB10C5AFE, kHoleMark = 0x401E0F5A401E0F5A;

struct header {
  uint32_t units; /* with the header */
  uint32_t more;  /* block: bytes asked for; hole: the next hole, in units from the start of the arena */
  uint64_t mark;
};

static struct sisyfs_arena_control control;

/* Who took which block, as far as there is room. Not in the arena: that the same block was taken by this or
 * that line makes no other heap. So after a load it may tell of a block that was there before; reports are
 * written in a run from the start, which loads nothing. */
enum { kCallers = 1 << 14 };
static struct {
  uint32_t offset;
  const void* caller;
} callers[kCallers];

static const uint32_t kFirst = sizeof(struct sisyfs_arena_state) / kUnit;

static struct header* at(uint32_t offset) { return (struct header*)(control.base + (size_t)offset * kUnit); }
static uint32_t offset_of(const void* place) {
  return (uint32_t)(((const char*)place - control.base) / kUnit);
}
static uint32_t end_of_heap(void) { return (uint32_t)(control.state->used / kUnit); }
static int is_block(const struct header* h) { return h->mark == kBlockMark; }
static const void* caller_of(const struct header* h) {
  const uint32_t offset = offset_of(h);
  return callers[offset % kCallers].offset == offset ? callers[offset % kCallers].caller : NULL;
}
static uint32_t units_for(size_t size) { return (uint32_t)(1 + (size + kCanarySize + kUnit - 1) / kUnit); }

struct sisyfs_arena_control* heap_open(void) {
  if (control.base != NULL) return &control;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = MAP_FAILED;
  for (uint64_t i = 0; SISYFS_ARENA_BASE != 0 && memory == MAP_FAILED && i < 16; i++) {
    void* wanted = (void*)(uintptr_t)(SISYFS_ARENA_BASE + i * kStep);
    memory = mmap(wanted, kReserve, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != MAP_FAILED && memory != wanted) { /* a kernel that does not know the flag */
      munmap(memory, kReserve);
      memory = MAP_FAILED;
    }
  }
  if (memory == MAP_FAILED) memory = mmap(NULL, kReserve, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  madvise(memory, kReserve, MADV_NOHUGEPAGE); /* a snapshot counts in small pages */
  control.base = memory;
  control.reserved_bytes = kReserve;
  control.state = memory;
  control.limit = kReserve;
  control.clock_seconds = 1000000000;
  control.state->used = sizeof(struct sisyfs_arena_state);
  return &control;
}

SISYFS_EXPORT struct sisyfs_arena_control* sisyfs_arena_open(void) { return heap_open(); }

static enum sisyfs_arena_fault note(enum sisyfs_arena_fault fault, const void* address, uint64_t size,
                                    const void* caller) {
  if (control.fault != SISYFS_FAULT_NONE) return fault;
  control.fault = fault;
  control.fault_address = address;
  control.fault_size = size;
  control.fault_caller = caller;
  return fault;
}

static void tell(enum sisyfs_arena_fault fault, const void* address, uint64_t size, const void* caller) {
  note(fault, address, size, caller);
  if (control.on_fault != NULL) control.on_fault(&control);
}

/* The first byte that is not zero, or null. */
static const char* not_zero(const void* from, size_t units) {
  const uint64_t *word = from, *end = word + units * (kUnit / sizeof(uint64_t));
  for (; word != end; word += 2)
    if ((word[0] | word[1]) != 0) break;
  if (word == end) return NULL;
  const char* byte = (const char*)word;
  while (*byte == 0) byte++;
  return byte;
}

static void set_canary(struct header* h) {
  char* end = (char*)(h + 1) + h->more;
  memset(end, kCanaryByte, (size_t)((char*)(h + h->units) - end));
}

static int canary_holds(const struct header* h) {
  const unsigned char* end = (const unsigned char*)(h + h->units);
  for (const unsigned char* byte = (const unsigned char*)(h + 1) + h->more; byte != end; byte++)
    if (*byte != kCanaryByte) return 0;
  return 1;
}

/* Whether this can be a hole of the list that is reached from `before`: what was overwritten leads nowhere.
 */
static int hole_is_sound(uint32_t before, uint32_t offset) {
  if (offset <= before || offset < kFirst || offset >= end_of_heap()) return 0;
  const struct header* h = at(offset);
  return h->mark == kHoleMark && h->units != 0 && h->units < end_of_heap() - offset;
}

static void link_hole(uint32_t before, uint32_t offset) {
  if (before == 0)
    control.state->first_hole = offset;
  else
    at(before)->more = offset;
}

static void make_hole(uint32_t offset, uint32_t units, uint32_t next) {
  *at(offset) = (struct header){.units = units, .more = next, .mark = kHoleMark};
}

/* Where a block of this many units may start at or behind `offset`, for its payload to be aligned. */
static uint32_t aligned_from(uint32_t offset, size_t alignment) {
  const uintptr_t payload = ((uintptr_t)(at(offset) + 1) + alignment - 1) & ~(uintptr_t)(alignment - 1);
  return offset_of((const void*)payload) - 1;
}

/* Cuts a block out of a hole; what is left on either side stays a hole. */
static void cut_hole(uint32_t before, uint32_t offset, uint32_t start, uint32_t units) {
  const struct header hole = *at(offset);
  const uint32_t end = offset + hole.units;
  memset(at(offset), 0, sizeof hole);
  uint32_t next = hole.more;
  if (start + units < end) {
    next = start + units;
    make_hole(next, end - next, hole.more);
  }
  if (start > offset) {
    make_hole(offset, start - offset, next);
    next = offset;
  }
  link_hole(before, next);
}

/* Room for so many units, unlinked and with all holes in order; 0: there is none. */
static uint32_t find_room(size_t alignment, uint32_t units, const void* caller) {
  uint32_t before = 0;
  for (uint32_t hole = control.state->first_hole; hole != 0; before = hole, hole = at(hole)->more) {
    if (!hole_is_sound(before, hole)) {
      tell(SISYFS_FAULT_DAMAGED, at(hole), 0, caller);
      return 0;
    }
    const uint32_t start = aligned_from(hole, alignment);
    if (start + units > hole + at(hole)->units) continue;
    cut_hole(before, hole, start, units);
    return start;
  }
  const uint32_t end = end_of_heap(), start = aligned_from(end, alignment);
  const uint64_t limit = control.limit < control.reserved_bytes ? control.limit : control.reserved_bytes;
  if (((uint64_t)start + units) * kUnit > limit) {
    control.over_limit++;
    return 0;
  }
  if (start > end) {
    make_hole(end, start - end, 0);
    link_hole(before, end);
  }
  control.state->used = ((uint64_t)start + units) * kUnit;
  return start;
}

void* heap_take(size_t alignment, size_t size, int zero, const void* caller) {
  if (heap_open() == NULL) {
    errno = ENOMEM;
    return NULL;
  }
  control.calls++;
  const int fails = control.fail_in != 0 && --control.fail_in == 0;
  control.failed += (uint64_t)fails;
  const int too_much = size >= control.reserved_bytes || alignment >= control.reserved_bytes;
  control.over_limit += (uint64_t)(too_much && !fails);
  const uint32_t units = too_much ? 0 : units_for(size);
  const uint32_t start =
      fails || too_much ? 0 : find_room(alignment < kUnit ? (size_t)kUnit : alignment, units, caller);
  if (start == 0) {
    errno = ENOMEM;
    return NULL;
  }
  struct header* h = at(start);
  const char* changed = not_zero(h, units);
  if (changed != NULL) {
    memset(h, 0, (size_t)units * kUnit);
    tell(SISYFS_FAULT_WRITE_AFTER_FREE, changed, 0, caller);
  }
  *h = (struct header){units, (uint32_t)size, kBlockMark};
  callers[start % kCallers].offset = start;
  callers[start % kCallers].caller = caller;
  set_canary(h);
  if (!zero && control.fresh_byte != 0) memset(h + 1, (int)control.fresh_byte, size);
  control.state->live_blocks++;
  control.state->live_bytes += size;
  if (control.state->live_bytes > control.peak_bytes) control.peak_bytes = control.state->live_bytes;
  return h + 1;
}

/* The header of a live block, or null after a fault. */
static struct header* live(const void* memory, const void* caller) {
  const char* place = memory;
  if (heap_open() == NULL || place < control.base || place >= control.base + control.reserved_bytes) {
    tell(SISYFS_FAULT_FOREIGN, memory, 0, caller);
    return NULL;
  }
  struct header* h = (struct header*)memory - 1;
  const uint32_t offset = offset_of(h), end = end_of_heap();
  if ((uintptr_t)memory % kUnit != 0 || offset < kFirst || offset >= end || !is_block(h)) {
    tell(SISYFS_FAULT_NOT_LIVE, memory, 0, caller);
    return NULL;
  }
  if (h->units > end - offset || h->units != units_for(h->more)) {
    tell(SISYFS_FAULT_DAMAGED, memory, 0, caller);
    return NULL;
  }
  return h;
}

static void make_free(uint32_t offset, uint32_t units, const void* caller) {
  uint32_t before_last = 0, before = 0, next = control.state->first_hole;
  while (next != 0 && next < offset) {
    if (!hole_is_sound(before, next)) return tell(SISYFS_FAULT_DAMAGED, at(next), 0, caller);
    before_last = before;
    before = next;
    next = at(next)->more;
  }
  if (next != 0 && !hole_is_sound(before, next)) return tell(SISYFS_FAULT_DAMAGED, at(next), 0, caller);
  if (next == offset + units) { /* joins the hole behind it */
    const struct header behind = *at(next);
    memset(at(next), 0, sizeof behind);
    units += behind.units;
    next = behind.more;
  }
  if (before != 0 && before + at(before)->units == offset) { /* and the one before it */
    units += at(before)->units;
    offset = before;
    before = before_last;
  }
  if (offset + units == end_of_heap()) {
    memset(at(offset), 0, sizeof(struct header));
    control.state->used = (uint64_t)offset * kUnit;
    link_hole(before, 0);
    return;
  }
  make_hole(offset, units, next);
  link_hole(before, offset);
}

void heap_give(void* memory, const void* caller) {
  struct header* h = live(memory, caller);
  if (h == NULL) return;
  if (!canary_holds(h)) tell(SISYFS_FAULT_OVERRUN, memory, h->more, caller);
  const uint32_t units = h->units;
  control.state->live_blocks--;
  control.state->live_bytes -= h->more;
  memset(h, 0, (size_t)units * kUnit);
  make_free(offset_of(h), units, caller);
}

void* heap_resize(void* memory, size_t size, const void* caller) {
  struct header* h = live(memory, caller);
  if (h == NULL) {
    errno = ENOMEM;
    return NULL;
  }
  void* fresh = heap_take(kUnit, size, 0, caller);
  if (fresh == NULL) return NULL;
  memcpy(fresh, memory, size < h->more ? size : h->more);
  heap_give(memory, caller);
  return fresh;
}

size_t heap_size(const void* memory) {
  const struct header* h = live(memory, __builtin_return_address(0));
  return h == NULL ? 0 : h->more;
}

SISYFS_EXPORT enum sisyfs_arena_fault sisyfs_arena_check(void) {
  if (heap_open() == NULL) return SISYFS_FAULT_NONE;
  const uint32_t end = end_of_heap();
  uint32_t next_hole = control.state->first_hole;
  for (uint32_t offset = kFirst; offset < end; offset += at(offset)->units) {
    const struct header* h = at(offset);
    if (h->units == 0 || h->units > end - offset) return note(SISYFS_FAULT_DAMAGED, h + 1, 0, NULL);
    if (is_block(h)) {
      if (h->units != units_for(h->more)) return note(SISYFS_FAULT_DAMAGED, h + 1, 0, NULL);
      if (!canary_holds(h)) return note(SISYFS_FAULT_OVERRUN, h + 1, h->more, caller_of(h));
      continue;
    }
    if (offset != next_hole || !hole_is_sound(0, offset)) return note(SISYFS_FAULT_DAMAGED, h + 1, 0, NULL);
    const char* changed = not_zero(h + 1, h->units - 1);
    if (changed != NULL) return note(SISYFS_FAULT_WRITE_AFTER_FREE, changed, 0, NULL);
    next_hole = h->more;
  }
  return next_hole == 0 ? SISYFS_FAULT_NONE : note(SISYFS_FAULT_DAMAGED, at(next_hole), 0, NULL);
}

SISYFS_EXPORT int sisyfs_arena_next(const void* after, struct sisyfs_arena_block* out) {
  if (heap_open() == NULL) return 0;
  uint32_t offset = kFirst;
  if (after != NULL) {
    const struct header* h = (const struct header*)after - 1;
    offset = offset_of(h) + h->units;
  }
  for (const uint32_t end = end_of_heap(); offset < end && at(offset)->units != 0;
       offset += at(offset)->units) {
    const struct header* h = at(offset);
    if (!is_block(h)) continue;
    *out = (struct sisyfs_arena_block){h + 1, h->more, caller_of(h)};
    return 1;
  }
  return 0;
}
