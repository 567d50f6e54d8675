// WriteLog: a log of writes as dm-log-writes of Linux and blklogwrites of QEMU record it.
//
// The first sector of a log says how large its sectors are and how many entries follow. Each entry is a
// sector of its own, followed by the bytes of the write. A log is input that nobody has checked: reading it
// never allocates by a number in it, and ends with one message that has the place.
//
//   Result<WriteLog> log = WriteLog::read(source, disk_bytes);
//   const uint32_t block = log->block_size(4096);        // the largest that fits all entries
//   if (Status s = log->load(source, block); !s) return s.error();
//   log->play(0, log->entries().size(), media);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "disk/media.h"

namespace sisyfs {

// A file that is read in parts. `read` is false where these bytes cannot be had.
struct ByteSource {
  uint64_t size = 0;
  std::function<bool(uint64_t offset, std::span<std::byte> out)> read;
};

struct LogEntry {
  uint64_t sector = 0, sectors = 0;  // of the disk
  bool flush = false;                // before anything that it writes
  bool fua = false, discard = false, mark = false;
  std::string text;        // of a mark
  uint64_t data = 0;       // where its bytes begin in the file
  size_t first_block = 0;  // of its content, once it is loaded

  bool writes() const { return sectors != 0 && !discard; }
};

class WriteLog {
 public:
  static constexpr uint64_t kMagic = 0x6a736677736872, kVersion = 1;
  static constexpr uint64_t kFlush = 1, kFua = 2, kDiscard = 4, kMark = 8, kMetadata = 16;
  // Blocks that all entries together may write and discard.
  static constexpr uint64_t kMostBlocks = uint64_t{1} << 24;

  // Reads and checks the entries of a log of writes to a disk with so many bytes.
  static Result<WriteLog> read(const ByteSource& source, uint64_t disk_bytes);

  uint32_t sector_size() const { return sector_size_; }
  const std::vector<LogEntry>& entries() const { return entries_; }

  // The largest block, up to `most` bytes, of which all entries are whole numbers.
  uint32_t block_size(uint32_t most) const;
  // Reads what is written, in blocks of this size, which is one that fits.
  Status load(const ByteSource& source, uint32_t block_size);
  // Covers all entries with their bytes.
  const Digest& digest() const { return digest_; }

  // Makes the writes, discards and flushes of the entries from `from` to before `to`. A write of more than
  // kPiece bytes is several.
  void play(uint64_t from, uint64_t to, Disk& disk) const;
  // What each of these writes and discards is: "entry 12 of the log, sectors 16-23".
  std::vector<std::string> names(uint64_t from, uint64_t to) const;
  static constexpr uint64_t kPiece = uint64_t{1} << 20;

 private:
  // Calls use(entry, number, first block, blocks, offset in the entry) for each write and discard.
  template <class Use>
  void each_piece(uint64_t from, uint64_t to, Use use) const;

  uint32_t sector_size_ = 0;
  uint32_t block_size_ = 0;
  std::vector<LogEntry> entries_;
  std::vector<BlockRef> blocks_;
  Digest digest_;
};

}  // namespace sisyfs
