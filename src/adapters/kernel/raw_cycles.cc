#include "adapters/kernel/raw_cycles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <string_view>

#include "base/assert.h"
#include "disk/image.h"

namespace sisyfs {

using guest::Call;
using guest::Command;
using guest::Do;

// Nothing but the bytes, and which of them have changed.
class RawCycles::MemoryDisk : public ServesDisks {
 public:
  explicit MemoryDisk(const Image& content)
      : piece_(content.geometry().block_size),
        original_(content.geometry().blocks_per_disk() * piece_),
        changed_(content.geometry().blocks_per_disk()) {
    content.read(BlockAddress(0), original_);
    now_ = original_;
  }
  void restore() {
    for (size_t i = 0; i < changed_.size(); ++i)
      if (changed_[i]) std::memcpy(now_.data() + i * piece_, original_.data() + i * piece_, piece_);
    changed_.assign(changed_.size(), false);
  }
  bool has_changed() const { return std::find(changed_.begin(), changed_.end(), true) != changed_.end(); }

  int read(uint32_t, uint64_t offset, std::span<std::byte> out) override {
    if (!holds(offset, out.size())) return EIO;
    std::memcpy(out.data(), now_.data() + offset, out.size());
    return 0;
  }
  int write(uint32_t, uint64_t offset, std::span<const std::byte> bytes, bool) override {
    if (!note(offset, bytes.size())) return EIO;
    std::memcpy(now_.data() + offset, bytes.data(), bytes.size());
    return 0;
  }
  int flush(uint32_t) override { return 0; }
  int discard(uint32_t, uint64_t offset, uint64_t length, bool) override {
    if (!note(offset, length)) return EIO;
    std::memset(now_.data() + offset, 0, length);
    return 0;
  }

 private:
  bool holds(uint64_t offset, uint64_t length) const {
    return offset <= now_.size() && length <= now_.size() - offset;
  }
  bool note(uint64_t offset, uint64_t length) {
    if (!holds(offset, length)) return false;
    for (uint64_t at = offset / piece_; at * piece_ < offset + length; ++at) changed_[at] = true;
    return true;
  }

  const size_t piece_;
  std::vector<std::byte> original_, now_;
  std::vector<bool> changed_;
};

RawCycles::RawCycles(const KernelSetup& setup) : setup_(setup) {}
RawCycles::~RawCycles() = default;

Result<std::unique_ptr<RawCycles>> RawCycles::make(KernelSetup& setup) {
  const std::optional<Image> disk = setup.new_disk();
  SISYFS_ASSERT(disk, "a file system was made before");
  std::unique_ptr<RawCycles> raw(new RawCycles(setup));
  raw->disk_ = std::make_unique<MemoryDisk>(*disk);
  Result<std::unique_ptr<KernelMachine>> booted = setup.boot();
  if (!booted) return booted.error();
  raw->guest_ = *std::move(booted);
  raw->guest_->attach(raw->disk_.get());
  return raw;
}

Status RawCycles::cycle() {
  static constexpr std::string_view kFile = "/raw";
  disk_->restore();
  const auto call = [](Call number) {
    return Command{.what = Do::kCall, .number = static_cast<uint32_t>(number)};
  };
  Command create = call(Call::kCreate), write = call(Call::kWrite);
  create.flags = 0644;
  const auto bytes = std::as_bytes(std::span(kFile));
  write.length = bytes.size();
  const auto run = [&](const char* what, const Command& command, const KernelMachine::Texts& texts = {},
                       std::span<const std::byte> data = {}) -> Status {
    const KernelMachine::Reply reply = guest_->run(command, texts, data);
    if (!reply.alive) return system_error(fmt::format("{}: {}", what, guest_->trouble()));
    if (reply.error != 0) return system_error(fmt::format("{} answers {}", what, std::strerror(reply.error)));
    return {};
  };
  const Command mount{.what = Do::kMount, .number = setup_.mount_flags};
  if (Status s = run("mount", mount, {setup_.fs.type, setup_.mount, ""}); !s) return s;
  if (Status s = run("create", create, {kFile, "", ""}); !s) return s;
  if (Status s = run("write", write, {kFile, "", ""}, bytes); !s) return s;
  if (Status s = run("syncfs", call(Call::kSyncfs)); !s) return s;
  if (Status s = run("unmount", {.what = Do::kUnmount}); !s) return s;
  if (!disk_->has_changed()) return system_error("a cycle has written nothing");
  return {};
}

Result<double> RawCycles::per_second(uint32_t count) {
  const auto begun = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < count; ++i)
    if (Status s = cycle(); !s) return s.error();
  return count / std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace sisyfs
