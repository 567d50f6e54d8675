#include "models/verifs/target.h"

#include <array>
#include <cerrno>
#include <cstddef>

#include "models/verifs/core.h"

namespace sisyfs::verifs {
namespace {

constexpr OpSet kOpsOfFirst = OpSet(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir,
                                    OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate, OpKind::kRead,
                                    OpKind::kReaddir, OpKind::kStat, OpKind::kSnapshot, OpKind::kRestore);
constexpr OpSet kOpsOfSecond =
    kOpsOfFirst | OpSet(OpKind::kRename, OpKind::kLink, OpKind::kSymlink, OpKind::kSetxattr,
                        OpKind::kGetxattr, OpKind::kListxattr, OpKind::kRemovexattr);

class VerifsTarget : public Target, public SavesMemory, public ReachesMarks {
 public:
  explicit VerifsTarget(const Config& config) : core_(config) {}

  SavesMemory* saves_memory() override { return this; }
  ReachesMarks* reaches_marks() override { return this; }

  int format(Media&) override { return 0; }
  int mount(Media&) override { return core_.mount(), 0; }
  int unmount() override { return core_.forget(), 0; }
  void power_cut() override { core_.forget(); }
  uint32_t take_marks() override { return core_.take_marks(); }

  OpResult apply(const Op& op) override {
    switch (op.kind) {
      case OpKind::kCreate:
        return OpResult::of(core_.make(op.path, Kind::kFile));
      case OpKind::kMkdir:
        return OpResult::of(core_.make(op.path, Kind::kDirectory));
      case OpKind::kSymlink:
        return OpResult::of(core_.make(op.path, Kind::kSymlink, op.other));
      case OpKind::kUnlink:
        return OpResult::of(core_.unlink(op.path));
      case OpKind::kRmdir:
        return OpResult::of(core_.rmdir(op.path));
      case OpKind::kRename:
        return OpResult::of(core_.rename(op.path, op.other));
      case OpKind::kLink:
        return OpResult::of(core_.link(op.path, op.other));
      case OpKind::kTruncate:
        return OpResult::of(core_.truncate(op.path, op.offset));
      case OpKind::kSnapshot:
        core_.snapshot();
        return {};
      case OpKind::kRestore:
        return OpResult::of(core_.restore());
      case OpKind::kWrite:
        return write(op, op.offset);
      case OpKind::kRead:
        return read(op);
      case OpKind::kSetxattr:
        return set_xattr(op);
      case OpKind::kGetxattr:
        return get_xattr(op);
      case OpKind::kRemovexattr:
        return OpResult::of(core_.remove_xattr(op.path, op.other));
      default:
        return on_found(op);
    }
  }

  Walk walk() override {
    Walk out;
    nodes_.fill(kNoNode);
    out.where = Path("/");
    out.error = walk_directory(kRootIno, kRootNode, out);
    for (Ino ino = kRootIno; ino < nodes_.size() && out.error == 0; ++ino)
      if (nodes_[ino] != kNoNode) claim(ino, nodes_[ino], out.tree);
    return out;
  }

  // A cache that is in step with the file system answers as the file system does, so only a stale one counts.
  Snapshot save() const override {
    const Memory& memory = core_.memory();
    if (memory.mounted == 0) return Snapshot();
    const bool cache = core_.config().name_cache == NameCache::kStale;
    return Snapshot(memory, digest_of(&memory, cache ? sizeof memory : offsetof(Memory, cache)));
  }
  void load(const Snapshot& snapshot, Media&) override {
    if (snapshot.empty())
      core_.forget();
    else
      core_.load(snapshot.as<Memory>());
  }

 private:
  OpResult write(const Op& op, uint64_t offset) {
    // What is too long to be written is not made: the core refuses by its length alone.
    static constexpr std::array<std::byte, kBufferSize + 1> kTooLong{};
    std::array<std::byte, kBufferSize> bytes;
    std::span<const std::byte> written = kTooLong;
    if (op.length <= kBufferSize) {
      const auto filled = std::span(bytes).first(op.length);
      fill_data(op, offset, filled);
      written = filled;
    }
    const int error = core_.write(op.path, offset, written);
    return error != 0 ? OpResult::of(error) : OpResult{0, op.length, {}};
  }

  OpResult read(const Op& op) {
    std::span<const std::byte> bytes;
    if (const int error = core_.read(op.path, op.offset, op.length, &bytes)) return OpResult::of(error);
    return OpResult::read(bytes);
  }

  OpResult set_xattr(const Op& op) {
    // As for writes: what is too long is not made.
    static constexpr std::array<std::byte, kXattrSize + 1> kTooLong{};
    std::array<std::byte, kXattrSize> bytes;
    std::span<const std::byte> value = kTooLong;
    if (op.length <= kXattrSize) {
      fill_value(op, std::span(bytes).first(op.length));
      value = std::span(bytes).first(op.length);
    }
    return OpResult::of(core_.set_xattr(op.path, op.other, value));
  }

  OpResult get_xattr(const Op& op) {
    std::span<const std::byte> value;
    if (const int error = core_.get_xattr(op.path, op.other, &value)) return OpResult::of(error);
    return OpResult::read(value);
  }

  // What first asks what the path leads to.
  OpResult on_found(const Op& op) {
    Ino ino = kNoIno;
    if (const int error = core_.find(op.path, &ino)) return OpResult::of(error);
    const Inode& inode = core_.inode(ino);
    const bool directory = inode.kind == Kind::kDirectory;
    if (op.kind == OpKind::kAppend) return write(op, directory ? 0 : inode.size);
    if (op.kind == OpKind::kStat) return {0, directory ? 0u : inode.size, {}};
    OpResult result;
    if (op.kind == OpKind::kListxattr) {
      each_xattr(core_.memory(), ino, [&](std::string_view name, auto) { result.add_name(full_name(name)); });
      return result;
    }
    if (op.kind != OpKind::kReaddir) return OpResult::of(ENOSYS);
    if (!directory) return OpResult::of(ENOTDIR);
    for (unsigned i = 0; i < core_.inode(ino).entry_count(); ++i)
      result.add_name(core_.entry(ino, i).name.text());
    return result;
  }

  // Adds what a directory holds to the tree: its names come from the file system, what they lead to from the
  // kernel.
  int walk_directory(Ino directory, NodeId to, Walk& out) {
    nodes_[directory] = to;
    const Path here = out.where;
    for (unsigned i = 0; i < core_.inode(directory).entry_count(); ++i) {
      const Entry entry = core_.entry(directory, i);
      const std::string_view name = entry.name.text();
      if (!here.has_room_for(name)) return ENAMETOOLONG;
      out.where = here.child(name);
      if (const int error = walk_entry(core_.peek(directory, name), to, name, out)) return error;
    }
    out.where = here;
    return 0;
  }

  int walk_entry(Ino ino, NodeId directory, std::string_view name, Walk& out) {
    const Inode& inode = core_.inode(ino);
    NodeId& known = nodes_[ino];
    switch (inode.kind) {
      case Kind::kFree:
        return ESTALE;
      case Kind::kDirectory:
        if (known != kNoNode) return ELOOP;
        return walk_directory(ino, out.tree.make(directory, name, FileType::kDirectory), out);
      default:
        break;
    }
    if (known != kNoNode) {
      out.tree.add_name(known, directory, name);
    } else {
      known =
          out.tree.make(directory, name, inode.kind == Kind::kFile ? FileType::kFile : FileType::kSymlink);
      if (inode.size != 0) out.tree.write(known, 0, std::span(inode.buffer).first(inode.size));
    }
    return 0;
  }

  // What the system says of an inode beside its content.
  void claim(Ino ino, NodeId node, Tree& tree) {
    const unsigned links = core_.inode(ino).links;
    if (links != tree.node(node).links) tree.set_links(node, links);
    each_xattr(core_.memory(), ino, [&](std::string_view name, std::span<const std::byte> value) {
      tree.set_xattr(node, full_name(name), value);
    });
  }

  // Lives until the next call.
  std::string_view full_name(std::string_view name) {
    static constexpr std::string_view kSpace = "user.";
    kSpace.copy(name_.data(), kSpace.size());
    name.copy(name_.data() + kSpace.size(), name.size());
    return {name_.data(), kSpace.size() + name.size()};
  }

  Core core_;
  std::array<NodeId, kMaxInodes + 1> nodes_{};  // of the tree that a walk makes, by inode
  std::array<char, 5 + kNameLength> name_{};    // of an attribute
};

}  // namespace

TargetKind kind_of(const Config& config) {
  const bool first = config.version == Version::kFirst;
  TargetKind kind;
  kind.ops = first ? kOpsOfFirst : kOpsOfSecond;
  kind.claims.durable = OpSet::all();
  kind.claims.limited_space = true;
  kind.limits.max_file_size = kBufferSize;
  kind.words.marks = first ? std::span(kMarkTexts).first(kMarksOfFirst) : std::span(kMarkTexts);
  kind.make = [config] { return std::make_unique<VerifsTarget>(config); };
  return kind;
}

}  // namespace sisyfs::verifs
