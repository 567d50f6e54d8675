/* The real e2fsck, as repair and as judge.
 *
 * It runs on a copy in memory of what it needs of the disk (ext2_reads.h): with -fy to repair, with -fn to
 * look. Its time is the disk's, by E2FSCK_TIME; its settings are its defaults, whatever this machine is
 * configured to. After a repair that changed something it runs once more with -fn: what that finds was not
 * repaired at once, which e2fsck promises, and is reported as such.
 *
 * What it changed is written back in the order of e2fsck's last step: everything, a flush, the superblock, a
 * flush. In between e2fsck itself writes through a cache of the kernel in no order that it promises.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "adapters/ext2/ext2_fs.h"
#include "adapters/ext2/ext2_problems.h"
#include "adapters/ext2/ext2_reads.h"
#include "adapters/repair/repair_tool.h"

enum { kDeadlineMs = 3000 };
/* Bits of e2fsck's exit code. */
enum { kCorrected = 1, kReboot = 2, kUncorrected = 4 };

static int run(const sisyfs_disk* disk, const struct repair_image* image, const char* how,
               struct repair_run* out) {
  char fsck_time[48], library_time[48];
  const unsigned long long now = disk->now == 0 ? 1 : disk->now;
  snprintf(fsck_time, sizeof fsck_time, "E2FSCK_TIME=%llu", now);
  snprintf(library_time, sizeof library_time, "E2FSPROGS_FAKE_TIME=%llu", now);
  const char* const environment[] = {fsck_time,  library_time, "E2FSCK_CONFIG=/dev/null",
                                     "LC_ALL=C", "TZ=UTC0",    NULL};
  /* The same program, that starts in half the time. */
  const char* arguments[] = {"e2fsck.static", how, REPAIR_IMAGE_PATH, NULL};
  const int error = repair_tool_run(image, arguments, environment, kDeadlineMs, out);
  if (error != -ENOENT) return error;
  arguments[0] = "e2fsck";
  return repair_tool_run(image, arguments, environment, kDeadlineMs, out);
}

/* Whether it was mounted when the power went. -f does not say so, but ends with 1. */
static int was_mounted(const struct repair_image* image) {
  struct ext2_super_block super;
  memcpy(&super, image->given + SUPERBLOCK_OFFSET, sizeof super);
  return (le16toh(super.s_state) & EXT2_VALID_FS) == 0;
}

/* Tells what one run found. 1 if it ended as it should, and something was wrong. */
static int tell(const struct repair_image* image, const struct repair_run* run,
                const struct ext2_teller* teller) {
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
    const int harmless = was_mounted(image);
    teller->problem(teller->report, teller->repaired, !harmless,
                    harmless ? "was not cleanly unmounted" : "e2fsck changed something that it did not name");
  }
  if (teller->repaired && (code & kUncorrected) != 0) {
    teller->problem(teller->report, 0, 1, "e2fsck left something as it was");
  }
  return told != 0;
}

/* 0 or a negative errno, if it could not be run. */
static int run_and_tell(const sisyfs_disk* disk, const struct repair_image* image, const char* how,
                        const struct ext2_teller* teller, int* found) {
  struct repair_run ran;
  const int error = run(disk, image, how, &ran);
  if (error) return error;
  *found = tell(image, &ran, teller);
  repair_run_free(&ran);
  return 0;
}

static int repair_it(const sisyfs_disk* disk, struct repair_image* image, sisyfs_problem problem,
                     void* report) {
  const struct ext2_teller first = {problem, report, 1, ""};
  const struct ext2_teller second = {problem, report, 0, "e2fsck needed a second run: "};
  int found = 0, again = 0;
  int error = run_and_tell(disk, image, "-fy", &first, &found);
  if (error == 0 && found) error = run_and_tell(disk, image, "-fn", &second, &again);
  if (error) return error;
  const uint64_t super = SUPERBLOCK_OFFSET / image->block_size;
  const uint64_t super_end =
      (SUPERBLOCK_OFFSET + SUPERBLOCK_SIZE + image->block_size - 1) / image->block_size;
  return repair_image_write_back(disk, image, super, super_end - super);
}

int ext2_fsck(const sisyfs_disk* disk, int repair, sisyfs_problem problem, void* report) {
  struct repair_image image;
  int error = repair_image_make(disk, &image);
  if (error) return error;
  error = ext2_read_for_fsck(disk, &image);
  if (error) {
    repair_image_close(&image);
    return error;
  }
  if (repair) {
    error = repair_it(disk, &image, problem, report);
  } else {
    const struct ext2_teller teller = {problem, report, 0, ""};
    int found = 0;
    error = run_and_tell(disk, &image, "-fn", &teller, &found);
  }
  repair_image_close(&image);
  return error;
}
