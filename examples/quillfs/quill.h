/* quill.h: a small file system with a redo journal, for a disk with a volatile write cache.
 *
 * Every call changes blocks in memory only. They belong to the running transaction, which `quill_sync` and
 * others commit: one record in the journal. Later the blocks go to their homes (a checkpoint). Mount replays
 * the records. README.md tells how it works, and lists the mistakes that can be planted (quill_bugs.h).
 *
 * The build decides what the journal holds. By default it holds metadata and data, and a record has a
 * checksum. With -DQUILL_ORDERED it holds metadata; data goes to its home before the commit, a flush divides
 * the commit block from the rest, and freed metadata is revoked.
 *
 * Functions return 0, or a count, or a negative errno, and then they have changed nothing; what the disk
 * refused is tried again with the next commit. Memory is taken at mount only; one caller at a time.
 */
#ifndef QUILL_H
#define QUILL_H

#include <sisyfs/plugin.h>

#include "quill_bugs.h"

#ifdef QUILL_ORDERED
enum { quill_ordered = 1 };
#else
enum { quill_ordered = 0 };
#endif

enum {
  QUILL_MAGIC = 0x4C495551,
  QUILL_NAME_MAX = 29,
  QUILL_LINK_MAX = 47, /* bytes of a symbolic link */
  QUILL_DIRECT = 2,
  QUILL_ROOT = 1,
  QUILL_MAX_BLOCK = 4096,
  QUILL_JOURNAL_AT = 2, /* after the superblock and the journal header */
  QUILL_INODES = 32,
};
/* Numbers of transactions begin here with each mount. They pass 0 after a dozen, so that this gets tested. */
#define QUILL_FIRST_SEQUENCE 0xFFFFFFF4u

/* On the disk, in the byte order of the machine. */
struct quill_super {
  uint32_t magic, block_size, blocks, journal_blocks, inodes, sum;
};
struct quill_header { /* of the journal: where its records begin */
  uint32_t magic, epoch, tail, sequence, sum;
};
enum quill_kind { QUILL_DESCRIPTOR = 1, QUILL_COMMIT = 2 };
/* A descriptor is followed by the homes of the blocks behind it, then by the revoked blocks. A commit block
 * has the same numbers and, without QUILL_ORDERED, the checksum of the descriptor and the blocks. */
struct quill_record {
  uint32_t magic, kind, epoch, sequence, sum;
  uint16_t logged, revoked;
};
struct quill_inode {
  uint16_t type, links; /* enum sisyfs_file_type; 0: free. No links: an orphan, open when its name went */
  uint32_t size;
  uint16_t direct[QUILL_DIRECT], indirect;
  uint16_t mode; /* permission bits that differ from those of a new file or directory */
  char link[QUILL_LINK_MAX + 1];
};
struct quill_entry {
  uint16_t inode; /* 0: free */
  char name[QUILL_NAME_MAX + 1];
};

/* What memory knows about a block. */
enum quill_flags {
  QUILL_CACHED = 1,  /* `content` holds it */
  QUILL_LOGGED = 2,  /* changed by the running transaction */
  QUILL_DIRTY = 4,   /* data that is not at its home, with QUILL_ORDERED */
  QUILL_PENDING = 8, /* in the journal, and not at its home */
  QUILL_FROZEN = 16, /* pending and changed since: `frozen` holds what was committed */
  QUILL_FREED = 32,  /* freed by the running transaction: not to be used before the commit */
  QUILL_SAVED = 64,  /* changed by the current call: `old` holds what was there */
};

/* What a call that fails restores, besides blocks. */
struct quill_running {
  uint32_t logged;          /* blocks in the running transaction */
  uint32_t freed;           /* blocks freed by it */
  uint64_t changed, needed; /* one bit for each inode: changed; changed so that its data needs it */
};

struct quill {
  const sisyfs_disk *disk;
  uint32_t block_size, blocks, inodes, bitmap_at, inodes_at, data_at;
  int32_t failed, in_call; /* the disk has refused something; blocks that change are saved */
  struct {
    uint32_t blocks, head, used, sequence, epoch; /* of them in use; the next transaction; mounts */
    uint8_t *record;                              /* room for one as long as the journal */
  } journal;
  struct quill_running running;
  struct { /* the last name that was found */
    uint32_t dir, inode;
    char name[32];
  } last_name;
  struct { /* the last block of a file that was found */
    uint32_t inode, index, block, reserved;
  } last_block;
  struct { /* of each inode: handles for it, and the size at the first open */
    uint32_t handles, size;
  } open[QUILL_INODES + 1];
  uint8_t *content, *frozen; /* of all blocks */
  uint16_t *flags;
  struct {
    uint8_t *content, *frozen;
    uint16_t *flags;
    struct quill_running running;
  } old;
  struct { /* during replay: the newest transaction that revoked a block */
    uint32_t *number;
    uint8_t *is;
  } revoked;
};

/* quill_journal.c: blocks, transactions, replay */
int quill_format(const sisyfs_disk *disk);
int quill_open(const sisyfs_disk *disk, struct quill **fs); /* reads the journal; writes nothing */
int quill_recover(struct quill *fs); /* writes what was read, and empties the journal */
void quill_close(struct quill *fs);
uint8_t *quill_read_block(struct quill *fs, uint32_t block);                        /* null: EIO */
uint8_t *quill_change_block(struct quill *fs, uint32_t block, int data, int fresh); /* null: EIO */
void quill_forget_block(struct quill *fs, uint32_t block);
int quill_begin(struct quill *fs, uint32_t logged); /* a call that logs so many blocks at most */
void quill_end(struct quill *fs, int undo);
int quill_write_data(struct quill *fs, uint32_t block);
int quill_commit(struct quill *fs, uint32_t inode); /* for the sake of this file, or 0 */
int quill_checkpoint(struct quill *fs);

/* quill_inode.c: inodes and their blocks */
struct quill_inode *quill_inode(struct quill *fs, uint32_t inode); /* null: EIO */
int quill_map(struct quill *fs, uint32_t inode, uint32_t index, uint32_t *block);
int quill_has_space(struct quill *fs, uint32_t inode, uint32_t index);
uint64_t quill_bit_of(uint32_t inode);
struct quill_inode *quill_change_inode(struct quill *fs, uint32_t inode, int needed);
int quill_new_inode(struct quill *fs, uint32_t type, uint32_t *inode);
int quill_map_new(struct quill *fs, uint32_t inode, uint32_t index, uint32_t *block);
uint32_t quill_blocks_of(struct quill *fs, uint64_t size);
uint32_t quill_most_blocks(struct quill *fs);
int quill_grow(struct quill *fs, uint32_t inode, uint32_t size);
int quill_shrink(struct quill *fs, uint32_t inode, uint32_t size);

/* quill.c: files and directories */
int quill_mount(const sisyfs_disk *disk, struct quill **fs);
int quill_unmount(struct quill *fs);
int quill_create(struct quill *fs, const char *path, uint32_t type, const char *link);
int quill_remove(struct quill *fs, const char *path, int directory);
int quill_rename(struct quill *fs, const char *from, const char *to);
int quill_link(struct quill *fs, const char *from, const char *to);
int64_t quill_write(struct quill *fs, const char *path, uint64_t offset, const void *bytes, uint32_t length,
                    int wait);
int64_t quill_read(struct quill *fs, const char *path, uint64_t offset, void *bytes, uint32_t length);
int quill_truncate(struct quill *fs, const char *path, uint64_t size);
int quill_fsync(struct quill *fs, const char *path, int data_only);
int quill_sync(struct quill *fs);
int quill_chmod(struct quill *fs, const char *path, uint32_t mode);
int quill_mode(struct quill *fs, const char *path, uint32_t *mode);
/* Open files, by their inodes. */
int quill_open_file(struct quill *fs, const char *path, uint32_t *inode);
int quill_close_file(struct quill *fs, uint32_t inode);
int64_t quill_write_open(struct quill *fs, uint32_t inode, uint64_t offset, const void *bytes,
                         uint32_t length);
int64_t quill_read_open(struct quill *fs, uint32_t inode, uint64_t offset, void *bytes, uint32_t length);
int quill_truncate_open(struct quill *fs, uint32_t inode, uint64_t size);
int quill_fsync_open(struct quill *fs, uint32_t inode, int data_only);
int quill_stat_open(struct quill *fs, uint32_t inode, sisyfs_stat *out);
/* Frees the files that were open without a name when the power went. */
int quill_free_orphans(struct quill *fs);
int quill_is_orphan(const struct quill_inode *node);
int quill_readdir(struct quill *fs, const char *path, sisyfs_fill fill, void *list);
int quill_stat(struct quill *fs, const char *path, sisyfs_stat *out);
int64_t quill_readlink(struct quill *fs, const char *path, char *content, uint32_t size);

/* quill_check.c */
int quill_check(const sisyfs_disk *disk, int repair, sisyfs_problem problem, void *report);
int quill_name_block(const sisyfs_disk *disk, uint64_t block, char *text, uint32_t size);

#endif
