#include "adapters/plugin/plugin_disk.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/assert.h"

namespace sisyfs {
namespace {

constexpr size_t kPage = 4096;
constexpr uint32_t kSinceEcc = 3;         // the minor version with SISYFS_EECC
constexpr uint64_t kNow = 1'000'000'000;  // 2001-09-09; the clock of the disk stands still

// `uncorrectable`: what a plug-in gets of a page that cannot be corrected.
int errno_of_status(IoStatus status, int uncorrectable) {
  switch (status) {
    case IoStatus::kOk:
      return 0;
    case IoStatus::kIoError:
      return -EIO;
    case IoStatus::kUncorrectable:
      return -uncorrectable;
    case IoStatus::kOutOfRange:
    case IoStatus::kMisuse:
      return -EINVAL;
  }
  return -EINVAL;
}

}  // namespace

PluginDisk::PluginDisk(const Geometry& geometry, Fence& fence, uint32_t minor)
    : fence_(fence),
      block_count_(geometry.block_count.value),
      uncorrectable_(minor >= kSinceEcc ? SISYFS_EECC : EIO) {
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SISYFS_ASSERT(page != MAP_FAILED, "there is memory for a page");
  face_ = new (page) sisyfs_disk{.size = sizeof(sisyfs_disk),
                                 .block_size = geometry.block_size,
                                 .block_count = geometry.block_count.value,
                                 .erase_blocks = geometry.erase_blocks,
                                 .reserved = 0,
                                 .now = kNow,
                                 .engine = this,
                                 .read = read,
                                 .write = write,
                                 .write_through = write_through,
                                 .flush = flush,
                                 .erase = erase,
                                 .stable = stable};
  mprotect(page, kPage, PROT_READ);
}

PluginDisk::~PluginDisk() { munmap(const_cast<sisyfs_disk*>(face_), kPage); }

std::span<std::byte> PluginDisk::room_for(uint32_t count) {
  const size_t size = std::min<uint64_t>(count, block_count_ + 1) * face_->block_size;
  if (buffer_.size() < size) buffer_.resize(size);
  return std::span(buffer_).first(size);
}

void PluginDisk::replay(const DiskTape& tape) {
  replaying_ = &tape;
  at_ = 0;
  differs_ = 0;
  replayed_.clear();
}

bool PluginDisk::stop_replay(uint32_t* differs) {
  if (differs_ == 0 &&
      (replayed_.changes != replaying_->changes || replayed_.accesses != replaying_->accesses))
    differs_ = replayed_.accesses;
  *differs = differs_;
  replaying_ = nullptr;
  return differs_ == 0;
}

void PluginDisk::differ() {
  if (differs_ == 0) differs_ = replayed_.accesses;
}

namespace {

// The header of a read on a tape; its bytes follow.
struct TapedRead {
  uint64_t block;
  uint64_t size;
  int64_t error;
};

}  // namespace

int PluginDisk::answer_read(uint64_t block, std::span<std::byte> buffer) {
  TapedRead read{block, buffer.size(), 0};
  if (replaying_ != nullptr) {
    ++replayed_.accesses;
    const std::vector<std::byte>& answers = replaying_->answers;
    if (answers.size() - at_ < sizeof read) return differ(), -EIO;
    std::memcpy(&read, answers.data() + at_, sizeof read);
    if (read.block != block || read.size != buffer.size()) return differ(), -EIO;
    at_ += sizeof read;
    if (read.error == 0) {
      std::memcpy(buffer.data(), answers.data() + at_, buffer.size());
      at_ += buffer.size();
    }
    return static_cast<int>(read.error);
  }
  const int error =
      disk_ == nullptr ? -EIO : errno_of_status(disk_->read(BlockAddress(block), buffer), uncorrectable_);
  if (recording_ == nullptr) return error;
  ++recording_->accesses;
  read.error = error;
  const auto header = std::as_bytes(std::span(&read, 1));
  recording_->answers.insert(recording_->answers.end(), header.begin(), header.end());
  if (error == 0) recording_->answers.insert(recording_->answers.end(), buffer.begin(), buffer.end());
  return error;
}

// The answer is recorded on the tape, as for reads.
template <class Ask>
int PluginDisk::answer_change(uint8_t kind, uint64_t block, uint64_t count, std::span<const std::byte> bytes,
                              Ask ask) {
  const auto note = [&](DiskTape& tape) {
    ++tape.accesses;
    tape.changes = digest_at(tape.accesses, tape.changes) + digest_at(kind, Digest{block, count}) +
                   digest_of(bytes.data(), bytes.size());
  };
  TapedRead answer{block, kind, 0};
  if (replaying_ != nullptr) {
    note(replayed_);
    if (replaying_->answers.size() - at_ < sizeof answer) return differ(), -EIO;
    std::memcpy(&answer, replaying_->answers.data() + at_, sizeof answer);
    if (answer.block != block || answer.size != kind) return differ(), -EIO;
    at_ += sizeof answer;
    return static_cast<int>(answer.error);
  }
  const int error = disk_ == nullptr ? -EIO : errno_of_status(ask(), uncorrectable_);
  if (recording_ == nullptr) return error;
  note(*recording_);
  answer.error = error;
  const auto header = std::as_bytes(std::span(&answer, 1));
  recording_->answers.insert(recording_->answers.end(), header.begin(), header.end());
  return error;
}

int PluginDisk::read(const sisyfs_disk* face, uint64_t block, uint32_t count, void* bytes) {
  PluginDisk& self = of(face);
  self.fence_.count_access();
  int error = 0;
  std::span<std::byte> buffer;
  {
    const Fence::Gate gate(self.fence_);
    buffer = self.room_for(count);
    error = self.answer_read(block, buffer);
  }
  if (error == 0) std::memcpy(bytes, buffer.data(), buffer.size());
  return error;
}

int PluginDisk::put(uint64_t block, uint32_t count, const void* bytes, bool through) {
  fence_.count_access();
  std::span<std::byte> buffer;
  {
    const Fence::Gate gate(fence_);
    buffer = room_for(count);
  }
  std::memcpy(buffer.data(), bytes, std::min<uint64_t>(count, block_count_) * face_->block_size);
  const Fence::Gate gate(fence_);
  WriteFlags flags;
  flags.fua = through;
  return answer_change(through ? 2 : 1, block, count, buffer,
                       [&] { return disk_->write(BlockAddress(block), buffer, flags); });
}

int PluginDisk::write(const sisyfs_disk* face, uint64_t block, uint32_t count, const void* bytes) {
  return of(face).put(block, count, bytes, false);
}

int PluginDisk::write_through(const sisyfs_disk* face, uint64_t block, uint32_t count, const void* bytes) {
  return of(face).put(block, count, bytes, true);
}

int PluginDisk::flush(const sisyfs_disk* face) {
  PluginDisk& self = of(face);
  self.fence_.count_access();
  const Fence::Gate gate(self.fence_);
  return self.answer_change(3, 0, 0, {}, [&] { return self.disk_->flush(); });
}

int PluginDisk::erase(const sisyfs_disk* face, uint64_t block, uint64_t count) {
  PluginDisk& self = of(face);
  self.fence_.count_access();
  const Fence::Gate gate(self.fence_);
  return self.answer_change(4, block, count, {},
                            [&] { return self.disk_->discard(BlockAddress(block), BlockCount(count)); });
}

void PluginDisk::stable(const sisyfs_disk* face, int this_too) {
  PluginDisk& self = of(face);
  const Fence::Gate gate(self.fence_);
  if (self.replaying_ != nullptr || self.disk_ == nullptr) return;
  self.disk_->say_stable(this_too != 0 ? Stable::kThisCallToo : Stable::kEarlierCalls);
}

}  // namespace sisyfs
