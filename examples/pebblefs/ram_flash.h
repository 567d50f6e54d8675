/* ram_flash.h: raw flash in memory whose power can be cut, for tests.
 *
 *     struct ram_flash *ram = ram_new(128, 4, 8);
 *     ram->cut_after = 3; ram->variant = 1;      // the third program or erase from now on is cut off
 *     ... calls fail with -EIO once the power is gone ...
 *     ram_power_on(ram);
 *
 * The program that is cut off leaves the page as it was (variant 0), with its first half (1), unreadable (2)
 * or whole (3). The erase that is cut off leaves each page as it was, unreadable or erased: the digits of the
 * variant to the base 3, one for each page.
 */
#ifndef RAM_FLASH_H
#define RAM_FLASH_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pebble.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                \
    }                                                                         \
  } while (0)

struct ram_flash {
  struct pebble_flash flash;
  uint8_t *bytes;
  bool *unreadable;
  uint32_t *erases; /* of each unit */
  uint32_t changes; /* programs and erases since the power came */
  uint32_t cut_after, variant;
  uint32_t fail_call;    /* the nth call from now on fails and has no effect; 0: none */
  uint32_t bad_unit;     /* cannot be programmed or erased; 0: none is so */
  bool off, cut_program; /* the power is gone; it was a program that was cut off */
};

static bool ram_fails(struct ram_flash *ram) {
  return ram->off || (ram->fail_call != 0 && --ram->fail_call == 0);
}

static bool is_bad(const struct ram_flash *ram, uint32_t unit) { return unit != 0 && unit == ram->bad_unit; }

/* Whether the power goes now. */
static bool ram_cut(struct ram_flash *ram) {
  ram->changes++;
  return ram->off = ram->cut_after != 0 && ram->changes == ram->cut_after;
}

static int ram_read(const struct pebble_flash *flash, uint32_t page, void *bytes) {
  struct ram_flash *ram = flash->context;
  CHECK(page < flash->units * flash->unit_pages);
  if (ram_fails(ram) || ram->unreadable[page]) return -EIO;
  memcpy(bytes, ram->bytes + (size_t)page * flash->page_size, flash->page_size);
  return 0;
}

static int ram_program(const struct pebble_flash *flash, uint32_t page, const void *bytes) {
  struct ram_flash *ram = flash->context;
  uint8_t *to = ram->bytes + (size_t)page * flash->page_size;
  CHECK(page < flash->units * flash->unit_pages);
  if (ram_fails(ram) || is_bad(ram, page / flash->unit_pages)) return -EIO;
  CHECK(!ram->unreadable[page]);
  for (uint32_t i = 0; i < flash->page_size; i++) CHECK(to[i] == 0xFF);
  const bool cut = ram_cut(ram);
  ram->cut_program = cut;
  if (!cut || ram->variant == 3) memcpy(to, bytes, flash->page_size);
  if (cut && ram->variant == 1) memcpy(to, bytes, flash->page_size / 2);
  if (cut && ram->variant == 2) ram->unreadable[page] = true;
  return cut ? -EIO : 0;
}

static int ram_erase(const struct pebble_flash *flash, uint32_t unit) {
  struct ram_flash *ram = flash->context;
  CHECK(unit < flash->units);
  if (ram_fails(ram) || is_bad(ram, unit)) return -EIO;
  const bool cut = ram_cut(ram);
  uint32_t variant = ram->variant;
  ram->cut_program = false;
  for (uint32_t i = 0; i < flash->unit_pages; i++, variant /= 3) {
    const uint32_t page = unit * flash->unit_pages + i;
    if (cut && variant % 3 == 0) continue;
    ram->unreadable[page] = cut && variant % 3 == 1;
    memset(ram->bytes + (size_t)page * flash->page_size, 0xFF, flash->page_size);
  }
  ram->erases[unit]++;
  return cut ? -EIO : 0;
}

static int ram_sync(const struct pebble_flash *flash) { return ram_fails(flash->context) ? -EIO : 0; }

/* The variants of what was cut off last; large units are left with some of them. */
static uint32_t ram_variants(const struct ram_flash *ram) {
  return ram->cut_program ? 4 : ram->flash.unit_pages == 2 ? 9 : 81;
}

static void ram_power_on(struct ram_flash *ram) {
  ram->off = false;
  ram->changes = ram->cut_after = ram->fail_call = 0;
}

static struct ram_flash *ram_new(uint32_t page_size, uint32_t unit_pages, uint32_t units) {
  struct ram_flash *ram = calloc(1, sizeof *ram);
  ram->flash =
      (struct pebble_flash){page_size, unit_pages, units, 0, ram, ram_read, ram_program, ram_erase, ram_sync};
  ram->bytes = malloc((size_t)page_size * unit_pages * units);
  memset(ram->bytes, 0x5A, (size_t)page_size * unit_pages * units);
  ram->unreadable = calloc((size_t)unit_pages * units, sizeof *ram->unreadable);
  ram->erases = calloc(units, sizeof *ram->erases);
  return ram;
}

/* Takes over what another flash of the same shape holds. */
static void ram_load(struct ram_flash *ram, const struct ram_flash *from) {
  const size_t pages = (size_t)ram->flash.unit_pages * ram->flash.units;
  memcpy(ram->bytes, from->bytes, pages * ram->flash.page_size);
  memcpy(ram->unreadable, from->unreadable, pages * sizeof *ram->unreadable);
}

static struct ram_flash *ram_copy(const struct ram_flash *from) {
  struct ram_flash *ram = ram_new(from->flash.page_size, from->flash.unit_pages, from->flash.units);
  ram_load(ram, from);
  return ram;
}

static void ram_free(struct ram_flash *ram) {
  free(ram->bytes);
  free(ram->unreadable);
  free(ram->erases);
  free(ram);
}

#endif
