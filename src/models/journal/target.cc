#include "models/journal/target.h"

#include <vector>

#include "disk/media.h"
#include "models/journal/core.h"
#include "models/journal/describe.h"
#include "models/journal/fsck.h"

namespace sisyfs::journal {
namespace {

FileType type_of(Type type) {
  if (type == Type::kDirectory) return FileType::kDirectory;
  return type == Type::kSymlink ? FileType::kSymlink : FileType::kFile;
}

// The strongest contract that each mode keeps. A transaction holds whole ops, all since the last commit. With
// data in it, what comes back is a tree that there was. Without, data that is overwritten in place may be
// newer. In writeback a file may come back with the bytes that its blocks held before: no contract about
// content is kept.
Contract contract_of(Mode mode) {
  if (mode == Mode::kData) return Contract::kAtomic;
  return mode == Mode::kOrdered ? Contract::kOrdered : Contract::kStructure;
}

class JournalTarget : public Target,
                      public SavesMemory,
                      public ChecksOffline,
                      public NamesBlocks,
                      public ReachesMarks {
 public:
  explicit JournalTarget(const Config& config) : core_(config), fsck_(config) {}

  SavesMemory* saves_memory() override { return this; }
  ChecksOffline* checks_offline() override {
    return core_.config().recovery == Recovery::kMount ? nullptr : this;
  }
  NamesBlocks* names_blocks() override { return this; }
  ReachesMarks* reaches_marks() override { return this; }

  int format(Media& disk) override { return core_.format(disk); }
  int mount(Media& disk) override { return core_.mount(disk); }
  int unmount() override { return core_.unmount(); }
  void power_cut() override { core_.forget(); }
  uint32_t take_marks() override { return core_.take_marks(); }
  void fsck(Media& disk, FsckMode mode, RepairReport* report) override {
    fsck_.run(disk, mode, report);
    core_.add_marks(fsck_.take_marks());
  }

  OpResult apply(const Op& op) override {
    switch (op.kind) {
      case OpKind::kCreate:
        return OpResult::of(core_.create(op.path, Type::kFile));
      case OpKind::kMkdir:
        return OpResult::of(core_.create(op.path, Type::kDirectory));
      case OpKind::kSymlink:
        return OpResult::of(core_.create(op.path, Type::kSymlink, op.other));
      case OpKind::kUnlink:
        return OpResult::of(core_.unlink(op.path));
      case OpKind::kRmdir:
        return OpResult::of(core_.rmdir(op.path));
      case OpKind::kRename:
        return OpResult::of(core_.rename(op.path, op.other));
      case OpKind::kLink:
        return OpResult::of(core_.link(op.path, op.other));
      case OpKind::kWrite:
      case OpKind::kWriteSync:
        return write(op, op.offset);
      case OpKind::kAppend:
        return append(op);
      case OpKind::kTruncate:
        return OpResult::of(core_.truncate(op.path, op.offset));
      case OpKind::kFsync:
      case OpKind::kFdatasync:
        return OpResult::of(core_.fsync(op.path));
      case OpKind::kSync:
        return OpResult::of(core_.sync());
      case OpKind::kOpen:
        return OpResult::of(core_.open(op.path));
      case OpKind::kClose:
        return OpResult::of(core_.close(op.path));
      default:
        return look(op);
    }
  }

  Walk walk() override {
    Walk out;
    core_.clear_failure();
    nodes_.fill(kNoNode);
    nodes_[kRootIno] = kRootNode;
    out.where = Path("/");
    out.error = walk_directory(kRootIno, kRootNode, out);
    for (Ino ino = 1; ino < core_.config().inodes && out.error == 0; ++ino) {
      if (nodes_[ino] == kNoNode) continue;
      const unsigned links = core_.inode(ino).links;
      if (links != out.tree.node(nodes_[ino]).links) out.tree.set_links(nodes_[ino], links);
    }
    core_.clear_failure();
    return out;
  }

  std::string name_block(uint64_t address, Media&) const override {
    return journal::name_block(core_.layout(), address);
  }
  std::string describe_write(uint64_t address, std::span<const std::byte> bytes) const override {
    return journal::describe_write(core_.layout(), address, bytes);
  }

  Snapshot save() const override {
    const Memory& memory = core_.memory();
    if (memory.mounted == 0) return Snapshot();
    return Snapshot(memory, digest_of(&memory, sizeof memory));
  }
  void load(const Snapshot& snapshot, Media& disk) override {
    if (snapshot.empty())
      core_.forget();
    else
      core_.load(snapshot.as<Memory>(), disk);
  }

 private:
  OpResult write(const Op& op, uint64_t offset) {
    // What is too long to be written is not made: the core refuses by its length alone.
    bytes_.resize(std::max<size_t>(bytes_.size(), op.length));
    const auto bytes = std::span(bytes_).first(op.length);
    if (op.length <= Core::max_file_size()) fill_data(op, offset, bytes);
    const int error = core_.write(op.path, offset, bytes, op.kind == OpKind::kWriteSync);
    return error != 0 ? OpResult::of(error) : OpResult{0, op.length, {}};
  }

  // The inode that a path names, or an errno.
  int resolve(const Op& op, Ino* ino, Inode* inode) {
    core_.clear_failure();
    const Found at = core_.find(op.path, Last::kFollow);
    if (at.error != 0) return at.error;
    if (at.node == 0) return ENOENT;
    *ino = at.node;
    *inode = core_.inode(at.node);
    return core_.failed();
  }

  OpResult append(const Op& op) {
    Ino ino = 0;
    Inode inode;
    if (const int error = resolve(op, &ino, &inode)) return OpResult::of(error);
    return write(op, inode.size);
  }

  OpResult look(const Op& op) {
    Ino ino = 0;
    Inode inode;
    if (const int error = resolve(op, &ino, &inode)) return OpResult::of(error);
    if (op.kind == OpKind::kStat) return {0, inode.size, {}};
    if (op.kind == OpKind::kReaddir) {
      if (inode.type != Type::kDirectory) return OpResult::of(ENOTDIR);
      OpResult result;
      const int error =
          core_.each_entry(ino, [&](std::string_view name, Ino, Type) { result.add_name(name); });
      return error != 0 ? OpResult::of(error) : result;
    }
    if (op.kind != OpKind::kRead) return OpResult::of(ENOSYS);
    if (inode.type == Type::kDirectory) return OpResult::of(EISDIR);
    if (op.offset > FileData::kMaxSize) return OpResult::of(EINVAL);
    std::span<const std::byte> bytes;
    if (const int error = core_.read(ino, op.offset, op.length, &bytes)) return OpResult::of(error);
    return OpResult::read(bytes);
  }

  // Adds what a directory holds to the tree. No directory is met twice in a tree that can be.
  int walk_directory(Ino directory, NodeId to, Walk& out) {
    const Path here = out.where;
    struct Item {
      std::array<char, kNameLength> name;
      uint8_t length;
      Ino ino;
      Type type;
    };
    std::array<Item, kDirectPointers * kEntries> items;
    unsigned count = 0;
    int error = core_.each_entry(directory, [&](std::string_view name, Ino ino, Type type) {
      Item& item = items[count++];
      std::copy(name.begin(), name.end(), item.name.begin());
      item.length = static_cast<uint8_t>(name.size());
      item.ino = ino;
      item.type = type;
    });
    for (unsigned i = 0; i < count && error == 0; ++i) {
      const Item& item = items[i];
      error = walk_entry({item.name.data(), item.length}, item.ino, item.type, here, to, out);
    }
    if (error == 0) out.where = here;
    return error;
  }

  int walk_entry(std::string_view name, Ino ino, Type type, const Path& here, NodeId to, Walk& out) {
    if (!Path::holds(name) || !here.has_room_for(name)) return kBadName;
    out.where = here.child(name);
    const Inode inode = core_.inode(ino);
    if (core_.failed() != 0) return EIO;
    if (out.tree.child(to, name) != kNoNode) return kNameTwice;
    if (inode.type != type) return kOtherType;
    if (nodes_[ino] != kNoNode) {
      if (type == Type::kDirectory) return EIO;
      out.tree.add_name(nodes_[ino], to, name);
      return 0;
    }
    const NodeId made = out.tree.make(to, name, type_of(type));
    nodes_[ino] = made;
    if (type == Type::kDirectory) return walk_directory(ino, made, out);
    std::span<const std::byte> bytes;
    if (const int error = core_.read(ino, 0, inode.size, &bytes)) return error;
    if (!bytes.empty()) out.tree.write(made, 0, bytes);
    return 0;
  }

  Core core_;
  Fsck fsck_;
  std::array<NodeId, kMaxInodes> nodes_;  // of the walk: what an inode is in the tree
  std::vector<std::byte> bytes_;
};

}  // namespace

TargetKind kind_of(const Config& config) {
  TargetKind kind;
  kind.ops = OpSet(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename,
                   OpKind::kLink, OpKind::kSymlink, OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate) |
             OpSet(OpKind::kRead, OpKind::kReaddir, OpKind::kStat, OpKind::kFsync, OpKind::kFdatasync,
                   OpKind::kSync, OpKind::kRemount, OpKind::kOpen, OpKind::kClose, OpKind::kWriteSync);
  kind.claims.contract = contract_of(config.mode);
  if (config.sync_mount) kind.claims.durable = OpSet::all();
  kind.claims.fsync_names = true;
  kind.claims.fsync_all = config.mode != Mode::kWriteback;
  kind.claims.mount_recovers = true;
  kind.claims.limited_space = true;
  kind.limits.write_unit = kBlockSize;
  kind.limits.max_file_size = Core::max_file_size();
  kind.words = {.problems = kProblems, .marks = kMarkTexts};
  kind.disks = {.block_size = kBlockSize, .block_count = BlockCount(Layout(config).block_count())};
  kind.has_fsck = config.recovery != Recovery::kMount;
  kind.make = [config] { return std::make_unique<JournalTarget>(config); };
  return kind;
}

}  // namespace sisyfs::journal
