/* Names that come and go, each call as ntfs-3g does it. What the kernel would refuse before it asks ntfs-3g
 * is refused here.
 *
 * ntfs-3g has no rename of its own: it links the new name and unlinks the old one. What has the new name
 * already is first given another, so that it can come back if a step fails. A power cut can leave any of
 * these steps.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "adapters/ntfs/ntfs_fs.h"

/* Room for the records and index blocks of one change. */
enum { kChange = 4096 };

static int close_inode(ntfs_inode* inode, int error) {
  if (inode != NULL && ntfs_inode_close(inode) != 0 && error == 0) return nt_errno();
  return error;
}

static int make(struct mount* m, const struct place* at, mode_t type) {
  ntfschar* name;
  u8 size = 0;
  int error = nt_unicode(at->name, &name, &size);
  ntfs_inode* dir = NULL;
  if (error == 0) {
    dir = ntfs_inode_open(m->volume, at->dir);
    if (dir == NULL) error = nt_errno();
  }
  ntfs_inode* made = NULL;
  if (error == 0) {
    made = ntfs_create(dir, const_cpu_to_le32(0), name, size, type);
    if (made == NULL) error = nt_errno();
  }
  if (made != NULL && type == S_IFREG) {
    made->flags |= FILE_ATTR_ARCHIVE;
    NInoFileNameSetDirty(made);
  }
  free(name);
  /* The directory first: the other looks for its name there. */
  error = close_inode(dir, error);
  return close_inode(made, error);
}

static int find_new(struct mount* m, const char* path, struct place* at) {
  const int error = nt_find(m, path, at);
  if (error) return error;
  return at->there ? -EEXIST : nt_room_for(m, kChange);
}

int nt_create(void* fs, const char* path) {
  struct mount* m = fs;
  struct place at;
  const int error = find_new(m, path, &at);
  return error ? error : make(m, &at, S_IFREG);
}

int nt_mkdir(void* fs, const char* path) {
  struct mount* m = fs;
  struct place at;
  const int error = find_new(m, path, &at);
  return error ? error : make(m, &at, S_IFDIR);
}

static int add_name(struct mount* m, MFT_REF file, MFT_REF dir_of, const char* text) {
  ntfschar* name;
  u8 size = 0;
  int error = nt_unicode(text, &name, &size);
  if (error) {
    free(name);
    return error;
  }
  ntfs_inode* inode = ntfs_inode_open(m->volume, file);
  ntfs_inode* dir = inode == NULL ? NULL : ntfs_inode_open(m->volume, dir_of);
  if (dir == NULL || ntfs_link(inode, dir, name, size) != 0) error = nt_errno();
  free(name);
  error = close_inode(dir, error);
  return close_inode(inode, error);
}

/* The last name takes all that the file has with it. */
static int drop_name(struct mount* m, MFT_REF file, MFT_REF dir_of, const char* text) {
  ntfschar* name;
  u8 size = 0;
  int error = nt_unicode(text, &name, &size);
  ntfs_inode* inode = error ? NULL : ntfs_inode_open(m->volume, file);
  ntfs_inode* dir = inode == NULL ? NULL : ntfs_inode_open(m->volume, dir_of);
  if (dir == NULL) {
    if (error == 0) error = nt_errno();
    error = close_inode(inode, error);
  } else if (ntfs_delete(m->volume, NULL, inode, dir, name, size) != 0) {
    /* It has closed both. */
    error = nt_errno();
  }
  free(name);
  return error;
}

int nt_unlink(void* fs, const char* path) {
  struct mount* m = fs;
  struct place at;
  const int error = nt_find_there(m, path, &at);
  if (error) return error;
  return at.is_directory ? -EISDIR : drop_name(m, at.file, at.dir, at.name);
}

int nt_rmdir(void* fs, const char* path) {
  struct mount* m = fs;
  struct place at;
  int error = nt_find_there(m, path, &at);
  if (error) return error;
  if (at.is_root) return -EBUSY;
  if (!at.is_directory) return -ENOTDIR;
  error = nt_is_empty(m, at.file);
  return error ? error : drop_name(m, at.file, at.dir, at.name);
}

int nt_link(void* fs, const char* from, const char* to) {
  struct mount* m = fs;
  struct place source, at;
  int error = nt_find_there(m, from, &source);
  if (error) return error;
  error = nt_find(m, to, &at);
  if (error) return error;
  if (at.there) return -EEXIST;
  if (source.is_directory) return -EPERM;
  error = nt_room_for(m, kChange);
  return error ? error : add_name(m, source.file, at.dir, at.name);
}

/* 0 if what has the new name may be replaced. */
static int may_replace(struct mount* m, const struct place* moved, const struct place* replaced) {
  if (replaced->is_directory) {
    const int inside = nt_lies_in(m, moved->dir, replaced->file);
    if (inside != 0) return inside < 0 ? inside : -ENOTEMPTY;
  }
  if (moved->is_directory) return replaced->is_directory ? nt_is_empty(m, replaced->file) : -ENOTDIR;
  return replaced->is_directory ? -EISDIR : 0;
}

static int move(struct mount* m, const struct place* moved, const struct place* target) {
  char aside[kMaxName + 1];
  const int size = snprintf(aside, sizeof aside, "%.200s.ntfs-3g-%010d", target->name, 1);
  int error = size < 0 ? -EIO : 0;
  if (error == 0 && target->there) {
    error = add_name(m, target->file, target->dir, aside);
    if (error == 0) error = drop_name(m, target->file, target->dir, target->name);
  }
  if (error == 0) error = add_name(m, moved->file, target->dir, target->name);
  if (error == 0) error = drop_name(m, moved->file, moved->dir, moved->name);
  if (error == 0 && target->there) error = drop_name(m, target->file, target->dir, aside);
  return error;
}

int nt_rename(void* fs, const char* from, const char* to) {
  struct mount* m = fs;
  struct place moved, target;
  int error = nt_find(m, from, &moved);
  if (error) return error;
  error = nt_find(m, to, &target);
  if (error) return error;
  if (moved.is_root || target.is_root) return -EBUSY;
  if (!moved.there) return -ENOENT;
  if (moved.is_directory) {
    error = nt_lies_in(m, target.dir, moved.file);
    if (error != 0) return error < 0 ? error : -EINVAL;
  }
  if (target.there) {
    /* POSIX: two names of one file both stay. */
    if (moved.file == target.file) return 0;
    error = may_replace(m, &moved, &target);
    if (error) return error;
  }
  error = nt_room_for(m, 2 * kChange);
  return error ? error : move(m, &moved, &target);
}
