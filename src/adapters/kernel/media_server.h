// MediaServer: serves the disks of a guest from a Media, and keeps account of what was asked for.
//
//   MediaServer server(true);
//   server.attach(&media);
//   server.begin_mount(disk);    // reads are compared with this disk
//   server.begin();              // of a call
//   ... the guest works ...
//   server.requests();           // what it has changed
//   server.take_met();           // what it has read and not known before
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "adapters/guest/kernel_machine.h"
#include "disk/image.h"
#include "disk/media.h"

namespace sisyfs {

// A request to a disk that changes it.
struct DiskChange {
  enum Kind : uint32_t { kWrite, kWriteThrough, kFlush, kDiscard, kZeroes };
  Kind kind;
  uint32_t disk;
  uint64_t offset, length;  // bytes
  uint64_t what = 0;        // digest of the bytes, where they are the same each time

  friend bool operator==(const DiskChange&, const DiskChange&) = default;
};

// "write (FUA) of 4096 bytes at 8192"
std::string to_text(const DiskChange& change);
// How two sequences of requests differ: "request 3 was 'flush', now it is 'nothing'".
std::string difference(std::span<const DiskChange> before, std::span<const DiskChange> now);

class MediaServer : public ServesDisks {
 public:
  // `fills_all`: the file system fills all the bytes that it writes, so they are the same each time.
  explicit MediaServer(bool fills_all) : fills_all_(fills_all) {}
  void attach(Media* media) { media_ = media; }
  Media* media() const { return media_; }

  // From here on requests are counted anew.
  void begin();
  const std::vector<DiskChange>& requests() const { return requests_; }
  bool failed() const { return failed_; }
  // Of the log: the next serial number at the beginning, and those of the events since then.
  uint64_t begin_serial() const { return begin_; }
  const std::vector<uint64_t>& serials() const { return serials_; }

  // A mount of this disk begins.
  void begin_mount(const Image& disk);
  // Blocks that were read since the last call, otherwise than that disk has them, and were not written
  // before.
  std::vector<std::pair<BlockAddress, BlockRef>> take_read() { return std::exchange(read_, {}); }
  // Of the blocks that were read for the first time since the last call, with their addresses. Where the
  // rest of a disk differs the kernel cannot know it.
  Digest take_met() { return std::exchange(met_digest_, {}); }

  int read(uint32_t disk, uint64_t offset, std::span<std::byte> out) override;
  int write(uint32_t disk, uint64_t offset, std::span<const std::byte> bytes, bool fua) override;
  int flush(uint32_t disk) override;
  int discard(uint32_t disk, uint64_t offset, uint64_t length, bool zeroes) override;

 private:
  uint32_t block_size() const { return media_->geometry().block_size; }
  uint64_t key(uint32_t disk, uint64_t block) const {
    return disk * media_->geometry().blocks_per_disk() + block;
  }
  int io_error(IoStatus status);
  // After an access that is an event of the log.
  int changed(IoStatus status);
  void is_written(uint32_t disk, uint64_t offset, uint64_t length);
  void compare(uint32_t disk, BlockAddress first, std::span<const std::byte> bytes);

  const bool fills_all_;
  Media* media_ = nullptr;
  std::vector<DiskChange> requests_;
  uint64_t begin_ = 0;
  std::vector<uint64_t> serials_;
  bool failed_ = false;
  std::optional<Image> disk_;
  std::unordered_set<uint64_t> written_;
  std::vector<std::pair<BlockAddress, BlockRef>> read_;
  std::vector<std::byte> block_;
  std::unordered_set<uint64_t> met_;
  Digest met_digest_;
};

}  // namespace sisyfs
