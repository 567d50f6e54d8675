/* What files and directories hold. */
#include <errno.h>
#include <string.h>

#include "adapters/ext2/ext2_fs.h"

static int find_file(struct mount* m, const char* path, struct place* at) {
  const int error = ext2_find_there(m, path, EXT2_FOLLOW, at);
  if (error) return error;
  return ext2_is_directory(at) ? -EISDIR : 0;
}

static int can_hold(uint64_t offset, uint64_t length) {
  return offset <= INT64_MAX && length <= INT64_MAX - offset;
}

/* Blocks of data that a write may need, and those that point to them: at worst three to the first and one
 * more for each that is filled with pointers. */
static uint64_t blocks_of(ext2_filsys fs, uint64_t offset, uint32_t length) {
  const uint64_t data = (offset % fs->blocksize + length + fs->blocksize - 1) / fs->blocksize;
  return data + 6 + data / EXT2_ADDR_PER_BLOCK(fs->super);
}

int64_t ext2_write(void* fs, const char* path, uint64_t offset, const void* bytes, uint32_t length) {
  struct mount* m = fs;
  struct place at;
  int error = find_file(m, path, &at);
  if (error) return error;
  if (!can_hold(offset, length)) return -EINVAL;
  if (length == 0) return 0;
  error = ext2_room_for(m, blocks_of(m->fs, offset, length));
  if (error) return error;
  ext2_file_t file;
  errcode_t failed = ext2fs_file_open(m->fs, at.ino, EXT2_FILE_WRITE, &file);
  if (failed != 0) return ext2_errno(failed);
  unsigned written = 0;
  failed = ext2fs_file_llseek(file, offset, EXT2_SEEK_SET, NULL);
  if (failed == 0) failed = ext2fs_file_write(file, bytes, length, &written);
  if (failed == 0) failed = ext2fs_file_flush(file);
  const errcode_t closed = ext2fs_file_close(file);
  if (failed != 0 || closed != 0) return ext2_errno(failed != 0 ? failed : closed);
  error = ext2_end(m, EXT2_CLOSED, 0);
  return error ? error : (int64_t)written;
}

int64_t ext2_read(void* fs, const char* path, uint64_t offset, void* bytes, uint32_t length) {
  struct mount* m = fs;
  struct place at;
  int error = ext2_find_there(m, path, EXT2_FOLLOW, &at);
  if (error) return error;
  if (!can_hold(offset, length)) return -EINVAL;
  if (ext2_is_directory(&at)) return -EISDIR;
  ext2_file_t file;
  errcode_t failed = ext2fs_file_open(m->fs, at.ino, 0, &file);
  if (failed != 0) return ext2_errno(failed);
  unsigned got = 0;
  failed = ext2fs_file_llseek(file, offset, EXT2_SEEK_SET, NULL);
  if (failed == 0) failed = ext2fs_file_read(file, bytes, length, &got);
  const errcode_t closed = ext2fs_file_close(file);
  if (failed != 0 || closed != 0) return ext2_errno(failed != 0 ? failed : closed);
  return got;
}

int ext2_truncate(void* fs, const char* path, uint64_t size) {
  struct mount* m = fs;
  if (size > INT64_MAX) return -EINVAL;
  struct place at;
  const int error = find_file(m, path, &at);
  if (error) return error;
  ext2_file_t file;
  errcode_t failed = ext2fs_file_open(m->fs, at.ino, EXT2_FILE_WRITE, &file);
  if (failed != 0) return ext2_errno(failed);
  failed = ext2fs_file_set_size2(file, size);
  const errcode_t closed = ext2fs_file_close(file);
  return ext2_end(m, EXT2_CHANGED, ext2_errno(failed != 0 ? failed : closed));
}

/* All that there is, whichever file is meant. */
int ext2_fsync(void* fs, const char* path) {
  struct mount* m = fs;
  struct place at;
  const int error = ext2_find_there(m, path, EXT2_FOLLOW, &at);
  return error ? error : ext2_sync(m);
}

struct listing {
  sisyfs_fill fill;
  void* list;
  int is_root;
};

static int list_entry(ext2_ino_t dir, int entry, struct ext2_dir_entry* dirent, int offset, int block_size,
                      char* block, void* data) {
  (void)dir, (void)offset, (void)block_size, (void)block;
  const struct listing* listing = data;
  if (entry != DIRENT_OTHER_FILE) return 0;
  char name[EXT2_NAME_LEN + 1];
  const int size = ext2fs_dirent_name_len(dirent);
  memcpy(name, dirent->name, (size_t)size);
  name[size] = 0;
  if (listing->is_root && strcmp(name, EXT2_LOST_FOUND) == 0) return 0;
  return listing->fill(listing->list, name) != 0 ? DIRENT_ABORT : 0;
}

int ext2_readdir(void* fs, const char* path, sisyfs_fill fill, void* list) {
  struct mount* m = fs;
  struct place at;
  const int error = ext2_find_there(m, path, EXT2_FOLLOW, &at);
  if (error) return error;
  if (!ext2_is_directory(&at)) return -ENOTDIR;
  struct listing listing = {fill, list, at.ino == EXT2_ROOT_INO};
  return ext2_errno(ext2fs_dir_iterate2(m->fs, at.ino, 0, NULL, list_entry, &listing));
}

/* lost+found is not shown, so the root's link count leaves it out. */
static uint32_t links_of(struct mount* m, const struct place* at) {
  uint32_t links = at->inode.i_links_count;
  ext2_ino_t hidden;
  const int size = (int)strlen(EXT2_LOST_FOUND);
  if (at->ino == EXT2_ROOT_INO && ext2fs_lookup(m->fs, at->ino, EXT2_LOST_FOUND, size, NULL, &hidden) == 0) {
    --links;
  }
  return links;
}

int ext2_stat(void* fs, const char* path, sisyfs_stat* out) {
  struct mount* m = fs;
  struct place at;
  const int error = ext2_find_there(m, path, EXT2_KEEP, &at);
  if (error) return error;
  if (LINUX_S_ISREG(at.inode.i_mode)) {
    out->type = SISYFS_FILE;
  } else if (LINUX_S_ISLNK(at.inode.i_mode)) {
    out->type = SISYFS_SYMLINK;
  } else if (LINUX_S_ISDIR(at.inode.i_mode)) {
    out->type = SISYFS_DIRECTORY;
  } else {
    return -EIO;
  }
  out->links = links_of(m, &at);
  out->id = at.ino;
  out->size = out->type == SISYFS_DIRECTORY ? 0 : EXT2_I_SIZE(&at.inode);
  return 0;
}

int64_t ext2_readlink(void* fs, const char* path, char* content, uint32_t size) {
  struct mount* m = fs;
  struct place at;
  const int error = ext2_find_there(m, path, EXT2_KEEP, &at);
  if (error) return error;
  if (!LINUX_S_ISLNK(at.inode.i_mode)) return -EINVAL;
  char whole[EXT2_MAX_BLOCK_SIZE];
  const int64_t length = ext2_link_content(m, at.ino, whole, sizeof whole);
  if (length < 0) return length;
  const uint64_t kept = (uint64_t)length < size ? (uint64_t)length : size;
  memcpy(content, whole, kept);
  return (int64_t)kept;
}
