// The whole state of a VeriFS, as one value without pointers that is copied in one piece.
//
//   Memory memory;
//   memory.kept = memory.store;   // the ioctl CHECKPOINT: all but what the kernel caches
//
// The bytes do not depend on the history of a state: entries are sorted by name, free slots are zero, and
// bytes that belong to no file all hold one value, which stands for old content. So equal systems have equal
// bytes, up to the numbers of inodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "models/verifs/config.h"

namespace sisyfs::verifs {

using Ino = uint8_t;
inline constexpr Ino kNoIno = 0, kRootIno = 1;

enum class Kind : uint8_t { kFree, kFile, kDirectory, kSymlink };

// The content of a buffer where nothing was written. Not zero, as with malloc().
inline constexpr std::byte kRubbish{0xA5};

// A name of up to kNameLength bytes, zeros behind it.
struct Name {
  std::array<char, kNameLength> bytes{};

  static Name of(std::string_view text) {
    Name name;
    text.copy(name.bytes.data(), kNameLength);
    return name;
  }
  std::string_view text() const {
    const std::string_view all(bytes.data(), kNameLength);
    return all.substr(0, all.find('\0'));
  }
  friend bool operator==(const Name&, const Name&) = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): the zero is that of the standard library.
  friend auto operator<=>(const Name&, const Name&) = default;
};

// The buffer of a directory is an array of these.
struct Entry {
  Name name;
  Ino ino = kNoIno;
};
inline constexpr unsigned kEntries = kBufferSize / sizeof(Entry);

struct Inode {
  Kind kind = Kind::kFree;
  uint8_t links = 0;
  Ino parent = kNoIno;   // of a directory; of the root: itself
  uint8_t size = 0;      // bytes; of a directory: those of its entries
  uint8_t capacity = 0;  // bytes of the buffer that were asked for, at least `size`
  std::array<std::byte, kBufferSize> buffer{};

  unsigned entry_count() const { return size / sizeof(Entry); }  // of a directory
};

// An extended attribute, without the "user." of its name. A free slot has no inode.
struct Xattr {
  Ino ino = kNoIno;
  uint8_t size = 0;
  Name name;
  std::array<std::byte, kXattrSize> value{};  // zeros behind it
};

// What the file system itself holds; CHECKPOINT copies this and RESTORE brings it back.
struct Store {
  std::array<Inode, kMaxInodes> inodes{};
  std::array<Xattr, kXattrs> xattrs{};  // by inode and name, the free ones last

  Inode& at(Ino ino) { return inodes[ino - 1u]; }
  const Inode& at(Ino ino) const { return inodes[ino - 1u]; }
};

// A name that the kernel has looked up before. A free slot has no parent.
struct CachedName {
  Ino parent = kNoIno;
  Ino ino = kNoIno;
  Name name;
};
inline constexpr unsigned kCachedNames = 16;

struct Memory {
  Store store;
  Store kept;  // the snapshot, if there is one; else zeros
  uint8_t has_kept = 0;
  uint8_t mounted = 0;
  std::array<CachedName, kCachedNames> cache{};  // the one looked up last comes first
};
static_assert(std::has_unique_object_representations_v<Memory>);

// Calls use(name, value) for each attribute of an inode, by a name without "user.".
template <class Use>
void each_xattr(const Memory& memory, Ino ino, Use use) {
  for (const Xattr& x : memory.store.xattrs)
    if (x.ino == ino) use(x.name.text(), std::span(x.value).first(x.size));
}

}  // namespace sisyfs::verifs
