// Checkpoints: a search saved to a file, to be continued later. The format: docs/formats/checkpoint.md.
//
//   CheckpointWriter out(options);                        // a temporary file beside options.path
//   out.section(CheckpointSection::kNodes, data, size);
//   Status saved = out.finish();                          // checksum, fsync, rename
//
//   Result<LoadedCheckpoint> loaded = load_checkpoint(path);
//   if (!loaded) ...                                      // corrupt, truncated, of another version
//   if (Status same = loaded->matches(identity); !same) ...
//   options.resume = &*loaded;
//
// A file under the final name is always complete: it is written and synced under another name, and then
// renamed. The contents of the sections belong to the search that writes them (explore/harvest.h).
#pragma once

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "explore/checkpoint_layout.h"
#include "explore/search.h"

namespace sisyfs {

// Writes plain values one after the other.
class Encoder {
 public:
  template <class T>
  void put(const T& value) {
    put_bytes(&value, sizeof value);
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put(uint64_t{values.size()});
    put_bytes(values.data(), values.size() * sizeof(T));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void put_bytes(const void* from, size_t bytes) {
    if (bytes == 0) return;
    bytes_.resize(bytes_.size() + bytes);
    std::memcpy(bytes_.data() + (bytes_.size() - bytes), from, bytes);
  }
  std::vector<std::byte> bytes_;
};

// Reads them back. A value beyond the end reads as zero, and ok() is false from then on.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  void get(T& value) {
    if (!take(&value, sizeof value)) value = T{};
  }
  template <class T>
  void get_all(std::vector<T>& values) {
    uint64_t count = 0;
    get(count);
    values.clear();
    if (count > left_.size() / sizeof(T)) ok_ = false;
    if (!ok_) return;
    values.resize(count);
    take(values.data(), count * sizeof(T));
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && left_.empty(); }

 private:
  bool take(void* to, size_t size) {
    ok_ = ok_ && size <= left_.size();
    if (!ok_) return false;
    if (size != 0) std::memcpy(to, left_.data(), size);
    left_ = left_.subspan(size);
    return true;
  }
  std::span<const std::byte> left_;
  bool ok_ = true;
};

// The name under which a checkpoint is written before it is renamed to `path`.
std::string temporary_of(const std::string& path);

class CheckpointWriter {
 public:
  explicit CheckpointWriter(const CheckpointOptions& options);
  ~CheckpointWriter();  // an unfinished file is removed
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  void section(CheckpointSection which, const void* data, size_t size);
  // The same in parts: begin with the whole size, then append all of it.
  void begin(CheckpointSection which, uint64_t size);
  void append(const void* data, size_t size);
  Status finish();

 private:
  void flush();
  void fail(const char* what);
  Status finish_file();

  std::string path_, temporary_;
  int file_ = -1;
  std::string problem_;
  std::vector<std::byte> buffer_;
  uint64_t left_ = 0;  // bytes missing in the section that was begun
  uint64_t padding_ = 0;
  struct Hash;
  Hash* hash_;
};

class LoadedCheckpoint {
 public:
  LoadedCheckpoint(LoadedCheckpoint&& other) noexcept;
  LoadedCheckpoint& operator=(LoadedCheckpoint&&) = delete;
  ~LoadedCheckpoint();

  const Digest& identity() const { return identity_; }
  std::string_view setup() const;
  // Bad input unless this is a checkpoint of the search with this identity.
  Status matches(const Digest& identity) const;
  // Empty if there is no such section.
  std::span<const std::byte> section(CheckpointSection which) const;
  bool has(CheckpointSection which) const { return sections_.contains(which); }

 private:
  friend Result<LoadedCheckpoint> load_checkpoint(const std::string& path);
  LoadedCheckpoint() = default;
  Status parse();
  bool split(size_t body);

  std::string path_;
  const std::byte* data_ = nullptr;  // the mapped file
  size_t size_ = 0;
  Digest identity_;
  std::map<CheckpointSection, std::span<const std::byte>> sections_;
};

// Reads a checkpoint and verifies version and checksum. The error says in one sentence what is wrong.
Result<LoadedCheckpoint> load_checkpoint(const std::string& path);

}  // namespace sisyfs
