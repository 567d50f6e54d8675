/* sisyfs/plugin.h: plug your own file system into Sisyfs.
 *
 * You write one table of functions and one entry point, build a shared library and run
 *
 *     sisyfs check ./libmyfs.so --disk 1MiB --block 512
 *
 * Sisyfs then runs every sequence of the calls that you have, up to a bound, cuts the power at every point,
 * mounts again and judges what came back. Your code stays as it is: it may call malloc, keep globals and
 * crash.
 *
 *     static int my_mount(const sisyfs_disk *disk, void **fs) { ... *fs = my_state; return 0; }
 *     ...
 *     const sisyfs_plugin *sisyfs_plugin_entry(void) {
 *       static const sisyfs_plugin plugin = {
 *         SISYFS_PLUGIN_HEADER, .name = "myfs", .contract = SISYFS_FSYNC,
 *         .format = my_format, .mount = my_mount, .unmount = my_unmount,
 *         .create = my_create, .write = my_write, .read = my_read, .readdir = my_readdir, .stat = my_stat };
 *       return &plugin;
 *     }
 *
 * What is left out (a null pointer) is not supported and is never asked for. Needed are format, mount,
 * unmount, readdir and stat, and read if there is write; the rest makes the check worth its time.
 *
 * Conventions: a function returns 0, or a count where the comment says so, or a negative errno (-ENOENT).
 * Paths are absolute, without a "/" at the end: "/a/b"; the root is "/". A call that fails must change
 * nothing. All that is remembered must live in malloc's memory and in globals. The code must be
 * deterministic: it asks no clock and no random number, or gets the same answer each time (see
 * sisyfs_disk.now).
 *
 * The interface is versioned. Within a major version fields are only added, at the end of the tables.
 */
#pragma once

/* This is C. NOLINTBEGIN(modernize-*) */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SISYFS_PLUGIN_MAJOR 1
#define SISYFS_PLUGIN_MINOR 1

/* The disk. Addresses and counts are blocks. It lives until unmount() or the power cut. */
typedef struct sisyfs_disk sisyfs_disk;
struct sisyfs_disk {
  uint32_t size; /* of this struct */
  uint32_t block_size;
  uint64_t block_count;
  uint32_t erase_blocks; /* blocks of an erase unit of raw flash; 0: a disk */
  uint32_t reserved;
  uint64_t now; /* seconds, always the same: what to take for the time of day */
  void* engine; /* ours */

  /* 0, or a negative errno: -EIO if the device failed, -EINVAL outside of the disk or against its rules. */
  int (*read)(const sisyfs_disk* disk, uint64_t block, uint32_t count, void* bytes);
  /* Durable after a later flush. On raw flash it programs pages, which must have been erased. */
  int (*write)(const sisyfs_disk* disk, uint64_t block, uint32_t count, const void* bytes);
  /* Durable when it returns. */
  int (*write_through)(const sisyfs_disk* disk, uint64_t block, uint32_t count, const void* bytes);
  /* All that was written before is durable once it returns 0. */
  int (*flush)(const sisyfs_disk* disk);
  /* Gives up what blocks hold. On raw flash: erases whole units, which then read as 0xFF. */
  int (*erase)(const sisyfs_disk* disk, uint64_t block, uint64_t count);
  /* Optional to call: "all calls before this one are stable", and with `this_too` this one as well, where a
   * commit is done that no call promises. From here on a power cut must not lose any of that. */
  void (*stable)(const sisyfs_disk* disk, int this_too);
};

enum sisyfs_file_type { SISYFS_FILE = 1, SISYFS_DIRECTORY = 2, SISYFS_SYMLINK = 3 };

typedef struct sisyfs_stat {
  uint32_t type;  /* of enum sisyfs_file_type */
  uint32_t links; /* names that it has; 0: not known, and not compared */
  uint64_t size;  /* of a file, in bytes */
  uint64_t id;    /* the same for all names of one file, and only for them; 0: no file has two names */
} sisyfs_stat;

/* Called by readdir and listxattr once for each name; "." and ".." may be left out. Not 0: stop and return 0.
 */
typedef int (*sisyfs_fill)(void* list, const char* name);

/* Called by fsck for each thing that is wrong. `repaired`: it is right now. `lost`: something of the user's
 * is gone, or will be; otherwise it was harmless, like a block that nobody uses. One line of text, without
 * numbers that differ from run to run. */
typedef void (*sisyfs_problem)(void* report, int repaired, int lost, const char* text);

/* What a power cut must leave (docs/contracts.md). */
enum sisyfs_contract {
  SISYFS_ATOMIC = 0,    /* a state that there was, not older than the last sync */
  SISYFS_ORDERED = 1,   /* the same for names and sizes; data may be of any version since */
  SISYFS_FSYNC = 2,     /* each file as of its last fsync, or newer */
  SISYFS_STRUCTURE = 3, /* it mounts, can be read and used */
};

enum sisyfs_promise {
  SISYFS_DURABLE_OPS = 1 << 0,    /* every call is durable when it returns */
  SISYFS_MOUNT_RECOVERS = 1 << 1, /* after a power cut mount() alone is enough, without fsck() */
  SISYFS_FSYNC_NAMES = 1 << 2,    /* fsync keeps a new file's name too */
  SISYFS_FSYNC_ALL = 1 << 3,      /* fsync of any file does what sync does */
  SISYFS_RENAME_BOTH = 1 << 4,    /* a power cut may leave the old and the new name of a rename */
  SISYFS_LIMITED_SPACE = 1 << 5,  /* may answer -ENOSPC where a call needs room, and then changes nothing */
};

/* The table of a plug-in: what it claims, and its functions.
 * LARGE CLASS: a C interface grows only at the end of this one table, so it cannot be taken apart. */
typedef struct sisyfs_plugin {
  /* Filled in by SISYFS_PLUGIN_HEADER. */
  uint32_t size, major, minor;

  uint32_t contract;   /* of enum sisyfs_contract */
  uint32_t promises;   /* of enum sisyfs_promise, or'ed */
  const char* name;    /* of letters, digits, "-" and "_" */
  const char* summary; /* one line; may be null */

  /* The disk that it wants, unless the user says otherwise; 0: 512 bytes, 256 blocks, no flash. */
  uint32_t block_size;
  uint32_t erase_blocks;
  uint64_t block_count;
  /* Limits; 0: none. Offsets and lengths of reads and writes are multiples of write_unit. */
  uint32_t write_unit;
  uint32_t max_name;  /* bytes of a name */
  uint32_t max_depth; /* names in a path; 1: there are no directories below the root */
  uint32_t max_files;
  uint64_t max_file_size;

  /* Makes an empty file system. Not while mounted. */
  int (*format)(const sisyfs_disk* disk);
  /* Starts on a disk, with what recovery it does by itself. `*fs` is handed to every later call. */
  int (*mount)(const sisyfs_disk* disk, void** fs);
  /* Writes back what is left and frees everything, also where it fails. */
  int (*unmount)(void* fs);

  int (*create)(void* fs, const char* path); /* an empty file; -EEXIST if the name is there */
  int (*mkdir)(void* fs, const char* path);
  int (*unlink)(void* fs, const char* path);
  int (*rmdir)(void* fs, const char* path);
  int (*rename)(void* fs, const char* from,
                const char* to); /* takes the place of what is there, as rename(2) */
  int (*link)(void* fs, const char* from, const char* to);
  int (*symlink)(void* fs, const char* content, const char* path);

  /* Bytes written, or read: fewer only at the end of the file. */
  int64_t (*write)(void* fs, const char* path, uint64_t offset, const void* bytes, uint32_t length);
  int64_t (*read)(void* fs, const char* path, uint64_t offset, void* bytes, uint32_t length);
  int (*truncate)(void* fs, const char* path, uint64_t size);
  int (*fsync)(void* fs, const char* path); /* of a file or a directory */
  int (*fdatasync)(void* fs, const char* path);
  int (*sync)(void* fs);

  int (*readdir)(void* fs, const char* path, sisyfs_fill fill, void* list);
  int (*stat)(void* fs, const char* path, sisyfs_stat* out); /* of a symbolic link itself */
  int64_t (*readlink)(void* fs, const char* path, char* content, uint32_t size); /* its length */

  int (*setxattr)(void* fs, const char* path, const char* name, const void* value, uint32_t length);
  int64_t (*getxattr)(void* fs, const char* path, const char* name, void* value, uint32_t size);
  int (*listxattr)(void* fs, const char* path, sisyfs_fill fill, void* list);
  int (*removexattr)(void* fs, const char* path, const char* name);

  /* Checks a disk that is not mounted; with `repair` it mends what it can, else it writes nothing. 0 also
   * where it found something; a negative errno if it could not be carried out. */
  int (*fsck)(const sisyfs_disk* disk, int repair, sisyfs_problem problem, void* report);

  /* What a block is, for reports: "inode 7". The disk is not mounted and may hold anything. 0 if `text` (of
   * `size` bytes) was filled in. */
  int (*name_block)(const sisyfs_disk* disk, uint64_t block, char* text, uint32_t size);

  /* Since 1.1. As write, of a file that was opened with O_SYNC: what was written is durable when it returns.
   */
  int64_t (*write_sync)(void* fs, const char* path, uint64_t offset, const void* bytes, uint32_t length);
} sisyfs_plugin;

#define SISYFS_PLUGIN_HEADER \
  .size = sizeof(sisyfs_plugin), .major = SISYFS_PLUGIN_MAJOR, .minor = SISYFS_PLUGIN_MINOR

/* What a plug-in exports. */
__attribute__((visibility("default"))) const sisyfs_plugin* sisyfs_plugin_entry(void);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-*) */
