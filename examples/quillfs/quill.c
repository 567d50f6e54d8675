/* Files and directories: each call changes blocks of the running transaction, or fails and changes nothing.
 */
#include "quill.h"

#include <errno.h>
#include <string.h>

/* Blocks that a call logs at most: two directories with a new block and its indirect block, inodes, bitmap.
 */
enum { CHANGE_LOGS = 8, WRITE_LOGS = 5 };

/* --- names */

static uint32_t entries(struct quill *fs) { return fs->block_size / (uint32_t)sizeof(struct quill_entry); }

struct spot { /* of an entry */
  uint32_t block, index, inode;
};

static int find(struct quill *fs, uint32_t dir, const char *name, struct spot *spot) {
  const struct quill_inode *node = quill_inode(fs, dir);
  if (node == NULL) return -EIO;
  if (node->type != SISYFS_DIRECTORY) return -ENOTDIR;
  if (strlen(name) > QUILL_NAME_MAX) return -ENAMETOOLONG;
  for (uint32_t i = 0; i < quill_blocks_of(fs, node->size); i++) {
    const int error = quill_map(fs, dir, i, &spot->block);
    const struct quill_entry *all = (struct quill_entry *)quill_read_block(fs, spot->block);
    if (error != 0 || all == NULL) return -EIO;
    for (spot->index = 0; spot->index < entries(fs); spot->index++) {
      spot->inode = all[spot->index].inode;
      if (spot->inode != 0 && strcmp(all[spot->index].name, name) == 0) return 0;
    }
  }
  return -ENOENT;
}

static int lookup(struct quill *fs, uint32_t dir, const char *name, uint32_t *inode) {
  if (fs->last_name.dir == dir && strcmp(fs->last_name.name, name) == 0) {
    *inode = fs->last_name.inode;
    return 0;
  }
  struct spot spot;
  const int error = find(fs, dir, name, &spot);
  if (error != 0) return error;
  memset(&fs->last_name, 0, sizeof fs->last_name);
  fs->last_name.dir = dir;
  *inode = fs->last_name.inode = spot.inode;
  strcpy(fs->last_name.name, name);
  return 0;
}

static void forget_name(struct quill *fs) { memset(&fs->last_name, 0, sizeof fs->last_name); }

/* Changes the inode of an entry; 0 removes it. */
static int set_entry(struct quill *fs, uint32_t dir, const struct spot *spot, uint32_t inode) {
  uint8_t *bytes = quill_change_block(fs, spot->block, 0, 0);
  if (bytes == NULL || quill_change_inode(fs, dir, 1) == NULL) return -EIO;
  struct quill_entry *entry = (struct quill_entry *)bytes + spot->index;
  entry->inode = (uint16_t)inode;
  if (inode == 0) memset(entry, 0, sizeof *entry);
  return 0;
}

static int add_entry(struct quill *fs, uint32_t dir, const char *name, uint32_t inode) {
  struct quill_inode *node = quill_change_inode(fs, dir, 1);
  if (node == NULL) return -EIO;
  for (uint32_t i = 0; i < quill_most_blocks(fs); i++) {
    uint32_t block;
    int error = quill_map_new(fs, dir, i, &block);
    if (error != 0) return error;
    struct quill_entry *all = (struct quill_entry *)quill_read_block(fs, block);
    for (uint32_t k = 0; all != NULL && k < entries(fs); k++) {
      if (all[k].inode != 0) continue;
      if (quill_change_block(fs, block, 0, 0) == NULL) return -EIO;
      all[k].inode = (uint16_t)inode;
      strcpy(all[k].name, name);
      if ((i + 1) * fs->block_size > node->size) node->size = (i + 1) * fs->block_size;
      return 0;
    }
    if (all == NULL) return -EIO;
  }
  return -ENOSPC;
}

static int is_empty(struct quill *fs, uint32_t dir) { /* or a negative errno */
  const struct quill_inode *node = quill_inode(fs, dir);
  for (uint32_t i = 0; node != NULL && i < quill_blocks_of(fs, node->size); i++) {
    uint32_t block;
    const int error = quill_map(fs, dir, i, &block);
    const struct quill_entry *all = error != 0 ? NULL : (struct quill_entry *)quill_read_block(fs, block);
    if (all == NULL) return -EIO;
    for (uint32_t k = 0; k < entries(fs); k++)
      if (all[k].inode != 0) return 0;
  }
  return node == NULL ? -EIO : 1;
}

static int type_of(struct quill *fs, uint32_t inode) {
  const struct quill_inode *node = quill_inode(fs, inode);
  return node == NULL ? -EIO : node->type;
}

static int walk(struct quill *fs, const char *path, uint32_t *dir, char name[QUILL_NAME_MAX + 1], int links);

/* From a directory to what a name in it leads to, through symbolic links. */
static int step(struct quill *fs, uint32_t *dir, const char *name, int links) {
  uint32_t inode = *dir;
  const int error = name[0] == 0 ? 0 : lookup(fs, *dir, name, &inode);
  const struct quill_inode *node = error == 0 ? quill_inode(fs, inode) : NULL;
  if (node == NULL) return error != 0 ? error : -EIO;
  if (node->type != SISYFS_SYMLINK) {
    *dir = inode;
    return 0;
  }
  char last[QUILL_NAME_MAX + 1];
  if (links == 8) return -ELOOP;
  if (node->link[0] == '/') *dir = QUILL_ROOT;
  const int found = walk(fs, node->link, dir, last, links + 1);
  return found != 0 ? found : step(fs, dir, last, links + 1);
}

/* To the directory of the last name of a path; the name is empty if the path has none. */
static int walk(struct quill *fs, const char *path, uint32_t *dir, char name[QUILL_NAME_MAX + 1], int links) {
  memset(name, 0, QUILL_NAME_MAX + 1);
  for (path += strspn(path, "/"); *path != 0; path += strspn(path, "/")) {
    const size_t length = strcspn(path, "/");
    const int error = step(fs, dir, name, links), type = error != 0 ? error : type_of(fs, *dir);
    if (type < 0) return type;
    if (type != SISYFS_DIRECTORY) return -ENOTDIR;
    if (length > QUILL_NAME_MAX) return -ENAMETOOLONG;
    memset(name, 0, QUILL_NAME_MAX + 1);
    memcpy(name, path, length);
    path += length;
  }
  return 0;
}

static int parent(struct quill *fs, const char *path, uint32_t *dir, char name[QUILL_NAME_MAX + 1]) {
  *dir = QUILL_ROOT;
  return walk(fs, path, dir, name, 0);
}

static int resolve(struct quill *fs, const char *path, uint32_t *inode, int follow) {
  char name[QUILL_NAME_MAX + 1];
  const int error = parent(fs, path, inode, name);
  if (error != 0 || (!follow && name[0] == 0)) return error;
  return follow ? step(fs, inode, name, 0) : lookup(fs, *inode, name, inode);
}

static int free_inode(struct quill *fs, uint32_t inode, int blocks) {
  struct quill_inode *node = quill_change_inode(fs, inode, 0);
  if (node == NULL) return -EIO;
  const int error = blocks ? quill_shrink(fs, inode, 0) : 0;
  if (error == 0) memset(node, 0, sizeof *node);
  return error;
}

/* One name less. The last one takes the file with it, unless it is open: an orphan waits for its last close,
 * or for the next mount. */
static int drop_link(struct quill *fs, uint32_t inode, int renamed) {
  struct quill_inode *node = quill_change_inode(fs, inode, 0);
  if (node == NULL) return -EIO;
  if (--node->links != 0 && !BUG(unlink_all)) return 0;
  const int freed = BUG(orphan_freed) || (BUG(orphan_rename) && renamed);
  return fs->open[inode].handles != 0 && !freed ? 0 : free_inode(fs, inode, 1);
}

/* --- calls that change something */

struct call {
  const char *path, *to, *link;
  uint64_t offset;
  const uint8_t *bytes;
  uint32_t length, type, last_try, keep;
  uint32_t inode; /* of an open file, in place of the path */
  int wait;       /* O_SYNC */
};

/* Data that lies in blocks that the disk knows of needs no commit: it is written and waited for by itself. */
static int write_own_data(struct quill *fs, uint32_t inode, int through) {
  const struct quill_inode *node = quill_inode(fs, inode);
  int count = 0;
  uint32_t block;
  if (node == NULL) return -EIO;
  for (uint32_t i = 0; i < quill_blocks_of(fs, node->size); i++) {
    if (BUG(fsync_indirect_data) && i >= QUILL_DIRECT) break;
    if (quill_map(fs, inode, i, &block) != 0) return -EIO;
    if (block == 0 || (fs->flags[block] & QUILL_DIRTY) == 0) continue;
    if (through && !BUG(osync_plain)) {
      const uint8_t *bytes = fs->content + (size_t)block * fs->block_size;
      if (fs->disk->write_through(fs->disk, block, 1, bytes) != 0) return fs->failed = 1, -EIO;
      fs->flags[block] &= (uint16_t)~QUILL_DIRTY;
    } else {
      const int written = quill_write_data(fs, block);
      if (written < 0) return written;
      count += written;
    }
  }
  return count;
}

/* The end of a write with O_SYNC. */
static int wait_for(struct quill *fs, const char *path) {
  uint32_t inode;
  const int error = resolve(fs, path, &inode, 1);
  if (error != 0) return error;
  const int known = (fs->running.changed & quill_bit_of(inode)) == 0 || BUG(osync_size);
  return quill_ordered && known && !fs->failed ? write_own_data(fs, inode, 1) : quill_commit(fs, 0);
}

/* Runs one call. If there is no space but the running transaction has freed some, commits it and tries again.
 */
static int64_t run(struct quill *fs, uint32_t logs, int64_t (*op)(struct quill *, const struct call *),
                   struct call call) {
  for (;;) {
    const int error = quill_begin(fs, logs);
    if (error != 0) return error;
    call.last_try = fs->running.freed == 0;
    int64_t answer = op(fs, &call);
    const int waited = answer > 0 && call.wait ? wait_for(fs, call.path) : 0;
    if (waited < 0) answer = waited;
    quill_end(fs, answer < 0 && !(answer == -ENOSPC && call.keep && call.last_try));
    if (answer < 0) {
      forget_name(fs);
      memset(&fs->last_block, 0, sizeof fs->last_block);
    }
    if (answer != -ENOSPC || call.last_try) return answer;
    const int committed = quill_commit(fs, 0);
    if (committed != 0) return committed;
  }
}

static int64_t create(struct quill *fs, const struct call *call) {
  uint32_t dir, inode;
  char name[QUILL_NAME_MAX + 1];
  int error = parent(fs, call->path, &dir, name);
  if (error != 0) return error;
  if (name[0] == 0 || (error = lookup(fs, dir, name, &inode)) == 0) return -EEXIST;
  if (error != -ENOENT || (error = quill_new_inode(fs, call->type, &inode)) != 0) return error;
  if (call->type == SISYFS_SYMLINK) {
    struct quill_inode *node = quill_change_inode(fs, inode, 1);
    if (node == NULL) return -EIO;
    node->size = (uint32_t)strlen(call->link);
    memcpy(node->link, call->link, node->size);
  }
  return add_entry(fs, dir, name, inode);
}
int quill_create(struct quill *fs, const char *path, uint32_t type, const char *link) {
  if (link != NULL && strlen(link) > QUILL_LINK_MAX) return -ENAMETOOLONG;
  const struct call call = {.path = path, .type = type, .link = link, .keep = BUG(enospc_create)};
  return (int)run(fs, CHANGE_LOGS, create, call);
}

static int64_t unlink_name(struct quill *fs, const struct call *call) {
  uint32_t dir;
  char name[QUILL_NAME_MAX + 1];
  struct spot spot;
  int error = parent(fs, call->path, &dir, name);
  if (error == 0 && name[0] == 0) return call->type == SISYFS_DIRECTORY ? -EBUSY : -EISDIR;
  if (error != 0 || (error = find(fs, dir, name, &spot)) != 0) return error;
  const int type = type_of(fs, spot.inode);
  if (type < 0) return type;
  if (call->type == SISYFS_DIRECTORY) {
    if (type != SISYFS_DIRECTORY) return -ENOTDIR;
    const int empty = is_empty(fs, spot.inode);
    if (empty <= 0) return empty < 0 ? empty : BUG(errno_rmdir) ? -EBUSY : -ENOTEMPTY;
  } else if (type == SISYFS_DIRECTORY) {
    return BUG(errno_unlink) ? -ENOTEMPTY : -EISDIR;
  }
  forget_name(fs);
  error = set_entry(fs, dir, &spot, 0);
  return error != 0 ? error : drop_link(fs, spot.inode, 0);
}
int quill_remove(struct quill *fs, const char *path, int directory) {
  const struct call call = {.path = path, .type = directory ? SISYFS_DIRECTORY : SISYFS_FILE};
  return (int)run(fs, CHANGE_LOGS, unlink_name, call);
}

static int64_t add_link(struct quill *fs, const struct call *call) {
  uint32_t inode, dir, other;
  char name[QUILL_NAME_MAX + 1];
  int error = resolve(fs, call->path, &inode, 0);
  if (error != 0 || (error = parent(fs, call->to, &dir, name)) != 0) return error;
  if (name[0] == 0 || (error = lookup(fs, dir, name, &other)) == 0) return -EEXIST;
  if (error != -ENOENT) return error;
  if (type_of(fs, inode) == SISYFS_DIRECTORY) return -EPERM;
  const uint64_t changed = fs->running.changed;
  struct quill_inode *node = quill_change_inode(fs, inode, 0);
  if (node == NULL) return -EIO;
  if (BUG(fsync_link)) fs->running.changed = changed;
  node->links++;
  return add_entry(fs, dir, name, inode);
}
int quill_link(struct quill *fs, const char *from, const char *to) {
  return (int)run(fs, CHANGE_LOGS, add_link, (struct call){.path = from, .to = to});
}

static int64_t move(struct quill *fs, const struct call *call) {
  uint32_t from, to;
  char old[QUILL_NAME_MAX + 1], name[QUILL_NAME_MAX + 1];
  struct spot source, target;
  int error = parent(fs, call->path, &from, old);
  if (error == 0 && old[0] == 0) return -EBUSY;
  if (error != 0 || (error = find(fs, from, old, &source)) != 0) return error;
  const size_t length = strlen(call->path);
  const int inside = strncmp(call->to, call->path, length) == 0 && call->to[length] == '/';
  if ((error = parent(fs, call->to, &to, name)) != 0) return error;
  if (name[0] == 0) return -EBUSY;
  const int type = type_of(fs, source.inode);
  if (type < 0) return type;
  if (type == SISYFS_DIRECTORY && inside) return -EINVAL;

  const int found = find(fs, to, name, &target);
  if (found != 0 && found != -ENOENT) return found;
  if (found == 0) {
    const int other = type_of(fs, target.inode);
    if (other < 0) return other;
    if (target.inode == source.inode && !BUG(rename_same)) return 0;
    if (type == SISYFS_DIRECTORY && other != SISYFS_DIRECTORY) return -ENOTDIR;
    if (type != SISYFS_DIRECTORY && other == SISYFS_DIRECTORY) return BUG(errno_rename) ? -EEXIST : -EISDIR;
    const int empty = other != SISYFS_DIRECTORY || BUG(rename_full) ? 1 : is_empty(fs, target.inode);
    if (empty <= 0) return empty < 0 ? empty : -ENOTEMPTY;
  }
  const uint64_t changed = fs->running.changed;
  if (quill_change_inode(fs, source.inode, 0) == NULL)
    return -EIO; /* fsync of the file is for its name, too */
  if (BUG(fsync_rename)) fs->running.changed = changed;
  if (!BUG(stale_name)) forget_name(fs);
  error = found == 0 ? set_entry(fs, to, &target, source.inode) : add_entry(fs, to, name, source.inode);
  if (error == 0 && BUG(rename_two) && fs->running.logged + CHANGE_LOGS > fs->journal.blocks - 2)
    error = quill_commit(fs, 0);
  if (error == 0) error = set_entry(fs, from, &source, 0);
  if (error == 0 && found == 0 && !BUG(rename_leak)) error = drop_link(fs, target.inode, 1);
  return error;
}
int quill_rename(struct quill *fs, const char *from, const char *to) {
  return (int)run(fs, CHANGE_LOGS, move, (struct call){.path = from, .to = to});
}

static int file_of(struct quill *fs, const char *path, uint32_t *inode) {
  const int error = resolve(fs, path, inode, 1), type = error != 0 ? error : type_of(fs, *inode);
  if (type < 0) return type;
  return type == SISYFS_FILE ? 0 : type == SISYFS_DIRECTORY ? -EISDIR : -EINVAL;
}

static int64_t put(struct quill *fs, const struct call *call) {
  uint32_t inode = call->inode, done = 0;
  int error = inode != 0 ? 0 : file_of(fs, call->path, &inode);
  if (error != 0) return error;
  if (call->offset + call->length > (uint64_t)quill_most_blocks(fs) * fs->block_size) return -EFBIG;
  while (done < call->length && error == 0) {
    const uint32_t where = (uint32_t)call->offset + done, in = where % fs->block_size;
    uint32_t part = fs->block_size - in, block;
    if (part > call->length - done) part = call->length - done;
    if (fs->running.logged + WRITE_LOGS - 1 > fs->journal.blocks - 2 && done != 0)
      break; /* a full transaction */
    const struct quill_inode *node = quill_inode(fs, inode);
    if (node == NULL) return -EIO;
    if (BUG(enospc_size) && where + part > node->size) error = quill_grow(fs, inode, where + part);
    if (error != 0 || (error = quill_has_space(fs, inode, where / fs->block_size)) != 0) break;
    if (where > node->size && !BUG(stale_gap) && (error = quill_grow(fs, inode, where)) != 0) break;
    if ((error = quill_map_new(fs, inode, where / fs->block_size, &block)) != 0) break;
    if (where + part > node->size) {
      struct quill_inode *longer = (struct quill_inode *)node;
      if (BUG(stale_gap)) longer->size = where; /* what lies between is left as it is */
      if ((error = quill_grow(fs, inode, where + part)) != 0) break;
    }
    uint8_t *bytes = quill_change_block(fs, block, 1, 0);
    if (bytes == NULL) return -EIO;
    memcpy(bytes + in, call->bytes + done, part);
    done += part;
  }
  return error == 0 || (error == -ENOSPC && done != 0 && call->last_try) ? (int64_t)done : error;
}

static int64_t write_call(struct quill *fs, struct call call) {
  const uint32_t length = call.length;
  const uint32_t whole = length / fs->block_size + 2, most = fs->journal.blocks - 2;
  const uint32_t logs = quill_ordered ? CHANGE_LOGS : whole + WRITE_LOGS < most ? whole + WRITE_LOGS : most;
  call.keep = BUG(enospc_size) || BUG(enospc_indirect);
  return run(fs, logs, put, call);
}
int64_t quill_write(struct quill *fs, const char *path, uint64_t offset, const void *bytes, uint32_t length,
                    int wait) {
  return write_call(
      fs, (struct call){.path = path, .offset = offset, .bytes = bytes, .length = length, .wait = wait});
}

static int64_t resize(struct quill *fs, const struct call *call) {
  uint32_t inode = call->inode;
  const int error = inode != 0 ? 0 : file_of(fs, call->path, &inode);
  if (error != 0) return error;
  if (call->offset > (uint64_t)quill_most_blocks(fs) * fs->block_size) return -EFBIG;
  const uint32_t size = (uint32_t)call->offset, old = quill_inode(fs, inode)->size;
  return size == old ? 0 : size < old ? quill_shrink(fs, inode, size) : quill_grow(fs, inode, size);
}
int quill_truncate(struct quill *fs, const char *path, uint64_t size) {
  return (int)run(fs, CHANGE_LOGS, resize, (struct call){.path = path, .offset = size});
}

static uint16_t new_mode(uint32_t type) {
  return type == SISYFS_FILE ? 0644 : type == SISYFS_DIRECTORY ? 0755 : 0777;
}

static int64_t change_mode(struct quill *fs, const struct call *call) {
  uint32_t inode;
  const int error = resolve(fs, call->path, &inode, 1);
  if (error != 0) return error;
  const uint64_t changed = fs->running.changed;
  struct quill_inode *node = BUG(chmod_journal) ? quill_inode(fs, inode) : quill_change_inode(fs, inode, 0);
  if (node == NULL) return -EIO;
  if (BUG(fsync_chmod)) fs->running.changed = changed;
  node->mode = (uint16_t)(call->type ^ new_mode(node->type));
  return 0;
}
int quill_chmod(struct quill *fs, const char *path, uint32_t mode) {
  return (int)run(fs, CHANGE_LOGS, change_mode, (struct call){.path = path, .type = mode});
}

/* --- open files */

int quill_open_file(struct quill *fs, const char *path, uint32_t *inode) {
  const int error = file_of(fs, path, inode);
  if (error != 0) return error;
  if (fs->open[*inode].handles++ == 0) fs->open[*inode].size = quill_inode(fs, *inode)->size;
  return 0;
}

static int64_t free_orphan(struct quill *fs, const struct call *call) {
  return free_inode(fs, call->inode, !BUG(orphan_blocks));
}

int quill_is_orphan(const struct quill_inode *node) { return node->type == SISYFS_FILE && node->links == 0; }

int quill_close_file(struct quill *fs, uint32_t inode) {
  const struct quill_inode *node = quill_inode(fs, inode);
  if (node == NULL) return -EIO;
  if ((fs->open[inode].handles == 1 || BUG(orphan_shared)) && quill_is_orphan(node)) {
    const int error = (int)run(fs, CHANGE_LOGS, free_orphan, (struct call){.inode = inode});
    if (error != 0) return error;
  }
  if (--fs->open[inode].handles == 0) fs->open[inode].size = 0;
  return 0;
}

int64_t quill_write_open(struct quill *fs, uint32_t inode, uint64_t offset, const void *bytes,
                         uint32_t length) {
  return write_call(fs, (struct call){.inode = inode, .offset = offset, .bytes = bytes, .length = length});
}
int quill_truncate_open(struct quill *fs, uint32_t inode, uint64_t size) {
  return (int)run(fs, CHANGE_LOGS, resize, (struct call){.inode = inode, .offset = size});
}

/* After a power cut no file is open. Without a commit the next mount would do the same. */
int quill_free_orphans(struct quill *fs) {
  int error = 0, found = 0;
  for (uint32_t inode = 1; inode <= fs->inodes && error == 0; inode++) {
    const struct quill_inode *node = quill_inode(fs, inode);
    if (node == NULL) return -EIO;
    if (!quill_is_orphan(node)) continue;
    error = (int)run(fs, CHANGE_LOGS, free_orphan, (struct call){.inode = inode});
    found = 1;
  }
  return error != 0 || !found ? error : quill_commit(fs, 0);
}

/* --- waiting, mount, reading */

int quill_sync(struct quill *fs) { return quill_commit(fs, 0); }

int quill_fsync(struct quill *fs, const char *path, int data_only) {
  uint32_t inode;
  const int error = resolve(fs, path, &inode, 1);
  return error != 0 ? error : quill_fsync_open(fs, inode, data_only);
}

int quill_fsync_open(struct quill *fs, uint32_t inode, int data_only) {
  if (!quill_ordered || fs->failed) return quill_commit(fs, 0);
  const int commit = ((data_only ? fs->running.needed : fs->running.changed) & quill_bit_of(inode)) != 0;
  if (BUG(fsync_directory) && type_of(fs, inode) == SISYFS_DIRECTORY) return 0;
  if (commit && !BUG(commit_own_data)) return quill_commit(fs, 0);
  const int written = write_own_data(fs, inode, 0);
  if (written < 0) return written;
  if (commit) return quill_commit(fs, inode);
  if (written == 0 || BUG(flush_data)) return 0;
  if (fs->disk->flush(fs->disk) != 0) return fs->failed = 1, -EIO;
  return 0;
}

int quill_mount(const sisyfs_disk *disk, struct quill **fs) {
  struct quill *opened;
  int error = quill_open(disk, &opened);
  if (error != 0) return error;
  if ((error = quill_recover(opened)) == 0 && !BUG(orphan_mount)) error = quill_free_orphans(opened);
  if (error != 0) quill_close(opened);
  if (error == 0) *fs = opened;
  return error;
}

int quill_unmount(struct quill *fs) {
  int error = BUG(unmount_data) && fs->running.logged == 0 ? 0 : quill_commit(fs, 0);
  if (error == 0) error = quill_checkpoint(fs);
  quill_close(fs);
  return error;
}

int64_t quill_read(struct quill *fs, const char *path, uint64_t offset, void *bytes, uint32_t length) {
  uint32_t inode;
  const int error = file_of(fs, path, &inode);
  return error != 0 ? error : quill_read_open(fs, inode, offset, bytes, length);
}

int64_t quill_read_open(struct quill *fs, uint32_t inode, uint64_t offset, void *bytes, uint32_t length) {
  uint32_t done = 0;
  const struct quill_inode *node = quill_inode(fs, inode);
  if (offset >= node->size) return 0;
  if (length > node->size - offset) length = (uint32_t)(node->size - offset);
  while (done < length) {
    const uint32_t where = (uint32_t)offset + done, in = where % fs->block_size;
    uint32_t part = fs->block_size - in, block;
    if (part > length - done) part = length - done;
    if (quill_map(fs, inode, where / fs->block_size, &block) != 0) return -EIO;
    const uint8_t *from = block == 0 && !BUG(hole_block) ? NULL : quill_read_block(fs, block);
    if (block != 0 && from == NULL) return -EIO;
    if (from == NULL)
      memset((uint8_t *)bytes + done, 0, part);
    else
      memcpy((uint8_t *)bytes + done, from + in, part);
    done += part;
  }
  return done;
}

int quill_readdir(struct quill *fs, const char *path, sisyfs_fill fill, void *list) {
  uint32_t dir, block;
  const int error = resolve(fs, path, &dir, 1);
  if (error != 0) return error;
  const struct quill_inode *node = quill_inode(fs, dir);
  if (node == NULL) return -EIO;
  if (node->type != SISYFS_DIRECTORY) return -ENOTDIR;
  for (uint32_t i = 0; i < quill_blocks_of(fs, node->size); i++) {
    const int failed = quill_map(fs, dir, i, &block);
    const struct quill_entry *all = failed != 0 ? NULL : (struct quill_entry *)quill_read_block(fs, block);
    if (all == NULL) return -EIO;
    for (uint32_t k = 0; k < entries(fs); k++)
      if (all[k].inode != 0 && fill(list, all[k].name) != 0) return 0;
  }
  return 0;
}

static int stat_of(struct quill *fs, uint32_t inode, sisyfs_stat *out) {
  const struct quill_inode *node = quill_inode(fs, inode);
  if (node == NULL) return -EIO;
  const int directory = node->type == SISYFS_DIRECTORY;
  *out = (sisyfs_stat){.type = node->type,
                       .links = directory ? 0 : node->links,
                       .size = directory ? 0 : node->size,
                       .id = inode};
  return 0;
}

int quill_stat(struct quill *fs, const char *path, sisyfs_stat *out) {
  uint32_t inode;
  const int error = resolve(fs, path, &inode, 0);
  return error != 0 ? error : stat_of(fs, inode, out);
}

int quill_stat_open(struct quill *fs, uint32_t inode, sisyfs_stat *out) {
  const int error = stat_of(fs, inode, out);
  if (error == 0 && BUG(handle_size)) out->size = fs->open[inode].size;
  return error;
}

int quill_mode(struct quill *fs, const char *path, uint32_t *mode) {
  uint32_t inode;
  const int error = resolve(fs, path, &inode, 1);
  const struct quill_inode *node = error == 0 ? quill_inode(fs, inode) : NULL;
  if (node == NULL) return error != 0 ? error : -EIO;
  *mode = node->mode ^ new_mode(node->type);
  return 0;
}

int64_t quill_readlink(struct quill *fs, const char *path, char *content, uint32_t size) {
  uint32_t inode;
  const int error = resolve(fs, path, &inode, 0);
  if (error != 0) return error;
  const struct quill_inode *node = quill_inode(fs, inode);
  if (node == NULL) return -EIO;
  if (node->type != SISYFS_SYMLINK) return -EINVAL;
  memcpy(content, node->link, node->size < size ? node->size : size);
  return node->size;
}
