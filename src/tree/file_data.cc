#include "tree/file_data.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/assert.h"
#include "disk/pool.h"

namespace sisyfs {
namespace {

// A file that grows will probably grow again, so capacity is reserved.
size_t room_for(size_t size, size_t old_size) {
  if (old_size == 0 || size <= old_size) return size;
  return std::min<size_t>(size + size / 2, 4096);
}

}  // namespace

FileData::Chunk* FileData::Chunk::make(uint64_t index, size_t capacity) {
  Chunk* out = new (pool_take(sizeof(Chunk) + capacity)) Chunk;
  out->capacity = static_cast<uint32_t>(capacity);
  out->index = index;
  return out;
}

void FileData::Chunk::destroy(const Chunk* chunk) {
  pool_give(const_cast<Chunk*>(chunk), sizeof(Chunk) + chunk->capacity);
}

FileData::List* FileData::List::make(uint32_t count) {
  List* out = new (pool_take(sizeof(List) + count * sizeof(Ref<Chunk>))) List;
  out->count = count;
  std::uninitialized_default_construct_n(out->chunks(), count);
  return out;
}

void FileData::List::destroy(const List* list) {
  List* gone = const_cast<List*>(list);
  std::destroy_n(gone->chunks(), gone->count);
  pool_give(gone, sizeof(List) + gone->count * sizeof(Ref<Chunk>));
}

const Ref<FileData::Chunk>& FileData::chunk(size_t at) const {
  if (first_ && at == 0) return first_;
  return rest_->chunks()[at - (first_ ? 1 : 0)];
}

size_t FileData::position(uint64_t index) const {
  if (index == 0) return 0;
  const size_t before = first_ ? 1 : 0;
  if (!rest_) return before;
  const Ref<Chunk>* chunks = rest_->chunks();
  const auto at = std::lower_bound(chunks, chunks + rest_->count, index,
                                   [](const Ref<Chunk>& c, uint64_t i) { return c->index < i; });
  return before + static_cast<size_t>(at - chunks);
}

void FileData::replace(size_t at, size_t gone, Ref<Chunk> chunk) {
  if (first_ && at == 0 && gone != 0) {
    first_ = {};
    --gone;
  } else if (first_) {
    --at;
  }
  if (chunk && chunk->index == 0) first_ = std::exchange(chunk, {});
  if (gone == 0 && !chunk) return;
  const size_t old = rest_ ? rest_->count : 0;
  const size_t left = old - gone + (chunk ? 1 : 0);
  Ref<List> list;
  if (left != 0) {
    List* fresh = List::make(static_cast<uint32_t>(left));
    Ref<Chunk>* to = fresh->chunks();
    for (size_t i = 0; i < at; ++i) *to++ = rest_->chunks()[i];
    if (chunk) *to++ = std::move(chunk);
    for (size_t i = at + gone; i < old; ++i) *to++ = rest_->chunks()[i];
    list = Ref<List>::adopt(fresh);
  }
  rest_ = std::move(list);
}

void FileData::write_chunk(uint64_t index, size_t from, std::span<const std::byte> bytes) {
  const size_t at = position(index);
  const Chunk* old = at < count() && chunk(at)->index == index ? chunk(at).get() : nullptr;
  const size_t old_size = old ? old->size : 0;
  if (from + bytes.size() < old_size) return put(at, old, index, old_size, from, bytes);
  // If the new bytes are the last of the chunk, trailing zeros are dropped.
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
  if (bytes.empty()) return cut_chunk(index, from);
  put(at, old, index, from + bytes.size(), from, bytes);
}

void FileData::cut_chunk(uint64_t index, size_t size) {
  const size_t at = position(index);
  const Chunk* old = at < count() && chunk(at)->index == index ? chunk(at).get() : nullptr;
  if (!old || old->size <= size) return;
  while (size != 0 && old->bytes()[size - 1] == std::byte{0}) --size;
  if (size != 0) return put(at, old, index, size, 0, {});
  digest_ -= old->term;
  replace(at, 1, {});
}

void FileData::put(size_t at, const Chunk* old, uint64_t index, size_t size, size_t from,
                   std::span<const std::byte> bytes) {
  const size_t old_size = old ? old->size : 0;
  if (old) digest_ -= old->term;
  // If the list is shared, so are its chunks.
  const bool own = old && old->refs.only() && (index == 0 || rest_->refs.only()) && old->capacity >= size;
  Chunk* chunk = own ? const_cast<Chunk*>(old) : Chunk::make(index, room_for(size, old_size));
  const size_t kept = std::min(size, old_size);
  if (!own && kept != 0) std::memcpy(chunk->bytes(), old->bytes(), kept);
  if (from > kept) std::memset(chunk->bytes() + kept, 0, from - kept);
  if (!bytes.empty()) std::memcpy(chunk->bytes() + from, bytes.data(), bytes.size());
  chunk->size = static_cast<uint32_t>(size);
  chunk->term = digest_at(index, digest_of(chunk->bytes(), size));
  digest_ += chunk->term;
  if (!own) replace(at, old ? 1 : 0, Ref<Chunk>::adopt(chunk));
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
    const size_t gone = count() - first_gone;
    for (size_t i = first_gone; i < first_gone + gone; ++i) digest_ -= chunk(i)->term;
    if (gone != 0) replace(first_gone, gone, {});
    if (const size_t keep = size % kChunkSize; keep != 0) cut_chunk(size / kChunkSize, keep);
  }
  size_ = size;
}

// Only chunks that are stored have bytes to clear.
void FileData::clear(uint64_t offset, uint64_t length) {
  static constexpr std::array<std::byte, kChunkSize> kZeros{};
  const uint64_t end = std::min(size_, offset + length);
  for (size_t at = position(offset / kChunkSize); at < count();) {
    const uint64_t index = chunk(at)->index, start = index * kChunkSize;
    if (start >= end) return;
    const uint64_t from = std::max(start, offset) - start, to = std::min(start + kChunkSize, end) - start;
    if (from < to) write_chunk(index, from, std::span(kZeros).first(to - from));
    at = position(index + 1);
  }
}

size_t FileData::read(uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return 0;
  const size_t count = std::min<uint64_t>(out.size(), size_ - offset);
  if (count == 0) return 0;
  std::memset(out.data(), 0, count);
  const uint64_t end = offset + count;
  for (size_t i = position(offset / kChunkSize); i < this->count(); ++i) {
    const Chunk& content = *chunk(i);
    const uint64_t start = content.index * kChunkSize;
    if (start >= end) break;
    const uint64_t from = std::max(start, offset);
    const uint64_t to = std::min<uint64_t>(start + content.size, end);
    if (from < to) std::memcpy(out.data() + (from - offset), content.bytes() + (from - start), to - from);
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
  size_t mine = 0, theirs = 0;
  while (mine < count() || theirs < other.count()) {
    static constexpr uint64_t kNone = UINT64_MAX;
    const uint64_t my_index = mine < count() ? chunk(mine)->index : kNone;
    const uint64_t their_index = theirs < other.count() ? other.chunk(theirs)->index : kNone;
    const uint64_t index = std::min(my_index, their_index);
    const Chunk* a = my_index == index ? chunk(mine++).get() : nullptr;
    const Chunk* b = their_index == index ? other.chunk(theirs++).get() : nullptr;
    auto byte = [](const Chunk* c, size_t i) { return c && i < c->size ? c->bytes()[i] : std::byte{0}; };
    for (size_t i = 0; i < std::max(a ? a->size : 0, b ? b->size : 0); ++i) {
      if (byte(a, i) != byte(b, i)) return std::min(common, index * kChunkSize + i);
    }
  }
  return common;
}

}  // namespace sisyfs
