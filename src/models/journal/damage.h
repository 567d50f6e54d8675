// Disks of the journal model with a bad directory entry, as the start of a search. The right model never
// writes such an entry, so fsck meets one only on a disk that was damaged from outside.
//
//   setup.start.ops = damage_start();                       // /a, and in it the file /a/a
//   setup.start.damage = [config](Disk& disk) { put_damage(config, Damage::kFreeInode, disk); };
//
// The bad entry is in the directory block of /a/a, under a name that the workload uses.
#pragma once

#include <cstdint>
#include <vector>

#include "disk/disk.h"
#include "models/journal/config.h"
#include "workload/op.h"

namespace sisyfs::journal {

// What is wrong with the entry.
enum class Damage : uint8_t {
  kNone,
  kFreeInode,    // it leads to an inode that is free
  kBeyondTable,  // it leads to an inode number that does not exist
  kWrongType,    // its type is not that of its inode
  kBadName,      // its name has a slash
};

// The ops that are run on a new system before the damage.
std::vector<Op> damage_start();
// Damages an unmounted disk on which damage_start() was run.
void put_damage(const Config& config, Damage damage, Disk& disk);

}  // namespace sisyfs::journal
