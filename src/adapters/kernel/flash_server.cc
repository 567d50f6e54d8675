#include "adapters/kernel/flash_server.h"

#include <algorithm>
#include <cstring>

namespace sisyfs {

int FlashServer::read_pages(uint32_t disk, uint64_t offset, uint64_t length) {
  const uint64_t first = offset / size_, end = (offset + length + size_ - 1) / size_;
  whole_.resize((end - first) * size_);
  return pages_.read(disk, first * size_, whole_);
}

int FlashServer::read(uint32_t disk, uint64_t offset, std::span<std::byte> out) {
  if (out.empty()) return 0;
  if (const int error = read_pages(disk, offset, out.size())) return error;
  std::memcpy(out.data(), whole_.data() + offset % size_, out.size());
  return 0;
}

int FlashServer::write(uint32_t disk, uint64_t offset, std::span<const std::byte> bytes, bool fua) {
  if (bytes.empty()) return 0;
  if (const int error = read_pages(disk, offset, bytes.size())) return error;
  std::fill(whole_.begin(), whole_.end(), std::byte{0xff});
  std::memcpy(whole_.data() + offset % size_, bytes.data(), bytes.size());
  return pages_.write(disk, offset / size_ * size_, whole_, fua);
}

}  // namespace sisyfs
