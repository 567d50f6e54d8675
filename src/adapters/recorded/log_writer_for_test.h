// Writes a log of writes as dm-log-writes and blklogwrites do, with whatever a test wants in it.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/recorded/write_log.h"

namespace sisyfs {

class LogWriter {
 public:
  struct Entry {
    uint64_t sector = 0, sectors = 0, flags = 0;
    std::string text;              // of a mark
    std::vector<std::byte> bytes;  // of a write
  };
  explicit LogWriter(uint32_t sector_size = 512) : sector_(sector_size) {}

  void write(uint64_t offset, std::span<const std::byte> bytes, uint64_t flags = 0) {
    entries.push_back({offset / sector_, bytes.size() / sector_, flags, {}, {bytes.begin(), bytes.end()}});
  }
  // A write of sectors that are full of one letter.
  void fill(uint64_t sector, uint64_t sectors, char letter, uint64_t flags = 0) {
    entries.push_back({sector,
                       sectors,
                       flags,
                       {},
                       std::vector<std::byte>(sectors * sector_, static_cast<std::byte>(letter))});
  }
  void flush() { entries.push_back({0, 0, WriteLog::kFlush, {}, {}}); }
  void discard(uint64_t offset, uint64_t length) {
    entries.push_back({offset / sector_, length / sector_, WriteLog::kDiscard, {}, {}});
  }
  void mark(std::string text) { entries.push_back({0, 0, WriteLog::kMark, std::move(text), {}}); }

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> out(sector_);
    put(out, 0, WriteLog::kMagic);
    put(out, 8, WriteLog::kVersion);
    put(out, 16, entries.size());
    put(out, 24, sector_, 4);
    for (const Entry& entry : entries) {
      const size_t at = out.size();
      out.resize(at + sector_);
      put(out, at, entry.sector);
      put(out, at + 8, entry.sectors);
      put(out, at + 16, entry.flags);
      put(out, at + 24, entry.text.size());
      std::memcpy(out.data() + at + 32, entry.text.data(), entry.text.size());
      out.insert(out.end(), entry.bytes.begin(), entry.bytes.end());
    }
    return out;
  }
  static void put(std::vector<std::byte>& out, size_t at, uint64_t number, size_t size = 8) {
    for (size_t i = 0; i < size; ++i) out[at + i] = static_cast<std::byte>(number >> (8 * i) & 0xff);
  }

  std::vector<Entry> entries;

 private:
  uint32_t sector_;
};

inline ByteSource source_of(const std::vector<std::byte>& bytes) {
  return {bytes.size(), [&bytes](uint64_t offset, std::span<std::byte> out) {
            if (offset > bytes.size() || out.size() > bytes.size() - offset) return false;
            std::memcpy(out.data(), bytes.data() + offset, out.size());
            return true;
          }};
}

}  // namespace sisyfs
