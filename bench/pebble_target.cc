#include "bench/pebble_target.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "disk/media.h"
#include "disk/pool.h"

extern "C" {
#include "pebble_log.h"
}

namespace sisyfs {
namespace {

constexpr uint32_t kPageSize = 128, kUnitPages = 4, kUnits = 8, kWriteUnit = 24;
constexpr size_t kLargestRead = 65536;
constexpr ProblemKind kProblems[] = {
    {"P1", "harmless", Severity::kRepairable, "text {0}"},
    {"P2", "lost", Severity::kCritical, "text {0}"},
};

struct CPath {
  explicit CPath(const Path& path) { path.text().copy(text.data(), Path::kCapacity); }
  operator const char*() const { return text.data(); }
  std::array<char, Path::kCapacity + 1> text{};
};

int errno_of(IoStatus status) {
  return status == IoStatus::kOk ? 0 : status == IoStatus::kIoError ? -EIO : -EINVAL;
}
OpResult answer(int64_t result) { return OpResult::of(result < 0 ? static_cast<int>(-result) : 0); }

// Everything in Pebble's memory that the next call can see: numbers and tables, one after the other. Left out
// are what the shape of the flash determines, and the two buffers that each call wipes when it is done.
struct Saved {
  std::vector<std::byte, PoolAllocator<std::byte>> bytes;
};

// Moves all of it in one direction: copy(what, bytes) is called for each part, in order.
template <class Copy>
void each_part(pebble& fs, Copy copy) {
  copy(&fs.alive, sizeof fs.alive);
  copy(&fs.used, sizeof fs.used);
  copy(&fs.number, sizeof fs.number);
  copy(&fs.head, sizeof fs.head);
  copy(&fs.head_pages, sizeof fs.head_pages);
  copy(&fs.tail, sizeof fs.tail);
  copy(&fs.durable_tail, sizeof fs.durable_tail);
  copy(&fs.free_chunks, sizeof fs.free_chunks);
  copy(&fs.failed, sizeof fs.failed);
  // The tables begin as zeros and slots are cleared whole, so that what lies between their members is zero.
  copy(fs.nodes, fs.node_count * sizeof *fs.nodes);
  copy(fs.chunks, (fs.capacity + 1) * sizeof *fs.chunks);
  for (uint32_t i = 0; i < fs.flash.units; ++i) {
    copy(&fs.units[i].used, sizeof fs.units[i].used);
    copy(&fs.units[i].number, sizeof fs.units[i].number);
  }
  copy(fs.buffer, fs.flash.page_size);
}

class PebbleTarget : public Target, public SavesMemory, public ChecksOffline {
 public:
  PebbleTarget() : buffer_(kLargestRead) {}
  ~PebbleTarget() override { power_cut(); }
  PebbleTarget(const PebbleTarget&) = delete;
  PebbleTarget& operator=(const PebbleTarget&) = delete;

  SavesMemory* saves_memory() override { return this; }
  ChecksOffline* checks_offline() override { return this; }

  // The flash has been in use for a while, as in the plug-in.
  int format(Media& disk) override {
    disk_ = &disk;
    int error = pebble_format(&flash_);
    pebble* fs = nullptr;
    if (error != 0 || (error = pebble_mount(&flash_, &fs)) != 0) return -error;
    for (int i = 0; i < 24 && error == 0; ++i) {
      error = i % 2 == 0 ? pebble_create(fs, "/old") : pebble_unlink(fs, "/old");
      if (error == 0 && i > 0) error = pebble_sync(fs);
    }
    return pebble_unmount(fs) != 0 ? EIO : -error;
  }
  int mount(Media& disk) override {
    power_cut();
    disk_ = &disk;
    return -pebble_mount(&flash_, &fs_);
  }
  int unmount() override { return -pebble_unmount(std::exchange(fs_, nullptr)); }
  void power_cut() override {
    if (fs_ != nullptr) pebble_free(std::exchange(fs_, nullptr));
  }

  OpResult apply(const Op& op) override {
    const CPath path(op.path);
    switch (op.kind) {
      case OpKind::kCreate:
        return answer(pebble_create(fs_, path));
      case OpKind::kMkdir:
        return answer(pebble_mkdir(fs_, path));
      case OpKind::kUnlink:
        return answer(pebble_unlink(fs_, path));
      case OpKind::kRmdir:
        return answer(pebble_rmdir(fs_, path));
      case OpKind::kRename:
        return answer(pebble_rename(fs_, path, CPath(op.other)));
      case OpKind::kTruncate:
        return answer(pebble_truncate(fs_, path, op.offset));
      case OpKind::kFsync:
        return answer(pebble_fsync(fs_, path));
      case OpKind::kSync:
        return answer(pebble_sync(fs_));
      case OpKind::kWrite:
        return write(op, path, op.offset);
      default:
        return ask(op, path);
    }
  }

  Walk walk() override {
    Walk out;
    out.where = Path("/");
    out.error = walk_directory(kRootNode, 0, out);
    return out;
  }

  void fsck(Media& disk, FsckMode, RepairReport* report) override {
    disk_ = &disk;
    reporting_ = report;
    report->error = -pebble_check(&flash_, add_problem, this);
  }
  std::string problem_text(const Problem& problem) const override {
    return texts_[static_cast<size_t>(problem.context[0])];
  }

  Snapshot save() const override {
    if (fs_ == nullptr) return Snapshot();
    size_t size = 0;
    each_part(*fs_, [&](const void*, size_t part) { size += part; });
    Saved saved;
    saved.bytes.resize(size);
    std::byte* to = saved.bytes.data();
    each_part(*fs_,
              [&](const void* from, size_t part) { std::memcpy(std::exchange(to, to + part), from, part); });
    const Digest digest = digest_of(saved.bytes.data(), size);
    return Snapshot(std::move(saved), digest);
  }
  void load(const Snapshot& snapshot, Media& disk) override {
    disk_ = &disk;
    if (snapshot.empty()) return power_cut();
    if (fs_ == nullptr) {
      const int error = pebble_new(&flash_, &fs_);
      SISYFS_ASSERT(error == 0, "there is memory for a small file system");
    }
    const std::byte* from = snapshot.as<Saved>().bytes.data();
    each_part(*fs_, [&](void* to, size_t part) { std::memcpy(to, std::exchange(from, from + part), part); });
  }

 private:
  static Disk& disk_of(const pebble_flash* flash) {
    return *static_cast<PebbleTarget*>(flash->context)->disk_;
  }
  static int read_page(const pebble_flash* flash, uint32_t page, void* bytes) {
    return errno_of(
        disk_of(flash).read(BlockAddress(page), {static_cast<std::byte*>(bytes), flash->page_size}));
  }
  static int program_page(const pebble_flash* flash, uint32_t page, const void* bytes) {
    return errno_of(
        disk_of(flash).write(BlockAddress(page), {static_cast<const std::byte*>(bytes), flash->page_size}));
  }
  static int erase_unit(const pebble_flash* flash, uint32_t unit) {
    const BlockAddress first(uint64_t{unit} * flash->unit_pages);
    return errno_of(disk_of(flash).discard(first, BlockCount(flash->unit_pages)));
  }
  static int sync_disk(const pebble_flash* flash) { return errno_of(disk_of(flash).flush()); }

  // The calls that change nothing, and the one that has to know the size.
  OpResult ask(const Op& op, const CPath& path) {
    struct pebble_stat stat {};
    switch (op.kind) {
      case OpKind::kAppend: {
        const int error = pebble_stat(fs_, path, &stat);
        return error != 0 ? answer(error) : write(op, path, stat.size);
      }
      case OpKind::kRead: {
        const int64_t count = pebble_read(fs_, path, op.offset, buffer_.data(), op.length);
        if (count < 0) return answer(count);
        return OpResult::read(std::span(buffer_).first(static_cast<size_t>(count)));
      }
      case OpKind::kStat: {
        const int error = pebble_stat(fs_, path, &stat);
        return error != 0 ? answer(error) : OpResult{0, stat.is_directory ? 0 : stat.size, {}};
      }
      case OpKind::kReaddir: {
        OpResult result;
        const int error = pebble_readdir(
            fs_, path,
            [](void* to, const char* name) { return static_cast<OpResult*>(to)->add_name(name), 0; },
            &result);
        return error != 0 ? answer(error) : result;
      }
      default:
        return OpResult::of(ENOSYS);
    }
  }

  OpResult write(const Op& op, const CPath& path, uint64_t offset) {
    if (buffer_.size() < op.length) buffer_.resize(op.length);
    fill_data(op, offset, std::span(buffer_).first(op.length));
    const int64_t count = pebble_write(fs_, path, offset, buffer_.data(), op.length);
    return count < 0 ? answer(count) : OpResult{0, static_cast<uint64_t>(count), {}};
  }

  // The names of a directory; kept from walk to walk, for their memory.
  struct Names {
    std::vector<std::string> names;
    size_t count = 0;
  };
  static int add_name(void* list, const char* name) {
    auto& out = *static_cast<Names*>(list);
    if (out.count == out.names.size()) out.names.emplace_back();
    out.names[out.count++] = name;
    return 0;
  }

  int walk_directory(NodeId directory, size_t level, Walk& out) {
    const Path here = out.where;
    if (lists_.size() <= level) lists_.resize(level + 1);
    lists_[level].count = 0;
    if (const int error = pebble_readdir(fs_, CPath(here), add_name, &lists_[level])) return -error;
    for (size_t i = 0; i < lists_[level].count; ++i) {
      const std::string& name = lists_[level].names[i];
      const bool good = !name.empty() && name.find('/') == std::string::npos && Path::holds(name);
      if (!good || out.tree.child(directory, name) != kNoNode) return EBADMSG;
      if (!here.has_room_for(name)) return ENAMETOOLONG;
      out.where = here.child(name);
      if (const int error = walk_entry(directory, name, level, out)) return error;
    }
    out.where = here;
    return 0;
  }

  int walk_entry(NodeId directory, const std::string& name, size_t level, Walk& out) {
    const CPath path(out.where);
    struct pebble_stat stat {};
    if (const int error = pebble_stat(fs_, path, &stat)) return -error;
    const NodeId node =
        out.tree.make(directory, name, stat.is_directory ? FileType::kDirectory : FileType::kFile);
    if (stat.is_directory) return walk_directory(node, level + 1, out);
    if (stat.size == 0) return 0;
    if (stat.size > kLargestRead) return EFBIG;
    const int64_t count = pebble_read(fs_, path, 0, buffer_.data(), stat.size);
    if (count != stat.size) return count < 0 ? static_cast<int>(-count) : EIO;
    out.tree.write(node, 0, std::span(buffer_).first(stat.size));
    return 0;
  }

  static void add_problem(void* self, const char* text) {
    auto& target = *static_cast<PebbleTarget*>(self);
    auto at = std::find(target.texts_.begin(), target.texts_.end(), text);
    if (at == target.texts_.end()) at = target.texts_.insert(at, text);
    target.reporting_->add(1, false, {at - target.texts_.begin()});
  }

  pebble_flash flash_{kPageSize, kUnitPages, kUnits, 0, this, read_page, program_page, erase_unit, sync_disk};
  Disk* disk_ = nullptr;
  pebble* fs_ = nullptr;  // null: not mounted
  std::vector<std::byte> buffer_;
  std::vector<Names> lists_;  // by depth of the walk
  RepairReport* reporting_ = nullptr;
  std::vector<std::string> texts_;  // of problems
};

}  // namespace

TargetKind pebble_kind() {
  TargetKind kind;
  kind.ops = OpSet(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename,
                   OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate, OpKind::kRead, OpKind::kReaddir,
                   OpKind::kStat, OpKind::kFsync, OpKind::kSync, OpKind::kRemount);
  kind.claims.contract = Contract::kAtomic;
  kind.claims.fsync_all = true;
  kind.claims.mount_recovers = true;
  kind.claims.limited_space = true;
  kind.limits.write_unit = kWriteUnit;
  kind.words.problems = kProblems;
  kind.disks = {.block_size = kPageSize,
                .block_count = BlockCount(uint64_t{kUnits} * kUnitPages),
                .erase_blocks = kUnitPages};
  kind.has_fsck = true;
  kind.make = [] { return std::make_unique<PebbleTarget>(); };
  return kind;
}

}  // namespace sisyfs
