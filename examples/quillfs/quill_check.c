/* The offline check, and what a block is in words. The check reads the journal as mount does. Problems that
 * the catalogue of Sisyfs knows begin with their name there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quill.h"

struct check {
  struct quill *fs;
  sisyfs_problem problem;
  void *report;
  uint8_t *used; /* for each block */
  uint32_t names[64];
};

static void tell(struct check *check, int lost, const char *text) {
  check->problem(check->report, 0, lost, text);
}

static void use(struct check *check, uint32_t block) {
  if (block < check->fs->data_at || block >= check->fs->blocks) {
    tell(check, 1, "bad-entry: a file has a block outside of the disk");
  } else if (check->used[block]++ == 1) {
    tell(check, 1, "double-pointer: two files have the same block");
  }
}

static int check_inode(struct check *check, uint32_t inode) {
  struct quill *fs = check->fs;
  const struct quill_inode *node = quill_inode(fs, inode);
  if (node == NULL) return -EIO;
  if (node->type == 0) return 0;
  if (node->type > SISYFS_SYMLINK) tell(check, 1, "bad-entry: an inode has no type");
  if (node->type == SISYFS_SYMLINK) {
    if (node->size > QUILL_LINK_MAX) tell(check, 1, "a symbolic link is too long");
    return 0;
  }
  const uint32_t end = (node->size + fs->block_size - 1) / fs->block_size;
  if (end > QUILL_DIRECT + fs->block_size / 2) tell(check, 1, "a file is too long");
  for (uint32_t i = 0; i < QUILL_DIRECT + fs->block_size / 2; i++) {
    uint32_t block;
    if (i >= QUILL_DIRECT && node->indirect != 0 && node->indirect >= fs->blocks) break;
    const int error = quill_map(fs, inode, i, &block);
    if (error != 0) return error;
    if (block != 0) use(check, block);
    if (block != 0 && i >= end) tell(check, 1, "a file has a block behind its end");
    if (block == 0 && i < end && node->type == SISYFS_DIRECTORY) tell(check, 1, "a directory has a hole");
    if (block == 0 || block >= fs->blocks || i >= end || node->type != SISYFS_DIRECTORY) continue;
    const struct quill_entry *all = (struct quill_entry *)quill_read_block(fs, block);
    for (uint32_t k = 0; all != NULL && k < fs->block_size / sizeof *all; k++) {
      if (all[k].inode > fs->inodes)
        tell(check, 1, "lost-node: a name leads to no inode");
      else if (all[k].inode != 0)
        check->names[all[k].inode]++;
    }
  }
  if (node->indirect != 0) use(check, node->indirect);
  return 0;
}

int quill_check(const sisyfs_disk *disk, int repair, sisyfs_problem problem, void *report) {
  struct check check = {.problem = problem, .report = report};
  int error = quill_open(disk, &check.fs);
  if (error != 0) return error;
  struct quill *fs = check.fs;
  int pending = 0;
  for (uint32_t i = 0; i < fs->blocks; i++) pending |= fs->flags[i] & QUILL_PENDING;
  int orphans = 0;
  for (uint32_t i = 1; i <= fs->inodes; i++)
    orphans |= quill_inode(fs, i) != NULL && quill_is_orphan(quill_inode(fs, i));
  if (repair && (pending != 0 || orphans != 0)) error = quill_recover(fs);
  if (repair && orphans != 0 && error == 0) error = quill_free_orphans(fs);
  if (repair && orphans != 0 && error == 0) error = quill_checkpoint(fs);
  if (repair && orphans != 0 && error == 0)
    problem(report, 1, 0, "a file has no name: it was open when the power went");
  if (error == 0 && (check.used = calloc(1, fs->blocks)) == NULL) error = -ENOMEM;
  check.names[QUILL_ROOT] = 1;
  for (uint32_t i = 1; i <= fs->inodes && error == 0; i++) error = check_inode(&check, i);
  for (uint32_t i = 1; i <= fs->inodes && error == 0; i++) {
    const struct quill_inode *node = quill_inode(fs, i);
    if (node == NULL)
      error = -EIO;
    else if (node->type == 0 && check.names[i] != 0)
      tell(&check, 1, "lost-node: a name leads to a free inode");
    else if (node->type != 0 && check.names[i] == 0)
      tell(&check, 0, "dead-node: an inode has no name");
    else if (node->type != 0 && node->links != check.names[i])
      tell(&check, 1, "a link count is wrong");
  }
  const uint8_t *bitmap = error == 0 ? quill_read_block(fs, fs->bitmap_at) : NULL;
  if (error == 0 && bitmap == NULL) error = -EIO;
  for (uint32_t i = 0; i < fs->blocks && error == 0; i++) {
    const int marked = bitmap[i / 8] >> i % 8 & 1, used = i < fs->data_at || check.used[i] != 0;
    if (used && !marked) tell(&check, 1, "lost-block: a block that is used is marked as free");
    if (!used && marked) tell(&check, 0, "dead-block: a block that no file uses is marked as used");
  }
  free(check.used);
  quill_close(fs);
  return error;
}

int quill_name_block(const sisyfs_disk *disk, uint64_t block, char *text, uint32_t size) {
  uint8_t bytes[QUILL_MAX_BLOCK];
  struct quill_super super;
  if (disk->block_size > sizeof bytes || disk->read(disk, 0, 1, bytes) != 0) return -EIO;
  memcpy(&super, bytes, sizeof super);
  if (super.magic != QUILL_MAGIC || super.inodes > 64 || super.block_size != disk->block_size) return -EINVAL;
  const uint64_t bitmap = QUILL_JOURNAL_AT + super.journal_blocks;
  const uint64_t table =
      (super.inodes * sizeof(struct quill_inode) + super.block_size - 1) / super.block_size;
  if (block == 0)
    snprintf(text, size, "superblock");
  else if (block == 1)
    snprintf(text, size, "journal header");
  else if (block < bitmap)
    snprintf(text, size, "journal %u", (unsigned)(block - QUILL_JOURNAL_AT));
  else if (block == bitmap)
    snprintf(text, size, "bitmap");
  else if (block <= bitmap + table)
    snprintf(text, size, "inode table %u", (unsigned)(block - bitmap - 1));
  else
    return -ENOENT;
  return 0;
}
