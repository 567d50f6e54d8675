#include "adapters/kernel/media_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sisyfs {

std::string to_text(const DiskChange& change) {
  static constexpr const char* kNames[] = {"write", "write (FUA)", "flush", "discard", "write of zeros"};
  if (change.kind == DiskChange::kFlush) return "flush";
  return fmt::format("{} of {} bytes at {}", kNames[change.kind], change.length, change.offset);
}

std::string difference(std::span<const DiskChange> before, std::span<const DiskChange> now) {
  const size_t same = static_cast<size_t>(
      std::mismatch(before.begin(), before.end(), now.begin(), now.end()).first - before.begin());
  const auto text = [&](std::span<const DiskChange> all) {
    return same < all.size() ? to_text(all[same]) : std::string("nothing");
  };
  return fmt::format("request {} was '{}', now it is '{}'", same + 1, text(before),
                     text(before) == text(now) ? "the same with other bytes" : text(now));
}

void MediaServer::begin() {
  requests_.clear();
  serials_.clear();
  begin_ = media_->state().log.next_serial();
  failed_ = false;
}

void MediaServer::begin_mount(const Image& disk) {
  disk_ = disk;
  written_.clear();
  read_.clear();
  met_.clear();
  met_digest_ = {};
}

int MediaServer::read(uint32_t disk, uint64_t offset, std::span<std::byte> out) {
  const uint32_t size = block_size();
  if (offset % size != 0 || out.size() % size != 0) return EIO;
  const BlockAddress first(offset / size);
  if (const int error = io_error(media_->disk(disk).read(first, out))) return error;
  if (disk_) compare(disk, first, out);
  return 0;
}

int MediaServer::write(uint32_t disk, uint64_t offset, std::span<const std::byte> bytes, bool fua) {
  const uint32_t size = block_size();
  if (offset % size != 0 || bytes.size() % size != 0) return EIO;
  requests_.push_back({fua ? DiskChange::kWriteThrough : DiskChange::kWrite, disk, offset, bytes.size(),
                       fills_all_ ? digest_of(bytes).lo : 0});
  is_written(disk, offset, bytes.size());
  return changed(media_->disk(disk).write(BlockAddress(offset / size), bytes, {.fua = fua}));
}

int MediaServer::flush(uint32_t disk) {
  requests_.push_back({DiskChange::kFlush, disk, 0, 0});
  return changed(media_->disk(disk).flush());
}

int MediaServer::discard(uint32_t disk, uint64_t offset, uint64_t length, bool zeroes) {
  const uint32_t size = block_size();
  if (offset % size != 0 || length % size != 0) return EIO;
  requests_.push_back({zeroes ? DiskChange::kZeroes : DiskChange::kDiscard, disk, offset, length});
  is_written(disk, offset, length);
  if (!zeroes)
    return changed(media_->disk(disk).discard(BlockAddress(offset / size), BlockCount(length / size)));
  const std::vector<std::byte> nothing(size);
  for (uint64_t i = 0; i < length / size; ++i)
    if (const int error = changed(media_->disk(disk).write(BlockAddress(offset / size + i), nothing)))
      return error;
  return 0;
}

int MediaServer::io_error(IoStatus status) {
  if (status == IoStatus::kOk) return 0;
  failed_ = true;
  return EIO;
}

int MediaServer::changed(IoStatus status) {
  const uint64_t next = media_->state().log.next_serial();
  if (status == IoStatus::kOk && next != 0) serials_.push_back(next - 1);
  return io_error(status);
}

void MediaServer::is_written(uint32_t disk, uint64_t offset, uint64_t length) {
  if (!disk_) return;
  const uint32_t size = block_size();
  for (uint64_t i = 0; i < length / size; ++i) written_.insert(key(disk, offset / size + i));
}

void MediaServer::compare(uint32_t disk, BlockAddress first, std::span<const std::byte> bytes) {
  const uint32_t size = block_size();
  for (uint64_t i = 0; i < bytes.size() / size; ++i) {
    const BlockAddress address(key(disk, first.value + i));
    if (written_.contains(address.value)) continue;
    const auto now = bytes.subspan(i * size, size);
    if (met_.insert(address.value).second) met_digest_ += digest_at(address.value + 16, digest_of(now));
    block_.resize(size);
    disk_->read(address, block_);
    if (std::memcmp(block_.data(), now.data(), size) == 0) continue;
    disk_->write(address, now);
    read_.emplace_back(address, make_block(now));
  }
}

}  // namespace sisyfs
