/* Names that come and go, each call in fuse2fs's order of writes. What the kernel would refuse before it asks
 * fuse2fs is refused here.
 *
 * Where fuse2fs sets a directory's times after a change of its names nothing is done: the clock stands still,
 * and so the inode would be written as it is.
 */
#include <errno.h>
#include <string.h>

#include "adapters/ext2/ext2_fs.h"

static int file_type(unsigned mode) {
  if (LINUX_S_ISDIR(mode)) return EXT2_FT_DIR;
  return LINUX_S_ISLNK(mode) ? EXT2_FT_SYMLINK : EXT2_FT_REG_FILE;
}

int ext2_add_name(struct mount* m, ext2_ino_t dir, const char* name, ext2_ino_t ino, unsigned mode) {
  errcode_t error = ext2fs_link(m->fs, dir, name, ino, file_type(mode));
  if (error == EXT2_ET_DIR_NO_SPACE) {
    error = ext2fs_expand_dir(m->fs, dir);
    if (error == 0) error = ext2fs_link(m->fs, dir, name, ino, file_type(mode));
  }
  return ext2_errno(error);
}

int ext2_change_links(struct mount* m, ext2_ino_t ino, int by) {
  struct ext2_inode inode;
  errcode_t error = ext2fs_read_inode(m->fs, ino, &inode);
  if (error != 0) return ext2_errno(error);
  inode.i_links_count = (uint16_t)(inode.i_links_count + by);
  return ext2_errno(ext2fs_write_inode(m->fs, ino, &inode));
}

/* Finds where a new name goes, and that there is none like it and some room. */
static int find_new(struct mount* m, const char* path, unsigned blocks, struct place* at) {
  const int error = ext2_find(m, path, EXT2_KEEP, at);
  if (error) return error;
  return at->ino != 0 ? -EEXIST : ext2_room_for(m, blocks);
}

int ext2_create(void* fs, const char* path) {
  struct mount* m = fs;
  const unsigned mode = LINUX_S_IFREG | 0644;
  struct place at;
  int error = find_new(m, path, 1, &at);
  if (error) return error;
  ext2_ino_t ino;
  errcode_t failed = ext2fs_new_inode(m->fs, at.dir, (int)mode, NULL, &ino);
  if (failed != 0) return ext2_errno(failed);
  error = ext2_add_name(m, at.dir, at.name, ino, mode);
  if (error) return error;
  struct ext2_inode inode;
  memset(&inode, 0, sizeof inode);
  inode.i_mode = (uint16_t)mode;
  inode.i_links_count = 1;
  failed = ext2fs_write_new_inode(m->fs, ino, &inode);
  if (failed != 0) return ext2_errno(failed);
  ext2fs_inode_alloc_stats2(m->fs, ino, +1, 0);
  return ext2_end(m, EXT2_CLOSED, 0);
}

int ext2_mkdir(void* fs, const char* path) {
  struct mount* m = fs;
  struct place at;
  const int error = find_new(m, path, 2, &at);
  if (error) return error;
  errcode_t failed = ext2fs_mkdir(m->fs, at.dir, 0, at.name);
  if (failed == EXT2_ET_DIR_NO_SPACE) {
    failed = ext2fs_expand_dir(m->fs, at.dir);
    if (failed == 0) failed = ext2fs_mkdir(m->fs, at.dir, 0, at.name);
  }
  return ext2_end(m, EXT2_CHANGED, ext2_errno(failed));
}

int ext2_symlink(void* fs, const char* content, const char* path) {
  struct mount* m = fs;
  if (*content == 0) return -ENOENT;
  if (strlen(content) >= m->fs->blocksize) return -ENAMETOOLONG;
  struct place at;
  const int error = find_new(m, path, 2, &at);
  if (error) return error;
  errcode_t failed = ext2fs_symlink(m->fs, at.dir, 0, at.name, content);
  if (failed == EXT2_ET_DIR_NO_SPACE) {
    failed = ext2fs_expand_dir(m->fs, at.dir);
    if (failed == 0) failed = ext2fs_symlink(m->fs, at.dir, 0, at.name, content);
  }
  return ext2_end(m, EXT2_CHANGED, ext2_errno(failed));
}

int ext2_link(void* fs, const char* from, const char* to) {
  struct mount* m = fs;
  struct place source, at;
  int error = ext2_find_there(m, from, EXT2_KEEP, &source);
  if (error) return error;
  error = ext2_find(m, to, EXT2_KEEP, &at);
  if (error) return error;
  if (at.ino != 0) return -EEXIST;
  if (ext2_is_directory(&source)) return -EPERM;
  error = ext2_room_for(m, 2);
  if (error) return error;
  error = ext2_change_links(m, source.ino, +1);
  if (error) return error;
  error = ext2_add_name(m, at.dir, at.name, source.ino, source.inode.i_mode);
  return ext2_end(m, EXT2_CHANGED, error);
}

/* One name of an inode less; the last one frees all that it has. */
static int drop_inode(struct mount* m, ext2_ino_t ino) {
  struct ext2_inode inode;
  errcode_t error = ext2fs_read_inode(m->fs, ino, &inode);
  if (error != 0) return ext2_errno(error);
  if (inode.i_links_count == 0) return 0;
  if (--inode.i_links_count == 0) {
    inode.i_dtime = (uint32_t)m->fs->now;
    error = ext2fs_free_ext_attr(m->fs, ino, (struct ext2_inode_large*)&inode);
    if (error == 0 && ext2fs_inode_has_valid_blocks2(m->fs, &inode)) {
      error = ext2fs_punch(m->fs, ino, &inode, NULL, 0, ~0ULL);
    }
    if (error == 0) ext2fs_inode_alloc_stats2(m->fs, ino, -1, LINUX_S_ISDIR(inode.i_mode));
  }
  const errcode_t written = ext2fs_write_inode(m->fs, ino, &inode);
  return ext2_errno(error != 0 ? error : written);
}

int ext2_remove_file(struct mount* m, const struct place* at) {
  const errcode_t error = ext2fs_unlink(m->fs, at->dir, at->name, 0, 0);
  return error != 0 ? ext2_errno(error) : drop_inode(m, at->ino);
}

int ext2_unlink(void* fs, const char* path) {
  struct mount* m = fs;
  struct place at;
  const int error = ext2_find_there(m, path, EXT2_KEEP, &at);
  if (error) return error;
  if (ext2_is_directory(&at)) return -EISDIR;
  return ext2_end(m, EXT2_CHANGED, ext2_remove_file(m, &at));
}

static int note_entry(ext2_ino_t dir, int entry, struct ext2_dir_entry* dirent, int offset, int block_size,
                      char* block, void* found) {
  (void)dir, (void)dirent, (void)offset, (void)block_size, (void)block;
  if (entry != DIRENT_OTHER_FILE) return 0;
  *(int*)found = 1;
  return DIRENT_ABORT;
}

/* 0, -ENOTEMPTY, or that it cannot be read. */
int ext2_is_empty(struct mount* m, ext2_ino_t dir) {
  int found = 0;
  const errcode_t error = ext2fs_dir_iterate2(m->fs, dir, 0, NULL, note_entry, &found);
  if (error != 0) return ext2_errno(error);
  return found ? -ENOTEMPTY : 0;
}

/* A directory has two links, and is therefore dropped twice. */
int ext2_remove_directory(struct mount* m, const struct place* at) {
  const errcode_t failed = ext2fs_unlink(m->fs, at->dir, at->name, 0, 0);
  int error = ext2_errno(failed);
  if (error == 0) error = drop_inode(m, at->ino);
  if (error == 0) error = drop_inode(m, at->ino);
  return error ? error : ext2_change_links(m, at->dir, -1);
}

int ext2_rmdir(void* fs, const char* path) {
  struct mount* m = fs;
  struct place at;
  int error = ext2_find_there(m, path, EXT2_KEEP, &at);
  if (error) return error;
  if (at.dir == 0) return -EBUSY;
  if (!ext2_is_directory(&at)) return -ENOTDIR;
  error = ext2_is_empty(m, at.ino);
  return error ? error : ext2_end(m, EXT2_CHANGED, ext2_remove_directory(m, &at));
}
