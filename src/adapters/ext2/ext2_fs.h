/* What the parts of the ext2 plug-in share: the mounted file system, and the way along a path.
 *
 *     struct place at;
 *     int error = ext2_find(m, "/a/b", EXT2_KEEP, &at);
 *     if (error) return error;
 *     if (at.ino == 0) return -ENOENT;   (the directory is there, the name is not)
 *
 * Functions return 0 or a negative errno.
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "sisyfs/plugin.h"

/* e2fsck's own directory: always there, never shown. */
#define EXT2_LOST_FOUND "lost+found"

struct mount {
  ext2_filsys fs;
};

/* Where a path leads. */
struct place {
  ext2_ino_t ino;          /* 0: nothing has this name */
  ext2_ino_t dir;          /* that the name is in; 0: it was not reached by a name, like the root */
  struct ext2_inode inode; /* of `ino` */
  unsigned name_size;
  char name[EXT2_NAME_LEN + 1];
};

/* Whether a symbolic link at the end of a path is followed. Others always are. */
enum follow { EXT2_KEEP, EXT2_FOLLOW };

int ext2_find(struct mount* m, const char* path, enum follow last, struct place* out);
/* The same, and -ENOENT where nothing has the name. */
int ext2_find_there(struct mount* m, const char* path, enum follow last, struct place* out);

static inline int ext2_is_directory(const struct place* at) { return LINUX_S_ISDIR(at->inode.i_mode); }

/* What a symbolic link holds; `size` bytes of room, one of which is for a 0 at the end. */
int64_t ext2_link_content(struct mount* m, ext2_ino_t ino, char* out, uint32_t size);

/* An error of libext2fs as a negative errno. */
int ext2_errno(errcode_t error);

/* 0 if so many blocks may be taken, or -ENOSPC. */
int ext2_room_for(struct mount* m, uint64_t blocks);

/* When bitmaps, counts and the superblock are written, which libext2fs leaves to who uses it. Each way is a
 * plug-in of its own, built with EXT2_FLUSH. */
#define EXT2_FLUSH_RARELY 0  /* by fsync, sync and unmount */
#define EXT2_FLUSH_FUSE2FS 1 /* and when a file is closed that was open for writing, and after a rename */
#define EXT2_FLUSH_ALWAYS 2  /* at the end of each call, with a flush of the disk */
#ifndef EXT2_FLUSH
#define EXT2_FLUSH EXT2_FLUSH_RARELY
#endif

/* How a call that changed something ends; gives `error` back, or what went wrong now. */
enum ext2_change { EXT2_CHANGED, EXT2_CLOSED, EXT2_RENAMED };
int ext2_end(struct mount* m, enum ext2_change change, int error);
int ext2_sync(void* fs);

/* The calls of the plug-in's table, by the file that has them. */

/* ext2_format.c */
int ext2_format(const sisyfs_disk* disk);
int ext2_mount(const sisyfs_disk* disk, void** fs);
int ext2_unmount(void* fs);

/* ext2_names.c */
int ext2_create(void* fs, const char* path);
int ext2_mkdir(void* fs, const char* path);
int ext2_unlink(void* fs, const char* path);
int ext2_rmdir(void* fs, const char* path);
int ext2_link(void* fs, const char* from, const char* to);
int ext2_symlink(void* fs, const char* content, const char* path);

/* ext2_rename.c; what it takes from ext2_names.c comes first. */
int ext2_add_name(struct mount* m, ext2_ino_t dir, const char* name, ext2_ino_t ino, unsigned mode);
int ext2_is_empty(struct mount* m, ext2_ino_t dir);
int ext2_remove_file(struct mount* m, const struct place* at);
int ext2_remove_directory(struct mount* m, const struct place* at);
int ext2_change_links(struct mount* m, ext2_ino_t ino, int by);
int ext2_rename(void* fs, const char* from, const char* to);

/* ext2_files.c */
int64_t ext2_write(void* fs, const char* path, uint64_t offset, const void* bytes, uint32_t length);
int64_t ext2_read(void* fs, const char* path, uint64_t offset, void* bytes, uint32_t length);
int ext2_truncate(void* fs, const char* path, uint64_t size);
int ext2_fsync(void* fs, const char* path);
int ext2_readdir(void* fs, const char* path, sisyfs_fill fill, void* list);
int ext2_stat(void* fs, const char* path, sisyfs_stat* out);
int64_t ext2_readlink(void* fs, const char* path, char* content, uint32_t size);

/* ext2_xattr.c */
int ext2_setxattr(void* fs, const char* path, const char* name, const void* value, uint32_t length);
int64_t ext2_getxattr(void* fs, const char* path, const char* name, void* value, uint32_t size);
int ext2_listxattr(void* fs, const char* path, sisyfs_fill fill, void* list);
int ext2_removexattr(void* fs, const char* path, const char* name);

/* ext2_fsck.c */
int ext2_fsck(const sisyfs_disk* disk, int repair, sisyfs_problem problem, void* report);

/* ext2_layout.c */
int ext2_name_block(const sisyfs_disk* disk, uint64_t block, char* text, uint32_t size);
