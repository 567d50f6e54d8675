/* Files and directories: the state in memory, which is updated record by record, and the calls that change
 * it. A call first checks whether it is allowed, then makes room, and then appends its records. The last
 * record commits the call. The same code updates the memory for a new record and for a record that mount
 * reads. */
#include "pebble.h"

#include <errno.h>
#include <string.h>

#include "pebble_log.h"

/* --- the state in memory --------------------------------------------------------------------------- */

uint16_t *state_chunk(struct pebble *fs, struct node *node, uint32_t index) {
  uint16_t *link = &node->chunks;
  while (*link != 0 && fs->chunks[*link].index < index) link = &fs->chunks[*link].next;
  return link;
}

static address chunk_address(struct pebble *fs, struct node *node, uint32_t index) {
  const uint16_t chunk = *state_chunk(fs, node, index);
  return chunk != 0 && fs->chunks[chunk].index == index ? fs->chunks[chunk].at : 0;
}

static void drop_chunks(struct pebble *fs, struct node *node, uint32_t first) {
  uint16_t *link = state_chunk(fs, node, first);
  while (*link != 0) {
    const uint16_t gone = *link;
    *link = fs->chunks[gone].next;
    fs->chunks[gone] = (struct chunk){.next = fs->free_chunks};
    fs->free_chunks = gone;
    fs->alive--;
  }
}

/* Sets the size and forgets what lies behind it. */
static void set_size(struct pebble *fs, struct node *node, uint32_t size) {
#ifdef PEBBLE_BUG_TRUNCATE
  const uint32_t chunks = size / fs->chunk_size + 1;
#else
  const uint32_t chunks = size / fs->chunk_size + (size % fs->chunk_size != 0);
#endif
  drop_chunks(fs, node, chunks);
  node->size = size;
}

static int set_chunk(struct pebble *fs, struct node *node, uint32_t index, address at) {
  uint16_t *link = state_chunk(fs, node, index);
  if (*link == 0 || fs->chunks[*link].index != index) {
    const uint16_t added = fs->free_chunks;
    if (added == 0) return -EIO;
    fs->free_chunks = fs->chunks[added].next;
    fs->chunks[added] = (struct chunk){.index = (uint16_t)index, .next = *link};
    *link = added;
    fs->alive++;
  }
  fs->chunks[*link].at = at;
  return 0;
}

int state_apply(struct pebble *fs, const struct record *record, address at) {
  if (record->node >= fs->node_count) return -EIO;
  struct node *node = &fs->nodes[record->node];
  switch (record->kind) {
    case KIND_FILE:
    case KIND_DIR:
      if (record->length > PEBBLE_NAME_MAX || record->place >= fs->node_count) return -EIO;
      if (node->at == 0) fs->alive++;
      node->at = at;
      node->kind = record->kind;
      node->parent = record->place;
      memset(node->name, 0, sizeof node->name);
      if (record->length != 0) memcpy(node->name, record->bytes, record->length);
      set_size(fs, node, record->size);
      return 0;
    case KIND_DATA:
      if (record->length > fs->chunk_size) return -EIO;
      set_size(fs, node, record->size);
      return set_chunk(fs, node, record->place, at);
    case KIND_GONE:
      if (record->node == ROOT) return -EIO;
      fs->alive -= node->at != 0;
      drop_chunks(fs, node, 0);
      *node = (struct node){0};
      return 0;
    default:
      return -EIO;
  }
}

address *state_place(struct pebble *fs, const struct record *record) {
  struct node *node = &fs->nodes[record->node];
  if (record->kind == KIND_FILE || record->kind == KIND_DIR) return &node->at;
  const uint16_t chunk = record->kind == KIND_DATA ? *state_chunk(fs, node, record->place) : 0;
  return chunk != 0 && fs->chunks[chunk].index == record->place ? &fs->chunks[chunk].at : NULL;
}

struct record state_node_record(const struct pebble *fs, uint16_t node, uint8_t flags) {
  const struct node *n = &fs->nodes[node];
  return (struct record){.kind = n->kind,
                         .flags = flags,
                         .node = node,
                         .place = n->parent,
                         .length = (uint16_t)strlen(n->name),
                         .size = n->size,
                         .bytes = (const uint8_t *)n->name};
}

/* --- paths ----------------------------------------------------------------------------------------- */

/* Where a path leads. */
struct found {
  uint16_t node;   /* NO_NODE: nothing is there */
  uint16_t parent; /* NO_NODE: it is the root */
  uint16_t length;
  const char *name;
};

static uint16_t find_child(const struct pebble *fs, uint16_t parent, const char *name, size_t length) {
  for (uint32_t i = ROOT + 1; i < fs->node_count; i++) {
    const struct node *n = &fs->nodes[i];
    if (n->kind == KIND_NONE || n->parent != parent) continue;
    if (strncmp(n->name, name, length) == 0 && n->name[length] == 0) return (uint16_t)i;
  }
  return NO_NODE;
}

static int find(const struct pebble *fs, const char *path, struct found *out) {
  const size_t longest = fs->chunk_size < PEBBLE_NAME_MAX ? fs->chunk_size : PEBBLE_NAME_MAX;
  *out = (struct found){.node = ROOT, .parent = NO_NODE, .name = ""};
  if (fs->failed) return -EIO;
  if (*path != '/') return -EINVAL;
  while (*++path != 0) {
    if (out->node == NO_NODE) return -ENOENT;
    if (fs->nodes[out->node].kind != KIND_DIR) return -ENOTDIR;
    const size_t length = strcspn(path, "/");
    if (length > longest) return -ENAMETOOLONG;
    *out = (struct found){find_child(fs, out->node, path, length), out->node, (uint16_t)length, path};
    path += length;
    if (*path == 0) break;
  }
  return 0;
}

/* The same for what has to be there, and to be a file. */
static int find_file(struct pebble *fs, const char *path, uint16_t *node) {
  struct found at;
  const int error = find(fs, path, &at);
  *node = at.node;
  if (error != 0) return error;
  if (at.node == NO_NODE) return -ENOENT;
  return fs->nodes[at.node].kind == KIND_DIR ? -EISDIR : 0;
}

static bool is_empty(const struct pebble *fs, uint16_t directory) {
  for (uint32_t i = ROOT + 1; i < fs->node_count; i++)
    if (fs->nodes[i].kind != KIND_NONE && fs->nodes[i].parent == directory) return false;
  return true;
}

/* Whether a node is `directory` or lies below it. */
static bool lies_in(const struct pebble *fs, uint16_t node, uint16_t directory) {
  while (node != directory && node != ROOT) node = fs->nodes[node].parent;
  return node == directory;
}

/* --- names ----------------------------------------------------------------------------------------- */

static int add(struct pebble *fs, const char *path, uint8_t kind) {
  struct found at;
  int error = find(fs, path, &at);
  if (error != 0) return error;
  if (at.node != NO_NODE) return -EEXIST;
  uint32_t node = ROOT + 1;
  while (node < fs->node_count && fs->nodes[node].kind != KIND_NONE) node++;
  if (node == fs->node_count) return -ENOSPC;
  if ((error = log_make_room(fs, 1, 1)) != 0) return error;
  const struct record record = {.kind = kind,
                                .flags = GROUP_WHOLE,
                                .node = (uint16_t)node,
                                .place = at.parent,
                                .length = at.length,
                                .bytes = (const uint8_t *)at.name};
  return log_append(fs, &record);
}

int pebble_create(struct pebble *fs, const char *path) { return add(fs, path, KIND_FILE); }
int pebble_mkdir(struct pebble *fs, const char *path) { return add(fs, path, KIND_DIR); }

static int append_gone(struct pebble *fs, uint16_t node, uint8_t flags) {
  const struct record record = {.kind = KIND_GONE, .flags = flags, .node = node};
  return log_append(fs, &record);
}

int pebble_unlink(struct pebble *fs, const char *path) {
  uint16_t node;
  int error = find_file(fs, path, &node);
  if (error == 0) error = log_make_room(fs, 0, 1);
  return error != 0 ? error : append_gone(fs, node, GROUP_WHOLE);
}

int pebble_rmdir(struct pebble *fs, const char *path) {
  struct found at;
  int error = find(fs, path, &at);
  if (error != 0) return error;
  if (at.node == NO_NODE) return -ENOENT;
  if (at.node == ROOT) return -EBUSY;
  if (fs->nodes[at.node].kind != KIND_DIR) return -ENOTDIR;
  if (!is_empty(fs, at.node)) return -ENOTEMPTY;
  if ((error = log_make_room(fs, 0, 1)) != 0) return error;
  return append_gone(fs, at.node, GROUP_WHOLE);
}

/* Whether `from` may take the place of what is at `to`. */
static int may_rename(const struct pebble *fs, const struct found *from, const struct found *to) {
  if (from->node == ROOT || to->node == ROOT) return -EBUSY;
  if (from->node == NO_NODE) return -ENOENT;
  const bool directory = fs->nodes[from->node].kind == KIND_DIR;
  if (directory && lies_in(fs, to->parent, from->node)) return -EINVAL;
  if (to->node == NO_NODE || to->node == from->node) return 0;
  const bool onto_directory = fs->nodes[to->node].kind == KIND_DIR;
  if (onto_directory && lies_in(fs, from->parent, to->node)) return -ENOTEMPTY;
  if (directory && !onto_directory) return -ENOTDIR;
  if (!directory && onto_directory) return -EISDIR;
  return directory && !is_empty(fs, to->node) ? -ENOTEMPTY : 0;
}

/* One record moves the node; one more, of the same group, takes away what it replaces. */
int pebble_rename(struct pebble *fs, const char *old_path, const char *new_path) {
  struct found from, to;
  int error = find(fs, old_path, &from);
  if (error == 0) error = find(fs, new_path, &to);
  if (error == 0) error = may_rename(fs, &from, &to);
  if (error != 0 || from.node == to.node) return error;
  if ((error = log_make_room(fs, 0, 2)) != 0) return error;
  struct record record = state_node_record(fs, from.node, GROUP_WHOLE);
  record.place = to.parent;
  record.length = to.length;
  record.bytes = (const uint8_t *)to.name;
  if (to.node != NO_NODE) {
#ifdef PEBBLE_BUG_RENAME
    if ((error = append_gone(fs, to.node, GROUP_WHOLE)) != 0 || (error = log_flush(fs)) != 0) return error;
#else
    record.flags = GROUP_LAST;
    if ((error = append_gone(fs, to.node, GROUP_FIRST)) != 0) return error;
#endif
  }
  return log_append(fs, &record);
}

/* --- data ------------------------------------------------------------------------------------------ */

/* Reads a chunk into fs->content; what is not there is zero. */
static int load_chunk(struct pebble *fs, struct node *node, uint32_t index) {
  memset(fs->content, 0, fs->chunk_size);
  const address at = chunk_address(fs, node, index);
  if (at == 0) return 0;
  struct record record;
  const int error = log_read(fs, at, &record);
  if (error != 0) return error;
  memcpy(fs->content, record.bytes, record.length);
  return 0;
}

/* Appends a chunk with what is in fs->content, of a file that has this size from then on. */
static int append_chunk(struct pebble *fs, uint16_t node, uint32_t index, uint32_t size, uint8_t flags) {
  const uint32_t rest = size - index * fs->chunk_size;
  const struct record record = {.kind = KIND_DATA,
                                .flags = flags,
                                .node = node,
                                .place = (uint16_t)index,
                                .length = (uint16_t)(rest < fs->chunk_size ? rest : fs->chunk_size),
                                .size = size,
                                .bytes = fs->content};
  return log_append(fs, &record);
}

static uint64_t largest_file(const struct pebble *fs) {
  const uint64_t size = (uint64_t)0x10000 * fs->chunk_size;
  return size < UINT32_MAX ? size : UINT32_MAX;
}

/* The part of a chunk that a read or write of [offset, end) touches. */
struct part {
  uint32_t index, begin, length; /* the chunk, the first byte in it, how many */
};

static struct part part_at(const struct pebble *fs, uint32_t offset, uint32_t end) {
  const uint32_t begin = offset % fs->chunk_size, rest = fs->chunk_size - begin;
  return (struct part){offset / fs->chunk_size, begin, end - offset < rest ? end - offset : rest};
}

int64_t pebble_write(struct pebble *fs, const char *path, uint64_t offset, const void *bytes,
                     uint32_t length) {
  uint16_t node;
  int error = find_file(fs, path, &node);
  if (error != 0) return error;
  if (length == 0) return 0;
  if (offset > largest_file(fs) || length > largest_file(fs) - offset) return -EFBIG;
  struct node *n = &fs->nodes[node];
  const uint32_t begin = (uint32_t)offset, end = begin + length, size = end > n->size ? end : n->size;
  const uint32_t first = begin / fs->chunk_size, last = (end - 1) / fs->chunk_size;
  uint32_t added = 0;
  for (uint32_t index = first; index <= last; index++) added += chunk_address(fs, n, index) == 0;
  if ((error = log_make_room(fs, added, last - first + 1)) != 0) return error;
  uint32_t at = begin;
  while (at < end) {
    const struct part part = part_at(fs, at, end);
    if (part.length != fs->chunk_size && (error = load_chunk(fs, n, part.index)) != 0) break;
    memcpy(fs->content + part.begin, (const uint8_t *)bytes + (at - begin), part.length);
    const uint8_t flags = (part.index == first ? GROUP_FIRST : 0) | (part.index == last ? GROUP_LAST : 0);
    if ((error = append_chunk(fs, node, part.index, size, flags)) != 0) break;
    at += part.length;
  }
  fs->failed |= error != 0 && at != begin; /* memory has a part of it */
  log_wipe(fs);
  return error != 0 ? error : (int64_t)length;
}

int64_t pebble_read(struct pebble *fs, const char *path, uint64_t offset, void *bytes, uint32_t length) {
  uint16_t node;
  int error = find_file(fs, path, &node);
  if (error != 0) return error;
  struct node *n = &fs->nodes[node];
  if (offset >= n->size) return 0;
  const uint32_t begin = (uint32_t)offset, end = length < n->size - begin ? begin + length : n->size;
  for (uint32_t at = begin; at < end;) {
    const struct part part = part_at(fs, at, end);
    if ((error = load_chunk(fs, n, part.index)) != 0) break;
    memcpy((uint8_t *)bytes + (at - begin), fs->content + part.begin, part.length);
    at += part.length;
  }
  log_wipe(fs);
  return error != 0 ? error : (int64_t)(end - begin);
}

/* The chunk in which the new end lies is written once more, shorter: a file that grows again has zeros there.
 * Its record carries the size. */
int pebble_truncate(struct pebble *fs, const char *path, uint64_t new_size) {
  uint16_t node;
  int error = find_file(fs, path, &node);
  if (error != 0) return error;
  if (new_size > largest_file(fs)) return -EFBIG;
  const uint32_t size = (uint32_t)new_size;
  struct node *n = &fs->nodes[node];
  if (size == n->size) return 0;
  if ((error = log_make_room(fs, 0, 1)) != 0) return error;
  const uint32_t index = size / fs->chunk_size;
  if (size < n->size && size % fs->chunk_size != 0 && chunk_address(fs, n, index) != 0) {
    error = load_chunk(fs, n, index);
    if (error == 0) error = append_chunk(fs, node, index, size, GROUP_WHOLE);
    log_wipe(fs);
    return error;
  }
  struct record record = state_node_record(fs, node, GROUP_WHOLE);
  record.size = size;
  return log_append(fs, &record);
}

/* --- the rest -------------------------------------------------------------------------------------- */

int pebble_sync(struct pebble *fs) {
  if (fs->failed) return -EIO;
  const int error = fs->used > PAGE_HEADER ? log_flush(fs) : 0;
  return error != 0 ? error : flash_sync(&fs->flash);
}

/* The log keeps the order of calls: what a file needs takes all before it along. */
int pebble_fsync(struct pebble *fs, const char *path) {
  struct found at;
  const int error = find(fs, path, &at);
  if (error != 0) return error;
  if (at.node == NO_NODE) return -ENOENT;
#ifdef PEBBLE_BUG_FSYNC
  bool dirty = false;
  for (uint16_t c = fs->nodes[at.node].chunks; c != 0; c = fs->chunks[c].next)
    dirty |= (fs->chunks[c].at & IN_BUFFER) != 0;
  if (!dirty) return 0;
#endif
  return pebble_sync(fs);
}

int pebble_stat(struct pebble *fs, const char *path, struct pebble_stat *out) {
  struct found at;
  const int error = find(fs, path, &at);
  if (error != 0) return error;
  if (at.node == NO_NODE) return -ENOENT;
  *out = (struct pebble_stat){fs->nodes[at.node].kind == KIND_DIR, fs->nodes[at.node].size};
  return 0;
}

int pebble_readdir(struct pebble *fs, const char *path, int (*each)(void *list, const char *name),
                   void *list) {
  struct found at;
  const int error = find(fs, path, &at);
  if (error != 0) return error;
  if (at.node == NO_NODE) return -ENOENT;
  if (fs->nodes[at.node].kind != KIND_DIR) return -ENOTDIR;
  for (uint32_t i = ROOT + 1; i < fs->node_count; i++) {
    const struct node *n = &fs->nodes[i];
    if (n->kind != KIND_NONE && n->parent == at.node && each(list, n->name) != 0) break;
  }
  return 0;
}
