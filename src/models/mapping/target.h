// The file-mapping models as targets with a disk. Ops run as a whole, with the same order of writes.
//
// The algorithms are those of LinkCore and IndexCore. The device reads and writes a Disk in the layout of the
// thesis. Blocks have four bytes, and each four-bit field of the model takes one byte.
//
// clang-format off
//   blocks   link                                    blocks   index
//   0 .. 1   inodes, two to a block: length, start   0 .. 3   inodes: length, entry, entry, indirect entry
//   2 .. 4   the table of links, one write           4        the bitmap, four bits to a byte
//   5 ..     data, or unused                         5 ..     data, or the four entries of an indirect block
// clang-format on
//
// Data blocks hold the bytes that the op gives. A freed block keeps what it held (free=keep): a disk does
// not know which blocks are free. Files are called file0 to file3. Each op is durable when it returns: with
// cache=flush it ends with a flush, with cache=off the device must write through.
#pragma once

#include "models/mapping/mapping.h"
#include "target/target.h"

namespace sisyfs::mapping {

// Uses files, blocks, naive and cache of `config`. There is one task, data=hash, and no symmetry.
TargetKind link_kind_of(const Config& config);
TargetKind index_kind_of(const Config& config);

}  // namespace sisyfs::mapping
