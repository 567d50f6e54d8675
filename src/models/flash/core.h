// Core: a small log-structured file system on raw flash, after JFFS2 and its kin.
//
//   Core core(config);
//   core.format(disk);
//   core.mount(disk);
//   int error = core.create("a");            // 0, EEXIST, ENOSPC, ...
//   error = core.store("a", bytes);          // replaces all that "a" holds
//
// Every op programs one page, the next one of the log. It is durable when it returns, and has no effect if it
// was cut off. One unit is always erased. When all others are full, *cleaning* takes the unit with the fewest
// records that are needed, copies those to the erased unit with their sequence numbers, and erases the unit.
//
// A record is needed if it is the newest of its inode and either a file, or a deletion that still covers an
// older record somewhere. That record may be in the unit that is about to be erased: an erase that is cut off
// may destroy the deletion and leave the record. A record with a copy in another unit is not needed.
//
// Mount reads every page. A page that is unreadable or has a wrong checksum was cut off by a power cut; it is
// skipped until its unit is erased. If no unit is erased, cleaning was interrupted. Then one unit holds only
// records that have a copy elsewhere, and mount erases that unit.
//
// A unit that refuses a program or an erase is *bad* until the next mount: it is not written to and not
// cleaned any more. What lies in it is read as before. Without a unit to go on with, an op answers ENOSPC,
// and one whose record no unit takes EIO.
//
// On NOR a record may be committed by a mark: the page is programmed with a byte of 0xFF, and that byte is
// cleared in a program of its own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "disk/disk.h"
#include "models/flash/layout.h"

namespace sisyfs::flash {

// Rare events, as bits in the order of kMarkTexts.
enum Mark : uint32_t {
  kCleaned = 1u << 0,
  kCopied = 1u << 1,
  kKeptDeletion = 1u << 2,
  kPassedBad = 1u << 3,
  kPassedUnreadable = 1u << 4,
  kErasedAtMount = 1u << 5,
  kNoInode = 1u << 6,
  kRetired = 1u << 7,
};
inline constexpr const char* kMarkTexts[] = {
    "a unit was cleaned",
    "cleaning copied a record",
    "cleaning copied a deletion",
    "a page with a wrong check was passed over",
    "an unreadable page was passed over",
    "mount erased a unit",
    "no inode was free",
    "a unit that refused a program or an erase was retired",
};

class Core {
 public:
  explicit Core(const Config& config) : config_(config) {}

  const Config& config() const { return config_; }
  const Memory& memory() const { return memory_; }
  unsigned page_count() const { return config_.units * config_.pages; }
  void load(const Memory& memory, Disk& disk) { memory_ = memory, disk_ = &disk; }
  void forget() { memory_ = Memory(), disk_ = nullptr; }

  // Each gives 0 or an errno. One that fails changes nothing that can be read.
  int format(Disk& disk);
  int mount(Disk& disk);
  int create(std::string_view name);
  int remove(std::string_view name);
  int store(std::string_view name, std::span<const std::byte> bytes);
  int read(unsigned ino, Record* out);

  // The inode of a file, or kMaxFiles.
  unsigned find(std::string_view name) const;

  uint32_t take_marks();

 private:
  enum class PageState : uint8_t { kErased, kRecord, kBad };
  struct Page {
    PageState state = PageState::kErased;
    Record record;
  };
  static constexpr unsigned kNoUnit = kMaxUnits;

  unsigned unit_of(unsigned page) const { return page / config_.pages; }
  // Reads every page of the flash and fills pages_. 0 or an errno.
  int scan();
  int scan_page(unsigned page, bool* unreadable);
  bool is_erased(unsigned unit) const;
  bool is_sound(const Record& record) const;

  // About the last scan.
  bool is_needed(unsigned page) const;
  bool has_copy_outside(unsigned page) const;
  bool must_be_copied(unsigned page) const { return is_needed(page) && !has_copy_outside(page); }
  unsigned records_to_copy(unsigned unit) const;
  unsigned erased_units(unsigned* first) const;

  int put(Record record);
  int make_room();
  int clean(unsigned victim, unsigned spare);
  // A page or a unit that refuses makes its unit bad.
  int program(unsigned page, const Record& record);
  int program_bytes(unsigned page, const Record& record);
  int erase(unsigned unit);
  bool erase_unit(unsigned unit);
  bool is_bad(unsigned unit) const { return (memory_.bad >> unit & 1) != 0; }
  // The unit with the fewest records to copy that may be erased, other than `spare`; kNoUnit: none has fewer
  // than `limit`.
  unsigned best_victim(unsigned spare, unsigned limit) const;
  int load_files();
  void find_end();

  Config config_;
  Memory memory_;
  Disk* disk_ = nullptr;
  uint32_t marks_ = 0;
  std::array<Page, kMaxPages> pages_;  // as of the last scan
};

}  // namespace sisyfs::flash
