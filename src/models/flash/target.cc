#include "models/flash/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "disk/media.h"
#include "models/flash/core.h"

namespace sisyfs::flash {
namespace {

class FlashTarget : public Target, public SavesMemory, public NamesBlocks, public ReachesMarks {
 public:
  explicit FlashTarget(const Config& config) : core_(config) {}

  SavesMemory* saves_memory() override { return this; }
  NamesBlocks* names_blocks() override { return this; }
  ReachesMarks* reaches_marks() override { return this; }

  int format(Media& disk) override { return core_.format(disk); }
  int mount(Media& disk) override {
    const int error = core_.mount(disk);
    if (error != 0) core_.forget();
    return error;
  }
  int unmount() override { return core_.forget(), 0; }
  void power_cut() override { core_.forget(); }
  uint32_t take_marks() override { return core_.take_marks(); }

  OpResult apply(const Op& op) override {
    if (op.path.text() == "/") return on_root(op.kind);
    const std::string_view path = op.path.text().substr(1), name = path.substr(0, path.find('/'));
    const unsigned ino = core_.find(name);
    if (name.size() != path.size()) return OpResult::of(ino == kMaxFiles ? ENOENT : ENOTDIR);
    if (op.kind == OpKind::kCreate)
      return OpResult::of(name.size() > kNameLength ? ENAMETOOLONG : core_.create(name));
    if (ino == kMaxFiles) return OpResult::of(ENOENT);
    const unsigned size = core_.memory().files[ino].size;
    switch (op.kind) {
      case OpKind::kUnlink:
        return OpResult::of(core_.remove(name));
      case OpKind::kWrite:
        return write(op, name, ino, op.offset);
      case OpKind::kAppend:
        return write(op, name, ino, size);
      case OpKind::kTruncate:
        return OpResult::of(change(name, ino, op.offset, {}, 0));
      case OpKind::kRead:
        return read(op, ino);
      case OpKind::kStat:
        return {0, size, {}};
      default:
        return OpResult::of(ENOTDIR);
    }
  }

  Walk walk() override {
    Walk out;
    for (unsigned ino = 0; ino < core_.config().files; ++ino) {
      const File& file = core_.memory().files[ino];
      if (!file.used()) continue;
      const std::string_view name = text_of(file.name);
      if (name.empty() || !Path::holds(name) || out.tree.child(kRootNode, name) != kNoNode) {
        out.where = Path("/");
        out.error = EIO;
        return out;
      }
      out.where = Path("/").child(name);
      Record record;
      out.error = core_.read(ino, &record);
      if (out.error != 0) return out;
      const NodeId made = out.tree.make(kRootNode, name, FileType::kFile);
      if (record.size != 0) out.tree.write(made, 0, std::span(record.data).first(record.size));
    }
    return out;
  }

  std::string name_block(uint64_t address, Media&) const override {
    return fmt::format("unit {} page {}", address / core_.config().pages, address % core_.config().pages);
  }
  std::string describe_write(uint64_t, std::span<const std::byte> bytes) const override {
    Record record;
    if (bytes.size() != sizeof record) return {};
    std::memcpy(&record, bytes.data(), sizeof record);
    if (record.kind != Kind::kFile && record.kind != Kind::kDeleted) return {};  // a mark and nothing else
    if (record.kind == Kind::kDeleted)
      return fmt::format("inode {} is deleted, sequence {}", record.ino, record.sequence);
    return fmt::format("inode {} '{}' of {} bytes, sequence {}", record.ino, text_of(record.name),
                       record.size, record.sequence);
  }

  Snapshot save() const override {
    return core_.memory().mounted == 0 ? Snapshot() : Snapshot(core_.memory());
  }
  void load(const Snapshot& snapshot, Media& disk) override {
    if (snapshot.empty())
      core_.forget();
    else
      core_.load(snapshot.as<Memory>(), disk);
  }

 private:
  OpResult on_root(OpKind kind) const {
    OpResult result;
    switch (kind) {
      case OpKind::kCreate:
        return OpResult::of(EEXIST);
      case OpKind::kStat:
        return {};
      case OpKind::kReaddir:
        for (unsigned ino = 0; ino < core_.config().files; ++ino)
          if (core_.memory().files[ino].used()) result.add_name(text_of(core_.memory().files[ino].name));
        return result;
      default:
        return OpResult::of(EISDIR);
    }
  }

  // Gives a file this size, with these bytes at `offset`. What is added is zero.
  int change(std::string_view name, unsigned ino, uint64_t size, std::span<const std::byte> bytes,
             uint64_t offset) {
    if (size > kDataBytes) return EFBIG;
    Record old;
    if (const int error = core_.read(ino, &old)) return error;
    std::array<std::byte, kDataBytes> data{};
    std::copy_n(old.data.begin(), std::min<uint64_t>(old.size, size), data.begin());
    std::ranges::copy(bytes, data.begin() + static_cast<ptrdiff_t>(offset));
    return core_.store(name, std::span(data).first(size));
  }

  OpResult write(const Op& op, std::string_view name, unsigned ino, uint64_t offset) {
    if (op.length > kDataBytes || offset > kDataBytes - op.length) return OpResult::of(EFBIG);
    std::array<std::byte, kDataBytes> data;
    const auto bytes = std::span(data).first(op.length);
    fill_data(op, offset, bytes);
    const uint64_t size = std::max<uint64_t>(core_.memory().files[ino].size, offset + op.length);
    const int error = change(name, ino, size, bytes, offset);
    return error != 0 ? OpResult::of(error) : OpResult{0, op.length, {}};
  }

  OpResult read(const Op& op, unsigned ino) {
    Record record;
    if (const int error = core_.read(ino, &record)) return OpResult::of(error);
    const uint64_t from = std::min<uint64_t>(op.offset, record.size);
    return OpResult::read(
        std::span(record.data).subspan(from, std::min<uint64_t>(op.length, record.size - from)));
  }

  Core core_;
};

}  // namespace

TargetKind kind_of(const Config& config) {
  TargetKind kind;
  kind.ops = OpSet(OpKind::kCreate, OpKind::kUnlink, OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate,
                   OpKind::kRead, OpKind::kReaddir, OpKind::kStat, OpKind::kRemount);
  kind.claims.contract = Contract::kAtomic;
  kind.claims.durable = OpSet::all();
  kind.claims.limited_space = true;
  kind.limits.write_unit = kWriteUnit;
  kind.limits.max_file_size = kDataBytes;
  kind.words.marks = kMarkTexts;
  kind.disks = {.block_size = kPageSize,
                .block_count = BlockCount(uint64_t{config.units} * config.pages),
                .erase_blocks = config.pages};
  kind.make = [config] { return std::make_unique<FlashTarget>(config); };
  return kind;
}

}  // namespace sisyfs::flash
