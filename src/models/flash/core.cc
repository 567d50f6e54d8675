#include "models/flash/core.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sisyfs::flash {

uint32_t Core::take_marks() { return std::exchange(marks_, 0); }

// --- programs and erases --------------------------------------------------------------------------------

bool Core::erase_unit(unsigned unit) {
  const BlockAddress first(uint64_t{unit} * config_.pages);
  if (disk_->discard(first, BlockCount(config_.pages)) != IoStatus::kOk) return !config_.heed_erase;
  for (unsigned page = 0; page < config_.pages && config_.verify; ++page) {
    std::array<std::byte, kPageSize> bytes;
    if (disk_->read(first + BlockCount(page), bytes) != IoStatus::kOk) return false;
    if (!std::ranges::all_of(bytes, [](std::byte b) { return b == kErased; })) return false;
  }
  return true;
}

int Core::erase(unsigned unit) {
  if (erase_unit(unit)) return 0;
  memory_.bad = static_cast<uint8_t>(memory_.bad | 1u << unit);
  marks_ |= kRetired;
  return EIO;
}

int Core::program_bytes(unsigned page, const Record& record) {
  const auto bytes = std::as_bytes(std::span(&record, 1));
  const IoStatus status = disk_->write(BlockAddress(page), bytes);
  return status == IoStatus::kOk ? 0 : status == IoStatus::kIoError ? EIO : EINVAL;
}

int Core::program(unsigned page, const Record& record) {
  Record body = record, mark;
  std::ranges::fill(std::as_writable_bytes(std::span(&mark, 1)), kErased);
  mark.mark = 0;
  if (config_.commit != Commit::kChecksum) body.mark = 0xFF;
  int error = 0;
  if (config_.commit == Commit::kMarkFirst) error = program_bytes(page, mark);
  if (error == 0) error = program_bytes(page, body);
  if (error == 0 && config_.commit == Commit::kMark) error = program_bytes(page, mark);
  if (error == 0 && config_.verify) {
    Record there;
    const auto bytes = std::as_writable_bytes(std::span(&there, 1));
    const bool same = disk_->read(BlockAddress(page), bytes) == IoStatus::kOk &&
                      std::ranges::equal(bytes, std::as_bytes(std::span(&record, 1)));
    if (!same) error = EIO;
  }
  if (error == EINVAL) return error;  // our mistake, and not the unit's
  if (error == 0 || !config_.heed_program) return 0;
  memory_.bad = static_cast<uint8_t>(memory_.bad | 1u << unit_of(page));
  marks_ |= kRetired;
  return error;
}

// A unit that cannot be erased must hold no record of an earlier life.
int Core::format(Disk& disk) {
  memory_ = Memory();
  disk_ = &disk;
  int error = 0;
  unsigned good = 0;
  for (unsigned unit = 0; unit < config_.units; ++unit) good += erase(unit) == 0 ? 1 : 0;
  if (good < config_.units) error = scan();
  for (unsigned page = 0; page < page_count() && error == 0 && good < config_.units; ++page)
    if (pages_[page].state == PageState::kRecord) error = EIO;
  if (good < 2) error = EIO;
  forget();
  return error;
}

// --- what lies on the flash -----------------------------------------------------------------------------

bool Core::is_sound(const Record& record) const {
  const bool possible = (record.kind == Kind::kFile || record.kind == Kind::kDeleted) &&
                        record.ino < config_.files && record.size <= kDataBytes;
  if (config_.commit != Commit::kChecksum) return possible && record.mark == 0;
  return possible && (!config_.checksum || record.check == record.sum());
}

int Core::scan_page(unsigned page, bool* unreadable) {
  Page& seen = pages_[page];
  const auto bytes = std::as_writable_bytes(std::span(&seen.record, 1));
  switch (disk_->read(BlockAddress(page), bytes)) {
    case IoStatus::kOk:
      break;
    case IoStatus::kUncorrectable:
      *unreadable = true;
      seen.state = PageState::kBad;
      return 0;
    default:
      return EIO;
  }
  if (std::ranges::all_of(bytes, [](std::byte b) { return b == kErased; })) {
    seen.state = PageState::kErased;
  } else {
    seen.state = is_sound(seen.record) ? PageState::kRecord : PageState::kBad;
    if (seen.state == PageState::kBad) marks_ |= kPassedBad;
  }
  return 0;
}

int Core::scan() {
  for (unsigned unit = 0; unit < config_.units; ++unit) {
    const unsigned first = unit * config_.pages, end = first + config_.pages;
    for (unsigned page = first; page < end; ++page) {
      bool unreadable = false;
      if (const int error = scan_page(page, &unreadable)) return error;
      if (unreadable) marks_ |= kPassedUnreadable;
      const bool no_more = (unreadable && !config_.skip_bad) || (!config_.whole_erase && page == first &&
                                                                 pages_[page].state == PageState::kErased);
      if (!no_more) continue;
      for (unsigned rest = page + 1; rest < end; ++rest) pages_[rest].state = PageState::kErased;
      break;
    }
  }
  return 0;
}

bool Core::is_erased(unsigned unit) const {
  const auto pages = std::span(pages_).subspan(unit * config_.pages, config_.pages);
  return std::ranges::all_of(pages, [](const Page& page) { return page.state == PageState::kErased; });
}

bool Core::is_needed(unsigned page) const {
  const Page& mine = pages_[page];
  if (mine.state != PageState::kRecord) return false;
  bool covers = false;
  for (unsigned other = 0; other < page_count(); ++other) {
    if (pages_[other].state != PageState::kRecord || pages_[other].record.ino != mine.record.ino) continue;
    if (pages_[other].record.sequence > mine.record.sequence) return false;
    covers = covers || pages_[other].record.sequence < mine.record.sequence;
  }
  return mine.record.kind == Kind::kFile || (covers && config_.keep_deleted);
}

bool Core::has_copy_outside(unsigned page) const {
  const Record& mine = pages_[page].record;
  for (unsigned other = 0; other < page_count(); ++other) {
    const Record& record = pages_[other].record;
    if (unit_of(other) != unit_of(page) && pages_[other].state == PageState::kRecord &&
        record.ino == mine.ino && record.sequence == mine.sequence)
      return true;
  }
  return false;
}

unsigned Core::records_to_copy(unsigned unit) const {
  unsigned count = 0;
  for (unsigned page = unit * config_.pages; page < (unit + 1) * config_.pages; ++page)
    count += must_be_copied(page);
  return count;
}

unsigned Core::erased_units(unsigned* first) const {
  unsigned count = 0;
  *first = kNoUnit;
  for (unsigned unit = 0; unit < config_.units; ++unit) {
    if (!is_erased(unit) || is_bad(unit)) continue;
    if (count++ == 0) *first = unit;
  }
  return count;
}

// --- mount ----------------------------------------------------------------------------------------------

int Core::mount(Disk& disk) {
  memory_ = Memory();
  disk_ = &disk;
  if (const int error = load_files()) return error;
  unsigned spare = kNoUnit;
  while (erased_units(&spare) == 0) {
    const unsigned unit = best_victim(kNoUnit, 1);
    if (unit == kNoUnit && memory_.bad == 0) return EIO;
    if (unit == kNoUnit) break;      // what is there can be read
    if (erase(unit) != 0) continue;  // it is bad now, and another one is chosen
    marks_ |= kErasedAtMount;
    // What was in it is elsewhere too.
    if (const int error = load_files()) return error;
    break;
  }
  memory_.mounted = 1;
  return 0;
}

int Core::load_files() {
  if (const int error = scan()) return error;
  memory_ = Memory{.bad = memory_.bad};
  for (unsigned page = 0; page < page_count(); ++page) {
    const Page& seen = pages_[page];
    if (seen.state != PageState::kRecord) continue;
    memory_.sequence = std::max(memory_.sequence, seen.record.sequence + 1);
    if (seen.record.kind != Kind::kFile || !is_needed(page)) continue;
    memory_.files[seen.record.ino] = {static_cast<uint8_t>(page + 1), seen.record.size, seen.record.name};
  }
  find_end();
  return 0;
}

unsigned Core::best_victim(unsigned spare, unsigned limit) const {
  unsigned best = kNoUnit;
  for (unsigned unit = 0; unit < config_.units; ++unit) {
    if (unit == spare || is_bad(unit) || records_to_copy(unit) >= limit) continue;
    limit = records_to_copy(unit);
    best = unit;
  }
  return best;
}

// Goes on behind what was written last to a unit that has room.
void Core::find_end() {
  memory_.next = static_cast<uint8_t>(config_.pages);
  for (unsigned unit = 0; unit < config_.units; ++unit) {
    if (is_erased(unit) || is_bad(unit)) continue;
    unsigned end = config_.pages;
    while (pages_[unit * config_.pages + end - 1].state == PageState::kErased) --end;
    if (end == config_.pages) continue;
    memory_.unit = static_cast<uint8_t>(unit);
    memory_.next = static_cast<uint8_t>(end);
    return;
  }
}

// --- room -----------------------------------------------------------------------------------------------

// A round that gains no page makes a unit bad or erases one.
int Core::make_room() {
  for (unsigned round = 0; memory_.next >= config_.pages; ++round) {
    if (round > 2 * config_.units) return EIO;
    if (const int error = scan()) return error;
    unsigned spare = kNoUnit;
    const unsigned erased = erased_units(&spare);
    if (erased >= 2) {
      memory_.unit = static_cast<uint8_t>(spare);
      memory_.next = 0;
      return 0;
    }
    // A spare unit is missing only where one was bad. A unit may hold nothing that is needed.
    const unsigned victim = best_victim(spare, erased == 0 ? 1 : config_.pages);
    if (victim == kNoUnit) return ENOSPC;
    if (erased == 0)
      (void)erase(victim);
    else if (const int error = clean(victim, spare))
      return error;
  }
  return 0;
}

int Core::clean(unsigned victim, unsigned spare) {
  marks_ |= kCleaned;
  if (!config_.copy_first)
    if (const int error = erase(victim)) return error;
  unsigned copies = 0;
  for (unsigned page = victim * config_.pages; page < (victim + 1) * config_.pages; ++page) {
    if (!must_be_copied(page)) continue;
    const Record& record = pages_[page].record;
    const unsigned to = spare * config_.pages + copies++;
    if (const int error = program(to, record)) return error == EINVAL ? EIO : 0;  // the spare unit is bad
    marks_ |= record.kind == Kind::kFile ? kCopied : kKeptDeletion;
    if (record.kind == Kind::kFile) memory_.files[record.ino].page_plus_1 = static_cast<uint8_t>(to + 1);
  }
  // Copies of its files that lie outside count from now on.
  for (unsigned page = 0; page < page_count(); ++page) {
    if (pages_[page].state != PageState::kRecord || !is_needed(page) || unit_of(page) == victim) continue;
    const Record& record = pages_[page].record;
    if (record.kind == Kind::kFile && unit_of(memory_.files[record.ino].page()) == victim)
      memory_.files[record.ino].page_plus_1 = static_cast<uint8_t>(page + 1);
  }
  const bool erased = !config_.copy_first || erase(victim) == 0;
  if (copies == 0 && !erased) return 0;
  memory_.unit = static_cast<uint8_t>(copies == 0 ? victim : spare);
  memory_.next = static_cast<uint8_t>(copies);
  return 0;
}

int Core::put(Record record) {
  record.sequence = memory_.sequence;
  record.check = record.sum();
  unsigned page = 0;
  for (int error = EIO; error != 0;) {
    if (const int full = make_room()) return full;
    page = memory_.unit * config_.pages + memory_.next;
    error = program(page, record);
    if (error == EINVAL) return EIO;
    if (error != 0) memory_.next = static_cast<uint8_t>(config_.pages);  // on to another unit
  }
  ++memory_.next;
  ++memory_.sequence;
  memory_.files[record.ino] = {};
  if (record.kind == Kind::kFile)
    memory_.files[record.ino] = {static_cast<uint8_t>(page + 1), record.size, record.name};
  return 0;
}

// --- ops ------------------------------------------------------------------------------------------------

unsigned Core::find(std::string_view name) const {
  for (unsigned ino = 0; ino < config_.files; ++ino)
    if (memory_.files[ino].used() && text_of(memory_.files[ino].name) == name) return ino;
  return kMaxFiles;
}

int Core::create(std::string_view name) {
  if (find(name) != kMaxFiles) return EEXIST;
  unsigned ino = 0;
  while (ino < config_.files && memory_.files[ino].used()) ++ino;
  if (ino == config_.files) {
    marks_ |= kNoInode;
    return ENOSPC;
  }
  return put({.kind = Kind::kFile, .ino = static_cast<uint8_t>(ino), .name = name_of(name)});
}

int Core::remove(std::string_view name) {
  const unsigned ino = find(name);
  if (ino == kMaxFiles) return ENOENT;
  return put({.kind = Kind::kDeleted, .ino = static_cast<uint8_t>(ino)});
}

int Core::store(std::string_view name, std::span<const std::byte> bytes) {
  const unsigned ino = find(name);
  if (ino == kMaxFiles) return ENOENT;
  if (bytes.size() > kDataBytes) return EFBIG;
  Record record{.kind = Kind::kFile,
                .ino = static_cast<uint8_t>(ino),
                .size = static_cast<uint8_t>(bytes.size()),
                .name = memory_.files[ino].name};
  std::ranges::copy(bytes, record.data.begin());
  return put(record);
}

int Core::read(unsigned ino, Record* out) {
  const auto bytes = std::as_writable_bytes(std::span(out, 1));
  if (disk_->read(BlockAddress(memory_.files[ino].page()), bytes) != IoStatus::kOk) return EIO;
  const bool same = out->kind == Kind::kFile && out->ino == ino && out->size == memory_.files[ino].size;
  return same ? 0 : EIO;
}

}  // namespace sisyfs::flash
