// The configuration of the flash model: its size, and switches whose wrong values are planted bugs.
//
//   flash::Config config;
//   config.checksum = false;   // a page whose program was cut off is taken for a record
#pragma once

#include <cstdint>

namespace sisyfs::flash {

inline constexpr unsigned kMaxUnits = 8, kMaxUnitPages = 8, kMaxFiles = 8;
inline constexpr unsigned kMaxPages = kMaxUnits * kMaxUnitPages;

// How a record is marked as whole.
enum class Commit : uint8_t {
  kChecksum,   // by a check of the page, which is programmed at once
  kMark,       // NOR: by a byte that is cleared once all else is programmed
  kMarkFirst,  // wrong: that byte is cleared first
};

struct Config {
  unsigned units = 3;  // erase units, one of which is kept erased
  unsigned pages = 2;  // of a unit
  unsigned files = 3;  // inodes; fewer than there are pages without the spare unit

  bool checksum = true;     // off: mount takes any page with a possible header for a record
  bool whole_erase = true;  // off: mount takes a unit for erased whose first page is
  bool copy_first = true;   // off: cleaning erases a unit before it has written what was alive in it
  bool skip_bad = true;     // off: an unreadable page is taken for the last that was written to its unit
  Commit commit = Commit::kChecksum;
  bool verify = false;       // what was programmed is read back, and a unit that was erased is looked at
  bool heed_erase = true;    // off: a unit that refused to be erased is taken for erased
  bool heed_program = true;  // off: a record counts as written although its program was refused
  bool keep_deleted = true;  // off: cleaning drops the record of a deletion, whatever it still covers
};

}  // namespace sisyfs::flash
