/* sisyfs/plugin.h: plug your own file system into Sisyfs.
 *
 * Write one table of functions and one entry point, build a shared library, and run
 *
 *     sisyfs check ./libmyfs.so --disk 1MiB --block 512
 *
 * Sisyfs runs every sequence of your calls up to a bound, cuts the power at every point, mounts again and
 * compares the result with your contract. Your code needs no change: it may call malloc, keep globals and
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
 * A null pointer means "not supported": Sisyfs never makes that call. Required are format, mount, unmount,
 * readdir and stat, and read if there is write.
 *
 * Conventions: a function returns 0, or a count where the comment says so, or a negative errno (-ENOENT).
 * Paths are absolute, without a "/" at the end: "/a/b"; the root is "/". A call that fails must change
 * nothing. All state must be in memory from malloc and in globals. The code must be deterministic: it uses no
 * clock and no random numbers (see sisyfs_disk.now for the time).
 *
 * The interface is versioned. Within a major version fields are only added, at the end of the tables.
 */
#pragma once

/* This is C. NOLINTBEGIN(modernize-*) */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SISYFS_PLUGIN_MAJOR 1
#define SISYFS_PLUGIN_MINOR 4

/* A page of raw flash cannot be corrected: the errno of Linux MTD. It is a state of the page, which is erased
 * to be used again; -EIO is a failure of the device. */
#define SISYFS_EECC EBADMSG

/* The disk. Addresses and counts are in blocks. Valid until unmount() or the power cut. */
typedef struct sisyfs_disk sisyfs_disk;
struct sisyfs_disk {
  uint32_t size; /* size of this struct */
  uint32_t block_size;
  uint64_t block_count;
  uint32_t erase_blocks; /* blocks in an erase unit of raw flash; 0: a disk */
  uint32_t reserved;
  uint64_t now; /* the time of day in seconds; it never changes */
  void* engine; /* belongs to Sisyfs */

  /* 0, or a negative errno: -EIO if the device failed, -EINVAL outside of the disk or against its rules. On
   * raw flash a read of a page whose program or erase was cut off may give -SISYFS_EECC (since 1.3; a plug-in
   * of an older version gets -EIO). */
  int (*read)(const sisyfs_disk* disk, uint64_t block, uint32_t count, void* bytes);
  /* Durable after a later flush. On raw flash it programs pages, which must have been erased. On NOR they
   * need not be: a program clears bits, and a byte of 0xFF leaves what is there alone. -EIO from a unit that
   * is bad. */
  int (*write)(const sisyfs_disk* disk, uint64_t block, uint32_t count, const void* bytes);
  /* Durable when it returns. */
  int (*write_through)(const sisyfs_disk* disk, uint64_t block, uint32_t count, const void* bytes);
  /* Makes all earlier writes durable when it returns 0. */
  int (*flush)(const sisyfs_disk* disk);
  /* Discards the content of blocks. On raw flash: erases whole units, which then read as 0xFF. -EIO from a
   * unit that is bad. */
  int (*erase)(const sisyfs_disk* disk, uint64_t block, uint64_t count);
  /* Optional to call, for a commit that no call promises: all calls before this one are durable, and with
   * `this_too` this one as well. From then on a power cut must not lose them. */
  void (*stable)(const sisyfs_disk* disk, int this_too);
};

enum sisyfs_file_type { SISYFS_FILE = 1, SISYFS_DIRECTORY = 2, SISYFS_SYMLINK = 3 };

typedef struct sisyfs_stat {
  uint32_t type;  /* one of enum sisyfs_file_type */
  uint32_t links; /* number of names; 0: not known, and not compared */
  uint64_t size;  /* bytes in a file */
  uint64_t id;    /* equal for all names of one file, and only for them; 0: no file has two names */
} sisyfs_stat;

/* Called by readdir and listxattr once for each name; "." and ".." may be left out. If it does not return 0,
 * stop and return 0. */
typedef int (*sisyfs_fill)(void* list, const char* name);

/* Called by fsck for each problem. `repaired`: it has been repaired. `lost`: user data is lost, or will be;
 * otherwise the problem is harmless, such as a block that no file uses. `text` is one line, without numbers
 * that differ from run to run. It may begin with a code or name of docs/findings-catalogue.md, M1 to M10:
 * "lost-block: a block that is used is marked as free" is told as the finding lost-block (M2), if it is
 * `lost`, repaired or not. */
typedef void (*sisyfs_problem)(void* report, int repaired, int lost, const char* text);

/* What a power cut must leave (docs/contracts.md). */
enum sisyfs_contract {
  SISYFS_ATOMIC = 0,    /* a state that existed, not older than the last sync */
  SISYFS_ORDERED = 1,   /* the same for names and sizes; data may be any version since then */
  SISYFS_FSYNC = 2,     /* each file as of its last fsync, or newer */
  SISYFS_STRUCTURE = 3, /* it mounts, can be read and used */
  /* Since 1.3. Names are durable and atomic when the call returns; each file is, as a whole, as of its last
   * fsync, or newer. */
  SISYFS_NAMES = 4,
};

enum sisyfs_promise {
  SISYFS_DURABLE_OPS = 1 << 0,    /* every call is durable when it returns */
  SISYFS_MOUNT_RECOVERS = 1 << 1, /* after a power cut mount() recovers without fsck() */
  SISYFS_FSYNC_NAMES = 1 << 2,    /* fsync also makes the name of a new file durable */
  SISYFS_FSYNC_ALL = 1 << 3,      /* fsync of any file does what sync does */
  SISYFS_RENAME_BOTH = 1 << 4,    /* a power cut may leave the old and the new name of a rename */
  /* A call that needs space may return -ENOSPC, and then changes nothing. A write may return fewer bytes than
   * it was given, but not 0 and in multiples of write_unit, and has then written just these. */
  SISYFS_LIMITED_SPACE = 1 << 5,
  /* A power cut may leave the beginning of a write, in whole units: of write_unit bytes, or of a block. */
  SISYFS_SPLIT_WRITES = 1 << 6,
  /* A power cut may leave any bytes where a file was written for the first time: what was on the disk before,
   * as ext4 does with data=writeback. Counts under SISYFS_ORDERED and SISYFS_FSYNC. */
  SISYFS_STALE_DATA = 1 << 7,
  /* Since 1.3. After a call returned -EIO because the device failed a write, a later fsync or sync that
   * succeeds covers what the failed one did not. Without it, what was not durable then and has not changed
   * since may be lost, as in Linux. */
  SISYFS_RETRIES_SYNC = 1 << 8,
  /* Since 1.3. Offsets and lengths need not be multiples of write_unit, which is only what the workload
     counts in. */
  SISYFS_ANY_BYTE = 1 << 9,
  /* Since 1.4. On raw flash: works on although erase units go bad, from the start or by wear. While a unit is
   * bad, a call that changes something may return -EIO or -ENOSPC, and then changes nothing. */
  SISYFS_HANDLES_BAD_UNITS = 1 << 10,
  /* Since 1.4. The raw flash that it is meant for is NOR. */
  SISYFS_NOR_FLASH = 1 << 11,
};

/* Since 1.3. Calls, as bits of `durable_calls`. */
enum sisyfs_call {
  SISYFS_CALL_CREATE = 1 << 0,
  SISYFS_CALL_MKDIR = 1 << 1,
  SISYFS_CALL_UNLINK = 1 << 2,
  SISYFS_CALL_RMDIR = 1 << 3,
  SISYFS_CALL_RENAME = 1 << 4,
  SISYFS_CALL_LINK = 1 << 5,
  SISYFS_CALL_SYMLINK = 1 << 6,
  SISYFS_CALL_WRITE = 1 << 7,
  SISYFS_CALL_TRUNCATE = 1 << 8,
  SISYFS_CALL_SETXATTR = 1 << 9,
  SISYFS_CALL_REMOVEXATTR = 1 << 10,
  SISYFS_CALL_CHMOD = 1 << 11, /* since 1.4 */
};

enum sisyfs_option_type { SISYFS_BOOL = 1, SISYFS_INT = 2, SISYFS_CHOICE = 3, SISYFS_TEXT = 4 };

/* Since 1.3. An option of the plug-in's own: --set plugin.NAME=VALUE. */
typedef struct sisyfs_option {
  uint32_t type; /* one of enum sisyfs_option_type */
  uint32_t reserved;
  const char* name;     /* letters, digits, "-" and "_" */
  const char* help;     /* one line */
  const char* fallback; /* the default, as a user would write it: "on", "3", "fast" */
  const char* values;   /* SISYFS_CHOICE: "fast,safe"; otherwise null */
  int64_t min, max;     /* SISYFS_INT */
} sisyfs_option;

/* The table of a plug-in: what it claims, and its functions.
 * LARGE CLASS: a C interface grows only at the end of this one table, so it cannot be taken apart. */
typedef struct sisyfs_plugin {
  /* Filled in by SISYFS_PLUGIN_HEADER. */
  uint32_t size, major, minor;

  uint32_t contract;   /* one of enum sisyfs_contract */
  uint32_t promises;   /* flags of enum sisyfs_promise */
  const char* name;    /* letters, digits, "-" and "_" */
  const char* summary; /* one line; may be null */

  /* The disk that it wants, unless the user sets another one; 0: 512 bytes, 256 blocks, no flash. */
  uint32_t block_size;
  uint32_t erase_blocks;
  uint64_t block_count;
  /* Limits; 0: none. Offsets and lengths of reads and writes are multiples of write_unit. */
  uint32_t write_unit;
  uint32_t max_name;  /* bytes in a name */
  uint32_t max_depth; /* names in a path; 1: there are no directories below the root */
  uint32_t max_files;
  uint64_t max_file_size;

  /* Makes an empty file system. Not called while mounted. */
  int (*format)(const sisyfs_disk* disk);
  /* Starts on a disk, including the recovery that mount does. `*fs` is passed to every later call. */
  int (*mount)(const sisyfs_disk* disk, void** fs);
  /* Writes everything back and frees all memory, even if it fails. */
  int (*unmount)(void* fs);

  int (*create)(void* fs, const char* path); /* an empty file; -EEXIST if the name exists */
  int (*mkdir)(void* fs, const char* path);
  int (*unlink)(void* fs, const char* path);
  int (*rmdir)(void* fs, const char* path);
  int (*rename)(void* fs, const char* from,
                const char* to); /* replaces what has the new name, as rename(2) */
  int (*link)(void* fs, const char* from, const char* to);
  int (*symlink)(void* fs, const char* content, const char* path);

  /* Return the number of bytes. A read returns fewer only at the end of the file. */
  int64_t (*write)(void* fs, const char* path, uint64_t offset, const void* bytes, uint32_t length);
  int64_t (*read)(void* fs, const char* path, uint64_t offset, void* bytes, uint32_t length);
  int (*truncate)(void* fs, const char* path, uint64_t size);
  int (*fsync)(void* fs, const char* path); /* of a file or a directory */
  int (*fdatasync)(void* fs, const char* path);
  int (*sync)(void* fs);

  int (*readdir)(void* fs, const char* path, sisyfs_fill fill, void* list);
  int (*stat)(void* fs, const char* path, sisyfs_stat* out); /* does not follow a symbolic link */
  int64_t (*readlink)(void* fs, const char* path, char* content, uint32_t size); /* its length */

  int (*setxattr)(void* fs, const char* path, const char* name, const void* value, uint32_t length);
  int64_t (*getxattr)(void* fs, const char* path, const char* name, void* value, uint32_t size);
  int (*listxattr)(void* fs, const char* path, sisyfs_fill fill, void* list);
  int (*removexattr)(void* fs, const char* path, const char* name);

  /* Checks a disk that is not mounted. With `repair` it repairs what it can, otherwise it writes nothing.
   * Returns 0 even if there were problems, a negative errno if the check could not be done. */
  int (*fsck)(const sisyfs_disk* disk, int repair, sisyfs_problem problem, void* report);

  /* Describes a block for reports: "inode 7". The disk is as the write of the block left it. It is not
   * mounted and may hold anything. Returns 0 if `text` (of `size` bytes) was filled in. */
  int (*name_block)(const sisyfs_disk* disk, uint64_t block, char* text, uint32_t size);

  /* Since 1.1. As write, to a file opened with O_SYNC: the bytes are durable when it returns. */
  int64_t (*write_sync)(void* fs, const char* path, uint64_t offset, const void* bytes, uint32_t length);

  /* Since 1.2. So many bytes, at a multiple of it, are written whole or not at all by each device that this
   * file system is meant for: a device that tears writes does not tear below it. 0: a block. */
  uint32_t whole_unit;

  /* Since 1.3. Flags of enum sisyfs_call: what such a call changes is durable when it returns, whether other
   * calls are or not. SISYFS_DURABLE_OPS says more: with all that was done before it. */
  uint64_t durable_calls;

  /* Since 1.3. Options of its own. configure() gets the value of each of them before format() and mount(), in
   * the order of the table: "on" or "off", a number, one of the values, or a text without blanks. */
  uint32_t option_count;
  const sisyfs_option* options;
  int (*configure)(const char* name, const char* value);

  /* Since 1.4. Open files, as with open(2): for reading and writing, through a last symbolic link, -EISDIR
   * for a directory. `*handle` is passed to the calls below and never looked at. A file that loses its last
   * name while it is open lives on until its last handle is closed. A power cut closes it, and what comes
   * back has its space free: after mount(), or after fsck() where mount alone does not recover. A close()
   * that fails leaves the handle open. unmount() is never called with open handles.
   *
   * Where there is open(), there are close(), read_handle() and stat_handle(). Of what stat_handle() gives,
   * type and size count. */
  int (*open)(void* fs, const char* path, void** handle);
  int (*close)(void* fs, void* handle);
  int64_t (*write_handle)(void* fs, void* handle, uint64_t offset, const void* bytes, uint32_t length);
  int64_t (*read_handle)(void* fs, void* handle, uint64_t offset, void* bytes, uint32_t length);
  int (*truncate_handle)(void* fs, void* handle, uint64_t size);
  int (*fsync_handle)(void* fs, void* handle);
  int (*fdatasync_handle)(void* fs, void* handle);
  int (*stat_handle)(void* fs, void* handle, sisyfs_stat* out);

  /* Since 1.4. Permission bits, 0777. Nobody asks whether they allow a call. A new file has 0644, a new
   * directory and the root 0755. chmod() follows a last symbolic link; mode() gives the bits of a file or a
   * directory, and where there is chmod(), there is mode(). */
  int (*chmod)(void* fs, const char* path, uint32_t mode);
  int (*mode)(void* fs, const char* path, uint32_t* mode);
} sisyfs_plugin;

#define SISYFS_PLUGIN_HEADER \
  .size = sizeof(sisyfs_plugin), .major = SISYFS_PLUGIN_MAJOR, .minor = SISYFS_PLUGIN_MINOR

/* The function that a plug-in exports. */
__attribute__((visibility("default"))) const sisyfs_plugin* sisyfs_plugin_entry(void);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-*) */
