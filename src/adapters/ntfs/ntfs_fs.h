/* What the parts of the NTFS plug-in share: the mounted volume, and the way along a path.
 *
 *     struct place at;
 *     int error = nt_find(m, "/a/b", &at);
 *     if (error) return error;
 *     if (!at.there) return -ENOENT;   (the directory is there, the name is not)
 *
 * Functions return 0 or a negative errno.
 */
#pragma once

#include "adapters/ntfs/ntfs_library.h"
#include "sisyfs/plugin.h"

enum { kMaxName = 255 };

struct mount {
  ntfs_volume* volume;
};

/* Where a path leads. Files are known by the number of their record, and opened for each call: libntfs-3g
 * does not know of two who have the same one open. */
struct place {
  int there;
  int is_directory;
  MFT_REF file;
  MFT_REF dir; /* that the name is in */
  int is_root; /* has no name */
  char name[kMaxName + 1];
};

int nt_find(struct mount* m, const char* path, struct place* out);
/* The same, and -ENOENT where nothing has the name. */
int nt_find_there(struct mount* m, const char* path, struct place* out);

/* A name as libntfs-3g wants it. Whether it fails or not, the name is to be freed. */
int nt_unicode(const char* name, ntfschar** out, u8* size);

/* 0, -ENOTEMPTY, or that it cannot be read. */
int nt_is_empty(struct mount* m, MFT_REF dir);
/* Whether `dir` is `above`, or lies below it: 1, 0 or an error. */
int nt_lies_in(struct mount* m, MFT_REF dir, MFT_REF above);

/* The errno of a call of libntfs-3g that has failed. */
int nt_errno(void);

/* 0 if so many bytes may be written, or -ENOSPC. */
int nt_room_for(struct mount* m, uint64_t bytes);

/* The disk, as a device of libntfs-3g. */
extern struct ntfs_device_operations nt_device_operations;
/* What the clock shows to libntfs-3g. */
void nt_set_clock(uint64_t seconds);

/* The calls of the plug-in's table, by the file that has them. */

/* ntfs_format.c */
int nt_format(const sisyfs_disk* disk);
int nt_mount(const sisyfs_disk* disk, void** fs);
int nt_unmount(void* fs);
int nt_sync(void* fs);

/* ntfs_names.c */
int nt_create(void* fs, const char* path);
int nt_mkdir(void* fs, const char* path);
int nt_unlink(void* fs, const char* path);
int nt_rmdir(void* fs, const char* path);
int nt_link(void* fs, const char* from, const char* to);
int nt_rename(void* fs, const char* from, const char* to);

/* ntfs_files.c */
int64_t nt_write(void* fs, const char* path, uint64_t offset, const void* bytes, uint32_t length);
int64_t nt_read(void* fs, const char* path, uint64_t offset, void* bytes, uint32_t length);
int nt_truncate(void* fs, const char* path, uint64_t size);
int nt_fsync(void* fs, const char* path);
int nt_readdir(void* fs, const char* path, sisyfs_fill fill, void* list);
int nt_stat(void* fs, const char* path, sisyfs_stat* out);

/* ntfs_fsck.c */
int nt_fsck(const sisyfs_disk* disk, int repair, sisyfs_problem problem, void* report);

/* ntfs_layout.c */
int nt_name_block(const sisyfs_disk* disk, uint64_t block, char* text, uint32_t size);
