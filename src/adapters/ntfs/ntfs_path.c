/* The way along a path, as the kernel would go it before ntfs-3g is asked. There are no symbolic links. */
#include <errno.h>
#include <string.h>

#include "adapters/ntfs/ntfs_fs.h"

int nt_errno(void) { return errno > 0 ? -errno : -EIO; }

/* Records, index blocks and bitmaps may grow by several clusters for one change. */
int nt_room_for(struct mount* m, uint64_t bytes) {
  const uint64_t clusters = bytes / m->volume->cluster_size + 1;
  return m->volume->free_clusters > (s64)(clusters + 16) ? 0 : -ENOSPC;
}

int nt_unicode(const char* name, ntfschar** out, u8* size) {
  *out = NULL;
  const int length = ntfs_mbstoucs(name, out);
  if (length < 0) return nt_errno();
  *size = (u8)length;
  return length > kMaxName ? -ENAMETOOLONG : 0;
}

/* Looks a name up in a directory. */
static int step(struct mount* m, MFT_REF dir, const char* name, struct place* out) {
  ntfs_inode* inode = ntfs_inode_open(m->volume, dir);
  if (inode == NULL) return nt_errno();
  u64 found = (u64)-1;
  ntfschar* unicode;
  u8 size;
  int error = nt_unicode(name, &unicode, &size);
  if (error == 0) {
    /* Not by ntfs_inode_lookup_by_mbsname(): without its cache it loses the name. */
    found = ntfs_inode_lookup_by_name(inode, unicode, size);
    if (found == (u64)-1) error = nt_errno();
  }
  free(unicode);
  if (ntfs_inode_close(inode) != 0 && error == 0) error = nt_errno();
  out->there = error == 0;
  if (error == -ENOENT) return 0;
  if (error) return error;
  out->file = MREF(found);
  /* What Windows keeps for itself. */
  if (out->file < FILE_first_user) return -EPERM;
  inode = ntfs_inode_open(m->volume, (MFT_REF)found);
  if (inode == NULL) return nt_errno() == -ENOENT ? -EIO : nt_errno();
  out->is_directory = (inode->mrec->flags & MFT_RECORD_IS_DIRECTORY) != 0;
  return ntfs_inode_close(inode) != 0 ? nt_errno() : 0;
}

int nt_find(struct mount* m, const char* path, struct place* out) {
  memset(out, 0, sizeof *out);
  out->there = out->is_root = out->is_directory = 1;
  out->file = FILE_root;
  while (*path == '/') ++path;
  while (*path != 0) {
    if (!out->there) return -ENOENT;
    if (!out->is_directory) return -ENOTDIR;
    const size_t size = strcspn(path, "/");
    if (size > kMaxName) return -ENAMETOOLONG;
    memcpy(out->name, path, size);
    out->name[size] = 0;
    path += size;
    while (*path == '/') ++path;
    out->dir = out->file;
    out->is_root = 0;
    const int error = step(m, out->dir, out->name, out);
    if (error) return error;
  }
  return 0;
}

int nt_find_there(struct mount* m, const char* path, struct place* out) {
  const int error = nt_find(m, path, out);
  if (error) return error;
  return out->there ? 0 : -ENOENT;
}

int nt_is_empty(struct mount* m, MFT_REF dir) {
  ntfs_inode* inode = ntfs_inode_open(m->volume, dir);
  if (inode == NULL) return nt_errno();
  int error = ntfs_check_empty_dir(inode) < 0 ? nt_errno() : 0;
  if (ntfs_inode_close(inode) != 0 && error == 0) error = nt_errno();
  return error;
}

/* A directory has one name, and that says where it lies. */
static int parent_of(struct mount* m, MFT_REF dir, MFT_REF* out) {
  ntfs_inode* inode = ntfs_inode_open(m->volume, dir);
  if (inode == NULL) return nt_errno();
  ntfs_attr_search_ctx* search = ntfs_attr_get_search_ctx(inode, NULL);
  int error = search == NULL ? nt_errno() : 0;
  if (error == 0 && ntfs_attr_lookup(AT_FILE_NAME, AT_UNNAMED, 0, CASE_SENSITIVE, 0, NULL, 0, search) != 0) {
    error = nt_errno();
  }
  if (error == 0) {
    const FILE_NAME_ATTR* name =
        (const FILE_NAME_ATTR*)((const char*)search->attr + le16_to_cpu(search->attr->value_offset));
    *out = MREF_LE(name->parent_directory);
  }
  if (search != NULL) ntfs_attr_put_search_ctx(search);
  if (ntfs_inode_close(inode) != 0 && error == 0) error = nt_errno();
  return error;
}

int nt_lies_in(struct mount* m, MFT_REF dir, MFT_REF above) {
  for (int steps = 0; steps < 4096; ++steps) {
    if (dir == above) return 1;
    if (dir == FILE_root) return 0;
    const int error = parent_of(m, dir, &dir);
    if (error) return error;
  }
  return -EIO;
}
