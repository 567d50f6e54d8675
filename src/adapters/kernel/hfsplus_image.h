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
// Nothing is repaired. False: there is no volume.
bool mark_hfsplus_clean(std::span<std::byte> disk);

}  // namespace sisyfs
