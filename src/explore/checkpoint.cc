#include "explore/checkpoint.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sisyfs {

namespace {

constexpr size_t kBuffer = size_t{1} << 20;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

std::string temporary_of(const std::string& path) { return path + ".part"; }

struct CheckpointWriter::Hash {
  XXH3_state_t state;
};

CheckpointWriter::CheckpointWriter(const CheckpointOptions& options)
    : path_(options.path), temporary_(temporary_of(options.path)), hash_(new Hash) {
  XXH3_128bits_reset(&hash_->state);
  buffer_.reserve(kBuffer);
  file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) fail("be created");
  CheckpointHeader header{{}, kCheckpointVersion, kCheckpointByteOrder, options.identity};
  std::memcpy(header.magic, kCheckpointMagic, sizeof header.magic);
  left_ = sizeof header;
  append(&header, sizeof header);
  section(CheckpointSection::kSetup, options.setup.data(), options.setup.size());
}

CheckpointWriter::~CheckpointWriter() {
  if (file_ >= 0) {
    close(file_);
    unlink(temporary_.c_str());
  }
  delete hash_;
}

void CheckpointWriter::fail(const char* what) {
  if (problem_.empty())
    problem_ = "the checkpoint " + temporary_ + " could not " + what + ": " + std::strerror(errno);
}

void CheckpointWriter::flush() {
  XXH3_128bits_update(&hash_->state, buffer_.data(), buffer_.size());
  for (size_t done = 0; done < buffer_.size() && problem_.empty();) {
    const ssize_t n = write(file_, buffer_.data() + done, buffer_.size() - done);
    if (n < 0 && errno != EINTR) fail("be written");
    if (n > 0) done += static_cast<size_t>(n);
  }
  buffer_.clear();
}

void CheckpointWriter::append(const void* data, size_t size) {
  SISYFS_ASSERT(size <= left_, "a section is as long as was said");
  left_ -= size;
  const auto* from = static_cast<const std::byte*>(data);
  while (size != 0) {
    const size_t part = std::min(size, kBuffer - buffer_.size());
    buffer_.insert(buffer_.end(), from, from + part);
    from += part;
    size -= part;
    if (buffer_.size() == kBuffer) flush();
  }
}

void CheckpointWriter::begin(CheckpointSection which, uint64_t size) {
  SISYFS_ASSERT(left_ == 0, "a section is complete before the next");
  constexpr std::byte kZero[8] = {};
  left_ = padding_ + sizeof(CheckpointSectionHead);
  append(kZero, padding_);
  const CheckpointSectionHead head{which, 0, size};
  append(&head, sizeof head);
  left_ = size;
  padding_ = (8 - size % 8) % 8;
}

void CheckpointWriter::section(CheckpointSection which, const void* data, size_t size) {
  begin(which, size);
  append(data, size);
}

Status CheckpointWriter::finish() {
  begin(CheckpointSection::kEnd, 0);
  flush();
  const XXH128_hash_t h = XXH3_128bits_digest(&hash_->state);
  const Digest sum{h.high64, h.low64};
  left_ = sizeof sum;
  append(&sum, sizeof sum);
  flush();
  if (problem_.empty()) return finish_file();
  return system_error(problem_);
}

Status CheckpointWriter::finish_file() {
  if (fsync(file_) != 0) fail("be brought to the disk");
  if (problem_.empty() && rename(temporary_.c_str(), path_.c_str()) != 0) fail("be given its name");
  if (!problem_.empty()) return system_error(problem_);
  close(std::exchange(file_, -1));
  // The new name must reach the disk too. Where the folder cannot be opened, this step is skipped.
  const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return {};
}

LoadedCheckpoint::LoadedCheckpoint(LoadedCheckpoint&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      identity_(other.identity_),
      sections_(std::move(other.sections_)) {}

LoadedCheckpoint::~LoadedCheckpoint() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

std::string_view LoadedCheckpoint::setup() const {
  const auto bytes = section(CheckpointSection::kSetup);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> LoadedCheckpoint::section(CheckpointSection which) const {
  const auto found = sections_.find(which);
  return found == sections_.end() ? std::span<const std::byte>() : found->second;
}

Status LoadedCheckpoint::matches(const Digest& identity) const {
  if (identity == identity_) return {};
  return bad_input("the checkpoint " + path_ +
                   " is of another search; resume it with the setup it was made with");
}

Status LoadedCheckpoint::parse() {
  CheckpointHeader header;
  if (size_ < sizeof header || std::memcmp(data_, kCheckpointMagic, sizeof kCheckpointMagic) != 0)
    return bad_input(path_ + " is not a checkpoint");
  std::memcpy(&header, data_, sizeof header);
  if (header.byte_order != kCheckpointByteOrder)
    return bad_input("the checkpoint " + path_ + " was written on a machine with another byte order");
  if (header.version != kCheckpointVersion)
    return bad_input("the checkpoint " + path_ + " is of version " + std::to_string(header.version) +
                     ", this program reads " + std::to_string(kCheckpointVersion) +
                     ": resume it with the program that wrote it, or start the search anew");
  const Error damaged =
      bad_input("the checkpoint " + path_ + " is damaged or cut short; start the search anew");
  Digest sum;
  if (size_ < sizeof header + sizeof sum) return damaged;
  const size_t body = size_ - sizeof sum;
  std::memcpy(&sum, data_ + body, sizeof sum);
  // The sections come first: a huge file of something else is refused without being read.
  if (!split(body) || digest_of(data_, body) != sum) return damaged;
  identity_ = header.identity;
  return {};
}

// The sections must fill the file exactly, each known and at most once.
bool LoadedCheckpoint::split(size_t body) {
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  for (size_t at = sizeof(CheckpointHeader); at <= body && body - at >= sizeof(CheckpointSectionHead);) {
    CheckpointSectionHead head;
    std::memcpy(&head, data_ + at, sizeof head);
    at += sizeof head;
    if (head.zero != 0) return false;
    if (head.number == CheckpointSection::kEnd) return head.size == 0 && at == body;
    if (head.number > CheckpointSection::kAgenda || head.size > body - at) return false;
    if (!sections_.try_emplace(head.number, data_ + at, head.size).second) return false;
    const size_t padding = (8 - head.size % 8) % 8;
    at += head.size;
    if (padding > body - at || !std::all_of(data_ + at, data_ + at + padding, is_zero)) return false;
    at += padding;
  }
  return false;
}

Result<LoadedCheckpoint> load_checkpoint(const std::string& path) {
  const auto refused = [&path] {
    return system_error("the checkpoint " + path + " could not be read: " + std::strerror(errno));
  };
  // Without waiting: a pipe without a writer would never open.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return refused();
  struct stat info;
  LoadedCheckpoint loaded;
  loaded.path_ = path;
  void* data = MAP_FAILED;
  const bool known = fstat(file, &info) == 0, regular = known && S_ISREG(info.st_mode);
  if (regular && info.st_size != 0)
    data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  const Error problem = refused();
  close(file);
  if (known && (!regular || info.st_size == 0)) return bad_input(path + " is not a checkpoint");
  if (data == MAP_FAILED) return problem;
  loaded.data_ = static_cast<const std::byte*>(data);
  loaded.size_ = static_cast<size_t>(info.st_size);
  if (Status parsed = loaded.parse(); !parsed) return parsed.error();
  return loaded;
}

}  // namespace sisyfs
