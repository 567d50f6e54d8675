/* The log: pages and records, appending, and cleaning.
 *
 * What makes it safe to cut the power anywhere:
 * - A page is valid only if its checksum is right. The next page to be programmed comes after the last page
 *   that is not erased, so a page whose program was interrupted is skipped.
 * - The tail is written in every page. A unit is erased only when a page is on the flash that names a tail
 *   after it, so what an interrupted erase leaves is not part of the log.
 * - A unit is erased when it is about to be filled, not when it was cleaned. An interrupted erase may look
 *   complete; it is always done again.
 *
 * The units are filled in turn and the oldest is cleaned first. So all are erased equally often, and a record
 * that something is gone need not be kept: what it takes back left the log before it.
 */
#include "pebble_log.h"

#include <errno.h>
#include <string.h>

enum { PROGRAM_TRIES = 3 };

uint32_t pebble_spare_units(const struct pebble_flash *flash) {
  return 2 + (8 + flash->unit_pages - 1) / flash->unit_pages;
}

/* --- bytes ----------------------------------------------------------------------------------------- */

static uint16_t get16(const uint8_t *from) { return (uint16_t)(from[0] | from[1] << 8); }

static uint32_t get32(const uint8_t *from) { return get16(from) | (uint32_t)get16(from + 2) << 16; }

static void put16(uint8_t *to, uint32_t value) {
  to[0] = (uint8_t)value;
  to[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *to, uint32_t value) {
  put16(to, value);
  put16(to + 2, value >> 16);
}

/* CRC-32 by half bytes: the table is small enough for any controller. */
static uint32_t checksum(const uint8_t *bytes, uint32_t length) {
  static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                     0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                     0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  uint32_t crc = 0xFFFFFFFF;
  for (uint32_t i = 0; i < length; i++) {
    crc = crc >> 4 ^ table[(crc ^ bytes[i]) & 15];
    crc = crc >> 4 ^ table[(crc ^ bytes[i] >> 4) & 15];
  }
  return ~crc;
}

/* Page numbers wrap; of two the one is older from which the other is reached by less than half of them. */
bool number_is_before(uint32_t a, uint32_t b) {
#ifdef PEBBLE_BUG_WRAP
  return a < b;
#else
  return (int32_t)(a - b) < 0;
#endif
}

/* --- pages and records ----------------------------------------------------------------------------- */

static bool is_erased(const uint8_t *bytes, uint32_t length) {
  for (uint32_t i = 0; i < length; i++)
    if (bytes[i] != 0xFF) return false;
  return true;
}

int page_load(const struct pebble_flash *flash, uint32_t page, uint8_t *bytes) {
  int error = flash->read(flash, page, bytes);
  if (error != 0) error = flash->read(flash, page, bytes);
  if (error != 0) return error;
  if (is_erased(bytes, flash->page_size)) return 0;
  const uint32_t used = page_used(bytes);
  if (get16(bytes + 4) != MAGIC || used < PAGE_HEADER || used > flash->page_size) return -EIO;
#ifndef PEBBLE_BUG_CHECKSUM
  if (get32(bytes) != checksum(bytes + 4, used - 4)) return -EIO;
#endif
  return 1;
}

uint32_t page_used(const uint8_t *page) { return get16(page + 6); }
uint32_t page_number(const uint8_t *page) { return get32(page + 8); }
uint32_t page_tail(const uint8_t *page) { return get32(page + 12); }

bool record_next(const uint8_t *page, uint32_t end, uint32_t *offset, struct record *out) {
  const uint8_t *from = page + *offset;
  if (end - *offset < RECORD_HEADER) return false;
  *out = (struct record){.kind = from[0],
                         .flags = from[1],
                         .node = get16(from + 2),
                         .place = get16(from + 4),
                         .length = get16(from + 6),
                         .size = get32(from + 8),
                         .bytes = from + RECORD_HEADER};
  if (end - *offset - RECORD_HEADER < out->length) return false;
  *offset += RECORD_HEADER + out->length;
  return true;
}

static uint32_t record_put(uint8_t *to, const struct record *record) {
  to[0] = record->kind;
  to[1] = record->flags;
  put16(to + 2, record->node);
  put16(to + 4, record->place);
  put16(to + 6, record->length);
  put32(to + 8, record->size);
  if (record->length != 0) memcpy(to + RECORD_HEADER, record->bytes, record->length);
  return RECORD_HEADER + record->length;
}

int log_read(struct pebble *fs, address at, struct record *out) {
  uint32_t offset = at & ~IN_BUFFER;
  if (at & IN_BUFFER) return record_next(fs->buffer, fs->used, &offset, out) ? 0 : -EIO;
  const int loaded = page_load(&fs->flash, at / fs->flash.page_size, fs->page);
  if (loaded < 0) return loaded;
  offset = at % fs->flash.page_size;
  return loaded == 1 && record_next(fs->page, page_used(fs->page), &offset, out) ? 0 : -EIO;
}

void log_wipe(struct pebble *fs) {
  memset(fs->page, 0, fs->flash.page_size);
  memset(fs->content, 0, fs->chunk_size);
}

/* --- appending ------------------------------------------------------------------------------------- */

/* Whether nothing of this unit belongs to a log with this tail. */
static bool is_free(const struct pebble *fs, uint32_t unit, uint32_t tail) {
  if (unit == fs->head) return false;
  return !fs->units[unit].used || number_is_before(fs->units[unit].number, tail);
}

/* The pages that can be programmed before anything has to be cleaned, if the log begins at this tail. */
static uint32_t free_pages(const struct pebble *fs, uint32_t tail) {
  uint32_t pages = fs->flash.unit_pages - fs->head_pages;
  for (uint32_t unit = 0; unit < fs->flash.units; unit++)
    if (is_free(fs, unit, tail)) pages += fs->flash.unit_pages;
  return pages;
}

int flash_sync(const struct pebble_flash *flash) {
  if (flash->sync == NULL || flash->sync(flash) == 0) return 0;
  return flash->sync(flash);
}

int unit_erase(const struct pebble_flash *flash, uint32_t unit) {
  const int error = flash->erase(flash, unit);
  return error == 0 ? 0 : flash->erase(flash, unit);
}

/* Goes on with the next unit that is free. One that cannot be erased is left alone. */
static int open_unit(struct pebble *fs) {
  if (flash_sync(&fs->flash) != 0) return -EIO;
  for (uint32_t step = 1; step < fs->flash.units; step++) {
    const uint32_t unit = (fs->head + step) % fs->flash.units;
    if (!is_free(fs, unit, fs->durable_tail) || unit_erase(&fs->flash, unit) != 0) continue;
    fs->units[unit].used = false;
    fs->head = unit;
    fs->head_pages = 0;
    return 0;
  }
  return -EIO;
}

/* Programs the buffer into the next page that takes it. */
static int program(struct pebble *fs, uint32_t *page) {
  for (int tries = 0; tries < PROGRAM_TRIES; tries++) {
    if (fs->head_pages == fs->flash.unit_pages && open_unit(fs) != 0) return -EIO;
    *page = fs->head * fs->flash.unit_pages + fs->head_pages++;
    if (fs->flash.program(&fs->flash, *page, fs->buffer) == 0) return 0;
  }
  return -EIO;
}

int log_flush(struct pebble *fs) {
  put16(fs->buffer + 4, MAGIC);
  put16(fs->buffer + 6, fs->used);
  put32(fs->buffer + 8, fs->number);
  put32(fs->buffer + 12, fs->tail);
  put32(fs->buffer, checksum(fs->buffer + 4, fs->used - 4));
  uint32_t page;
  if (program(fs, &page) != 0) {
    fs->failed = true;
    return -EIO;
  }
  if (!fs->units[fs->head].used) fs->units[fs->head] = (struct unit){.used = true, .number = fs->number};
  fs->durable_tail = fs->tail;
  fs->number++;
  struct record record;
  for (uint32_t next = PAGE_HEADER, at = next; record_next(fs->buffer, fs->used, &next, &record); at = next) {
    address *place = state_place(fs, &record);
    if (place != NULL && *place == (IN_BUFFER | at)) *place = page * fs->flash.page_size + at;
  }
  log_clear_buffer(fs);
  return 0;
}

void log_clear_buffer(struct pebble *fs) {
  memset(fs->buffer, 0xFF, fs->flash.page_size);
  fs->used = PAGE_HEADER;
}

int log_append(struct pebble *fs, const struct record *record) {
  if (fs->used + RECORD_HEADER + record->length > fs->flash.page_size) {
    const int error = log_flush(fs);
    if (error != 0) return error;
  }
  uint32_t offset = fs->used;
  const address at = IN_BUFFER | offset;
  fs->used += record_put(fs->buffer + offset, record);
  struct record in_log; /* the one given may point into the memory that it changes */
  return record_next(fs->buffer, fs->used, &offset, &in_log) ? state_apply(fs, &in_log, at) : -EIO;
}

/* --- cleaning -------------------------------------------------------------------------------------- */

static int copy_node(struct pebble *fs, uint16_t node, address from, address to) {
  struct node *n = &fs->nodes[node];
  if (n->kind != KIND_NONE && n->at >= from && n->at < to) {
    const struct record record = state_node_record(fs, node, GROUP_WHOLE);
    const int error = log_append(fs, &record);
    if (error != 0) return error;
  }
  for (uint16_t c = n->chunks; c != 0; c = fs->chunks[c].next) {
    if (fs->chunks[c].at < from || fs->chunks[c].at >= to) continue;
    struct record record;
    int error = log_read(fs, fs->chunks[c].at, &record);
    if (error != 0) return error;
    record.flags = GROUP_WHOLE;
    record.size = n->size;
    if ((error = log_append(fs, &record)) != 0) return error;
  }
  return 0;
}

/* Says again at the head what the oldest unit says and still holds, and moves the tail behind it. */
static int clean_oldest(struct pebble *fs) {
  uint32_t oldest = fs->flash.units, next_tail = fs->number;
  for (uint32_t unit = 0; unit < fs->flash.units; unit++) {
    if (!fs->units[unit].used || number_is_before(fs->units[unit].number, fs->tail)) continue;
    if (fs->units[unit].number == fs->tail)
      oldest = unit;
    else if (number_is_before(fs->units[unit].number, next_tail))
      next_tail = fs->units[unit].number;
  }
  if (oldest == fs->flash.units || oldest == fs->head) return -ENOSPC;
  const address from = oldest * fs->flash.unit_pages * fs->flash.page_size;
  const address to = from + fs->flash.unit_pages * fs->flash.page_size;
  for (uint32_t node = 0; node < fs->node_count; node++) {
    const int error = copy_node(fs, (uint16_t)node, from, to);
    if (error != 0) return error;
  }
  log_wipe(fs);
  fs->tail = next_tail;
#ifdef PEBBLE_BUG_EARLY_ERASE
  return unit_erase(&fs->flash, oldest);
#else
  return 0;
#endif
}

int log_make_room(struct pebble *fs, uint32_t alive, uint32_t records) {
  if (fs->failed) return -EIO;
  if (fs->alive + alive > fs->capacity) return -ENOSPC;
  /* Cleaning a unit takes a page for each of its own, one for what the buffer holds and one for the tail. */
  const uint32_t to_clean = fs->flash.unit_pages + 2;
  const uint32_t needed = 1 + (records + fs->page_records - 1) / fs->page_records + to_clean;
  for (uint32_t round = 0; free_pages(fs, fs->durable_tail) < needed; round++) {
    if (round > 2 * fs->flash.units) return -ENOSPC;
    const bool cleaned_enough = free_pages(fs, fs->tail) > needed;
    const bool must_flush = cleaned_enough || free_pages(fs, fs->durable_tail) < to_clean;
    const int error = must_flush && fs->tail != fs->durable_tail ? log_flush(fs) : clean_oldest(fs);
    if (error != 0) return error;
  }
  return 0;
}
