/* rename, in fuse2fs's order: what is in the way is removed with all that it has, the new name is made, ".."
 * and the link counts follow, the old name goes.
 *
 * So a power cut inside can leave neither the old nor the new content under the new name, or both names.
 */
#include <errno.h>

#include "adapters/ext2/ext2_fs.h"

/* Whether `dir` is `above`, or lies below it: 1, 0 or an error. */
static int lies_in(struct mount* m, ext2_ino_t dir, ext2_ino_t above) {
  for (uint32_t steps = 0; steps <= m->fs->super->s_inodes_count; ++steps) {
    if (dir == above) return 1;
    if (dir == EXT2_ROOT_INO) return 0;
    const errcode_t error = ext2fs_lookup(m->fs, dir, "..", 2, NULL, &dir);
    if (error != 0) return ext2_errno(error);
  }
  return -EIO;
}

/* 0 if what has the new name may be replaced. */
static int may_replace(struct mount* m, const struct place* moved, const struct place* replaced) {
  if (ext2_is_directory(replaced)) {
    const int inside = lies_in(m, moved->dir, replaced->ino);
    if (inside != 0) return inside < 0 ? inside : -ENOTEMPTY;
  }
  if (ext2_is_directory(moved)) {
    return ext2_is_directory(replaced) ? ext2_is_empty(m, replaced->ino) : -ENOTDIR;
  }
  return ext2_is_directory(replaced) ? -EISDIR : 0;
}

static int set_dotdot(ext2_ino_t dir, int entry, struct ext2_dir_entry* dirent, int offset, int block_size,
                      char* block, void* parent) {
  (void)dir, (void)offset, (void)block_size, (void)block;
  if (entry != DIRENT_DOT_DOT_FILE) return 0;
  dirent->inode = *(const ext2_ino_t*)parent;
  return DIRENT_CHANGED | DIRENT_ABORT;
}

static int move_directory(struct mount* m, const struct place* moved, ext2_ino_t to) {
  const errcode_t error = ext2fs_dir_iterate2(m->fs, moved->ino, 0, NULL, set_dotdot, &to);
  if (error != 0) return ext2_errno(error);
  const int failed = ext2_change_links(m, moved->dir, -1);
  return failed ? failed : ext2_change_links(m, to, +1);
}

static int move(struct mount* m, const struct place* moved, const struct place* target) {
  int error = 0;
  if (target->ino != 0) {
    error = ext2_is_directory(target) ? ext2_remove_directory(m, target) : ext2_remove_file(m, target);
  }
  if (error == 0) error = ext2_add_name(m, target->dir, target->name, moved->ino, moved->inode.i_mode);
  if (error == 0 && ext2_is_directory(moved)) error = move_directory(m, moved, target->dir);
  if (error == 0) error = ext2_errno(ext2fs_unlink(m->fs, moved->dir, moved->name, 0, 0));
  return ext2_end(m, EXT2_RENAMED, error);
}

int ext2_rename(void* fs, const char* from, const char* to) {
  struct mount* m = fs;
  struct place moved, target;
  int error = ext2_find(m, from, EXT2_KEEP, &moved);
  if (error) return error;
  error = ext2_find(m, to, EXT2_KEEP, &target);
  if (error) return error;
  if (moved.dir == 0 || target.dir == 0) return -EBUSY;
  if (moved.ino == 0) return -ENOENT;
  if (ext2_is_directory(&moved)) {
    error = lies_in(m, target.dir, moved.ino);
    if (error != 0) return error < 0 ? error : -EINVAL;
  }
  if (target.ino != 0) {
    /* POSIX: two names of one file both stay. */
    if (moved.ino == target.ino) return 0;
    error = may_replace(m, &moved, &target);
    if (error) return error;
  }
  error = ext2_room_for(m, 5);
  return error ? error : move(m, &moved, &target);
}
