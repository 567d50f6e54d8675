/* Inodes and their blocks: allocation, the map from a file to the disk, longer and shorter files. */
#include <errno.h>
#include <string.h>

#include "quill.h"

struct quill_inode *quill_inode(struct quill *fs, uint32_t inode) {
  const uint32_t each = fs->block_size / (uint32_t)sizeof(struct quill_inode), index = inode - 1;
  uint8_t *bytes = quill_read_block(fs, fs->inodes_at + index / each);
  return bytes == NULL ? NULL : (struct quill_inode *)bytes + index % each;
}

uint64_t quill_bit_of(uint32_t inode) { return 1ull << inode; }

/* `needed`: the data of the file cannot be read without this change. */
struct quill_inode *quill_change_inode(struct quill *fs, uint32_t inode, int needed) {
  const uint32_t each = fs->block_size / (uint32_t)sizeof(struct quill_inode), index = inode - 1;
  uint8_t *bytes = quill_change_block(fs, fs->inodes_at + index / each, 0, 0);
  if (bytes == NULL) return NULL;
  fs->running.changed |= quill_bit_of(inode);
  if (needed) fs->running.needed |= quill_bit_of(inode);
  return (struct quill_inode *)bytes + index % each;
}

int quill_new_inode(struct quill *fs, uint32_t type, uint32_t *inode) {
  for (*inode = 1; *inode <= fs->inodes + (BUG(last_inode) ? 1 : 0); ++*inode) {
    const struct quill_inode *old = quill_inode(fs, *inode);
    if (old == NULL) return -EIO;
    if (old->type != 0) continue;
    struct quill_inode *made = quill_change_inode(fs, *inode, 1);
    if (made != NULL) *made = (struct quill_inode){.type = (uint16_t)type, .links = 1};
    return made == NULL ? -EIO : 0;
  }
  return BUG(errno_inodes) ? -ENFILE : -ENOSPC;
}

static int new_block(struct quill *fs, int data, uint16_t *block) {
  const uint8_t *bitmap = quill_read_block(fs, fs->bitmap_at);
  if (bitmap == NULL) return -EIO;
  for (uint32_t i = fs->data_at; i < fs->blocks + (BUG(last_block) ? 1 : 0); i++) {
    if ((bitmap[i / 8] >> i % 8 & 1) != 0) continue;
    if ((fs->flags[i] & QUILL_FREED) != 0 && !BUG(reuse_early))
      continue; /* still used after a power cut now */
    if (quill_change_block(fs, fs->bitmap_at, 0, 0) == NULL) return -EIO;
    fs->content[(size_t)fs->bitmap_at * fs->block_size + i / 8] |= (uint8_t)(1u << i % 8);
    *block = (uint16_t)i;
    return quill_change_block(fs, i, data, !(BUG(stale_block) && data)) == NULL ? -EIO : 0;
  }
  return -ENOSPC;
}

static int free_block(struct quill *fs, uint32_t block) {
  uint8_t *bitmap = quill_change_block(fs, fs->bitmap_at, 0, 0);
  if (bitmap == NULL) return -EIO;
  bitmap[block / 8] &= (uint8_t) ~(1u << block % 8);
  quill_forget_block(fs, block);
  return 0;
}

/* The block of a file at an index; 0: a hole. */
int quill_map(struct quill *fs, uint32_t inode, uint32_t index, uint32_t *block) {
  if (fs->last_block.inode == inode && fs->last_block.index == index) {
    *block = fs->last_block.block;
    return 0;
  }
  const struct quill_inode *node = quill_inode(fs, inode);
  if (node == NULL) return -EIO;
  if (index < QUILL_DIRECT) {
    *block = node->direct[index];
  } else if (node->indirect == 0) {
    *block = 0;
  } else {
    const uint16_t *blocks = (const uint16_t *)quill_read_block(fs, node->indirect);
    if (blocks == NULL) return -EIO;
    *block = blocks[index - QUILL_DIRECT];
  }
  fs->last_block.inode = inode;
  fs->last_block.index = index;
  fs->last_block.block = *block;
  return 0;
}

/* The same, with a new block instead of a hole. */
int quill_map_new(struct quill *fs, uint32_t inode, uint32_t index, uint32_t *block) {
  int error = quill_map(fs, inode, index, block);
  if (error != 0 || *block != 0) return error;
  const struct quill_inode *node = quill_inode(fs, inode);
  const int data = node != NULL && node->type == SISYFS_FILE, indirect = index >= QUILL_DIRECT;
  uint16_t added, table = node == NULL ? 0 : node->indirect;
  if ((error = new_block(fs, data, &added)) != 0) return error;
  if (indirect && table == 0) {
    if ((error = new_block(fs, 0, &table)) != 0) return error;
    struct quill_inode *changed = quill_change_inode(fs, inode, 1);
    if (changed == NULL) return -EIO;
    changed->indirect = table;
  }
  if (indirect) {
    uint16_t *blocks = (uint16_t *)quill_change_block(fs, table, 0, 0);
    if (blocks == NULL) return -EIO;
    blocks[index - QUILL_DIRECT] = added;
    if (!BUG(fsync_indirect) && quill_change_inode(fs, inode, 1) == NULL) return -EIO;
  } else {
    struct quill_inode *changed = quill_change_inode(fs, inode, 1);
    if (changed == NULL) return -EIO;
    changed->direct[index] = added;
  }
  fs->last_block.block = *block = added;
  return 0;
}

uint32_t quill_blocks_of(struct quill *fs, uint64_t size) {
  return (uint32_t)((size + fs->block_size - 1) / fs->block_size);
}
uint32_t quill_most_blocks(struct quill *fs) { return QUILL_DIRECT + fs->block_size / 2; }

/* A longer file reads as zeros behind its old end, whatever the last block holds. */
int quill_grow(struct quill *fs, uint32_t inode, uint32_t size) {
  const struct quill_inode *node = quill_inode(fs, inode);
  if (node == NULL) return -EIO;
  const uint32_t old = node->size, tail = old % fs->block_size;
  uint32_t block = 0;
  if (tail != 0 && !BUG(stale_tail)) {
    const int error = quill_map(fs, inode, old / fs->block_size, &block);
    uint8_t *bytes = error != 0 || block == 0 ? NULL : quill_change_block(fs, block, 1, 0);
    if (error != 0 || (block != 0 && bytes == NULL)) return -EIO;
    if (bytes != NULL) memset(bytes + tail, 0, fs->block_size - tail);
  }
  const uint64_t changed = fs->running.changed;
  struct quill_inode *now = quill_change_inode(fs, inode, !BUG(fdatasync_size));
  if (now == NULL) return -EIO;
  if (BUG(fsync_size)) fs->running.changed = changed;
  now->size = size;
  return 0;
}

/* Frees the blocks behind a size. */
int quill_shrink(struct quill *fs, uint32_t inode, uint32_t size) {
  struct quill_inode *node = quill_change_inode(fs, inode, 0);
  if (node == NULL) return -EIO;
  const uint32_t keep = quill_blocks_of(fs, size);
  for (uint32_t i = keep; i < QUILL_DIRECT; i++) {
    if (node->direct[i] != 0 && free_block(fs, node->direct[i]) != 0) return -EIO;
    node->direct[i] = 0;
  }
  if (node->indirect != 0) {
    const int all = keep <= QUILL_DIRECT;
    uint16_t *blocks = (uint16_t *)(all ? quill_read_block(fs, node->indirect)
                                        : quill_change_block(fs, node->indirect, 0, 0));
    if (blocks == NULL) return -EIO;
    for (uint32_t i = all ? 0 : keep - QUILL_DIRECT; i < fs->block_size / 2; i++) {
      if (blocks[i] != 0 && free_block(fs, blocks[i]) != 0) return -EIO;
      if (!all && !BUG(truncate_pointer)) blocks[i] = 0;
    }
    if (all && !BUG(truncate_leak) && free_block(fs, node->indirect) != 0) return -EIO;
    if (all) node->indirect = 0;
  }
  if (!BUG(stale_map)) memset(&fs->last_block, 0, sizeof fs->last_block);
  node->size = size;
  return 0;
}

/* Whether there are free blocks for a part of a file, and for the indirect block that leads to it. */
int quill_has_space(struct quill *fs, uint32_t inode, uint32_t index) {
  uint32_t block, needs = 1;
  const struct quill_inode *node = quill_inode(fs, inode);
  const uint8_t *bitmap = quill_read_block(fs, fs->bitmap_at);
  if (node == NULL || bitmap == NULL || quill_map(fs, inode, index, &block) != 0) return -EIO;
  if (block != 0) return 0;
  if (index >= QUILL_DIRECT && node->indirect == 0 && !BUG(enospc_indirect)) needs = 2;
  for (uint32_t i = fs->data_at; i < fs->blocks + (BUG(last_block) ? 1 : 0) && needs != 0; i++)
    if ((bitmap[i / 8] >> i % 8 & 1) == 0 && ((fs->flags[i] & QUILL_FREED) == 0 || BUG(reuse_early))) needs--;
  return needs == 0 ? 0 : -ENOSPC;
}
