#include "models/journal/damage.h"

#include "base/assert.h"
#include "models/journal/core.h"

namespace sisyfs::journal {
namespace {

template <class T>
T read(Disk& disk, Address address) {
  std::array<std::byte, kBlockSize> bytes;
  const IoStatus status = disk.read(BlockAddress(address), bytes);
  SISYFS_ASSERT(status == IoStatus::kOk, "the disk at the start has no errors");
  return read_from<T>(bytes.data());
}

Entry bad_entry(const Config& config, Damage damage, const Entry& good) {
  Entry bad = good;
  bad.name[0] = 'b';
  switch (damage) {
    case Damage::kFreeInode:
      bad.ino = static_cast<uint16_t>(config.inodes - 1);
      break;
    case Damage::kBeyondTable:
      bad.ino = static_cast<uint16_t>(-ENOSPC);
      break;
    case Damage::kWrongType:
      bad.type = Type::kSymlink;
      break;
    case Damage::kBadName:
      bad.name[0] = '/';
      break;
    case Damage::kNone:
      break;
  }
  return bad;
}

}  // namespace

std::vector<Op> damage_start() {
  return {Op::of(OpKind::kMkdir, Path("/a")), Op::of(OpKind::kCreate, Path("/a/a")),
          Op::append(Path("/a/a"), kBlockSize)};
}

void put_damage(const Config& config, Damage damage, Disk& disk) {
  if (damage == Damage::kNone) return;
  const Layout layout(config);
  const auto inode = [&](unsigned ino) {
    const auto table = read<InodeBlock>(disk, layout.inode_block(static_cast<Ino>(ino)));
    return table.inodes[ino % kInodesInBlock];
  };
  const auto root = read<DirectoryBlock>(disk, inode(kRootIno).direct[0]);
  const Address address = inode(root.entries[0].ino).direct[0];
  auto block = read<DirectoryBlock>(disk, address);
  SISYFS_ASSERT(block.entries[0].ino != 0 && block.entries[1].ino == 0, "the directory has one entry");
  block.entries[1] = bad_entry(config, damage, block.entries[0]);
  std::array<std::byte, kBlockSize> bytes{};
  std::memcpy(bytes.data(), &block, sizeof block);
  const IoStatus status = disk.write(BlockAddress(address), bytes);
  SISYFS_ASSERT(status == IoStatus::kOk, "the disk at the start has no errors");
}

}  // namespace sisyfs::journal
