/* Format, mount and unmount. Mount reads every page once, finds the log and replays it. It writes nothing, so
 * a power cut during a mount changes nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pebble_log.h"

#define NO_PAGE UINT32_MAX

/* --- memory ---------------------------------------------------------------------------------------- */

void pebble_free(struct pebble *fs) {
  free(fs->nodes);
  free(fs->chunks);
  free(fs->units);
  free(fs->buffer);
  free(fs->page);
#ifndef PEBBLE_BUG_LEAK
  free(fs->content);
#endif
  free(fs);
}

static bool is_possible(const struct pebble_flash *flash) {
  const uint64_t bytes = (uint64_t)flash->page_size * flash->unit_pages * flash->units;
  return flash->page_size >= 64 && flash->page_size <= 32768 && flash->unit_pages >= 2 && flash->units >= 1 &&
         flash->units > pebble_spare_units(flash) && bytes <= IN_BUFFER;
}

static void measure(struct pebble *fs) {
  const struct pebble_flash *flash = &fs->flash;
  fs->chunk_size = flash->page_size / 4;
  fs->page_records = (flash->page_size - PAGE_HEADER) / (RECORD_HEADER + fs->chunk_size);
  const uint64_t records =
      (uint64_t)(flash->units - pebble_spare_units(flash)) * flash->unit_pages * fs->page_records;
  fs->capacity = records < 0xFFFE ? (uint32_t)records : 0xFFFE;
  fs->node_count = fs->capacity / 2 + 1;
}

int pebble_new(const struct pebble_flash *flash, struct pebble **out) {
  if (!is_possible(flash)) return -EINVAL;
  struct pebble *fs = calloc(1, sizeof *fs);
#ifndef PEBBLE_BUG_MALLOC
  if (fs == NULL) return -ENOMEM;
#endif
  fs->flash = *flash;
  measure(fs);
  fs->nodes = calloc(fs->node_count, sizeof *fs->nodes);
  fs->chunks = calloc(fs->capacity + 1, sizeof *fs->chunks);
  fs->units = calloc(flash->units, sizeof *fs->units);
  fs->buffer = calloc(1, flash->page_size);
  fs->page = calloc(1, flash->page_size);
  fs->content = calloc(1, fs->chunk_size);
#ifndef PEBBLE_BUG_MALLOC
  if (!fs->nodes || !fs->chunks || !fs->units || !fs->buffer || !fs->page || !fs->content) {
    pebble_free(fs);
    return -ENOMEM;
  }
#endif
  for (uint32_t c = fs->capacity; c != 0; c--) {
    fs->chunks[c].next = fs->free_chunks;
    fs->free_chunks = (uint16_t)c;
  }
  log_clear_buffer(fs);
  *out = fs;
  return 0;
}

/* --- format ---------------------------------------------------------------------------------------- */

int pebble_format(const struct pebble_flash *flash) {
  struct pebble *fs;
  int error = pebble_new(flash, &fs);
  if (error != 0) return error;
  for (uint32_t unit = 0; unit < flash->units && error == 0; unit++) error = unit_erase(flash, unit);
  fs->number = fs->tail = FIRST_NUMBER;
  const struct record root = {.kind = KIND_DIR, .flags = GROUP_WHOLE, .node = ROOT, .place = ROOT};
  if (error == 0) error = log_append(fs, &root);
  if (error == 0) error = log_flush(fs);
  if (error == 0) error = flash_sync(flash);
  pebble_free(fs);
  return error;
}

/* --- mount ----------------------------------------------------------------------------------------- */

/* What a first look at a page has shown. */
struct seen {
  bool whole, dirty; /* dirty: not erased */
  uint32_t number;
};

/* Looks at every page. The newest tells where the log begins. -EINVAL: there is none. */
static int look(struct pebble *fs, struct seen *seen, uint32_t *newest) {
  *newest = NO_PAGE;
  for (uint32_t unit = 0; unit < fs->flash.units; unit++) {
    for (uint32_t i = 0; i < fs->flash.unit_pages; i++) {
      const uint32_t page = unit * fs->flash.unit_pages + i;
      const int loaded = page_load(&fs->flash, page, fs->page);
      seen[page].dirty = loaded != 0;
#ifdef PEBBLE_BUG_BAD_PAGE
      if (loaded != 1) break;
#endif
      if (loaded != 1) continue;
      seen[page].whole = true;
      seen[page].number = page_number(fs->page);
      if (*newest != NO_PAGE && number_is_before(seen[page].number, seen[*newest].number)) continue;
      *newest = page;
      fs->tail = page_tail(fs->page);
    }
  }
  return *newest == NO_PAGE ? -EINVAL : 0;
}

/* Puts the pages of the log in order, and sets the units. -EIO: one is missing. */
static int put_in_order(struct pebble *fs, const struct seen *seen, uint32_t newest, uint32_t *order) {
  const uint32_t pages = fs->flash.units * fs->flash.unit_pages;
  const uint32_t length = seen[newest].number - fs->tail + 1;
  if (length == 0 || length > pages) return -EIO;
  for (uint32_t i = 0; i < length; i++) order[i] = NO_PAGE;
  for (uint32_t page = 0; page < pages; page++) {
    if (!seen[page].whole || seen[page].number - fs->tail >= length) continue;
    order[seen[page].number - fs->tail] = page;
    struct unit *unit = &fs->units[page / fs->flash.unit_pages];
    if (unit->used && !number_is_before(seen[page].number, unit->number)) continue;
    *unit = (struct unit){.used = true, .number = seen[page].number};
  }
  for (uint32_t i = 0; i < length; i++)
    if (order[i] == NO_PAGE) return -EIO;
  return 0;
}

/* The head is behind the last page of its unit that is not erased: what follows the newest page was cut off
 * by a power cut and cannot be programmed again. */
static void find_head(struct pebble *fs, const struct seen *seen, uint32_t newest) {
  fs->head = newest / fs->flash.unit_pages;
  fs->head_pages = newest % fs->flash.unit_pages + 1;
  fs->number = seen[newest].number + 1;
  fs->durable_tail = fs->tail;
#ifndef PEBBLE_BUG_TAIL_PAGE
  for (uint32_t i = fs->head_pages; i < fs->flash.unit_pages; i++)
    if (seen[fs->head * fs->flash.unit_pages + i].dirty) fs->head_pages = i + 1;
#endif
}

/* A place in the log: a page by its order, and a byte in it. */
struct cursor {
  uint32_t page, offset;
};

/* Does what a group says. Its last page, and it alone, has been loaded. */
static int apply_group(struct pebble *fs, const uint32_t *order, struct cursor from, struct cursor to) {
  for (; from.page <= to.page; from.page++, from.offset = PAGE_HEADER) {
    const uint8_t *bytes = fs->page;
    if (from.page != to.page) {
      bytes = fs->buffer;
      if (page_load(&fs->flash, order[from.page], fs->buffer) != 1) return -EIO;
    }
    const uint32_t end = from.page == to.page ? to.offset : page_used(bytes);
    struct record record;
    while (from.offset < end) {
      const address at = order[from.page] * fs->flash.page_size + from.offset;
      if (!record_next(bytes, end, &from.offset, &record)) return -EIO;
      const int error = state_apply(fs, &record, at);
      if (error != 0) return error;
    }
  }
  return 0;
}

/* A log may begin in the middle of a group: its first page is then the first that was not cleaned. */
static int replay(struct pebble *fs, const uint32_t *order, uint32_t length) {
  struct cursor group = {0, PAGE_HEADER}, here = {0, PAGE_HEADER};
  for (; here.page < length; here.page++, here.offset = PAGE_HEADER) {
    if (page_load(&fs->flash, order[here.page], fs->page) != 1) return -EIO;
    while (here.offset < page_used(fs->page)) {
      const struct cursor begin = here;
      struct record record;
      if (!record_next(fs->page, page_used(fs->page), &here.offset, &record)) return -EIO;
      if (record.flags & GROUP_FIRST) group = begin;
#ifdef PEBBLE_BUG_GROUP
      record.flags |= GROUP_LAST;
#endif
      if (!(record.flags & GROUP_LAST)) continue;
      const int error = apply_group(fs, order, group, here);
      if (error != 0) return error;
      group = here;
    }
  }
  log_clear_buffer(fs);
  log_wipe(fs);
  return 0;
}

static int load_log(struct pebble *fs, struct seen *seen, uint32_t *order) {
  uint32_t newest;
  int error = look(fs, seen, &newest);
  if (error == 0) error = put_in_order(fs, seen, newest, order);
  if (error == 0) find_head(fs, seen, newest);
  if (error == 0) error = replay(fs, order, fs->number - fs->tail);
  return error != 0 || fs->nodes[ROOT].kind == KIND_DIR ? error : -EIO;
}

int pebble_mount(const struct pebble_flash *flash, struct pebble **out) {
  struct pebble *fs;
  int error = pebble_new(flash, &fs);
  if (error != 0) return error;
  const size_t pages = (size_t)flash->units * flash->unit_pages;
  struct seen *seen = calloc(pages, sizeof *seen);
  uint32_t *order = calloc(pages, sizeof *order);
  error = seen != NULL && order != NULL ? load_log(fs, seen, order) : -ENOMEM;
  free(order);
  free(seen);
  if (error == 0)
    *out = fs;
  else
    pebble_free(fs);
  return error;
}

int pebble_unmount(struct pebble *fs) {
  const int error = pebble_sync(fs);
  pebble_free(fs);
  return error;
}
