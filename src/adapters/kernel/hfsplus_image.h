// An empty HFS+ volume. Debian has no mkfs.hfsplus and no fsck.hfsplus.
//
// The layout is that of Apple's Technical Note TN1150: a volume header at byte 1024 and its copy before the
// last 512 bytes, an allocation bitmap, and two B-trees, for extents and for the catalog, which holds the
// root directory. There is no journal.
#pragma once

#include <cstddef>
#include <span>

namespace sisyfs {

// Writes an empty volume over the whole disk, which has at least 1 MiB and is a multiple of 4096 bytes.
void make_hfsplus(std::span<std::byte> disk);

// Notes that the volume was unmounted cleanly, if it was not: the kernel mounts no other one for writing.
// Before that the header gets a number for the next file that no file of the catalog has, as fsck.hfsplus
// does: the kernel writes the header when all is synced, and a file of its own earlier. Nothing else is
// repaired. False: there is no volume.
bool mend_hfsplus(std::span<std::byte> disk);

}  // namespace sisyfs
