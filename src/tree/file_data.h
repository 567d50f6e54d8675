// FileData: the bytes of one file, sparse, as a value whose copies share what they have in common.
//
// A hole and written zeros are the same bytes, so they are the same data: what is kept is cut into
// chunks, each without its trailing zeros, and a chunk of zeros is not kept at all. Thus the digest,
// which is maintained with each change, depends on what read() gives and on nothing else. It does not
// cover the size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "tree/shared.h"

namespace sisyfs {

class FileData {
 public:
  static constexpr uint64_t kMaxSize = INT64_MAX;

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
  struct Chunk {
    uint64_t index;
    Shared<std::string> bytes;  // at least one, the last of them not zero
  };

  size_t position(uint64_t index) const;
  Digest term(const Chunk& chunk) const;
  void write_chunk(uint64_t index, size_t from, std::span<const std::byte> bytes);

  uint64_t size_ = 0;
  Digest digest_;
  std::vector<Chunk> chunks_;  // by index
};

}  // namespace sisyfs
