// FileData: the bytes of one file, sparse, as a value. Copies share chunks.
//
// A hole and written zeros read the same, so they are the same data. The bytes are stored in chunks without
// trailing zeros, and a chunk of zeros is not stored. So the digest, which is updated with each change,
// depends only on the bytes that read() returns. It does not cover the size.
//
// Copying allocates nothing. A write allocates one piece of pooled memory for each shared chunk that it
// changes, and one more if the file is longer than a chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/digest.h"
#include "base/ref.h"

namespace sisyfs {

class FileData {
 public:
  static constexpr uint64_t kMaxSize = INT64_MAX;
  // Whether a file can have these bytes. Linux answers EINVAL if not.
  static constexpr bool can_hold(uint64_t offset, uint64_t length) {
    return offset <= kMaxSize && length <= kMaxSize - offset;
  }

  uint64_t size() const { return size_; }
  const Digest& digest() const { return digest_; }
  friend bool operator==(const FileData& a, const FileData& b) {
    return a.size_ == b.size_ && a.digest_ == b.digest_;
  }

  // Writes `bytes` at `offset` and grows the file if needed. can_hold() must be true.
  void write(uint64_t offset, std::span<const std::byte> bytes);
  // Truncates the file, or extends it with zeros.
  void resize(uint64_t size);
  // Makes these bytes zeros. What lies behind the end of the file is left out. can_hold() must be true.
  void clear(uint64_t offset, uint64_t length);
  // Reads up to the end of the file into `out`; returns the number of bytes.
  size_t read(uint64_t offset, std::span<std::byte> out) const;
  // The whole content.
  std::string text() const;
  // The offset of the first byte that differs, or that only one of them has. For equal data: the size.
  uint64_t first_difference(const FileData& other) const;

 private:
  static constexpr uint64_t kChunkSize = 4096;
  // One chunk in pooled memory. It may be changed only if there is no other reference to it.
  struct Chunk {
    RefCount refs;
    uint32_t capacity = 0;
    uint32_t size = 0;  // at least 1; the last byte is not zero
    uint64_t index = 0;
    Digest term;  // its term in the digest of the file
    std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(this + 1); }
    static Chunk* make(uint64_t index, size_t capacity);
    static void destroy(const Chunk* chunk);
  };
  // The chunks after the first one, sorted by index, in pooled memory.
  struct List {
    RefCount refs;
    uint32_t count = 0;
    Ref<Chunk>* chunks() { return reinterpret_cast<Ref<Chunk>*>(this + 1); }
    const Ref<Chunk>* chunks() const { return reinterpret_cast<const Ref<Chunk>*>(this + 1); }
    static List* make(uint32_t count);
    static void destroy(const List* list);
  };

  // Chunks are numbered by their order in the file.
  size_t count() const { return (first_ ? 1 : 0) + (rest_ ? rest_->count : 0); }
  const Ref<Chunk>& chunk(size_t at) const;
  size_t position(uint64_t index) const;
  // Replaces `gone` chunks from number `at` on by `chunk`; null inserts nothing.
  void replace(size_t at, size_t gone, Ref<Chunk> chunk);
  void write_chunk(uint64_t index, size_t from, std::span<const std::byte> bytes);
  void cut_chunk(uint64_t index, size_t size);
  // Resizes the chunk with number `at` (`old`, or null if it does not exist yet) and writes `bytes` into it
  // at `from`. The last byte must not be zero afterwards.
  void put(size_t at, const Chunk* old, uint64_t index, size_t size, size_t from,
           std::span<const std::byte> bytes);

  uint64_t size_ = 0;
  Digest digest_;
  Ref<Chunk> first_;  // the chunk with index 0, if it is not all zeros; a short file has no other
  Ref<List> rest_;    // null if there are no further chunks
};

}  // namespace sisyfs
