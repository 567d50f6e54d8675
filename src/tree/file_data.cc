#include "tree/file_data.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sisyfs {

size_t FileData::position(uint64_t index) const {
  const auto at = std::lower_bound(chunks_.begin(), chunks_.end(), index,
                                   [](const Chunk& chunk, uint64_t i) { return chunk.index < i; });
  return static_cast<size_t>(at - chunks_.begin());
}

Digest FileData::term(const Chunk& chunk) const {
  return digest_at(chunk.index, digest_of(chunk.bytes->data(), chunk.bytes->size()));
}

void FileData::write_chunk(uint64_t index, size_t from, std::span<const std::byte> bytes) {
  const size_t at = position(index);
  if (at == chunks_.size() || chunks_[at].index != index) {
    chunks_.insert(chunks_.begin() + static_cast<ptrdiff_t>(at),
                   Chunk{index, Shared<std::string>(std::string())});
  } else {
    digest_ -= term(chunks_[at]);
  }
  std::string& content = chunks_[at].bytes.edit();
  if (content.size() < from + bytes.size()) content.resize(from + bytes.size());
  std::memcpy(content.data() + from, bytes.data(), bytes.size());
  content.resize(content.find_last_not_of('\0') + 1);
  if (content.empty()) {
    chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(at));
  } else {
    digest_ += term(chunks_[at]);
  }
}

void FileData::write(uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  SISYFS_ASSERT(offset <= kMaxSize && bytes.size() <= kMaxSize - offset,
                "a write ends within the largest size");
  size_ = std::max(size_, offset + bytes.size());
  while (!bytes.empty()) {
    const size_t from = offset % kChunkSize;
    const size_t count = std::min<size_t>(bytes.size(), kChunkSize - from);
    write_chunk(offset / kChunkSize, from, bytes.first(count));
    bytes = bytes.subspan(count);
    offset += count;
  }
}

void FileData::resize(uint64_t size) {
  SISYFS_ASSERT(size <= kMaxSize, "a file is at most as large as the largest size");
  if (size < size_) {
    const size_t first_gone = position((size + kChunkSize - 1) / kChunkSize);
    for (size_t i = first_gone; i < chunks_.size(); ++i) digest_ -= term(chunks_[i]);
    chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(first_gone), chunks_.end());
    if (const size_t keep = size % kChunkSize; keep != 0) {
      static constexpr std::array<std::byte, kChunkSize> kZeros{};
      write_chunk(size / kChunkSize, keep, std::span(kZeros).first(kChunkSize - keep));
    }
  }
  size_ = size;
}

size_t FileData::read(uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return 0;
  const size_t count = std::min<uint64_t>(out.size(), size_ - offset);
  if (count == 0) return 0;
  std::memset(out.data(), 0, count);
  const uint64_t end = offset + count;
  for (size_t i = position(offset / kChunkSize); i < chunks_.size(); ++i) {
    const std::string& content = *chunks_[i].bytes;
    const uint64_t start = chunks_[i].index * kChunkSize;
    if (start >= end) break;
    const uint64_t from = std::max(start, offset);
    const uint64_t to = std::min<uint64_t>(start + content.size(), end);
    if (from < to) std::memcpy(out.data() + (from - offset), content.data() + (from - start), to - from);
  }
  return count;
}

std::string FileData::text() const {
  std::string out(size_, '\0');
  read(0, std::as_writable_bytes(std::span(out)));
  return out;
}

uint64_t FileData::first_difference(const FileData& other) const {
  const uint64_t common = std::min(size_, other.size_);
  auto mine = chunks_.begin();
  auto theirs = other.chunks_.begin();
  while (mine != chunks_.end() || theirs != other.chunks_.end()) {
    static const std::string kHole;
    const uint64_t index = mine == chunks_.end()           ? theirs->index
                           : theirs == other.chunks_.end() ? mine->index
                                                           : std::min(mine->index, theirs->index);
    const std::string& a = mine != chunks_.end() && mine->index == index ? *(mine++)->bytes : kHole;
    const std::string& b =
        theirs != other.chunks_.end() && theirs->index == index ? *(theirs++)->bytes : kHole;
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      if ((i < a.size() ? a[i] : '\0') != (i < b.size() ? b[i] : '\0')) {
        return std::min(common, index * kChunkSize + i);
      }
    }
  }
  return common;
}

}  // namespace sisyfs
