/* The way along a path, as the kernel would go it before fuse2fs is asked. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "adapters/ext2/ext2_fs.h"

enum { kMaxFollowed = 40 };

int ext2_errno(errcode_t error) {
  if (error < EXT2_ET_BASE) return error > 0 ? -(int)error : (int)error;
  switch (error) {
    case EXT2_ET_NO_MEMORY:
      return -ENOMEM;
    case EXT2_ET_NO_DIRECTORY:
      return -ENOTDIR;
    case EXT2_ET_FILE_NOT_FOUND:
      return -ENOENT;
    case EXT2_ET_FILE_EXISTS:
    case EXT2_ET_DIR_EXISTS:
      return -EEXIST;
    case EXT2_ET_INVALID_ARGUMENT:
    case EXT2_ET_LLSEEK_FAILED:
      return -EINVAL;
    case EXT2_ET_TOOSMALL:
    case EXT2_ET_DIR_NO_SPACE:
    case EXT2_ET_BLOCK_ALLOC_FAIL:
    case EXT2_ET_INODE_ALLOC_FAIL:
    case EXT2_ET_EA_NO_SPACE:
      return -ENOSPC;
    case EXT2_ET_FILE_TOO_BIG:
      return -EFBIG;
    case EXT2_ET_EA_KEY_NOT_FOUND:
      return -ENODATA;
    default:
      return -EIO;
  }
}

/* fuse2fs keeps a tenth of the blocks free, because libext2fs can leave damage when it runs out of them. */
int ext2_room_for(struct mount* m, uint64_t blocks) {
  const struct ext2_super_block* super = m->fs->super;
  const uint64_t kept = ext2fs_blocks_count((struct ext2_super_block*)super) / 10;
  return ext2fs_free_blocks_count((struct ext2_super_block*)super) > kept + blocks ? 0 : -ENOSPC;
}

int64_t ext2_link_content(struct mount* m, ext2_ino_t ino, char* out, uint32_t size) {
  struct ext2_inode inode;
  errcode_t error = ext2fs_read_inode(m->fs, ino, &inode);
  if (error != 0) return ext2_errno(error);
  unsigned got = 0;
  if (ext2fs_is_fast_symlink(&inode)) {
    const char* content = (const char*)inode.i_block;
    while (got < inode.i_size && got + 1 < size && content[got] != 0) ++got;
    memcpy(out, content, got);
  } else {
    ext2_file_t file;
    error = ext2fs_file_open(m->fs, ino, 0, &file);
    if (error != 0) return ext2_errno(error);
    error = ext2fs_file_read(file, out, size - 1, &got);
    const errcode_t closed = ext2fs_file_close(file);
    if (error != 0 || closed != 0) return ext2_errno(error != 0 ? error : closed);
  }
  out[got] = 0;
  return got;
}

/* The child of a directory; 0 if there is none. */
static int child_of(struct mount* m, ext2_ino_t dir, const char* name, unsigned size, ext2_ino_t* child) {
  *child = 0;
  if (dir == EXT2_ROOT_INO && size == strlen(EXT2_LOST_FOUND) && memcmp(name, EXT2_LOST_FOUND, size) == 0) {
    return -EPERM;
  }
  const errcode_t error = ext2fs_lookup(m->fs, dir, name, (int)size, NULL, child);
  return error == EXT2_ET_FILE_NOT_FOUND ? 0 : ext2_errno(error);
}

/* Puts what the link holds before the rest of the path. `rest` lies in `buffer`. */
static int follow(struct mount* m, ext2_ino_t link, char* buffer, const char* rest) {
  char content[PATH_MAX];
  const int64_t size = ext2_link_content(m, link, content, sizeof content);
  if (size < 0) return (int)size;
  const size_t left = strlen(rest);
  if ((size_t)size + left >= PATH_MAX) return -ENAMETOOLONG;
  memmove(buffer + size, rest, left + 1);
  memcpy(buffer, content, (size_t)size);
  return 0;
}

static int read_inode(struct mount* m, ext2_ino_t ino, struct ext2_inode* out) {
  return ext2_errno(ext2fs_read_inode(m->fs, ino, out));
}

int ext2_find(struct mount* m, const char* path, enum follow last, struct place* out) {
  char buffer[PATH_MAX];
  if (strlen(path) >= sizeof buffer) return -ENAMETOOLONG;
  strcpy(buffer, path);
  const char* rest = buffer;
  ext2_ino_t here = EXT2_ROOT_INO;
  out->ino = out->dir = 0;
  for (int followed = 0;;) {
    while (*rest == '/') ++rest;
    if (*rest == 0) {
      out->ino = here;
      return read_inode(m, here, &out->inode);
    }
    const char* name = rest;
    const size_t size = strcspn(name, "/");
    rest += size;
    if (size == 1 && name[0] == '.') continue;
    if (size > EXT2_NAME_LEN) return -ENAMETOOLONG;
    ext2_ino_t next;
    int error = child_of(m, here, name, (unsigned)size, &next);
    if (error) return error;
    if (size == 2 && name[0] == '.' && name[1] == '.') {
      here = next;
      continue;
    }
    if (next == 0 && *rest != 0) return -ENOENT;
    if (next != 0 && (error = read_inode(m, next, &out->inode)) != 0) return error;
    if (next != 0 && LINUX_S_ISLNK(out->inode.i_mode) && (*rest != 0 || last == EXT2_FOLLOW)) {
      if (++followed > kMaxFollowed) return -ELOOP;
      error = follow(m, next, buffer, rest);
      if (error) return error;
      rest = buffer;
      if (*rest == '/') here = EXT2_ROOT_INO;
      continue;
    }
    if (*rest == 0) {
      out->ino = next;
      out->dir = here;
      out->name_size = (unsigned)size;
      memcpy(out->name, name, size);
      out->name[size] = 0;
      return 0;
    }
    if (!LINUX_S_ISDIR(out->inode.i_mode)) return -ENOTDIR;
    here = next;
  }
}

int ext2_find_there(struct mount* m, const char* path, enum follow last, struct place* out) {
  const int error = ext2_find(m, path, last, out);
  if (error) return error;
  return out->ino == 0 ? -ENOENT : 0;
}
