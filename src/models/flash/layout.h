// The content of the flash, and the memory of a mounted flash model. All are values without pointers.
//
// A page holds one record: all of one file, or that it was deleted. The newest record of an inode counts,
// and the sequence number says which that is; its page number means nothing. A record is committed once its
// page has the right checksum.
//
//   Record record{.kind = Kind::kFile, .ino = 2, .size = 8, .sequence = 17, ...};
//   record.check = record.sum();
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/digest.h"
#include "models/flash/config.h"

namespace sisyfs::flash {

inline constexpr unsigned kPageSize = 32, kDataBytes = 16, kNameLength = 4;
inline constexpr unsigned kWriteUnit = 8;  // bytes

enum class Kind : uint8_t { kNone, kFile, kDeleted };

// A name, zeros behind it.
using Name = std::array<char, kNameLength>;
inline Name name_of(std::string_view text) {
  Name name{};
  text.copy(name.data(), kNameLength);
  return name;
}
inline std::string_view text_of(const Name& name) {
  const std::string_view all(name.data(), kNameLength);
  return all.substr(0, all.find('\0'));
}

// The header fills the first half of a page, the data the second.
struct Record {
  Kind kind = Kind::kNone;
  uint8_t ino = 0;
  uint8_t size = 0;  // bytes; behind them the data is zero
  uint8_t mark = 0;  // with Commit::kMark 0xFF until the record is whole
  uint32_t sequence = 0;
  uint32_t check = 0;
  Name name{};
  std::array<std::byte, kDataBytes> data{};

  // What `check` must be.
  uint32_t sum() const {
    Record copy = *this;
    copy.check = 0;
    return static_cast<uint32_t>(digest_of(&copy, sizeof copy, 1).lo);
  }
};
static_assert(sizeof(Record) == kPageSize && std::has_unique_object_representations_v<Record>);

// A file of the mounted system. A free inode has no page.
struct File {
  uint8_t page_plus_1 = 0;  // where its newest record lies
  uint8_t size = 0;
  Name name{};

  bool used() const { return page_plus_1 != 0; }
  unsigned page() const { return page_plus_1 - 1u; }
};

struct Memory {
  std::array<File, kMaxFiles> files{};
  uint32_t sequence = 0;  // of the next record
  uint8_t unit = 0;       // where it goes
  uint8_t next = 0;       // and to which page of it; if there is none left, to another unit
  uint8_t mounted = 0;
  uint8_t bad = 0;  // units that have refused a program or an erase since mount, by bit
};
static_assert(std::has_unique_object_representations_v<Memory>);

}  // namespace sisyfs::flash
