#include "models/f2fs_target.h"

#include <fmt/format.h>

#include <cerrno>

#include "models/f2fs_core.h"
#include "models/f2fs_problems.h"

namespace sisyfs::f2fs {
namespace {

constexpr const char* kBlockKinds[] = {
    "unknown", "checkpoint header", "checkpoint body", "checkpoint footer", "SIT", "NAT", "SSA",
    "node",    "dentries",          "file data"};
constexpr const char* kMarkTexts[] = {
    "garbage was collected",         "a checkpoint was written",    "a file was rolled forward",
    "work was rolled back",          "there was no space left",     "a directory was full",
    "a file was as large as can be", "a segment was written again", "an fsync took a checkpoint",
};

class F2fsTarget : public Target {
 public:
  explicit F2fsTarget(const Config& config) : fs_(config) {
    using K = OpKind;
    traits_.ops = OpSet(K::kCreate, K::kMkdir, K::kUnlink, K::kRmdir, K::kRename, K::kWrite, K::kAppend,
                        K::kTruncate, K::kRead, K::kReaddir, K::kStat, K::kFsync, K::kFdatasync, K::kSync,
                        K::kRemount, K::kOpen, K::kClose);
    traits_.has_fsck = true;
    traits_.limited_space = true;
    // fsync brings single files forward, so that what comes back need not be a tree that there was.
    traits_.contract = Contract::kFsync;
    traits_.fsync_names = true;
    traits_.block_size = kBlockBytes;
    traits_.block_count = config.block_count();
    traits_.write_unit = kBlockBytes;
    traits_.max_file_size = uint64_t{kMaxFileBlocks} * kBlockBytes;
    traits_.block_kinds = kBlockKinds;
    traits_.problems = kProblems;
    traits_.marks = kMarkTexts;
  }

  const Traits& traits() const override { return traits_; }
  uint32_t take_marks() override { return fs_.take_marks(); }

  int format(Disk& disk) override { return fs_.format(disk); }
  int mount(Disk& disk) override { return fs_.mount(disk); }
  int unmount() override { return fs_.unmount(); }
  void power_cut() override { fs_.forget(); }

  OpResult apply(const Op& op) override {
    switch (op.kind) {
      case OpKind::kCreate:
        return OpResult::of(fs_.create(op.path, Type::kFile));
      case OpKind::kMkdir:
        return OpResult::of(fs_.create(op.path, Type::kDirectory));
      case OpKind::kUnlink:
        return OpResult::of(fs_.remove(op.path, Type::kFile));
      case OpKind::kRmdir:
        return OpResult::of(fs_.remove(op.path, Type::kDirectory));
      case OpKind::kRename:
        return OpResult::of(fs_.rename(op.path, op.other));
      case OpKind::kWrite:
      case OpKind::kAppend:
        return write(op);
      case OpKind::kTruncate:
        return OpResult::of(fs_.truncate(op.path, op.offset));
      case OpKind::kRead:
        return read(op);
      case OpKind::kReaddir:
        return readdir(op);
      case OpKind::kStat:
        return stat(op);
      case OpKind::kFsync:
      case OpKind::kFdatasync:
        return OpResult::of(fs_.fsync(op.path));
      case OpKind::kSync:
        return OpResult::of(fs_.sync());
      case OpKind::kOpen:
        return OpResult::of(fs_.open(op.path));
      case OpKind::kClose:
        return OpResult::of(fs_.close(op.path));
      default:
        return OpResult::of(ENOSYS);
    }
  }

  Walk walk() override {
    Walk out;
    unsigned left = kNids;  // objects; a disk on which directories lead in circles has more
    out.error = walk_directory(kRoot, Path("/"), &left, &out);
    return out;
  }

  void fsck(Disk& disk, FsckMode mode, RepairReport* report) override {
    fs_.fsck(disk, mode == FsckMode::kRepair, report);
  }

  std::string name_block(uint64_t address) const override;
  std::string describe_write(uint64_t address, std::span<const std::byte> bytes) const override;

  Snapshot save() const override {
    return Snapshot(fs_.memory(), digest_of(&fs_.memory(), sizeof fs_.memory()));
  }
  void load(const Snapshot& snapshot, Disk& disk) override {
    const auto& memory = snapshot.as<Memory>();
    fs_.restore(memory, memory.mounted != 0 ? &disk : nullptr);
  }

 private:
  OpResult write(const Op& op) {
    Nid ino = kNoNid;
    uint64_t size = 0;
    if (const int error = fs_.file_at(op.path, &ino, &size)) return OpResult::of(error);
    const uint64_t offset = op.kind == OpKind::kAppend ? size : op.offset;
    if (offset > FileData::kMaxSize) return OpResult::of(EINVAL);
    if (op.length == 0) return {};
    const int error = fs_.write(ino, offset, op.length,
                                [&](uint64_t at, std::span<std::byte> bytes) { fill_data(op, at, bytes); });
    return error != 0 ? OpResult::of(error) : OpResult{0, op.length, {}};
  }

  OpResult read(const Op& op) {
    Nid ino = kNoNid;
    uint64_t size = 0;
    if (const int error = fs_.file_at(op.path, &ino, &size)) return OpResult::of(error);
    if (op.offset > FileData::kMaxSize) return OpResult::of(EINVAL);
    const uint64_t left = std::min<uint64_t>(size, sizeof buffer_);
    if (op.offset >= left) return OpResult::read({});
    const std::span<std::byte> out(buffer_, std::min<uint64_t>(op.length, left - op.offset));
    if (const int error = fs_.read(ino, op.offset, out)) return OpResult::of(error);
    return OpResult::read(out);
  }

  OpResult readdir(const Op& op) {
    const Where at = fs_.find(op.path);
    if (at.error != 0) return OpResult::of(at.error);
    if (at.node == kNoNid) return OpResult::of(ENOENT);
    if (at.type != Type::kDirectory) return OpResult::of(ENOTDIR);
    OpResult result;
    const int error = each_entry(at.node, [&](std::string_view name, Nid) {
      result.add_name(name);
      return 0;
    });
    return error != 0 ? OpResult::of(error) : result;
  }

  OpResult stat(const Op& op) {
    const Where at = fs_.find(op.path);
    NodeBlock inode;
    if (at.error != 0) return OpResult::of(at.error);
    if (at.node == kNoNid) return OpResult::of(ENOENT);
    if (!fs_.read_node(at.node, &inode)) return OpResult::of(EIO);
    return {0, inode.inode.size, {}};
  }

  // Calls use(name, ino) for each entry until it answers an errno.
  template <class Use>
  int each_entry(Nid directory, Use use) {
    NodeBlock inode;
    if (!fs_.read_node(directory, &inode)) return EIO;
    for (unsigned b = 0; b < fs_.config().dentry_blocks; ++b) {
      DentryBlock block;
      if (!fs_.read_dentries(inode, b, &block)) return EIO;
      for (unsigned s = 0; s < kDentries; ++s) {
        if ((block.bitmap >> s & 1) == 0) continue;
        const size_t length = block.entries[s].name_length;
        if (length == 0 || length > kNameMax) return EIO;
        if (const int error = use({block.names[s], length}, block.entries[s].ino)) return error;
      }
    }
    return 0;
  }

  int walk_directory(Nid directory, const Path& path, unsigned* left, Walk* out) {
    unsigned subdirectories = 0;
    const int error = each_entry(directory, [&](std::string_view name, Nid ino) {
      if (!Path::holds(name) || name.find('/') != name.npos || !path.has_room_for(name)) return EIO;
      out->where = path.child(name);
      NodeBlock inode;
      if (--*left == 0 || !fs_.read_node(ino, &inode)) return EIO;
      if (inode.footer.kind != NodeKind::kInode || !Path::is_canonical(out->where)) return EIO;
      if (inode.inode.type == Type::kDirectory) {
        ++subdirectories;
        const Path below = out->where;
        if (const int failure = out->tree.mkdir(below)) return failure;
        return walk_directory(ino, below, left, out);
      }
      return add_file(ino, inode.inode, out);
    });
    if (error != 0) return error;
    NodeBlock inode;
    if (!fs_.read_node(directory, &inode)) return EIO;
    return inode.inode.links == 2 + subdirectories ? 0 : out->tree.set_links(path, inode.inode.links);
  }

  int add_file(Nid ino, const InodeBody& inode, Walk* out) {
    if (inode.size > sizeof buffer_) return EIO;
    const std::span<std::byte> bytes(buffer_, inode.size);
    if (const int error = fs_.read(ino, 0, bytes)) return error;
    if (const int error = out->tree.create(out->where)) return error;
    if (const int error = out->tree.write(out->where, 0, bytes)) return error;
    return inode.links == 1 ? 0 : out->tree.set_links(out->where, inode.links);
  }

  F2fs fs_;
  Traits traits_;
  std::byte buffer_[kMaxFileBlocks * kBlockBytes];
};

std::string F2fsTarget::name_block(uint64_t address) const {
  const Config& c = fs_.config();
  if (address < 6) {
    static constexpr const char* kParts[] = {"header", "body", "footer"};
    return fmt::format("checkpoint pack {} {}", address / 3, kParts[address % 3]);
  }
  if (address < c.nat_at(0))
    return fmt::format("SIT block {} copy {}", (address - 6) % c.sit_blocks(),
                       (address - 6) / c.sit_blocks());
  if (address < c.ssa_at()) {
    const uint64_t i = address - c.nat_at(0);
    return fmt::format("NAT block {} copy {}", i % kNatBlocks, i / kNatBlocks);
  }
  if (address < c.main_at()) return fmt::format("SSA of segment {}", address - c.ssa_at());
  if (address >= c.block_count()) return {};
  const uint64_t at = address - c.main_at();
  return fmt::format("main block {} (segment {})", at, at / kSegmentBlocks);
}

// By the letter that blocks begin with; file data may begin with any, so only within the main area's kinds.
std::string F2fsTarget::describe_write(uint64_t address, std::span<const std::byte> bytes) const {
  const Config& c = fs_.config();
  if (bytes.size() != kBlockBytes) return {};
  if (address < 6 && address % 3 != 1) {
    PackEnd end;
    std::memcpy(&end, bytes.data(), sizeof end);
    return fmt::format("version {}", end.version);
  }
  if (address < c.main_at()) return {};
  if (bytes[0] == std::byte{'N'}) {
    NodeBlock node;
    std::memcpy(&node, bytes.data(), sizeof node);
    static constexpr const char* kKinds[] = {"node", "inode", "direct node", "indirect node"};
    const auto kind = static_cast<unsigned>(node.footer.kind);
    return fmt::format("{} {} of file {}, version {}{}{}", kKinds[kind < 4 ? kind : 0], node.footer.nid,
                       node.footer.ino, node.footer.version, node.footer.fsync != 0 ? ", fsync mark" : "",
                       node.footer.dentry != 0 ? ", dentry mark" : "");
  }
  if (bytes[0] != std::byte{'D'}) return "data";
  DentryBlock block;
  std::memcpy(&block, bytes.data(), sizeof block);
  std::string text = "dentries";
  for (unsigned s = 0; s < kDentries; ++s) {
    const size_t length = std::min<size_t>(block.entries[s].name_length, kNameMax);
    if ((block.bitmap >> s & 1) != 0)
      text += fmt::format(" {}={}", std::string_view(block.names[s], length), block.entries[s].ino);
  }
  return text;
}

}  // namespace

std::unique_ptr<Target> make_target(const Config& config) { return std::make_unique<F2fsTarget>(config); }

}  // namespace sisyfs::f2fs
