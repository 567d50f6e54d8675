/* ntfsfix, which is no fsck.
 *
 * It mends what keeps a volume from being mounted: a boot sector, a difference of $MFT and its mirror, a log
 * that is not clean. It looks at no file, no directory and no bitmap; what a power cut does to those it
 * neither sees nor repairs, and neither does any other free tool: that is for chkdsk of Windows. (ntfsck of
 * the same package answers "unsupported cases" to a new volume.)
 *
 * It always writes the volume's flags, even to a volume that is in order. So it first looks (-n), and only a
 * volume that it complains about is given to it to mend, with -d: the mark that asks Windows for chkdsk is
 * taken off.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "adapters/ntfs/ntfs_fs.h"
#include "adapters/repair/repair_tool.h"

enum { kDeadlineMs = 3000 };

/* 0 if it says that all is well, 1 if not, or a negative errno. */
static int run(struct repair_image* image, enum repair_purpose purpose) {
  const char* const arguments[] = {"ntfsfix", purpose == REPAIR_CHANGES ? "-d" : "-n", REPAIR_IMAGE_PATH,
                                   NULL};
  const char* const environment[] = {"LC_ALL=C", NULL};
  struct repair_run ran;
  const int error = repair_tool_run(image, purpose, arguments, environment, kDeadlineMs, &ran);
  if (error) return error;
  const int well = !ran.killed && WIFEXITED(ran.status) && WEXITSTATUS(ran.status) == 0 &&
                   strstr(ran.output, "FAILED") == NULL && strstr(ran.output, "BAD") == NULL;
  repair_run_free(&ran);
  return well ? 0 : 1;
}

/* Mends what can be mended, and looks again. */
static int mend(struct repair_image* image, sisyfs_problem problem, void* report) {
  image->last_count = 1;
  int wrong = run(image, REPAIR_CHANGES);
  if (wrong < 0) return wrong;
  wrong = run(image, REPAIR_LOOKS);
  if (wrong < 0) return wrong;
  problem(report, !wrong, 1, wrong ? "ntfsfix cannot mend the volume" : "ntfsfix mended the volume");
  return 0;
}

static int can_be_mounted(const sisyfs_disk* disk) {
  struct ntfs_device* device = ntfs_device_alloc("disk", 0, &nt_device_operations, (void*)disk);
  if (device == NULL) return 0;
  ntfs_volume* volume = ntfs_device_mount(device, NTFS_MNT_RDONLY);
  if (volume == NULL) {
    ntfs_device_free(device);
    return 0;
  }
  return ntfs_umount(volume, FALSE) == 0;
}

int nt_fsck(const sisyfs_disk* disk, int repair, sisyfs_problem problem, void* report) {
  nt_set_clock(disk->now);
  if (can_be_mounted(disk)) return 0;
  struct repair_image image;
  int error = repair_image_make(disk, &image);
  if (error) return error;
  const int wrong = run(&image, REPAIR_LOOKS);
  if (wrong < 0) {
    error = wrong;
  } else if (wrong != 0 && repair) {
    error = mend(&image, problem, report);
  } else if (wrong != 0) {
    problem(report, 0, 1, "ntfsfix finds the volume not in order");
  }
  repair_image_close(&image);
  return error;
}
