/* The disk of a plug-in as libext2fs wants it: an io_manager.
 *
 * libext2fs opens its channel by a name and through a global manager, so the disk is put into place first:
 *
 *     ext2_io_use(disk);
 *     ext2fs_open("disk", EXT2_FLAG_RW, 0, 0, &ext2_io_manager, &fs);
 *
 * There is no cache here. Each write that libext2fs issues becomes one write of the disk, at once and in its
 * order; io_channel_flush() becomes one flush. (unix_io, the manager of fuse2fs, would hold back a few blocks
 * and write them in an order of its own; which of them a power cut may lose is the same.)
 */
#pragma once

#include <ext2fs/ext2fs.h>

#include "sisyfs/plugin.h"

extern struct struct_io_manager ext2_io_manager;

/* The disk that the next channels are opened on. It outlives them. */
void ext2_io_use(const sisyfs_disk* disk);
