/* pebble_log.h: internals of the file system: the layout on the flash, the state in memory, and the log.
 *
 * A page is a header and records; each record says one thing about one file or directory (a "node"):
 *
 *     page:    checksum 4, magic 2, used bytes 2, number 4, tail 4, then records, then 0xFF
 *     record:  kind 1, flags 1, node 2, place 2, length 2, size 4, then `length` bytes
 *
 *     kind        place            size                 bytes
 *     FILE, DIR   parent node      of the file          its name
 *     DATA        which chunk      of the file          the chunk, up to the end of the file
 *     GONE        -                -                    -
 *
 * Numbers are little-endian. The log is all pages whose numbers lie between the tail that the newest page
 * names and that newest page itself. Reading it from the tail on gives the state; what is not in the log does
 * not matter, whatever it looks like. The records of one call that changes something are a group: the first
 * and the last of it are flagged, and a group without a last record was cut off and counts for nothing.
 */
#ifndef PEBBLE_LOG_H
#define PEBBLE_LOG_H

#include "pebble.h"

enum { PAGE_HEADER = 16, RECORD_HEADER = 12, ROOT = 0, NO_NODE = 0xFFFF };
enum { MAGIC = 0x7062 };
/* The first page gets a number shortly before the numbers wrap, so that the wrap is met on the desk. */
#define FIRST_NUMBER ((uint32_t)-26)

enum record_kind { KIND_NONE, KIND_FILE, KIND_DIR, KIND_DATA, KIND_GONE };
enum record_flag { GROUP_FIRST = 1, GROUP_LAST = 2, GROUP_WHOLE = 3 };

/* A record, decoded. `bytes` points into the page. */
struct record {
  uint8_t kind, flags;
  uint16_t node, place, length;
  uint32_t size;
  const uint8_t *bytes;
};

/* Where a record lies: its byte on the flash, or in the page that is being filled. 0 is nowhere, because
 * every page begins with a header. */
typedef uint32_t address;
#define IN_BUFFER 0x80000000u

struct node {
  address at; /* of its FILE or DIR record */
  uint32_t size;
  uint16_t parent;
  uint16_t chunks; /* the first of its list */
  uint8_t kind;    /* KIND_FILE, KIND_DIR, or KIND_NONE for a free slot */
  char name[PEBBLE_NAME_MAX + 1];
};

/* A part of a file that is not a hole. Lists are sorted by index and end with 0; so chunk 0 is never used. */
struct chunk {
  address at;
  uint16_t index, next;
};

struct unit {
  bool used;       /* it has pages of the log, or has had since it was erased */
  uint32_t number; /* of the first of them */
};

struct pebble {
  struct pebble_flash flash;
  uint32_t chunk_size;   /* bytes of a file that one record holds */
  uint32_t page_records; /* records that fit into a page, whatever their size */
  uint32_t capacity;     /* nodes and chunks that may be alive */
  uint32_t alive;        /* and are */
  uint32_t node_count;

  struct node *nodes;
  struct chunk *chunks;
  struct unit *units;
  uint8_t *buffer;  /* the page that is being filled */
  uint8_t *page;    /* the page that was read last */
  uint8_t *content; /* one chunk of a file */

  uint16_t free_chunks;
  uint32_t used;               /* bytes in the buffer */
  uint32_t number;             /* that the page in the buffer will have */
  uint32_t head;               /* the unit that is being filled */
  uint32_t head_pages;         /* how many of its pages have been programmed, or tried */
  uint32_t tail, durable_tail; /* where the log begins, and where it begins for a mount */
  bool failed;                 /* memory knows of something that could not be programmed */
};

/* --- pebble_log.c: pages, records and the log ------------------------------------------------------ */

/* Reads a page and checks it: 1 if it is whole, 0 if it is erased, or a negative errno. */
int page_load(const struct pebble_flash *flash, uint32_t page, uint8_t *bytes);
uint32_t page_used(const uint8_t *page);
uint32_t page_number(const uint8_t *page);
uint32_t page_tail(const uint8_t *page);
bool number_is_before(uint32_t a, uint32_t b);
/* What the flash refuses once is asked for once more. */
int unit_erase(const struct pebble_flash *flash, uint32_t unit);
int flash_sync(const struct pebble_flash *flash);

/* Decodes the record at an offset and moves the offset behind it. False: there is none before `end`. */
bool record_next(const uint8_t *page, uint32_t end, uint32_t *offset, struct record *out);

/* Makes sure that `alive` more nodes and chunks may live and that `records` can be appended and flushed.
 * Cleans if it has to. -ENOSPC: there is no room. */
int log_make_room(struct pebble *fs, uint32_t alive, uint32_t records);
/* Adds a record to the log and to the state in memory. Its bytes do not lie in the buffer. */
int log_append(struct pebble *fs, const struct record *record);
/* Programs the page that is being filled. */
int log_flush(struct pebble *fs);
void log_clear_buffer(struct pebble *fs);
/* Reads the record at an address. Its bytes last until the next read, append or flush. */
int log_read(struct pebble *fs, address at, struct record *out);
/* Wipes what was read last, at the end of a call: leftovers are no state, but who compares two memories, a
 * checker or a debugger, would take them for some. */
void log_wipe(struct pebble *fs);

/* --- pebble.c: the state in memory ----------------------------------------------------------------- */

/* Does what a record says that lies at this address. -EIO: it says nonsense. */
int state_apply(struct pebble *fs, const struct record *record, address at);
/* The link to the first chunk of at least this index. */
uint16_t *state_chunk(struct pebble *fs, struct node *node, uint32_t index);
/* Where memory keeps the address of what this record says; null if it says nothing that lasts. */
address *state_place(struct pebble *fs, const struct record *record);
/* The record that says again what is known of a node. */
struct record state_node_record(const struct pebble *fs, uint16_t node, uint8_t flags);

/* --- pebble_mount.c: from and to nothing ----------------------------------------------------------- */

int pebble_new(const struct pebble_flash *flash, struct pebble **out);
void pebble_free(struct pebble *fs);

#endif
