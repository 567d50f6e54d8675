#include "models/journal/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/journal/core.h"

namespace sisyfs::journal {
namespace {

std::string describe_record(const std::byte* bytes) {
  const auto header = read_from<Header>(bytes);
  if (header.magic != kRecordMagic) return {};
  const unsigned count = header.count;
  std::string text = fmt::format("record {}: ", uint32_t{header.sequence});
  if (header.part == Part::kCommit) return text + "commit";
  if (header.part == Part::kDescriptor && count <= kTags) {
    text += "copies for";
    for (unsigned i = 0; i < count; ++i) text += fmt::format(" {}", read_from<Descriptor>(bytes).address[i]);
  } else if (header.part == Part::kRevoke && count <= kRevokes) {
    text += "revokes";
    for (unsigned i = 0; i < count; ++i) text += fmt::format(" {}", read_from<RevokeBlock>(bytes).address[i]);
  }
  return text;
}

std::string describe_inodes(unsigned first, const std::byte* bytes) {
  static constexpr const char* kTypes[] = {"free", "file", "directory", "symlink"};
  std::string text;
  const auto block = read_from<InodeBlock>(bytes);
  for (unsigned i = 0; i < kInodesInBlock; ++i) {
    const Inode& inode = block.inodes[i];
    if (inode.type == Type::kFree || inode.type > Type::kSymlink) continue;
    text += fmt::format("{}inode {}: {} of {} bytes, {} links, blocks {} {} {} {}, indirect {}",
                        text.empty() ? "" : "; ", first + i, kTypes[static_cast<unsigned>(inode.type)],
                        uint16_t{inode.size}, inode.links, inode.direct[0], inode.direct[1], inode.direct[2],
                        inode.direct[3], inode.indirect);
  }
  return text.empty() ? "no inodes" : text;
}

// Only where every entry can be one: anything may lie in a data block.
std::string describe_directory(const std::byte* bytes) {
  const auto block = read_from<DirectoryBlock>(bytes);
  std::string text;
  for (const Entry& entry : block.entries) {
    if (entry.ino == 0) continue;
    if (!is_good_entry(entry, kMaxInodes)) return {};
    text += fmt::format("{}'{}' inode {}", text.empty() ? "entries: " : ", ", name_of(entry),
                        uint16_t{entry.ino});
  }
  return text;
}

}  // namespace

std::string name_block(const Layout& layout, uint64_t address) {
  const auto a = static_cast<unsigned>(address);
  if (a == Layout::super()) return "superblock";
  if (a == Layout::journal_super()) return "journal superblock";
  if (a < layout.block_map()) return fmt::format("journal block {}", a - layout.ring(0));
  if (a == layout.block_map()) return "block bitmap";
  if (a == layout.inode_map()) return "inode bitmap";
  if (layout.is_inodes(a)) {
    const unsigned first = layout.first_inode(static_cast<Address>(a));
    return fmt::format("inodes {} to {}", first, first + kInodesInBlock - 1);
  }
  return layout.is_data(a) ? fmt::format("data block {}", a) : std::string();
}

std::string describe_write(const Layout& layout, uint64_t address, std::span<const std::byte> bytes) {
  if (bytes.size() < kBlockSize || address >= layout.block_count()) return {};
  const auto a = static_cast<unsigned>(address);
  if (a == Layout::super()) return read_from<Super>(bytes.data()).clean != 0 ? "clean" : "in use";
  if (a == Layout::journal_super()) {
    const auto super = read_from<JournalSuper>(bytes.data());
    return fmt::format("starts with record {} at journal block {}", uint32_t{super.sequence}, super.start);
  }
  if (a < layout.block_map()) {
    const std::string record = describe_record(bytes.data());
    return record.empty() ? describe_directory(bytes.data()) : record;
  }
  if (a == layout.block_map()) return fmt::format("in use {:b}", read_from<BlockMap>(bytes.data()).used);
  if (a == layout.inode_map()) {
    const auto map = read_from<InodeMap>(bytes.data());
    return fmt::format("in use {:b}, orphans {:b}", uint16_t{map.used}, uint16_t{map.orphans});
  }
  if (layout.is_inodes(a)) return describe_inodes(layout.first_inode(static_cast<Address>(a)), bytes.data());
  return describe_directory(bytes.data());
}

}  // namespace sisyfs::journal
