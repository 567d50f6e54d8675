// The layout of the file-mapping models on a disk of four-byte blocks; see models/mapping/target.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "disk/disk.h"
#include "models/mapping/index_core.h"
#include "models/mapping/link_core.h"
#include "models/mapping/story.h"

namespace sisyfs::mapping {

inline constexpr uint32_t kBlockBytes = 4;

using FieldBlock = std::array<std::byte, kBlockBytes>;

// The four fields of a block: field i in bits 4i to 4i + 3. A byte that is no field reads as none.
inline FieldBlock to_fields(unsigned word) {
  FieldBlock out;
  for (unsigned i = 0; i < kBlockBytes; ++i) out[i] = static_cast<std::byte>(nibble(word, i));
  return out;
}
inline unsigned from_fields(std::span<const std::byte, kBlockBytes> bytes) {
  uint64_t word = 0;
  for (unsigned i = 0; i < kBlockBytes; ++i)
    word = with_nibble(word, i, std::min(std::to_integer<unsigned>(bytes[i]), kNone));
  return static_cast<unsigned>(word);
}

// Reads and writes blocks by number, and remembers whether any access failed.
struct BlockIo {
  Disk& disk;
  bool failed = false;

  unsigned read(unsigned address) {
    FieldBlock bytes{};
    failed |= disk.read(BlockAddress(address), bytes) != IoStatus::kOk;
    return from_fields(bytes);
  }
  void write(unsigned address, std::span<const std::byte> bytes) {
    failed |= disk.write(BlockAddress(address), bytes) != IoStatus::kOk;
  }
  void write(unsigned address, unsigned word) { write(address, to_fields(word)); }
};

inline void write_inode(const LinkCore&, BlockIo& io, uint32_t inodes, unsigned f) {
  io.write(f / 2, inodes >> (16 * (f / 2)) & 0xFFFF);
}
inline void write_inode(const IndexCore&, BlockIo& io, uint64_t inodes, unsigned f) {
  io.write(f, IndexCore::inode(inodes, f));
}

inline void write_table(const LinkCore&, BlockIo& io, uint64_t table) {
  std::array<std::byte, 3 * kBlockBytes> bytes;
  for (unsigned b = 0; b < bytes.size(); ++b) bytes[b] = static_cast<std::byte>(nibble(table, b));
  io.write(2, bytes);
}
inline void write_table(const IndexCore&, BlockIo& io, uint64_t bitmap) {
  io.write(4, static_cast<unsigned>(bitmap));
}

inline uint64_t table_of(const LinkCore::Medium& m) { return m.table; }
inline uint64_t table_of(const LinkCore::Memory& m) { return m.table(); }
inline uint64_t table_of(const IndexCore::Medium& m) { return m.bitmap; }
inline uint64_t table_of(const IndexCore::Memory& m) { return m.bitmap; }

inline void read_inodes_and_table(const LinkCore&, BlockIo& io, LinkCore::Medium& m) {
  m.inodes = io.read(0) | io.read(1) << 16;
  m.table = io.read(2) | uint64_t{io.read(3)} << 16 | uint64_t{io.read(4)} << 32;
}
inline void read_inodes_and_table(const IndexCore&, BlockIo& io, IndexCore::Medium& m) {
  m.inodes = 0;
  for (unsigned f = 0; f < kMaxFiles; ++f) IndexCore::set_inode(m, f, io.read(f));
  m.bitmap = static_cast<uint16_t>(io.read(4));
}

}  // namespace sisyfs::mapping
