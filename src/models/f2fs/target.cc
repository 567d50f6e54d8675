#include "models/f2fs/target.h"

#include <fmt/format.h>

#include <vector>

#include "disk/media.h"
#include "models/f2fs/core.h"
#include "models/f2fs/fsck.h"

namespace sisyfs::f2fs {
namespace {

class F2fsTarget : public Target,
                   public SavesMemory,
                   public ChecksOffline,
                   public NamesBlocks,
                   public ReachesMarks {
 public:
  explicit F2fsTarget(const Config& config) : core_(config), fsck_(config) {}

  SavesMemory* saves_memory() override { return this; }
  ChecksOffline* checks_offline() override { return this; }
  NamesBlocks* names_blocks() override { return this; }
  ReachesMarks* reaches_marks() override { return this; }

  int format(Media& disk) override { return core_.format(disk); }
  int mount(Media& disk) override { return core_.mount(disk); }
  int unmount() override { return core_.unmount(); }
  void power_cut() override { core_.forget(); }
  uint32_t take_marks() override { return core_.take_marks(); }
  void fsck(Media& disk, FsckMode mode, RepairReport* report) override { fsck_.run(disk, mode, report); }

  OpResult apply(const Op& op) override {
    switch (op.kind) {
      case OpKind::kCreate:
        return OpResult::of(core_.create(op.path, false));
      case OpKind::kMkdir:
        return OpResult::of(core_.create(op.path, true));
      case OpKind::kUnlink:
        return OpResult::of(core_.unlink(op.path));
      case OpKind::kRmdir:
        return OpResult::of(core_.rmdir(op.path));
      case OpKind::kRename:
        return OpResult::of(core_.rename(op.path, op.other));
      case OpKind::kWrite:
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
    seen_ = only(kRootNid);
    out.where = Path("/");
    out.error = walk_directory(kRootNid, kRootNode, out);
    core_.clear_failure();
    return out;
  }

  std::string name_block(uint64_t address, Media&) const override {
    const Layout& layout = core_.layout();
    const auto a = static_cast<unsigned>(address);
    if (a < layout.sit_start()) {
      static constexpr const char* kParts[] = {"header", "body", "footer"};
      return fmt::format("{} of checkpoint pack {}", kParts[a % kPackBlocks], a / kPackBlocks);
    }
    const auto table = [&](const char* name, unsigned start, unsigned blocks) {
      return fmt::format("{} block {}, copy {}", name, (a - start) % blocks, (a - start) / blocks);
    };
    if (a < layout.nat_start()) return table("SIT", layout.sit_start(), layout.sit_blocks());
    if (a < layout.ssa_start()) return table("NAT", layout.nat_start(), layout.nat_blocks());
    if (a < layout.main_start()) return fmt::format("summaries of segment {}", a - layout.ssa_start());
    const auto main = static_cast<Address>(a);
    return fmt::format("segment {} block {}", layout.segment_of(main), layout.offset_of(main));
  }
  std::string describe_write(uint64_t address, std::span<const std::byte> bytes) const override;

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
    if (op.length <= max_file_size(core_.config())) fill_data(op, offset, bytes);
    const int error = core_.write(op.path, offset, bytes);
    return error != 0 ? OpResult::of(error) : OpResult{0, op.length, {}};
  }

  // The node that a path names, or an errno.
  int resolve(const Op& op, Nid* nid, Node* node) {
    core_.clear_failure();
    const Found at = core_.find(op.path);
    if (at.error != 0) return at.error;
    if (at.node == 0) return ENOENT;
    *nid = at.node;
    *node = core_.node(at.node);
    return core_.failed();
  }

  OpResult append(const Op& op) {
    Nid nid = 0;
    Node node;
    if (const int error = resolve(op, &nid, &node)) return OpResult::of(error);
    return write(op, node.inode.size);
  }

  OpResult look(const Op& op) {
    Nid nid = 0;
    Node node;
    if (const int error = resolve(op, &nid, &node)) return OpResult::of(error);
    if (op.kind == OpKind::kStat) return {0, node.inode.size, {}};
    if (op.kind == OpKind::kReaddir) {
      if (node.directory == 0) return OpResult::of(ENOTDIR);
      OpResult result;
      const int error =
          core_.each_entry(nid, [&](std::string_view name, const Dentry&) { result.add_name(name); });
      return error != 0 ? OpResult::of(error) : result;
    }
    if (op.kind != OpKind::kRead) return OpResult::of(ENOSYS);
    if (node.directory != 0) return OpResult::of(EISDIR);
    if (op.offset > FileData::kMaxSize) return OpResult::of(EINVAL);
    std::span<const std::byte> bytes;
    if (const int error = core_.read(nid, op.offset, op.length, &bytes)) return OpResult::of(error);
    return OpResult::read(bytes);
  }

  // Adds what a directory holds to the tree. No inode is met twice in a tree that can be.
  int walk_directory(Nid directory, NodeId to, Walk& out) {
    const Path here = out.where;
    struct Entry {
      std::array<char, kNameLength> name;
      uint8_t length;
      Dentry dentry;
      std::string_view text() const { return {name.data(), length}; }
    };
    std::array<Entry, kMaxDentryBlocks * kDentries> entries;
    unsigned count = 0;
    int error = core_.each_entry(directory, [&](std::string_view name, const Dentry& dentry) {
      Entry& entry = entries[count++];
      std::copy(name.begin(), name.end(), entry.name.begin());
      entry.length = static_cast<uint8_t>(name.size());
      entry.dentry = dentry;
    });
    unsigned subdirectories = 0;
    for (unsigned i = 0; i < count && error == 0; ++i) {
      const Dentry& dentry = entries[i].dentry;
      const std::string_view name = entries[i].text();
      if (!Path::holds(name) || name.find('/') != name.npos || !here.has_room_for(name)) return kBadName;
      out.where = here.child(name);
      if (out.tree.child(to, name) != kNoNode) return kNameTwice;
      const Node node = core_.node(dentry.ino);
      if ((seen_ & only(dentry.ino)) != 0 || node.kind != NodeKind::kInode ||
          node.directory != dentry.directory)
        return EIO;
      seen_ |= only(dentry.ino);
      if (dentry.directory != 0) {
        ++subdirectories;
        error = walk_directory(dentry.ino, out.tree.make(to, name, FileType::kDirectory), out);
      } else {
        error = add_file(dentry.ino, node, out.tree.make(to, name, FileType::kFile), out);
      }
    }
    if (error != 0) return error;
    out.where = here;
    const unsigned links = core_.node(directory).inode.links;
    if (links != 2 + subdirectories) out.tree.set_links(to, links);
    return 0;
  }

  int add_file(Nid ino, const Node& node, NodeId to, Walk& out) {
    std::span<const std::byte> bytes;
    if (const int error = core_.read(ino, 0, node.inode.size, &bytes)) return error;
    if (!bytes.empty()) out.tree.write(to, 0, bytes);
    if (node.inode.links != 1) out.tree.set_links(to, node.inode.links);
    return 0;
  }

  Core core_;
  Fsck fsck_;
  NidSet seen_ = 0;
  std::vector<std::byte> bytes_;
};

std::string describe_node(const Node& node) {
  const NodeFooter& f = node.footer;
  const char* marks = (f.flags & kDentryMark) != 0  ? ", synced, new name"
                      : (f.flags & kFsyncMark) != 0 ? ", synced"
                                                    : "";
  if (node.kind == NodeKind::kInode) {
    const InodeBody& i = node.inode;
    const std::string_view name(i.name.data(), std::min<size_t>(i.name_length, kNameLength));
    return fmt::format("inode {} '{}' in {}: {} of {} bytes, data {} {}, nodes {} {}{}", f.nid, name,
                       i.parent, node.directory != 0 ? "directory" : "file", uint32_t{i.size},
                       Address{i.data[0]}, Address{i.data[1]}, i.direct, i.indirect, marks);
  }
  if (node.kind == NodeKind::kDirect)
    return fmt::format("direct node {} of inode {}: data {} {} {} {}", f.nid, f.ino, Address{node.data[0]},
                       Address{node.data[1]}, Address{node.data[2]}, Address{node.data[3]});
  return fmt::format("indirect node {} of inode {}: nodes {} {} {} {}", f.nid, f.ino, node.nodes[0],
                     node.nodes[1], node.nodes[2], node.nodes[3]);
}

// The entries of what can be a dentry block; of anything else nothing.
std::string describe_entries(const DentryBlock& block, unsigned nids) {
  if (block.used == 0 || block.used >= 1u << kDentries) return {};
  std::string text = "entries:";
  for (unsigned e = 0; e < kDentries; ++e) {
    if ((block.used >> e & 1) == 0) continue;
    if (!is_good_entry(block, e, nids)) return {};
    text += fmt::format(" '{}' is {} {}", name_of(block, e),
                        block.entries[e].directory != 0 ? "directory" : "file", block.entries[e].ino);
  }
  return text;
}

std::string F2fsTarget::describe_write(uint64_t address, std::span<const std::byte> bytes) const {
  const Layout& layout = core_.layout();
  if (bytes.size() < core_.config().block_size) return {};
  const auto a = static_cast<unsigned>(address);
  if (a < layout.sit_start()) {
    if (a % kPackBlocks != 1)
      return fmt::format("version {}", uint32_t{read_from<PackEnd>(bytes.data()).version});
    const auto body = read_from<PackBody>(bytes.data());
    std::string text = "logs at";
    for (const LogPosition& at : body.logs) text += fmt::format(" {}.{}", at.segment, at.offset);
    return text + fmt::format(", SIT copies {:b}, NAT copies {:b}", uint16_t{body.sit_version},
                              uint16_t{body.nat_version});
  }
  if (a < layout.nat_start()) {
    const auto block = read_from<SitBlock>(bytes.data());
    const unsigned first = (a - layout.sit_start()) % layout.sit_blocks() * kTableEntries;
    std::string text = fmt::format("valid from segment {}:", first);
    for (const SitEntry& entry : block.entries) text += fmt::format(" {:04b}", entry.valid_map);
    return text;
  }
  if (a < layout.ssa_start()) {
    const auto block = read_from<NatBlock>(bytes.data());
    const unsigned first = (a - layout.nat_start()) % layout.nat_blocks() * kTableEntries;
    std::string text = fmt::format("addresses from nid {}:", first);
    for (const NatEntry& entry : block.entries) text += fmt::format(" {}", Address{entry.address});
    return text;
  }
  if (a < layout.main_start()) {
    std::string text = "owners:";
    for (const Summary& owner : read_from<SsaBlock>(bytes.data()).entries)
      text += owner.index == kIsNode ? fmt::format(" {}", owner.nid)
                                     : fmt::format(" {}[{}]", owner.nid, owner.index);
    return text;
  }
  const auto node = read_from<Node>(bytes.data());
  if (node.magic == kNodeMagic) return describe_node(node);
  return describe_entries(read_from<DentryBlock>(bytes.data()), core_.config().nids);
}

}  // namespace

TargetKind kind_of(const Config& config) {
  TargetKind kind;
  kind.ops = OpSet(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename,
                   OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate, OpKind::kRead, OpKind::kReaddir,
                   OpKind::kStat, OpKind::kFsync, OpKind::kFdatasync, OpKind::kSync) |
             OpSet(OpKind::kRemount, OpKind::kOpen, OpKind::kClose);
  // fsync makes single files durable ahead of the others, so a recovered tree may be one that never existed.
  kind.claims.contract = Contract::kFsync;
  kind.claims.fsync_names = true;
  kind.claims.mount_recovers = true;
  kind.claims.limited_space = true;
  kind.limits.write_unit = config.block_size;
  kind.limits.max_file_size = uint64_t{kMaxFileBlocks} * config.block_size;
  kind.words = {.problems = kProblems, .marks = kMarkTexts};
  kind.disks = {.block_size = config.block_size, .block_count = BlockCount(Layout(config).block_count())};
  kind.has_fsck = true;
  kind.make = [config] { return std::make_unique<F2fsTarget>(config); };
  return kind;
}

}  // namespace sisyfs::f2fs
