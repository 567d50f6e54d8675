#include "adapters/recorded/write_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace sisyfs {
namespace {

constexpr uint32_t kLeastSector = 512, kMostSector = 4096;

// Numbers in a log have their lowest byte first.
uint64_t number_in(std::span<const std::byte> bytes, size_t at, size_t size = 8) {
  uint64_t number = 0;
  for (size_t i = size; i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

bool is_power_of_two(uint64_t number) { return number != 0 && (number & (number - 1)) == 0; }

// Checks entries one after the other.
class Reader {
 public:
  Reader(const ByteSource& source, uint64_t disk_bytes) : source_(source), disk_bytes_(disk_bytes) {}

  Result<uint32_t> read_super() {
    std::array<std::byte, 32> super{};
    if (source_.size < super.size() || !source_.read(0, super))
      return bad_input(
          fmt::format("is no log of dm-log-writes or blklogwrites: it ends within its first {} bytes, at {}",
                      super.size(), source_.size));
    if (number_in(super, 0) != WriteLog::kMagic)
      return bad_input(
          fmt::format("is no log of dm-log-writes or blklogwrites: byte 0 has the number {:#x} and not {:#x}",
                      number_in(super, 0), WriteLog::kMagic));
    if (number_in(super, 8) != WriteLog::kVersion)
      return bad_input(
          fmt::format("byte 8: the log has version {}, and only version 1 is known", number_in(super, 8)));
    count_ = number_in(super, 16);
    const uint64_t sector = number_in(super, 24, 4);
    if (!is_power_of_two(sector) || sector < kLeastSector || sector > kMostSector)
      return bad_input(fmt::format("byte 24: a sector of {} bytes; it has 512, 1024, 2048 or 4096", sector));
    if (count_ == 0) return bad_input("byte 16: the log has no entries");
    sector_ = static_cast<uint32_t>(sector);
    at_ = sector_;
    return sector_;
  }

  bool done() const { return number_ == count_; }

  Result<LogEntry> next() {
    ++number_;
    std::array<std::byte, kMostSector> bytes;
    const auto head = std::span(bytes).first(sector_);
    if (at_ > source_.size || source_.size - at_ < sector_ || !source_.read(at_, head))
      return wrong(0, fmt::format("the log ends here, and byte 16 says that it has {} entries", count_));
    LogEntry entry;
    entry.sector = number_in(head, 0);
    entry.sectors = number_in(head, 8);
    const uint64_t flags = number_in(head, 16), length = number_in(head, 24);
    entry.flush = (flags & WriteLog::kFlush) != 0;
    entry.fua = (flags & WriteLog::kFua) != 0;
    entry.discard = (flags & WriteLog::kDiscard) != 0;
    entry.mark = (flags & WriteLog::kMark) != 0;
    if ((flags & ~uint64_t{31}) != 0)
      return wrong(16, fmt::format("unknown flags {:#x}", flags & ~uint64_t{31}));
    const uint64_t most = sector_ - 32;
    if (entry.mark && flags != WriteLog::kMark) return wrong(16, "a mark that is something else too");
    if (entry.mark && entry.sectors != 0) return wrong(8, "a mark that writes sectors");
    if (entry.discard && (flags & (WriteLog::kFlush | WriteLog::kFua)) != 0)
      return wrong(16, "a discard that is a flush or passes the cache");
    if (length > (entry.mark ? most : 0))
      return wrong(24,
                   fmt::format("data_len is {}, and here it is at most {}", length, entry.mark ? most : 0));
    if (flags == 0 && entry.sectors == 0)
      return wrong(0,
                   fmt::format("an entry that does nothing; byte 16 of the log says that it has {}", count_));
    const uint64_t on_disk = disk_bytes_ / sector_;
    if (entry.sectors > on_disk || entry.sector > on_disk - entry.sectors)
      return wrong(
          0, fmt::format("{} sectors of {} bytes at sector {} reach beyond the base image, which has {}",
                         entry.sectors, sector_, entry.sector, on_disk));
    if (entry.mark)
      entry.text.assign(reinterpret_cast<const char*>(head.data()) + 32, static_cast<size_t>(length));
    const uint64_t begin = at_;
    at_ += sector_;
    entry.data = at_;
    if (!entry.writes()) return entry;
    const uint64_t bytes_written = entry.sectors * sector_;
    if (bytes_written > source_.size - at_) {
      at_ = begin;
      return wrong(8, fmt::format("the log ends at byte {}, within the {} bytes that this entry writes",
                                  source_.size, bytes_written));
    }
    at_ += bytes_written;
    return entry;
  }

 private:
  // At this byte of the entry.
  Error wrong(uint64_t byte, std::string_view what) const {
    return bad_input(fmt::format("entry {} at byte {}: {}", number_, at_ + byte, what));
  }

  const ByteSource& source_;
  const uint64_t disk_bytes_;
  uint32_t sector_ = 0;
  uint64_t count_ = 0, number_ = 0;
  uint64_t at_ = 0;
};

}  // namespace

Result<WriteLog> WriteLog::read(const ByteSource& source, uint64_t disk_bytes) {
  Reader reader(source, disk_bytes);
  const Result<uint32_t> sector = reader.read_super();
  if (!sector) return sector.error();
  WriteLog log;
  log.sector_size_ = *sector;
  while (!reader.done()) {
    Result<LogEntry> entry = reader.next();
    if (!entry) return entry.error();
    log.entries_.push_back(*std::move(entry));
  }
  return log;
}

uint32_t WriteLog::block_size(uint32_t most) const {
  uint64_t all = most;
  for (const LogEntry& entry : entries_)
    if (entry.sectors != 0) all |= (entry.sector | entry.sectors) * sector_size_;
  return static_cast<uint32_t>(all & (~all + 1));  // the lowest bit
}

Status WriteLog::load(const ByteSource& source, uint32_t block_size) {
  block_size_ = block_size;
  uint64_t blocks = 0;
  std::vector<std::byte> bytes(block_size);
  for (size_t number = 0; number < entries_.size(); ++number) {
    LogEntry& entry = entries_[number];
    const uint64_t count = entry.sectors * sector_size_ / block_size;
    if (blocks += count; blocks > kMostBlocks)
      return bad_input(
          fmt::format("entry {}: the log writes and discards more than {} blocks of {} bytes up to here",
                      number + 1, kMostBlocks, block_size));
    entry.first_block = blocks_.size();
    const uint64_t flags = (entry.flush ? kFlush : 0) | (entry.fua ? kFua : 0) |
                           (entry.discard ? kDiscard : 0) | (entry.mark ? kMark : 0);
    digest_ +=
        digest_at(number, digest_at(1, Digest{entry.sector, entry.sectors}) + digest_at(2, Digest{flags, 0}) +
                              digest_at(3, digest_of(entry.text.data(), entry.text.size())));
    for (uint64_t i = 0; entry.writes() && i < count; ++i) {
      if (!source.read(entry.data + i * block_size, bytes))
        return bad_input(fmt::format("entry {}: byte {} cannot be read any more", number + 1,
                                     entry.data + i * block_size));
      blocks_.push_back(make_block(bytes));
      digest_ +=
          digest_at(blocks_.size() + (uint64_t{1} << 32), blocks_.back() ? blocks_.back()->digest : Digest{});
    }
  }
  return {};
}

template <class Use>
void WriteLog::each_piece(uint64_t from, uint64_t to, Use use) const {
  for (uint64_t number = from; number < to; ++number) {
    const LogEntry& entry = entries_[number];
    const uint64_t first = entry.sector * sector_size_ / block_size_,
                   count = entry.sectors * sector_size_ / block_size_;
    const uint64_t most = entry.discard ? count : kPiece / block_size_;
    uint64_t done = 0;
    do {
      const uint64_t piece = std::min(most, count - done);
      use(entry, number, BlockAddress(first + done), BlockCount(piece), done);
      done += piece;
    } while (done < count);
  }
}

void WriteLog::play(uint64_t from, uint64_t to, Disk& disk) const {
  std::vector<std::byte> bytes;
  each_piece(from, to,
             [&](const LogEntry& entry, uint64_t, BlockAddress first, BlockCount count, uint64_t done) {
               if (entry.flush && done == 0) (void)disk.flush();
               if (count.value == 0) return;
               if (entry.discard) {
                 (void)disk.discard(first, count);
                 return;
               }
               bytes.resize(count.value * block_size_);
               for (uint64_t i = 0; i < count.value; ++i)
                 copy_bytes(blocks_[entry.first_block + done + i].get(),
                            std::span(bytes).subspan(i * block_size_, block_size_));
               (void)disk.write(first, bytes, {.fua = entry.fua});
             });
}

std::vector<std::string> WriteLog::names(uint64_t from, uint64_t to) const {
  std::vector<std::string> all;
  each_piece(from, to, [&](const LogEntry& entry, uint64_t number, BlockAddress, BlockCount count, uint64_t) {
    if (count.value == 0) return;
    all.push_back(fmt::format("entry {} of the log, {} at sector {}, {} sector{}", number + 1,
                              entry.discard ? "a discard" : "a write", entry.sector, entry.sectors,
                              entry.sectors == 1 ? "" : "s"));
  });
  return all;
}

}  // namespace sisyfs
