/* Extended attributes, which on ext2 share one block for each file. */
#include <errno.h>
#include <string.h>

#include "adapters/ext2/ext2_fs.h"

enum { kMaxValue = 65536 };
static const char kSpace[] = "user.";

/* Linux looks at the length of the name, then for the file, and then at the rest of the name. */
static int find(struct mount* m, const char* path, const char* name, struct place* at) {
  const size_t size = strlen(name);
  if (size == 0 || size > EXT2_NAME_LEN) return -ERANGE;
  const int error = ext2_find_there(m, path, EXT2_FOLLOW, at);
  if (error) return error;
  if (strncmp(name, kSpace, strlen(kSpace)) != 0) return -EOPNOTSUPP;
  return size == strlen(kSpace) ? -EINVAL : 0;
}

/* The attributes of a file, read. */
static int open_all(struct mount* m, ext2_ino_t ino, struct ext2_xattr_handle** out) {
  errcode_t error = ext2fs_xattrs_open(m->fs, ino, out);
  if (error != 0) return ext2_errno(error);
  error = ext2fs_xattrs_read(*out);
  if (error != 0) ext2fs_xattrs_close(out);
  return ext2_errno(error);
}

static int close_all(struct ext2_xattr_handle* all, errcode_t error) {
  const errcode_t closed = ext2fs_xattrs_close(&all);
  return ext2_errno(error != 0 ? error : closed);
}

int ext2_setxattr(void* fs, const char* path, const char* name, const void* value, uint32_t length) {
  struct mount* m = fs;
  const size_t size = strlen(name);
  if (size != 0 && size <= EXT2_NAME_LEN && length > kMaxValue) return -E2BIG;
  struct place at;
  int error = find(m, path, name, &at);
  if (error) return error;
  error = ext2_room_for(m, 1);
  if (error) return error;
  struct ext2_xattr_handle* all;
  error = open_all(m, at.ino, &all);
  if (error) return error;
  return ext2_end(m, EXT2_CHANGED, close_all(all, ext2fs_xattr_set(all, name, value, length)));
}

int ext2_removexattr(void* fs, const char* path, const char* name) {
  struct mount* m = fs;
  struct place at;
  int error = find(m, path, name, &at);
  if (error) return error;
  struct ext2_xattr_handle* all;
  error = open_all(m, at.ino, &all);
  if (error) return error;
  /* To remove what is not there succeeds in libext2fs. */
  void* value;
  size_t length;
  errcode_t failed = ext2fs_xattr_get(all, name, &value, &length);
  if (failed == 0) {
    ext2fs_free_mem(&value);
    failed = ext2fs_xattr_remove(all, name);
  }
  return ext2_end(m, EXT2_CHANGED, close_all(all, failed));
}

int64_t ext2_getxattr(void* fs, const char* path, const char* name, void* value, uint32_t size) {
  struct mount* m = fs;
  struct place at;
  int error = find(m, path, name, &at);
  if (error) return error;
  struct ext2_xattr_handle* all;
  error = open_all(m, at.ino, &all);
  if (error) return error;
  void* bytes;
  size_t length = 0;
  const errcode_t failed = ext2fs_xattr_get(all, name, &bytes, &length);
  if (failed == 0) {
    if (length > size) {
      error = -ERANGE;
    } else if (length != 0) {
      memcpy(value, bytes, length);
    }
    ext2fs_free_mem(&bytes);
  }
  const int closed = close_all(all, failed);
  if (closed) return closed;
  return error ? error : (int64_t)length;
}

struct names {
  sisyfs_fill fill;
  void* list;
};

static int list_name(char* name, char* value, size_t length, void* data) {
  (void)value, (void)length;
  const struct names* names = data;
  return names->fill(names->list, name) != 0 ? XATTR_ABORT : 0;
}

int ext2_listxattr(void* fs, const char* path, sisyfs_fill fill, void* list) {
  struct mount* m = fs;
  struct place at;
  int error = ext2_find_there(m, path, EXT2_FOLLOW, &at);
  if (error) return error;
  struct ext2_xattr_handle* all;
  error = open_all(m, at.ino, &all);
  if (error) return error;
  struct names names = {fill, list};
  return close_all(all, ext2fs_xattrs_iterate(all, list_name, &names));
}
