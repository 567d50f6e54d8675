/* The blocks that e2fsck looks into.
 *
 * What a file holds is nothing to e2fsck, and neither is what a free block holds. Where power cuts are tried
 * lazily, a block that is not read is not decided: one run of e2fsck stands for all that these blocks may
 * hold. So only this is read: superblock, group descriptors, bitmaps, inodes, directories, symbolic links,
 * extended attributes and the blocks that point to others.
 *
 * Whether that is enough is known only while reading. Where something is strange (a block that two want, a
 * pointer to nowhere, a feature that is not ours, more than one group of blocks) e2fsck might look at more,
 * and all of the disk is read.
 */
#pragma once

#include "adapters/repair/repair_tool.h"

/* Reads them into an image that was just made. 0 or a negative errno. */
int ext2_read_for_fsck(const sisyfs_disk* disk, struct repair_image* image);
