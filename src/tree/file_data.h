// FileData: the bytes of one file, sparse, as a value whose copies share what they have in common.
//
// A hole and written zeros are the same bytes, so they are the same data: what is kept is cut into
// chunks, each without its trailing zeros, and a chunk of zeros is not kept at all. Thus the digest,
// which is maintained with each change, depends on what read() gives and on nothing else. It does not
// cover the size.
//
// Copying costs no memory. A write costs one piece of pooled memory for each chunk that it changes and
// does not own, and one more where the file is longer than a chunk.
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
  // Whether these bytes have places in a file. To Linux, which answers EINVAL, they are no bytes otherwise.
  static constexpr bool can_hold(uint64_t offset, uint64_t length) {
    return offset <= kMaxSize && length <= kMaxSize - offset;
  }

  uint64_t size() const { return size_; }
  const Digest& digest() const { return digest_; }
  friend bool operator==(const FileData& a, const FileData& b) {
    return a.size_ == b.size_ && a.digest_ == b.digest_;
  }

  // Puts `bytes` at `offset` and grows the file where they reach beyond its end. The end of what is
  // written may not lie beyond kMaxSize.
  void write(uint64_t offset, std::span<const std::byte> bytes);
  // Cuts the file, or grows it with zeros.
  void resize(uint64_t size);
  // Fills `out` from `offset` on as far as the file goes; returns the number of bytes.
  size_t read(uint64_t offset, std::span<std::byte> out) const;
  // All of it.
  std::string text() const;
  // The offset of the first byte that is not the same in both, or that only one of them has. Equal data
  // gives the size.
  uint64_t first_difference(const FileData& other) const;

 private:
  static constexpr uint64_t kChunkSize = 4096;
  // One chunk in pooled memory. Only its only holder may change it.
  struct Chunk {
    RefCount refs;
    uint32_t capacity = 0;
    uint32_t size = 0;  // at least one, the last byte not zero
    uint64_t index = 0;
    Digest term;  // what it adds to the digest
    std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(this + 1); }
    static Chunk* make(uint64_t index, size_t capacity);
    static void destroy(const Chunk* chunk);
  };
  // The chunks behind the first one, by index, in pooled memory.
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
  // Puts `chunk` in the place of `gone` chunks from number `at` on; null puts nothing.
  void replace(size_t at, size_t gone, Ref<Chunk> chunk);
  void write_chunk(uint64_t index, size_t from, std::span<const std::byte> bytes);
  void cut_chunk(uint64_t index, size_t size);
  // Gives the chunk with number `at`, which is `old` or not there yet, its new size and puts `bytes` in it
  // at `from`. Its last byte is not zero then.
  void put(size_t at, const Chunk* old, uint64_t index, size_t size, size_t from,
           std::span<const std::byte> bytes);

  uint64_t size_ = 0;
  Digest digest_;
  Ref<Chunk> first_;  // the chunk of index 0, if it is kept: all that a short file has
  Ref<List> rest_;    // null if there is no other
};

}  // namespace sisyfs
