/* ledger: a small file system with a journal and an fsck, for tests of recovery.
 *
 * Block 0 is the directory, blocks 1 to 4 are inodes with their data, block 5 is the head of the journal, and
 * blocks 6 and 7 are the new content of the directory and of one inode. Each call writes both to the journal,
 * then the head, then both to their homes, then clears the head, with a flush after each step. mount and fsck
 * replay the journal. LEDGER_FAULT, a number set when it is built, plants one fault.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sisyfs/plugin.h>

enum fault {
  NONE,
  CACHE,         /* no fault: claims the contract structure */
  NO_REPLAY,     /* mount ignores the journal; fsck replays it */
  NOT_CLEARED,   /* mount replays and leaves the head, so fsck has something to do */
  CODED,         /* so does it, and fsck says so by codes of the catalogue */
  OTHER_FSCK,    /* fsck clears the head and does not replay */
  NEVER_FLUSHES, /* claims the contract structure and never flushes */
  OTHER_ERRNOS,  /* no fault: too small for any directory, and refuses the root with EPERM */
  WRONG_ERRNOS,  /* create and unlink give errnos that are wrong */
  SHORT_WRITES,  /* no fault: a write takes 64 bytes at most and says so */
  LYING_WRITES,  /* a write takes all bytes and says that it took 64 */
  SPLIT_WRITES,  /* no fault: a commit for each unit of a write, and it says so */
  HIDDEN_SPLIT,  /* a commit for each unit of a write, and it does not say so */
  LAST_FIRST,    /* as SPLIT_WRITES, and the last unit is written first */
  WHOLE_UNIT,    /* no fault: a head that must not tear has two blocks, and it says so */
  TORN_HEAD,     /* the same, and it does not say so */
  ONE_WRITE,     /* as WHOLE_UNIT, and the head is written together with what it leads to */
  LAZY,          /* no fault: mount reads through the journal, and the first write or unmount replays it */
  LAZY_CLEARS_FIRST, /* so does it, and the replay clears the head before it writes both blocks */
};
#ifndef LEDGER_FAULT
#define LEDGER_FAULT NONE
#endif

#define FILES 4
/* In a block of this file system. */
#define SECTORS (LEDGER_FAULT >= WHOLE_UNIT && LEDGER_FAULT <= ONE_WRITE ? 2 : 1)
#define BLOCK (512 * SECTORS)
#define MOST 128 /* bytes of a file */
#define UNIT 64  /* write_unit; a file has two of them */
#define MAGIC 0x4c656467u

enum { kDirectory = 0, kInodes = 1, kHead = 5, kNewDirectory = 6, kNewInode = 7, kBlocks = 8 };

struct directory {
  uint32_t magic;
  char names[FILES][16]; /* empty: not used */
  unsigned char rest[BLOCK - 4 - FILES * 16];
};
struct inode {
  uint32_t magic, length;
  unsigned char data[MOST];
  unsigned char rest[BLOCK - 8 - MOST];
};
struct head {
  uint32_t magic, inode; /* inode: a block, 0: the journal is empty */
  unsigned char rest[BLOCK - 12];
  uint32_t again; /* as inode */
};
_Static_assert(sizeof(struct directory) == BLOCK, "one block");
_Static_assert(sizeof(struct inode) == BLOCK, "one block");
_Static_assert(sizeof(struct head) == BLOCK, "one block");

static int flush(const sisyfs_disk *disk) { return LEDGER_FAULT == NEVER_FLUSHES ? 0 : disk->flush(disk); }

static int put(const sisyfs_disk *disk, uint64_t block, const void *bytes) {
  return disk->write(disk, block * SECTORS, SECTORS, bytes);
}

static int get_raw(const sisyfs_disk *disk, uint64_t block, void *bytes) {
  return disk->read(disk, block * SECTORS, SECTORS, bytes);
}

static int put_head(const sisyfs_disk *disk, uint32_t inode) {
  struct head head = {.magic = MAGIC, .inode = inode, .again = inode};
  const int error = put(disk, kHead, &head);
  return error != 0 ? error : flush(disk);
}

static int pending(const sisyfs_disk *disk);

/* Reads a block, of a lazy one through the journal. */
static int get(const sisyfs_disk *disk, uint64_t block, void *bytes) {
  const int inode = LEDGER_FAULT >= LAZY ? pending(disk) : 0;
  if (inode < 0) return inode;
  if (inode != 0 && block == kDirectory) block = kNewDirectory;
  if (inode != 0 && block == (uint64_t)inode) block = kNewInode;
  return get_raw(disk, block, bytes);
}

static int load_directory(const sisyfs_disk *disk, struct directory *directory) {
  const int error = get(disk, kDirectory, directory);
  return error != 0 ? error : directory->magic == MAGIC ? 0 : -EIO;
}

/* Writes both blocks to their homes and clears the head. */
static int finish(const sisyfs_disk *disk, uint32_t block, const struct directory *directory,
                  const struct inode *inode, int clears) {
  int error = put(disk, block, inode);
  if (error == 0) error = put(disk, kDirectory, directory);
  if (error == 0) error = flush(disk);
  return error != 0 || !clears ? error : put_head(disk, 0);
}

static int replay(const sisyfs_disk *disk, int clears);

static int commit(const sisyfs_disk *disk, uint32_t block, const struct directory *directory,
                  const struct inode *inode) {
  if (LEDGER_FAULT == ONE_WRITE) {
    struct {
      struct head head;
      struct directory directory;
      struct inode inode;
    } all = {{.magic = MAGIC, .inode = block, .again = block}, *directory, *inode};
    const int wrong = disk->write(disk, kHead * SECTORS, 3 * SECTORS, &all);
    if (wrong != 0) return wrong;
    return flush(disk) != 0 ? -EIO : finish(disk, block, directory, inode, 1);
  }
  int error = LEDGER_FAULT >= LAZY ? replay(disk, 1) : 0;
  if (error == 0) error = put(disk, kNewDirectory, directory);
  if (error == 0) error = put(disk, kNewInode, inode);
  if (error == 0) error = flush(disk);
  if (error == 0) error = put_head(disk, block);
  return error != 0 ? error : finish(disk, block, directory, inode, 1);
}

/* The inode block that the journal holds, 0 if it is empty, or a negative errno. */
static int pending(const sisyfs_disk *disk) {
  struct head head;
  const int error = get_raw(disk, kHead, &head);
  if (error != 0) return error;
  return head.magic != MAGIC || head.inode >= kHead || head.again != head.inode ? -EIO : (int)head.inode;
}

static int replay(const sisyfs_disk *disk, int clears) {
  struct directory directory;
  struct inode inode;
  const int block = pending(disk);
  if (block <= 0) return block;
  int error = get_raw(disk, kNewDirectory, &directory);
  if (error == 0) error = get_raw(disk, kNewInode, &inode);
  if (error == 0 && LEDGER_FAULT == LAZY_CLEARS_FIRST) error = put_head(disk, 0);
  return error != 0 ? error : finish(disk, (uint32_t)block, &directory, &inode, clears);
}

static int ledger_format(const sisyfs_disk *disk) {
  const struct directory directory = {.magic = MAGIC};
  const struct inode empty = {0};
  int error = put(disk, kDirectory, &directory);
  for (uint32_t i = 0; i < FILES && error == 0; i++) error = put(disk, kInodes + i, &empty);
  if (error == 0) error = put_head(disk, 0);
  return error != 0 ? error : disk->flush(disk);
}

static int ledger_mount(const sisyfs_disk *disk, void **fs) {
  struct directory directory;
  const int replays = LEDGER_FAULT != NO_REPLAY && LEDGER_FAULT < LAZY;
  int error = replays ? replay(disk, LEDGER_FAULT != NOT_CLEARED && LEDGER_FAULT != CODED) : 0;
  if (error == 0) error = load_directory(disk, &directory);
  if (error != 0) return error;
  *fs = (void *)(uintptr_t)disk;
  return 0;
}

static int ledger_unmount(void *self) {
  const int error = LEDGER_FAULT >= LAZY ? replay(self, 1) : 0;
  return error != 0 ? error : flush(self);
}

/* The number of the file, or a negative errno; -EISDIR for the root. */
static int find(const sisyfs_disk *disk, const char *path, struct directory *directory, struct inode *inode) {
  int error = load_directory(disk, directory);
  if (error != 0) return error;
  if (path[1] == 0) return -EISDIR;
  for (int i = 0; i < FILES; i++) {
    if (directory->names[i][0] == 0 || strcmp(directory->names[i], path + 1) != 0) continue;
    error = get(disk, (uint64_t)(kInodes + i), inode);
    return error != 0 ? error : inode->magic == MAGIC && inode->length <= MOST ? i : -EIO;
  }
  return -ENOENT;
}

static int ledger_create(void *self, const char *path) {
  const sisyfs_disk *disk = self;
  struct directory directory;
  struct inode inode;
  const int found = find(disk, path, &directory, &inode);
  if (found >= 0 || found == -EISDIR) return LEDGER_FAULT == WRONG_ERRNOS ? -EPERM : -EEXIST;
  if (found != -ENOENT) return found;
  if (strlen(path + 1) >= sizeof directory.names[0]) return -ENAMETOOLONG;
  for (uint32_t i = 0; i < FILES; i++) {
    if (directory.names[i][0] != 0) continue;
    strcpy(directory.names[i], path + 1);
    inode = (struct inode){.magic = MAGIC};
    return commit(disk, kInodes + i, &directory, &inode);
  }
  return -ENOSPC;
}

static int ledger_mkdir(void *self, const char *path) {
  struct directory directory;
  struct inode inode;
  const int found = find(self, path, &directory, &inode);
  return found >= 0 || found == -EISDIR ? -EEXIST : found == -ENOENT ? -ENOSPC : found;
}

static int ledger_rmdir(void *self, const char *path) {
  struct directory directory;
  struct inode inode;
  const int found = find(self, path, &directory, &inode);
  return found >= 0 ? -ENOTDIR : found == -EISDIR ? -EPERM : found;
}

static int ledger_unlink(void *self, const char *path) {
  const sisyfs_disk *disk = self;
  struct directory directory;
  struct inode inode;
  const int found = find(disk, path, &directory, &inode);
  if (found == -EISDIR) return -EPERM;
  if (found < 0) return LEDGER_FAULT == WRONG_ERRNOS ? -EINVAL : found;
  memset(directory.names[found], 0, sizeof directory.names[found]);
  memset(&inode, 0, sizeof inode);
  return commit(disk, kInodes + (uint32_t)found, &directory, &inode);
}

static int64_t ledger_write(void *self, const char *path, uint64_t offset, const void *bytes,
                            uint32_t length) {
  const sisyfs_disk *disk = self;
  struct directory directory;
  struct inode inode;
  const int found = find(disk, path, &directory, &inode);
  if (found < 0) return found;
  if (offset > MOST || length > MOST - offset) return -EFBIG;
  const int tells_less = LEDGER_FAULT == SHORT_WRITES || LEDGER_FAULT == LYING_WRITES;
  const uint32_t told = tells_less && length > 64 ? 64 : length;
  if (LEDGER_FAULT == SHORT_WRITES) length = told;
  if (LEDGER_FAULT >= SPLIT_WRITES && LEDGER_FAULT <= LAST_FIRST && length > UNIT) {
    const uint32_t first = LEDGER_FAULT == LAST_FIRST ? UNIT : 0, second = UNIT - first;
    const char *units = bytes;
    const int64_t wrote = ledger_write(self, path, offset + first, units + first, UNIT);
    if (wrote < 0) return wrote;
    const int64_t more = ledger_write(self, path, offset + second, units + second, length - UNIT);
    return more < 0 ? more : (int64_t)length;
  }
  memcpy(inode.data + offset, bytes, length);
  if (inode.length < offset + length) inode.length = (uint32_t)(offset + length);
  const int error = commit(disk, kInodes + (uint32_t)found, &directory, &inode);
  return error != 0 ? error : (int64_t)told;
}

static int64_t ledger_read(void *self, const char *path, uint64_t offset, void *bytes, uint32_t length) {
  const sisyfs_disk *disk = self;
  struct directory directory;
  struct inode inode;
  const int found = find(disk, path, &directory, &inode);
  if (found < 0) return found;
  if (offset >= inode.length) return 0;
  if (length > inode.length - offset) length = (uint32_t)(inode.length - offset);
  memcpy(bytes, inode.data + offset, length);
  return length;
}

static int ledger_readdir(void *self, const char *path, sisyfs_fill fill, void *list) {
  const sisyfs_disk *disk = self;
  struct directory directory;
  struct inode inode;
  const int found = find(disk, path, &directory, &inode);
  if (found != -EISDIR) return found >= 0 ? -ENOTDIR : found;
  const int error = load_directory(disk, &directory);
  if (error != 0) return error;
  for (int i = 0; i < FILES; i++) {
    if (directory.names[i][0] != 0 && fill(list, directory.names[i]) != 0) break;
  }
  return 0;
}

static int ledger_stat(void *self, const char *path, sisyfs_stat *out) {
  struct directory directory;
  struct inode inode;
  memset(out, 0, sizeof *out);
  out->type = SISYFS_DIRECTORY;
  if (strcmp(path, "/") == 0) return 0;
  const int found = find(self, path, &directory, &inode);
  if (found < 0) return found;
  out->type = SISYFS_FILE;
  out->size = inode.length;
  return 0;
}

/* What the journal holds, by a name of the catalogue, by a code of it, or by a word that it does not have. */
static const char *coded(const sisyfs_disk *disk, int block) {
  struct inode inode;
  if (get_raw(disk, kNewInode, &inode) != 0 || inode.length > UNIT) return "journal: it was not replayed";
  return block == kInodes && inode.length == 0 ? "lost-block: the journal was not replayed"
                                               : "M3: the journal was not replayed";
}

static int ledger_fsck(const sisyfs_disk *disk, int repair, sisyfs_problem problem, void *report) {
  const int block = pending(disk);
  if (block < 0) return block;
  if (block == 0) return 0;
  problem(report, repair, LEDGER_FAULT == CODED,
          LEDGER_FAULT == CODED ? coded(disk, block) : "the journal was not replayed");
  if (!repair) return 0;
  return LEDGER_FAULT == OTHER_FSCK ? put_head(disk, 0) : replay(disk, 1);
}

const sisyfs_plugin *sisyfs_plugin_entry(void) {
  static const sisyfs_plugin plugin = {
      SISYFS_PLUGIN_HEADER,
      .name = "ledger",
      .summary = "a journal of one call, and an fsck",
      .contract = LEDGER_FAULT == CACHE || LEDGER_FAULT == NEVER_FLUSHES ? SISYFS_STRUCTURE : SISYFS_ATOMIC,
      .promises = SISYFS_MOUNT_RECOVERS | SISYFS_LIMITED_SPACE |
                  (LEDGER_FAULT == SPLIT_WRITES || LEDGER_FAULT == LAST_FIRST ? SISYFS_SPLIT_WRITES : 0) |
                  (LEDGER_FAULT == CACHE || LEDGER_FAULT == NEVER_FLUSHES ? 0 : SISYFS_DURABLE_OPS),
      .block_size = 512,
      .block_count = kBlocks * SECTORS,
      .whole_unit = LEDGER_FAULT == WHOLE_UNIT || LEDGER_FAULT == ONE_WRITE ? BLOCK : 0,
      .write_unit = UNIT,
      .max_file_size = MOST,
      .format = ledger_format,
      .mount = ledger_mount,
      .unmount = ledger_unmount,
      .create = ledger_create,
      .mkdir = LEDGER_FAULT == OTHER_ERRNOS ? ledger_mkdir : NULL,
      .rmdir = LEDGER_FAULT == OTHER_ERRNOS ? ledger_rmdir : NULL,
      .max_depth = 1,
      .unlink = ledger_unlink,
      .write = ledger_write,
      .read = ledger_read,
      .readdir = ledger_readdir,
      .stat = ledger_stat,
      .fsck = ledger_fsck};
  return &plugin;
}
