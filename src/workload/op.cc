#include "workload/op.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace sisyfs {
namespace {

// Most writes are small and use this buffer instead of allocating.
class Buffer {
 public:
  explicit Buffer(size_t size) : size_(size) {
    if (size > small_.size()) large_.resize(size);
  }
  std::span<std::byte> span() { return {size_ > small_.size() ? large_.data() : small_.data(), size_}; }

 private:
  size_t size_;
  std::array<std::byte, 4096> small_;
  std::vector<std::byte> large_;
};

OpResult write_at(const Op& op, uint64_t offset, Tree& tree) {
  Buffer buffer(op.length);
  fill_data(op, offset, buffer.span());
  const int error = tree.write(op.path, offset, buffer.span());
  return error ? OpResult::of(error) : OpResult{0, op.length, {}};
}

OpResult append(const Op& op, Tree& tree) {
  Stat stat;
  if (const int error = tree.stat(op.path, &stat)) return OpResult::of(error);
  return write_at(op, stat.size, tree);
}

// The size of a file that can be opened for reading and writing.
int size_of_file(const Op& op, const Tree& tree, uint64_t* size) {
  Stat stat;
  if (const int error = tree.stat(op.path, &stat)) return error;
  if (stat.type == FileType::kDirectory) return EISDIR;
  *size = stat.size;
  return 0;
}

OpResult write_mapped(const Op& op, Tree& tree) {
  uint64_t size = 0;
  if (const int error = size_of_file(op, tree, &size)) return OpResult::of(error);
  const bool within = FileData::can_hold(op.offset, op.length) && op.offset + op.length <= size;
  return op.length != 0 && within ? write_at(op, op.offset, tree) : OpResult::of(EINVAL);
}

OpResult msync(const Op& op, const Tree& tree) {
  uint64_t size = 0;
  if (const int error = size_of_file(op, tree, &size)) return OpResult::of(error);
  return OpResult::of(size == 0 ? EINVAL : 0);
}

OpResult read(const Op& op, const Tree& tree) {
  Stat stat;
  if (const int error = tree.stat(op.path, &stat)) return OpResult::of(error);
  if (!FileData::can_hold(op.offset, op.length)) return OpResult::of(EINVAL);
  const uint64_t left = stat.size > op.offset ? stat.size - op.offset : 0;
  Buffer buffer(std::min<uint64_t>(op.length, left));
  size_t count = 0;
  if (const int error = tree.read(op.path, op.offset, buffer.span(), &count)) return OpResult::of(error);
  return OpResult::read(buffer.span().first(count));
}

OpResult readdir(const Op& op, const Tree& tree) {
  Tree::Children entries;
  if (const int error = tree.readdir(op.path, &entries)) return OpResult::of(error);
  OpResult result;
  for (const Tree::Entry& e : entries) result.add_name(e.name());
  return result;
}

OpResult setxattr(const Op& op, Tree& tree) {
  Buffer buffer(op.length);
  fill_value(op, buffer.span());
  return OpResult::of(tree.setxattr(op.path, op.other, buffer.span()));
}

OpResult getxattr(const Op& op, const Tree& tree) {
  const FileData* value = nullptr;
  if (const int error = tree.getxattr(op.path, op.other, &value)) return OpResult::of(error);
  Buffer buffer(value->size());
  value->read(0, buffer.span());
  return OpResult::read(buffer.span());
}

OpResult listxattr(const Op& op, const Tree& tree) {
  const Xattrs* all = nullptr;
  if (const int error = tree.listxattr(op.path, &all)) return OpResult::of(error);
  OpResult result;
  for (const Xattrs::Cell* at = all->first(); at != nullptr; at = at->after())
    result.add_name(at->name.text());
  return result;
}

OpResult stat(const Op& op, const Tree& tree, bool size) {
  Stat stat;
  if (const int error = tree.stat(op.path, &stat)) return OpResult::of(error);
  return {0, size ? stat.size : 0, {}};
}

}  // namespace

void fill_data(const Op& op, uint64_t offset, std::span<std::byte> out) {
  const std::string_view path = op.path;
  const uint64_t file = XXH3_64bits(path.data(), path.size());
  const auto word = [&](uint64_t at) { return mul_fold(file ^ (at / 8), 0x9e3779b97f4a7c15u ^ file); };
  // Whole words first, then the remaining bytes, in a loop that compiles to a few instructions.
  size_t i = 0;
  for (const size_t whole = offset % 8 == 0 ? out.size() / 8 * 8 : 0; i < whole; i += 8) {
    const uint64_t bytes = word(offset + i);
    std::memcpy(out.data() + i, &bytes, 8);
  }
  for (; i < out.size(); ++i)
    out[i] = static_cast<std::byte>(word(offset + i) >> ((offset + i) % 8 * 8) & 0xff);
  const auto version = static_cast<uint16_t>(op.version);
  for (std::byte& byte : out) {
    const auto moved = static_cast<uint16_t>(static_cast<uint16_t>(byte) + version);
    byte = static_cast<std::byte>((moved < 255 ? moved : moved - 255) + 1);
  }
}

uint32_t process_of(const Op& op, uint32_t processes) {
  if (processes < 2 || !kHandleOps.has(op.kind)) return 0;
  const uint32_t handle = Tree::handle_in(op.kind == OpKind::kOpenHandle ? op.other : op.path);
  return handle >= Tree::kHandles / 2 ? 1 : 0;
}

void fill_value(const Op& op, std::span<std::byte> out) {
  const std::string_view path = op.path;
  Op named = op;
  named.path = op.other;
  fill_data(named, XXH3_64bits(path.data(), path.size()) & 0xFFFFFFF8u, out);
}

OpResult apply(const Op& op, Tree& tree) {
  switch (op.kind) {
    case OpKind::kCreate:
      return OpResult::of(tree.create(op.path));
    case OpKind::kMkdir:
      return OpResult::of(tree.mkdir(op.path));
    case OpKind::kUnlink:
      return OpResult::of(tree.unlink(op.path));
    case OpKind::kRmdir:
      return OpResult::of(tree.rmdir(op.path));
    case OpKind::kRename:
      return OpResult::of(tree.rename(op.path, op.other));
    case OpKind::kLink:
      return OpResult::of(tree.link(op.path, op.other));
    case OpKind::kSymlink:
      return OpResult::of(tree.symlink(op.other, op.path));
    case OpKind::kWrite:
    case OpKind::kWriteSync:
    case OpKind::kWriteDirect:
    case OpKind::kWriteHandle:
      return write_at(op, op.offset, tree);
    case OpKind::kAppend:
    case OpKind::kAppendHandle:
      return append(op, tree);
    case OpKind::kTruncate:
    case OpKind::kTruncateHandle:
      return OpResult::of(tree.truncate(op.path, op.offset));
    case OpKind::kRead:
    case OpKind::kReadHandle:
      return read(op, tree);
    case OpKind::kReaddir:
      return readdir(op, tree);
    case OpKind::kStat:
    case OpKind::kStatHandle:
      return stat(op, tree, true);
    case OpKind::kFsync:
    case OpKind::kFdatasync:
    case OpKind::kFsyncHandle:
    case OpKind::kFdatasyncHandle:
      return stat(op, tree, false);
    case OpKind::kSync:
    case OpKind::kSyncfs:
    case OpKind::kCommit:
    case OpKind::kPlay:
      return {};
    case OpKind::kWriteMapped:
      return write_mapped(op, tree);
    case OpKind::kMsync:
      return msync(op, tree);
    case OpKind::kFallocate:
      return OpResult::of(tree.fallocate(op.path, op.offset, op.length));
    case OpKind::kFallocateKeep:
      return OpResult::of(tree.fallocate_keep(op.path, op.offset, op.length));
    case OpKind::kPunchHole:
      return OpResult::of(tree.punch_hole(op.path, op.offset, op.length));
    case OpKind::kZeroRange:
      return OpResult::of(tree.zero_range(op.path, op.offset, op.length));
    case OpKind::kExchange:
      return OpResult::of(tree.exchange(op.path, op.other));
    case OpKind::kRenameNew:
      return OpResult::of(tree.rename_new(op.path, op.other));
    case OpKind::kRemount:
    case OpKind::kSnapshot:
    case OpKind::kRestore:
    case OpKind::kFsck:
      return OpResult::of(tree.open_count() == 0 ? 0 : EBUSY);
    case OpKind::kOpen:
      return OpResult::of(tree.open(op.path));
    case OpKind::kClose:
    case OpKind::kCloseHandle:
      return OpResult::of(tree.close(op.path));
    case OpKind::kOpenHandle:
      return OpResult::of(tree.open(op.path, op.other));
    case OpKind::kChmod:
      return OpResult::of(tree.chmod(op.path, static_cast<uint16_t>(op.length)));
    case OpKind::kSetxattr:
      return setxattr(op, tree);
    case OpKind::kGetxattr:
      return getxattr(op, tree);
    case OpKind::kListxattr:
      return listxattr(op, tree);
    case OpKind::kRemovexattr:
      return OpResult::of(tree.removexattr(op.path, op.other));
  }
  return OpResult::of(ENOSYS);
}

}  // namespace sisyfs
