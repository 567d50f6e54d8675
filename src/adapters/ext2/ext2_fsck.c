/* The real e2fsck, as repair and as judge.
 *
 * It runs on the disk itself, whose every read, write and flush it makes is seen in its order
 * (repair/repair_tool.h): with -fy to repair, with -fn to look. Its time is the disk's, by E2FSCK_TIME; its
 * settings are its defaults, whatever this machine is configured to. After a repair that found something it
 * runs once more with -fn: what that finds was not repaired at once, which e2fsck promises, and is reported
 * as such.
 *
 * Where the kernel does not let its accesses be seen, what it changed is written back in the order of
 * e2fsck's last step: everything, a flush, the superblock, a flush.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "adapters/ext2/ext2_fs.h"
#include "adapters/ext2/ext2_problems.h"
#include "adapters/repair/repair_tool.h"

enum { kDeadlineMs = 3000 };
/* Bits of e2fsck's exit code. */
enum { kCorrected = 1, kReboot = 2, kUncorrected = 4 };

static int run(struct repair_image* image, enum repair_purpose purpose, struct repair_run* out) {
  const sisyfs_disk* disk = image->disk;
  char fsck_time[48], library_time[48];
  const unsigned long long now = disk->now == 0 ? 1 : disk->now;
  snprintf(fsck_time, sizeof fsck_time, "E2FSCK_TIME=%llu", now);
  snprintf(library_time, sizeof library_time, "E2FSPROGS_FAKE_TIME=%llu", now);
  const char* const environment[] = {fsck_time,  library_time, "E2FSCK_CONFIG=/dev/null",
                                     "LC_ALL=C", "TZ=UTC0",    NULL};
  /* The same program, that starts in half the time. */
  const char* arguments[] = {"e2fsck.static", purpose == REPAIR_CHANGES ? "-fy" : "-fn", REPAIR_IMAGE_PATH,
                             NULL};
  const int error = repair_tool_run(image, purpose, arguments, environment, kDeadlineMs, out);
  if (error != -ENOENT) return error;
  arguments[0] = "e2fsck";
  return repair_tool_run(image, purpose, arguments, environment, kDeadlineMs, out);
}

/* Whether it was mounted when the power went. -f does not say so, but ends with 1. */
static int was_mounted(struct repair_image* image, int* out) {
  struct ext2_super_block super;
  const int error = repair_image_look(image, SUPERBLOCK_OFFSET, sizeof super, &super);
  *out = error == 0 && (le16toh(super.s_state) & EXT2_VALID_FS) == 0;
  return error;
}

/* Tells what one run found. 1 if it ended as it should, and something was wrong. */
static int tell(int mounted, const struct repair_run* run, const struct ext2_teller* teller) {
  if (run->killed) {
    teller->problem(teller->report, 0, 1, "e2fsck did not come to an end and was killed");
    return 0;
  }
  const int code = WIFEXITED(run->status) ? WEXITSTATUS(run->status) : -1;
  const unsigned told = ext2_tell_problems(run->output, teller);
  if (code < 0) {
    teller->problem(teller->report, 0, 1, "e2fsck crashed");
    return 0;
  }
  if ((code & ~(kCorrected | kReboot | kUncorrected)) != 0) {
    teller->problem(teller->report, 0, 1, "e2fsck gave up");
    return 0;
  }
  if (code != 0 && told == 0) {
    teller->problem(teller->report, teller->repaired, !mounted,
                    mounted ? "was not cleanly unmounted" : "e2fsck changed something that it did not name");
  }
  if (teller->repaired && (code & kUncorrected) != 0) {
    teller->problem(teller->report, 0, 1, "e2fsck left something as it was");
  }
  return told != 0;
}

/* 0 or a negative errno, if it could not be run. */
static int run_and_tell(struct repair_image* image, enum repair_purpose purpose,
                        const struct ext2_teller* teller, int* found) {
  int mounted;
  struct repair_run ran;
  int error = was_mounted(image, &mounted);
  if (error == 0) error = run(image, purpose, &ran);
  if (error) return error;
  *found = tell(mounted, &ran, teller);
  repair_run_free(&ran);
  return 0;
}

static int repair_it(struct repair_image* image, sisyfs_problem problem, void* report) {
  const struct ext2_teller first = {problem, report, 1, ""};
  const struct ext2_teller second = {problem, report, 0, "e2fsck needed a second run: "};
  const uint32_t each = image->disk->block_size;
  image->last = SUPERBLOCK_OFFSET / each;
  image->last_count = (SUPERBLOCK_OFFSET + SUPERBLOCK_SIZE + each - 1) / each - image->last;
  int found = 0, again = 0;
  int error = run_and_tell(image, REPAIR_CHANGES, &first, &found);
  if (error == 0 && found) error = run_and_tell(image, REPAIR_LOOKS, &second, &again);
  return error;
}

int ext2_fsck(const sisyfs_disk* disk, int repair, sisyfs_problem problem, void* report) {
  struct repair_image image;
  int error = repair_image_make(disk, &image);
  if (error) return error;
  if (repair) {
    error = repair_it(&image, problem, report);
  } else {
    const struct ext2_teller teller = {problem, report, 0, ""};
    int found = 0;
    error = run_and_tell(&image, REPAIR_LOOKS, &teller, &found);
  }
  repair_image_close(&image);
  return error;
}
