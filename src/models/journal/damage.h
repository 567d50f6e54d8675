// Disks of the journal model with a bad directory entry, for searches that start with one: the right model
// never writes such an entry, so only a disk that was damaged from outside shows what fsck does about it.
//
//   setup.start.ops = damage_start();                       // /a, and in it the file /a/a
//   setup.start.damage = [config](Disk& disk) { put_damage(config, Damage::kFreeInode, disk); };
//
// The bad entry stands beside /a/a in the same directory block, under a name that the workload will want.
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
  kBeyondTable,  // it leads to an inode number that there is not
  kWrongType,    // it says another type than the inode that it leads to
  kBadName,      // its name has a slash
};

// What is done to a new system before the damage.
std::vector<Op> damage_start();
// Damages a disk on which damage_start() was done, and which was unmounted.
void put_damage(const Config& config, Damage damage, Disk& disk);

}  // namespace sisyfs::journal
