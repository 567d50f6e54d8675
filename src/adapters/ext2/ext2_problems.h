/* What e2fsck says, as problems: one for each thing that it asks about or complains of.
 *
 *     const struct ext2_teller teller = {problem, report, 1, ""};
 *     unsigned told = ext2_tell_problems(run.output, &teller);
 *
 * A problem is harmless where nothing of the user's is gone: counts and bitmaps that are stale by design
 * after a power cut, since ext2 writes them last, and blocks or inodes that nobody uses. In all else
 * something is lost, or would be if it were left: a name, an order of names, a size, data of two files in one
 * block.
 */
#pragma once

#include "sisyfs/plugin.h"

struct ext2_teller {
  sisyfs_problem problem;
  void* report;
  int repaired;       /* what they all are */
  const char* before; /* put before each text */
};

/* How many there were. */
unsigned ext2_tell_problems(const char* output, const struct ext2_teller* teller);
