/* What files and directories hold. */
#include <errno.h>
#include <string.h>

#include "adapters/ntfs/ntfs_fs.h"

/* A file with its content open. */
struct opened {
  ntfs_inode* inode;
  ntfs_attr* data;
};

static int open_data(struct mount* m, MFT_REF file, struct opened* out) {
  out->inode = ntfs_inode_open(m->volume, file);
  if (out->inode == NULL) return nt_errno();
  out->data = ntfs_attr_open(out->inode, AT_DATA, AT_UNNAMED, 0);
  if (out->data != NULL) return 0;
  const int error = nt_errno();
  ntfs_inode_close(out->inode);
  return error;
}

static int close_data(struct opened* file, int error) {
  ntfs_attr_close(file->data);
  if (ntfs_inode_close(file->inode) != 0 && error == 0) return nt_errno();
  return error;
}

/* As ntfs-3g does after a change: Windows wants to know what to back up. The times are what they were. */
static void note_change(struct opened* file) {
  file->inode->flags |= FILE_ATTR_ARCHIVE;
  NInoFileNameSetDirty(file->inode);
}

static int can_hold(uint64_t offset, uint64_t length) {
  return offset <= INT64_MAX && length <= INT64_MAX - offset;
}

int64_t nt_write(void* fs, const char* path, uint64_t offset, const void* bytes, uint32_t length) {
  struct mount* m = fs;
  struct place at;
  int error = nt_find_there(m, path, &at);
  if (error) return error;
  if (at.is_directory) return -EISDIR;
  if (!can_hold(offset, length)) return -EINVAL;
  if (length == 0) return 0;
  error = nt_room_for(m, length);
  if (error) return error;
  struct opened file;
  error = open_data(m, at.file, &file);
  if (error) return error;
  for (uint32_t done = 0; error == 0 && done < length;) {
    const s64 wrote =
        ntfs_attr_pwrite(file.data, (s64)(offset + done), length - done, (const char*)bytes + done);
    if (wrote <= 0) {
      error = nt_errno();
    } else {
      done += (uint32_t)wrote;
    }
  }
  note_change(&file);
  error = close_data(&file, error);
  return error ? error : (int64_t)length;
}

int64_t nt_read(void* fs, const char* path, uint64_t offset, void* bytes, uint32_t length) {
  struct mount* m = fs;
  struct place at;
  int error = nt_find_there(m, path, &at);
  if (error) return error;
  if (!can_hold(offset, length)) return -EINVAL;
  if (at.is_directory) return -EISDIR;
  struct opened file;
  error = open_data(m, at.file, &file);
  if (error) return error;
  uint32_t done = 0;
  while (error == 0 && done < length && (s64)(offset + done) < file.data->data_size) {
    const s64 got = ntfs_attr_pread(file.data, (s64)(offset + done), length - done, (char*)bytes + done);
    if (got < 0) error = nt_errno();
    if (got <= 0) break;
    done += (uint32_t)got;
  }
  error = close_data(&file, error);
  return error ? error : (int64_t)done;
}

int nt_truncate(void* fs, const char* path, uint64_t size) {
  struct mount* m = fs;
  if (size > INT64_MAX) return -EINVAL;
  struct place at;
  int error = nt_find_there(m, path, &at);
  if (error) return error;
  if (at.is_directory) return -EISDIR;
  struct opened file;
  error = open_data(m, at.file, &file);
  if (error) return error;
  if ((uint64_t)file.data->data_size != size) {
    if (size > (uint64_t)file.data->data_size) error = nt_room_for(m, size - (uint64_t)file.data->data_size);
    if (error == 0 && ntfs_attr_truncate(file.data, (s64)size) != 0) error = nt_errno();
    if (error == 0) note_change(&file);
  }
  return close_data(&file, error);
}

/* All that there is, whichever file is meant. */
int nt_fsync(void* fs, const char* path) {
  struct mount* m = fs;
  struct place at;
  const int error = nt_find_there(m, path, &at);
  return error ? error : nt_sync(m);
}

struct listing {
  sisyfs_fill fill;
  void* list;
  int stopped;
  int error;
};

static int list_entry(void* data, const ntfschar* name, const int size, const int name_type, const s64 pos,
                      const MFT_REF file, const unsigned type) {
  (void)pos, (void)type;
  struct listing* listing = data;
  if (name_type == FILE_NAME_DOS || MREF(file) < FILE_first_user || listing->stopped) return 0;
  char* text = NULL;
  if (ntfs_ucstombs(name, size, &text, 0) < 0) {
    listing->error = nt_errno();
    return -1;
  }
  listing->stopped = listing->fill(listing->list, text) != 0;
  free(text);
  return 0;
}

int nt_readdir(void* fs, const char* path, sisyfs_fill fill, void* list) {
  struct mount* m = fs;
  struct place at;
  int error = nt_find_there(m, path, &at);
  if (error) return error;
  if (!at.is_directory) return -ENOTDIR;
  ntfs_inode* dir = ntfs_inode_open(m->volume, at.file);
  if (dir == NULL) return nt_errno();
  struct listing listing = {fill, list, 0, 0};
  s64 pos = 0;
  if (ntfs_readdir(dir, &pos, &listing, list_entry) != 0) error = nt_errno();
  if (listing.error) error = listing.error;
  if (ntfs_inode_close(dir) != 0 && error == 0) error = nt_errno();
  return error;
}

int nt_stat(void* fs, const char* path, sisyfs_stat* out) {
  struct mount* m = fs;
  struct place at;
  const int error = nt_find_there(m, path, &at);
  if (error) return error;
  ntfs_inode* inode = ntfs_inode_open(m->volume, at.file);
  if (inode == NULL) return nt_errno();
  out->type = at.is_directory ? SISYFS_DIRECTORY : SISYFS_FILE;
  /* A directory of NTFS has one link, whatever is in it. */
  out->links = at.is_directory ? 0 : le16_to_cpu(inode->mrec->link_count);
  out->id = at.file;
  out->size = at.is_directory ? 0 : (uint64_t)inode->data_size;
  return ntfs_inode_close(inode) != 0 ? nt_errno() : 0;
}
