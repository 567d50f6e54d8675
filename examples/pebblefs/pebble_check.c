/* The check, and the description of a page. Both only read. Problems that the catalogue of Sisyfs knows begin
 * with their name there. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pebble_log.h"

struct check {
  struct pebble *fs;
  void (*problem)(void *report, const char *text);
  void *report;
};

static void expect(const struct check *check, bool right, const char *text) {
  if (!right) check->problem(check->report, text);
}

static void check_name(const struct check *check, uint16_t node) {
  const struct node *nodes = check->fs->nodes, *n = &nodes[node];
  expect(check, n->name[0] != 0 && strchr(n->name, '/') == NULL, "bad-entry: a name is empty or has a slash");
  uint32_t steps = 0;
  uint16_t up = node;
  for (; up != ROOT && steps < check->fs->node_count; steps++) {
    expect(check, nodes[nodes[up].parent].kind == KIND_DIR,
           "bad-entry: a node lies in something that is no directory");
    up = nodes[up].parent;
  }
  expect(check, up == ROOT, "bad-entry: a directory lies in itself");
  for (uint16_t other = ROOT + 1; other < node; other++) {
    const struct node *o = &nodes[other];
    expect(check, o->kind == KIND_NONE || o->parent != n->parent || strcmp(o->name, n->name) != 0,
           "bad-entry: a name is there twice");
  }
}

static void check_data(const struct check *check, uint16_t node) {
  struct pebble *fs = check->fs;
  const struct node *n = &fs->nodes[node];
  expect(check, n->kind == KIND_FILE || (n->chunks == 0 && n->size == 0),
         "something that is no file has data");
  for (uint16_t c = n->chunks; c != 0; c = fs->chunks[c].next) {
    const struct chunk *chunk = &fs->chunks[c];
    struct record record;
    if (log_read(fs, chunk->at, &record) != 0) {
      check->problem(check->report, "data cannot be read");
      continue;
    }
    const uint64_t end = (uint64_t)chunk->index * fs->chunk_size + record.length;
    expect(check, record.kind == KIND_DATA && record.node == node && record.place == chunk->index,
           "data belongs to something else");
    expect(check, end <= n->size, "data lies behind the end of its file");
  }
}

static void check_node(const struct check *check, uint16_t node) {
  struct pebble *fs = check->fs;
  const struct node *n = &fs->nodes[node];
  check_data(check, node);
  if (n->kind == KIND_NONE || node == ROOT) return;
  check_name(check, node);
  struct record record;
  const struct record known = state_node_record(fs, node, 0);
  expect(check, log_read(fs, n->at, &record) == 0 && record.node == node && record.kind == known.kind,
         "lost-node: a node cannot be read");
}

static void check_counts(const struct check *check) {
  const struct pebble *fs = check->fs;
  uint32_t alive = 0, unused = 0;
  for (uint32_t node = 0; node < fs->node_count; node++) {
    alive += fs->nodes[node].kind != KIND_NONE;
    for (uint16_t c = fs->nodes[node].chunks; c != 0; c = fs->chunks[c].next) alive++, unused++;
  }
  expect(check, alive == fs->alive && alive <= fs->capacity, "more is alive than may be");
  for (uint16_t c = fs->free_chunks; c != 0; c = fs->chunks[c].next) unused++;
  expect(check, unused == fs->capacity, "chunks are lost");
}

int pebble_check(const struct pebble_flash *flash, void (*problem)(void *report, const char *text),
                 void *report) {
  struct check check = {.problem = problem, .report = report};
  const int error = pebble_mount(flash, &check.fs);
  if (error == -EIO) problem(report, "a page of the log is missing or makes no sense");
  if (error == -EINVAL) problem(report, "there is no file system");
  if (error == -EIO || error == -EINVAL) return 0;
  if (error != 0) return error;
  for (uint32_t node = 0; node < check.fs->node_count; node++) check_node(&check, (uint16_t)node);
  check_counts(&check);
  pebble_free(check.fs);
  return 0;
}

/* --- in words -------------------------------------------------------------------------------------- */

struct text {
  char *to;
  size_t size, used;
};

static void add(struct text *text, const char *format, ...) {
  if (text->used >= text->size) return;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text->to + text->used, text->size - text->used, format, arguments);
  va_end(arguments);
  if (length > 0) text->used += (size_t)length;
}

static void add_record(struct text *text, const struct record *record) {
  if (record->kind == KIND_DATA)
    add(text, "; data %u of %u", record->place, record->node);
  else if (record->kind == KIND_GONE)
    add(text, "; %u gone", record->node);
  else
    add(text, "; %s %u %.*s", record->kind == KIND_FILE ? "file" : "dir", record->node,
        record->node == ROOT ? 1 : (int)record->length,
        record->node == ROOT ? "/" : (const char *)record->bytes);
  if (!(record->flags & GROUP_LAST)) add(text, " +"); /* the group goes on */
}

int pebble_describe(const struct pebble_flash *flash, uint32_t page, char *to, size_t size) {
  struct text text = {.to = to, .size = size};
  uint8_t *bytes = malloc(flash->page_size);
  const int loaded = bytes == NULL ? -ENOMEM : page_load(flash, page, bytes);
  if (loaded <= 0) add(&text, loaded == 0 ? "erased" : "no whole page");
  if (loaded == 1) {
    add(&text, "log %lu from %lu", (unsigned long)(page_number(bytes) - FIRST_NUMBER),
        (unsigned long)(page_tail(bytes) - FIRST_NUMBER));
    struct record record;
    uint32_t offset = PAGE_HEADER;
    while (record_next(bytes, page_used(bytes), &offset, &record)) add_record(&text, &record);
  }
  free(bytes);
  return loaded == -ENOMEM ? -ENOMEM : 0;
}
