#include "adapters/kernel/hfsplus_image.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/assert.h"

namespace sisyfs {
namespace {

constexpr uint32_t kBlock = 4096, kNode = 4096;  // bytes of an allocation block, of a node of a B-tree
constexpr uint32_t kDate = 3'800'000'000;        // seconds since 1904
constexpr uint32_t kHeaderAt = 1024, kHeaderBytes = 512;
constexpr size_t kCatalogForkAt = 272;    // in the header
constexpr uint32_t kUnmounted = 1u << 8;  // an attribute of the volume: it was unmounted cleanly
constexpr uint32_t kRootFolder = 2, kRootParent = 1, kFirstUser = 16;
constexpr std::string_view kName = "sisyfs";

// Writes numbers with the high byte first, one after the other.
class Writer {
 public:
  explicit Writer(std::span<std::byte> out) : out_(out) {}
  Writer& u8(uint32_t value) { return put(value, 1); }
  Writer& u16(uint32_t value) { return put(value, 2); }
  Writer& u32(uint32_t value) { return put(value, 4); }
  Writer& u64(uint64_t value) { return put(value, 8); }
  Writer& skip(size_t bytes) { return at_ += bytes, *this; }
  // A name: its length and its characters, of 16 bits each.
  Writer& name(std::string_view text) {
    u16(static_cast<uint32_t>(text.size()));
    for (const char c : text) u16(static_cast<unsigned char>(c));
    return *this;
  }
  size_t at() const { return at_; }

 private:
  Writer& put(uint64_t value, size_t bytes) {
    for (size_t i = bytes; i-- > 0;) out_[at_++] = static_cast<std::byte>(value >> (8 * i));
    return *this;
  }
  std::span<std::byte> out_;
  size_t at_ = 0;
};

uint32_t number_at(std::span<const std::byte> bytes, size_t at, size_t size = 4) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint32_t>(bytes[at + i]);
  return value;
}

void set_bit(std::span<std::byte> bits, size_t number) {
  bits[number / 8] |= static_cast<std::byte>(0x80 >> number % 8);
}

// A file of the volume itself, in one piece.
struct Piece {
  uint32_t first, blocks;
};

std::span<std::byte> content(std::span<std::byte> disk, Piece piece) {
  return disk.subspan(size_t{piece.first} * kBlock, size_t{piece.blocks} * kBlock);
}

// The places of the records of a node, from its end backwards; the last one is that of its free space.
template <size_t kCount>
void put_places(std::span<std::byte> node, const uint32_t (&places)[kCount]) {
  for (size_t i = 0; i < kCount; ++i) Writer(node.subspan(kNode - 2 * (i + 1), 2)).u16(places[i]);
}

struct TreeShape {
  uint32_t depth, root, records, longest_key, attributes, used_nodes;
};

// The first node of a B-tree: its header, and which nodes are in use.
void put_tree_header(std::span<std::byte> tree, const TreeShape& shape) {
  constexpr uint32_t kHead = 14, kReserved = 120, kMap = 248;
  const auto nodes = static_cast<uint32_t>(tree.size() / kNode);
  const auto node = tree.first(kNode);
  Writer out(node);
  out.u32(0).u32(0).u8(1).u8(0).u16(3).u16(0);  // no other node of this kind; a header node with 3 records
  out.u16(shape.depth).u32(shape.root).u32(shape.records).u32(shape.root).u32(shape.root);
  out.u16(kNode).u16(shape.longest_key).u32(nodes).u32(nodes - shape.used_nodes).u16(0);
  out.u32(kBlock).u8(0).u8(0).u32(shape.attributes);
  for (uint32_t i = 0; i < shape.used_nodes; ++i) set_bit(node.subspan(kMap), i);
  put_places(node, {kHead, kReserved, kMap, kNode - 8});
}

// The catalog: the root directory by its parent and name, and its own name by its number.
void put_catalog(std::span<std::byte> tree) {
  constexpr uint32_t kBigKeys = 2, kVariableKeys = 4, kLeafKind = 0xff;
  put_tree_header(tree, {.depth = 1,
                         .root = 1,
                         .records = 2,
                         .longest_key = 516,
                         .attributes = kBigKeys | kVariableKeys,
                         .used_nodes = 2});
  const auto leaf = tree.subspan(kNode, kNode);
  Writer out(leaf);
  out.u32(0).u32(0).u8(kLeafKind).u8(1).u16(2).u16(0);
  const auto first = static_cast<uint32_t>(out.at());
  out.u16(static_cast<uint32_t>(6 + 2 * kName.size())).u32(kRootParent).name(kName);
  out.u16(1).u16(0).u32(0).u32(kRootFolder);  // a folder without entries
  for (int i = 0; i < 4; ++i) out.u32(kDate);
  out.u32(0).u32(0).u32(0).u8(0).u8(0).u16(040755).u32(1);  // not backed up; its owner and mode
  out.skip(32).u32(0).u32(0);                               // for the Finder; encoding; folders in it
  const auto second = static_cast<uint32_t>(out.at());
  out.u16(6).u32(kRootFolder).u16(0);
  out.u16(3).u16(0).u32(kRootParent).name(kName);
  put_places(leaf, {first, second, static_cast<uint32_t>(out.at())});
}

void put_fork(Writer& out, Piece piece) {
  out.u64(uint64_t{piece.blocks} * kBlock).u32(kBlock).u32(piece.blocks);
  out.u32(piece.first).u32(piece.blocks).skip(56);
}

// The highest number that a leaf of the catalog gives to a file or folder.
uint32_t highest_in(std::span<const std::byte> leaf) {
  uint32_t highest = kFirstUser - 1;
  const uint32_t records = std::min<uint32_t>(number_at(leaf, 10, 2), kNode / 8);
  for (uint32_t i = 0; i < records; ++i) {
    const uint32_t record = number_at(leaf, kNode - 2 * (i + 1), 2);
    if (record + 2 > kNode) continue;
    // Behind its key is what kind it is: 1 a folder, 2 a file; both have their number in the same place.
    const uint32_t data = record + 2 + number_at(leaf, record, 2);
    if (data + 12 > kNode) continue;
    const uint32_t kind = number_at(leaf, data, 2);
    if (kind == 1 || kind == 2) highest = std::max(highest, number_at(leaf, data + 8));
  }
  return highest;
}

// The highest number in the whole catalog, as far as the header says where that is. Nothing on the disk is
// relied on.
uint32_t highest_number(std::span<const std::byte> disk) {
  constexpr uint32_t kExtents = 8, kLeaf = 0xff;
  uint32_t highest = kFirstUser - 1;
  if (number_at(disk, kHeaderAt + 40) != kBlock) return highest;
  for (uint32_t i = 0; i < kExtents; ++i) {
    const size_t extent = kHeaderAt + kCatalogForkAt + 16 + size_t{8} * i;
    const uint64_t first = number_at(disk, extent), count = number_at(disk, extent + 4);
    for (uint64_t block = first; block < first + count && (block + 1) * kBlock <= disk.size(); ++block) {
      const auto node = disk.subspan(block * kBlock, kNode);
      if (node[8] == std::byte{kLeaf}) highest = std::max(highest, highest_in(node));
    }
  }
  return highest;
}

}  // namespace

void make_hfsplus(std::span<std::byte> disk) {
  const auto blocks = static_cast<uint32_t>(disk.size() / kBlock);
  const Piece bitmap{1, (blocks / 8 + kBlock) / kBlock};
  const Piece extents{bitmap.first + bitmap.blocks, 4};
  const Piece catalog{extents.first + extents.blocks, std::min<uint32_t>(64, blocks / 8)};
  const uint32_t used = catalog.first + catalog.blocks;
  // What is not a part of the volume yet is left as it is, as a tool would.
  std::fill_n(disk.begin(), size_t{used} * kBlock, std::byte{0});
  std::fill_n(disk.end() - kBlock, kBlock, std::byte{0});
  for (uint32_t i = 0; i < used; ++i) set_bit(content(disk, bitmap), i);
  set_bit(content(disk, bitmap), blocks - 1);
  constexpr uint32_t kBigKeys = 2;
  put_tree_header(
      content(disk, extents),
      {.depth = 0, .root = 0, .records = 0, .longest_key = 10, .attributes = kBigKeys, .used_nodes = 1});
  put_catalog(content(disk, catalog));

  const auto header = disk.subspan(kHeaderAt, kHeaderBytes);
  Writer out(header);
  out.u8('H').u8('+').u16(4).u32(kUnmounted).u32(0x31302e30).u32(0);  // its version; last mounted by "10.0"
  out.u32(kDate).u32(kDate).u32(0).u32(kDate).u32(0).u32(0);
  out.u32(kBlock).u32(blocks).u32(blocks - used - 1).u32(used).u32(kBlock).u32(kBlock).u32(kFirstUser);
  out.u32(1).u64(1).skip(32);  // written once; one encoding
  put_fork(out, bitmap);
  put_fork(out, extents);
  put_fork(out, catalog);
  SISYFS_ASSERT(out.at() == kCatalogForkAt + 80, "the forks lie where the format has them");
  std::copy(header.begin(), header.end(), disk.end() - 2 * kHeaderBytes);
}

bool mend_hfsplus(std::span<std::byte> disk) {
  constexpr size_t kAttributesAt = kHeaderAt + 4, kNextAt = kHeaderAt + 64;
  if (disk.size() < kHeaderAt + kHeaderBytes || disk[kHeaderAt] != std::byte{'H'} ||
      disk[kHeaderAt + 1] != std::byte{'+'})
    return false;
  constexpr uint32_t kInconsistent = 1u << 11;
  const uint32_t attributes = number_at(disk, kAttributesAt);
  if ((attributes & kUnmounted) != 0 && (attributes & kInconsistent) == 0) return true;
  const uint32_t next = std::max(number_at(disk, kNextAt), highest_number(disk) + 1);
  Writer(disk.subspan(kNextAt, 4)).u32(next);
  Writer(disk.subspan(kAttributesAt, 4)).u32((attributes | kUnmounted) & ~kInconsistent);
  return true;
}

}  // namespace sisyfs
