// Bytes: the buffers of files, and the calls that read and write them. Three of the four mistakes live here.
#include <algorithm>
#include <cerrno>

#include "models/verifs/core.h"
#include "tree/file_data.h"

namespace sisyfs::verifs {
namespace {

unsigned capacity_for(unsigned size) { return (size + kBufferStep - 1) / kBufferStep * kBufferStep; }

}  // namespace

void Core::clear(Inode& file, unsigned from, unsigned to) {
  std::fill(file.buffer.begin() + from, file.buffer.begin() + to, std::byte{0});
}

bool Core::resize_buffer(Inode& inode, unsigned size) {
  const unsigned wanted = capacity_for(size);
  if (wanted > inode.capacity && config_.bytes != 0) {
    unsigned used = wanted - inode.capacity;
    for (const Inode& other : memory_.store.inodes) used += other.capacity;
    if (used > config_.bytes) {
      mark(kNoBytesLeft);
      return false;
    }
  }
  inode.capacity = static_cast<uint8_t>(wanted);
  return true;
}

void Core::put(Inode& file, unsigned offset, std::span<const std::byte> bytes) {
  std::copy(bytes.begin(), bytes.end(), file.buffer.begin() + offset);
  file.size = static_cast<uint8_t>(std::max<size_t>(file.size, offset + bytes.size()));
}

int Core::write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes) {
  Ino ino = kNoIno;
  if (const int error = find(path, &ino)) return error;
  if (is_directory(ino)) return EISDIR;
  if (!FileData::can_hold(offset, bytes.size())) return EINVAL;
  if (bytes.empty()) return 0;
  if (offset > kBufferSize || bytes.size() > kBufferSize - offset) return EFBIG;
  Inode& file = node(ino);
  const auto from = static_cast<unsigned>(offset), to = from + static_cast<unsigned>(bytes.size());
  const unsigned size = file.size;
  const bool grows = to > file.capacity;
  if (grows && !resize_buffer(file, to)) return ENOSPC;
  if (from > size) {
    mark(kHole);
    if (config_.hole_zero) clear(file, size, from);
  }
  put(file, from, bytes);
  if (!grows && config_.size_update == SizeUpdate::kOnGrowth) file.size = static_cast<uint8_t>(size);
  return 0;
}

int Core::truncate(std::string_view path, uint64_t size) {
  if (size > FileData::kMaxSize) return EINVAL;
  Ino ino = kNoIno;
  if (const int error = find(path, &ino)) return error;
  if (is_directory(ino)) return EISDIR;
  if (size > kBufferSize) return EFBIG;
  Inode& file = node(ino);
  const auto to = static_cast<unsigned>(size);
  if (!resize_buffer(file, to)) return ENOSPC;
  if (to < file.size)
    std::fill(file.buffer.begin() + to, file.buffer.begin() + file.size, kRubbish);
  else if (config_.truncate_clear)
    clear(file, file.size, to);
  file.size = static_cast<uint8_t>(to);
  return 0;
}

int Core::read(std::string_view path, uint64_t offset, uint64_t length, std::span<const std::byte>* out) {
  Ino ino = kNoIno;
  if (const int error = find(path, &ino)) return error;
  if (!FileData::can_hold(offset, length)) return EINVAL;
  if (is_directory(ino)) return EISDIR;
  const Inode& file = inode(ino);
  const size_t from = std::min<uint64_t>(offset, file.size);
  *out = std::span(file.buffer).subspan(from, std::min<uint64_t>(length, file.size - from));
  return 0;
}

}  // namespace sisyfs::verifs
