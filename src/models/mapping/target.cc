#include "models/mapping/target.h"

#include <fmt/format.h>

#include <cerrno>
#include <vector>

#include "disk/media.h"
#include "models/mapping/layout.h"

namespace sisyfs::mapping {
namespace {

using FileOp = sisyfs::OpKind;  // OpKind alone is the model's

constexpr ProblemKind kProblems[] = {
    {"M1", "dead-block", Severity::kRepairable, "disk block {0} is allocated and belongs to no file"},
    {"M2", "lost-block", Severity::kCritical, "block {1} of file{0} is disk block {2}, which is free"},
    {"M2", "lost-block", Severity::kCritical,
     "the indirect block of file{0} is disk block {2}, which is free"},
    {"M2", "lost-block", Severity::kCritical, "block {1} of file{0} is missing: the pointer leads nowhere"},
    {"M2", "lost-block", Severity::kCritical,
     "the indirect block of file{0} is missing: the pointer leads nowhere"},
    {"M3", "double-pointer", Severity::kCritical,
     "block {1} of file{0} is disk block {2}, where another pointer leads too"},
    {"M3", "double-pointer", Severity::kCritical,
     "the indirect block of file{0} is disk block {2}, where another pointer leads too"},
};

// The numbers of the problems above: +1 if it is about an indirect block.
enum : uint16_t { kDead = 0, kLostFree = 1, kLostNowhere = 3, kDouble = 5 };

std::string name_of_block(const LinkCore&, uint64_t address) {
  if (address < 2) return fmt::format("inodes of file{} and file{}", 2 * address, 2 * address + 1);
  if (address < kFirstDataBlock) return "table of links";
  return fmt::format("data block {}", address - kFirstDataBlock);
}
std::string name_of_block(const IndexCore&, uint64_t address) {
  if (address < 4) return fmt::format("inode of file{}", address);
  if (address < kFirstDataBlock) return "bitmap";
  return fmt::format("data block {}", address - kFirstDataBlock);
}

uint64_t table_address(const LinkCore&) { return 2; }
uint64_t table_address(const IndexCore&) { return 4; }

// What the core's ops write to. Only the data of the op at hand goes to the disk as it is.
template <class Core>
struct DiskDevice {
  BlockIo io;
  std::span<const std::byte> data;
  bool writes_data = false;  // the action at hand writes data, and not an indirect block

  void write_inode(const typename Core::Memory& m, unsigned f) {
    mapping::write_inode(Core{}, io, m.inodes, f);
  }
  void write_table(const typename Core::Memory& m) { mapping::write_table(Core{}, io, table_of(m)); }
  void write_data(unsigned b, unsigned value) {
    if (writes_data)
      io.write(kFirstDataBlock + b, data);
    else
      io.write(kFirstDataBlock + b, value);
  }
  unsigned read_data(unsigned b) { return io.read(kFirstDataBlock + b); }
};

std::vector<std::string> names_of(const Config& config) {
  std::vector<std::string> names;
  for (unsigned f = 0; f < config.files; ++f) names.push_back(fmt::format("file{}", f));
  return names;
}

constexpr uint64_t block_count(const Config& config) { return kFirstDataBlock + config.blocks; }

template <class Core>
class MappingTarget : public Target, public SavesMemory, public ChecksOffline, public NamesBlocks {
 public:
  using Medium = typename Core::Medium;
  using Memory = typename Core::Memory;
  using Task = typename Core::Task;

  explicit MappingTarget(const Config& config) : config_(config), names_(names_of(config)) {}

  SavesMemory* saves_memory() override { return this; }
  ChecksOffline* checks_offline() override { return this; }
  NamesBlocks* names_blocks() override { return this; }

  int format(Media& disk) override {
    Medium m{};
    Core::format(config_, m);
    BlockIo io{disk};
    for (unsigned f = 0; f < kMaxFiles; ++f) write_inode(Core{}, io, m.inodes, f);
    write_table(Core{}, io, table_of(m));
    for (unsigned b = 0; b < config_.blocks; ++b) io.write(kFirstDataBlock + b, 0xFFFFu);
    return done(io);
  }

  int mount(Media& disk) override {
    BlockIo io{disk};
    Medium m{};
    read_inodes_and_table(Core{}, io, m);
    if (io.failed) return EIO;
    Core::load(saved_.memory, m);
    // The core reads from `ref` how long a file was before the op at hand.
    for (unsigned f = 0; f < kMaxFiles; ++f) remember_length(f);
    saved_.mounted = 1;
    disk_ = &disk;
    return 0;
  }
  int unmount() override { return power_cut(), 0; }
  void power_cut() override {
    saved_ = {};
    disk_ = nullptr;
  }

  OpResult apply(const Op& op) override {
    unsigned f = 0;
    const int error = resolve(op.path, &f);
    if (error != 0) return OpResult::of(error);
    const bool exists = f != kRoot && Core::length(saved_.memory, f) != kAbsent;
    if (op.kind == FileOp::kCreate) {
      if (f == kRoot || exists) return OpResult::of(EEXIST);
      return OpResult::of(run(OpKind::kCreate, f, {}));
    }
    if (f == kRoot) return OpResult::of(EISDIR);
    if (!exists) return OpResult::of(ENOENT);
    if (op.kind == FileOp::kUnlink) return OpResult::of(run(OpKind::kDelete, f, {}));
    if (op.kind == FileOp::kAppend) return append(op, f);
    if (op.kind == FileOp::kRead) return read(op, f);
    return OpResult::of(ENOSYS);
  }

  Walk walk() override {
    Walk out;
    for (unsigned f = 0; f < config_.files; ++f) {
      const unsigned length = Core::length(saved_.memory, f);
      if (length == kAbsent) continue;
      out.where = Path("/").child(names_[f]);
      out.error = out.tree.create(out.where);
      if (out.error == 0) out.error = read_blocks(f, length);
      if (out.error == 0) out.error = out.tree.write(out.where, 0, buffer_);
      if (out.error != 0) return out;
    }
    return out;
  }

  // The core's offline check and repair, on a copy of the disk's tables; what it changed is written back,
  // pointers last.
  void fsck(Media& disk, FsckMode mode, RepairReport* report) override {
    BlockIo io{disk};
    Medium before{};
    read_inodes_and_table(Core{}, io, before);
    for (unsigned b = 0; b < config_.blocks; ++b)
      before.data[b] =
          static_cast<std::remove_reference_t<decltype(before.data[b])>>(io.read(kFirstDataBlock + b));
    Medium after = before;
    const bool repair = mode == FsckMode::kRepair;
    Core::recover(config_, after, [&](Finding finding, unsigned f, unsigned k, unsigned b) {
      const uint16_t indirect = k == kNone ? 1 : 0;
      if (finding == kDeadBlock)
        report->add(kDead, repair, {b});
      else if (finding == kDoublePointer)
        report->add(static_cast<uint16_t>(kDouble + indirect), false, {f, k, b});
      else
        report->add(static_cast<uint16_t>((b < config_.blocks ? kLostFree : kLostNowhere) + indirect), false,
                    {f, k, b});
    });
    if (repair) {
      bool changed = false;
      for (unsigned b = 0; b < config_.blocks; ++b) {
        if (after.data[b] == before.data[b]) continue;
        io.write(kFirstDataBlock + b, after.data[b]);
        changed = true;
      }
      for (unsigned f = 0; f < config_.files; ++f) {
        if (same_inode(before, after, f)) continue;
        write_inode(Core{}, io, after.inodes, f);
        changed = true;
      }
      if (table_of(before) != table_of(after)) {
        write_table(Core{}, io, table_of(after));
        changed = true;
      }
      if (changed && config_.cache) io.failed |= disk.flush() != IoStatus::kOk;
    }
    if (io.failed) report->error = EIO;
  }

  std::string name_block(uint64_t address, Media&) const override { return name_of_block(Core{}, address); }
  std::string describe_write(uint64_t address, std::span<const std::byte> bytes) const override {
    // The words of the direct form, for a medium that holds nothing but this write.
    Media disk(Image(Geometry{kBlockBytes, BlockCount(block_count(config_))}));
    BlockIo io{disk};
    io.write(static_cast<unsigned>(address), bytes);
    Medium m{};
    read_inodes_and_table(Core{}, io, m);
    Action action = address < table_address(Core{}) ? kWriteInode : kWriteTable;
    if (address >= kFirstDataBlock) {
      action = kWriteData;
      const auto b = static_cast<unsigned>(address - kFirstDataBlock);
      m.data[b] = static_cast<std::remove_reference_t<decltype(m.data[b])>>(content_at(io, b));
    }
    return content_of(Core{}, config_, action, {static_cast<uint32_t>(address), 1, {}}, m);
  }

  Snapshot save() const override { return Snapshot(saved_, digest_of(&saved_, sizeof saved_)); }
  void load(const Snapshot& snapshot, Media& disk) override {
    saved_ = snapshot.as<Saved>();
    disk_ = saved_.mounted != 0 ? &disk : nullptr;
  }

 private:
  static constexpr unsigned kRoot = kNone;

  struct Saved {
    Memory memory;
    uint32_t mounted;
  };
  static_assert(sizeof(Saved) == sizeof(Memory) + sizeof(uint32_t), "every byte means something");

  // The content of a data block as the model has it: the hash of the file and block number that these bytes
  // belong to, or the entries of an indirect block.
  unsigned content_at(BlockIo& io, unsigned b) const {
    FieldBlock bytes{}, data;
    io.failed |= io.disk.read(BlockAddress(kFirstDataBlock + b), bytes) != IoStatus::kOk;
    for (unsigned f = 0; f < config_.files; ++f) {
      const Op op = Op::append(Path("/").child(names_[f]), kBlockBytes);
      for (unsigned k = 0; k < Core::longest(config_); ++k) {
        fill_data(op, uint64_t{k} * kBlockBytes, data);
        if (bytes == data) return Core::content(config_, f, b, k, 0);
      }
    }
    return from_fields(bytes);
  }

  int done(const BlockIo& io) const { return io.failed ? EIO : 0; }

  void remember_length(unsigned f) {
    Memory& m = saved_.memory;
    m.ref = static_cast<uint16_t>(with_nibble(m.ref, f, f < config_.files ? Core::length(m, f) : kAbsent));
  }
  static bool same_inode(const Medium& a, const Medium& b, unsigned f) {
    const unsigned bits = sizeof a.inodes * 8 / kMaxFiles;
    return ((a.inodes ^ b.inodes) >> (bits * f) & ((1u << bits) - 1)) == 0;
  }

  // Which file a path names.
  int resolve(std::string_view path, unsigned* file) const {
    *file = kRoot;
    if (path == "/") return 0;
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    for (unsigned f = 0; f < config_.files; ++f) {
      if (name != names_[f]) continue;
      *file = f;
      if (name.size() == path.size()) return 0;
      return Core::length(saved_.memory, f) == kAbsent ? ENOENT : ENOTDIR;
    }
    return name.size() == path.size() ? EINVAL : ENOENT;
  }

  // One op of the core from its begin to its finish.
  int run(OpKind kind, unsigned f, std::span<const std::byte> data) {
    Memory& m = saved_.memory;
    const unsigned length = nibble(m.ref, f);
    const unsigned needed = kind == OpKind::kCreate   ? 1
                            : kind == OpKind::kAppend ? Core::blocks_for_append(length)
                                                      : 0;
    if (Core::free_count(config_, m) < needed) return ENOSPC;
    Task task{};
    task.op = static_cast<uint16_t>(kind);
    task.file = static_cast<uint16_t>(f);
    DiskDevice<Core> device{{*disk_}, data};
    Core::begin(config_, m, task, device);
    for (uint32_t left = program(config_.naive, kind, length, Core::uses_indirect(task, length));;
         left >>= 4) {
      const auto action = static_cast<Action>(left & 15);
      if (action == kFinish) break;
      device.writes_data = action == kWriteData;
      Core::act(config_, m, task, action, device);
    }
    if (config_.cache) device.io.failed |= disk_->flush() != IoStatus::kOk;
    remember_length(f);
    return done(device.io);
  }

  OpResult append(const Op& op, unsigned f) {
    if (op.length != kBlockBytes) return OpResult::of(EINVAL);
    const unsigned length = Core::length(saved_.memory, f);
    if (length >= Core::longest(config_)) return OpResult::of(EFBIG);
    FieldBlock data;
    fill_data(op, uint64_t{length} * kBlockBytes, data);
    const int error = run(OpKind::kAppend, f, data);
    return error != 0 ? OpResult::of(error) : OpResult{0, op.length, {}};
  }

  OpResult read(const Op& op, unsigned f) {
    if (const int error = read_blocks(f, Core::length(saved_.memory, f))) return OpResult::of(error);
    const std::span<const std::byte> all = buffer_;
    if (op.offset >= all.size()) return OpResult::read({});
    return OpResult::read(all.subspan(op.offset, std::min<uint64_t>(op.length, all.size() - op.offset)));
  }

  // Reads a whole file into buffer_, as far as its pointers lead somewhere.
  int read_blocks(unsigned f, unsigned length) {
    BlockIo io{*disk_};
    Medium m{};
    m.inodes = saved_.memory.inodes;
    set_table(m, saved_.memory);
    if (const unsigned at = block_of(Core{}, config_, m, f, kNone);
        at < config_.blocks && at < std::size(m.data))
      m.data[at] = static_cast<std::remove_reference_t<decltype(m.data[at])>>(io.read(kFirstDataBlock + at));
    buffer_.resize(size_t{length} * kBlockBytes);
    for (unsigned k = 0; k < length; ++k) {
      const unsigned b = block_of(Core{}, config_, m, f, k);
      if (b >= config_.blocks) return EIO;
      const auto block = std::span(buffer_).subspan(size_t{k} * kBlockBytes, kBlockBytes);
      if (disk_->read(BlockAddress(kFirstDataBlock + b), block) != IoStatus::kOk) return EIO;
    }
    return done(io);
  }
  static void set_table(LinkCore::Medium& m, const LinkCore::Memory& from) { m.table = from.table(); }
  static void set_table(IndexCore::Medium& m, const IndexCore::Memory& from) { m.bitmap = from.bitmap; }

  Config config_;
  std::vector<std::string> names_;
  Saved saved_{};
  Disk* disk_ = nullptr;
  std::vector<std::byte> buffer_;
};

template <class Core>
TargetKind kind_of(const Config& config) {
  TargetKind kind;
  kind.ops = OpSet(FileOp::kCreate, FileOp::kAppend, FileOp::kUnlink, FileOp::kRead);
  kind.claims.durable = OpSet::all();
  kind.claims.limited_space = true;
  kind.limits.max_files = config.files;
  kind.limits.max_depth = 1;
  kind.limits.write_unit = kBlockBytes;
  kind.limits.max_file_size = uint64_t{kBlockBytes} * Core::longest(config);
  kind.limits.fixed_names = names_of(config);
  kind.words.problems = kProblems;
  kind.disks = {.block_size = kBlockBytes, .block_count = BlockCount(block_count(config))};
  kind.has_fsck = true;
  kind.make = [config] { return std::make_unique<MappingTarget<Core>>(config); };
  return kind;
}

}  // namespace

TargetKind link_kind_of(const Config& config) { return kind_of<LinkCore>(config); }
TargetKind index_kind_of(const Config& config) { return kind_of<IndexCore>(config); }

}  // namespace sisyfs::mapping
