#include "adapters/plugin/plugin_calls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <type_traits>

namespace sisyfs {
namespace {

// Larger than any file of a workload; a larger size is a broken inode.
constexpr uint64_t kLargestFile = uint64_t{64} << 20;
constexpr uint32_t kLargestName = 255, kLargestLink = 4096, kLargestValue = 65536;

// A path as a C string.
struct CPath {
  explicit CPath(const Path& path) { path.text().copy(text.data(), Path::kCapacity); }
  operator const char*() const { return text.data(); }
  std::array<char, Path::kCapacity + 1> text{};
};

// What a walk takes at most. A tree that is larger is a broken one, or without end.
constexpr size_t kMostNames = 10'000;  // of one directory, and of all

OpResult answer(int result) { return OpResult::of(errno_of(result)); }
OpResult failure(int64_t count) { return OpResult::of(errno_in(count)); }

}  // namespace

// Errnos are negative in a plug-in and positive here.
int errno_in(int64_t count) {
  constexpr int64_t kLargest = 4095;
  if (count >= 0) return 0;
  return count < -kLargest ? kNoErrno : static_cast<int>(-count);
}

int errno_of(int result) { return result > 0 ? kNoErrno : errno_in(result); }

OpSet PluginCalls::ops_of(const sisyfs_plugin& t) {
  OpSet ops(OpKind::kReaddir, OpKind::kStat, OpKind::kRemount);
  const auto add = [&](bool has, OpSet more) {
    if (has) ops = ops | more;
  };
  add(t.create != nullptr, OpSet(OpKind::kCreate));
  add(t.mkdir != nullptr, OpSet(OpKind::kMkdir));
  add(t.unlink != nullptr, OpSet(OpKind::kUnlink));
  add(t.rmdir != nullptr, OpSet(OpKind::kRmdir));
  add(t.rename != nullptr, OpSet(OpKind::kRename));
  add(t.link != nullptr, OpSet(OpKind::kLink));
  add(t.symlink != nullptr, OpSet(OpKind::kSymlink));
  add(t.write != nullptr, OpSet(OpKind::kWrite, OpKind::kAppend));
  add(t.read != nullptr, OpSet(OpKind::kRead));
  add(t.truncate != nullptr, OpSet(OpKind::kTruncate));
  add(t.fsync != nullptr, OpSet(OpKind::kFsync));
  add(t.fdatasync != nullptr, OpSet(OpKind::kFdatasync));
  add(t.sync != nullptr, OpSet(OpKind::kSync));
  add(t.write_sync != nullptr, OpSet(OpKind::kWriteSync));
  add(t.setxattr != nullptr, OpSet(OpKind::kSetxattr, OpKind::kGetxattr, OpKind::kListxattr));
  add(t.setxattr != nullptr && t.removexattr != nullptr, OpSet(OpKind::kRemovexattr));
  add(t.chmod != nullptr, OpSet(OpKind::kChmod));
  if (t.open == nullptr) return ops;
  add(true, OpSet(OpKind::kOpenHandle, OpKind::kCloseHandle, OpKind::kReadHandle, OpKind::kStatHandle));
  add(t.write_handle != nullptr, OpSet(OpKind::kWriteHandle, OpKind::kAppendHandle));
  add(t.truncate_handle != nullptr, OpSet(OpKind::kTruncateHandle));
  add(t.fsync_handle != nullptr, OpSet(OpKind::kFsyncHandle));
  add(t.fdatasync_handle != nullptr, OpSet(OpKind::kFdatasyncHandle));
  return ops;
}

void PluginCalls::prepare(const Op& op) {
  const size_t wanted = std::max<size_t>(op.length, kLargestValue);
  if (buffer_.size() < wanted) buffer_.resize(wanted);
  names_.fence = &fence_;
  names_.count = 0;
}

OpResult PluginCalls::apply(void* fs, const Op& op, PluginHandles& handles) {
  if (kHandleOps.has(op.kind)) return apply_to_handle(fs, op, handles);
  const CPath path(op.path), other(op.other);
  switch (op.kind) {
    case OpKind::kCreate:
      return answer(table_.create(fs, path));
    case OpKind::kMkdir:
      return answer(table_.mkdir(fs, path));
    case OpKind::kUnlink:
      return answer(table_.unlink(fs, path));
    case OpKind::kRmdir:
      return answer(table_.rmdir(fs, path));
    case OpKind::kRename:
      return answer(table_.rename(fs, path, other));
    case OpKind::kLink:
      return answer(table_.link(fs, path, other));
    case OpKind::kSymlink:
      return answer(table_.symlink(fs, other, path));
    case OpKind::kWrite:
    case OpKind::kWriteSync:
      return write(fs, op, op.offset);
    case OpKind::kAppend: {
      sisyfs_stat stat{};
      const int error = table_.stat(fs, path, &stat);
      return error != 0 ? answer(error) : write(fs, op, stat.size);
    }
    case OpKind::kTruncate:
      return answer(table_.truncate(fs, path, op.offset));
    case OpKind::kRead:
      return read(fs, op);
    case OpKind::kStat: {
      sisyfs_stat stat{};
      const int error = table_.stat(fs, path, &stat);
      return error != 0 ? answer(error) : OpResult{0, stat.type == SISYFS_FILE ? stat.size : 0, {}};
    }
    case OpKind::kReaddir:
    case OpKind::kListxattr:
      return list(fs, op);
    case OpKind::kFsync:
      return answer(table_.fsync(fs, path));
    case OpKind::kFdatasync:
      return answer(table_.fdatasync(fs, path));
    case OpKind::kSync:
      return answer(table_.sync(fs));
    case OpKind::kSetxattr:
      fill_value(op, std::span(buffer_).first(op.length));
      return answer(table_.setxattr(fs, path, other, buffer_.data(), op.length));
    case OpKind::kGetxattr: {
      const int64_t size = table_.getxattr(fs, path, other, buffer_.data(), kLargestValue);
      if (size < 0 || size > kLargestValue) return size < 0 ? failure(size) : OpResult::of(kTooManyBytes);
      return OpResult::read(std::span(buffer_).first(static_cast<size_t>(size)));
    }
    case OpKind::kRemovexattr:
      return answer(table_.removexattr(fs, path, other));
    case OpKind::kChmod:
      return answer(table_.chmod(fs, path, op.length));
    default:
      return OpResult::of(ENOSYS);
  }
}

// The number of a handle is ours: the plug-in is not asked about one that is not open, or is already.
OpResult PluginCalls::apply_to_handle(void* fs, const Op& op, PluginHandles& handles) {
  if (op.kind == OpKind::kOpenHandle) return open(fs, op, handles);
  const uint32_t number = Tree::handle_in(op.path);
  if (!handles.has(number)) return OpResult::of(EBADF);
  void* const handle = handles.all[number];
  switch (op.kind) {
    case OpKind::kCloseHandle: {
      const int error = table_.close(fs, handle);
      if (error == 0) handles.open &= ~(1u << number), handles.all[number] = nullptr;
      return answer(error);
    }
    case OpKind::kAppendHandle:
    case OpKind::kWriteHandle: {
      uint64_t offset = op.offset;
      if (op.kind == OpKind::kAppendHandle) {
        sisyfs_stat stat{};
        if (const int error = table_.stat_handle(fs, handle, &stat); error != 0) return answer(error);
        offset = stat.size;
      }
      fill_data(op, offset, std::span(buffer_).first(op.length));
      return written(table_.write_handle(fs, handle, offset, buffer_.data(), op.length));
    }
    case OpKind::kTruncateHandle:
      return answer(table_.truncate_handle(fs, handle, op.offset));
    case OpKind::kReadHandle:
      return was_read(op, table_.read_handle(fs, handle, op.offset, buffer_.data(), op.length));
    case OpKind::kStatHandle: {
      sisyfs_stat stat{};
      const int error = table_.stat_handle(fs, handle, &stat);
      return error != 0 ? answer(error) : OpResult{0, stat.size, {}};
    }
    case OpKind::kFsyncHandle:
      return answer(table_.fsync_handle(fs, handle));
    case OpKind::kFdatasyncHandle:
      return answer(table_.fdatasync_handle(fs, handle));
    default:
      return OpResult::of(ENOSYS);
  }
}

OpResult PluginCalls::open(void* fs, const Op& op, PluginHandles& handles) {
  const uint32_t number = Tree::handle_in(op.other);
  if (handles.has(number)) return OpResult::of(EBUSY);
  void* handle = nullptr;
  const int error = table_.open(fs, CPath(op.path), &handle);
  if (error == 0) handles.open |= 1u << number, handles.all[number] = handle;
  return answer(error);
}

OpResult PluginCalls::written(int64_t count) {
  return count < 0 ? failure(count) : OpResult{0, static_cast<uint64_t>(count), {}};
}

OpResult PluginCalls::was_read(const Op& op, int64_t count) {
  if (count < 0 || count > op.length) return count < 0 ? failure(count) : OpResult::of(kTooManyBytes);
  return OpResult::read(std::span(buffer_).first(static_cast<size_t>(count)));
}

OpResult PluginCalls::write(void* fs, const Op& op, uint64_t offset) {
  fill_data(op, offset, std::span(buffer_).first(op.length));
  const auto write = op.kind == OpKind::kWriteSync ? table_.write_sync : table_.write;
  return written(write(fs, CPath(op.path), offset, buffer_.data(), op.length));
}

OpResult PluginCalls::read(void* fs, const Op& op) {
  return was_read(op, table_.read(fs, CPath(op.path), op.offset, buffer_.data(), op.length));
}

// Called by the plug-in for each name. Some plug-ins report "." and "..", which are skipped.
int PluginCalls::add_name(void* list, const char* name) {
  auto& out = *static_cast<Names*>(list);
  const size_t length = strnlen(name, kLargestName + 1);  // may be a bad pointer, and fault
  std::array<char, kLargestName + 1> copy;
  std::memcpy(copy.data(), name, length);
  const std::string_view text(copy.data(), length);
  if (text == "." || text == "..") return 0;
  if (out.count == kMostNames) out.fence->die(kHung, "it lists names without end");
  const Fence::Gate gate(*out.fence);
  if (out.count == out.names.size()) out.names.emplace_back();
  out.names[out.count++] = text;
  return 0;
}

OpResult PluginCalls::list(void* fs, const Op& op) {
  const CPath path(op.path);
  const int error = op.kind == OpKind::kReaddir ? table_.readdir(fs, path, add_name, &names_)
                                                : table_.listxattr(fs, path, add_name, &names_);
  if (error != 0) return answer(error);
  OpResult result;
  for (size_t i = 0; i < names_.count; ++i) result.add_name(names_.names[i]);
  return result;
}

template <class Call>
int PluginCalls::guarded(Call&& call) {
  decltype(call()) result = 0;
  if (!fence_.run([&] { result = call(); })) return EIO;
  if constexpr (std::is_same_v<decltype(result), int>) return errno_of(result);
  return errno_in(result);
}

Walk PluginCalls::walk(void* fs, const PluginHandles& handles) {
  Walk out;
  out.where = Path("/");
  known_.clear();
  left_bytes_ = kLargestFile;
  if (buffer_.size() < kLargestValue) buffer_.resize(kLargestValue);
  lists_.reserve(Path::kCapacity);  // a path has fewer components
  out.error = walk_root(fs, out);
  if (out.error != 0) return out;
  for (const Known& file : known_)
    if (file.links != 0 && file.links != out.tree.node(file.node).links)
      out.tree.set_links(file.node, file.links);
  for (uint32_t number = 0; number < Tree::kHandles && out.error == 0; ++number) {
    if (!handles.has(number)) continue;
    const std::array<char, 2> name{'@', static_cast<char>('1' + number)};
    out.where = Path({name.data(), name.size()});
    out.error = walk_handle(fs, handles.all[number], number, out);
  }
  return out;
}

// The root has no name, but attributes and a link count like any other directory.
int PluginCalls::walk_root(void* fs, Walk& out) {
  const CPath path(out.where);
  sisyfs_stat stat{};
  if (const int error = guarded([&] { return table_.stat(fs, path, &stat); })) return error;
  if (stat.type != SISYFS_DIRECTORY) return kNoDirectory;
  known_.push_back({stat.id, kRootNode, stat.links, stat.type});
  if (const int error = walk_directory(fs, kRootNode, out)) return error;
  if (const int error = walk_mode(fs, kRootNode, out)) return error;
  return table_.listxattr != nullptr ? walk_xattrs(fs, kRootNode, out) : 0;
}

int PluginCalls::walk_directory(void* fs, NodeId directory, Walk& out) {
  const Path here = out.where;
  const size_t level = static_cast<size_t>(std::count(here.text().begin(), here.text().end(), '/')) -
                       (here.text() == "/" ? 1 : 0);
  while (lists_.size() <= level) lists_.push_back({&fence_, {}, 0});
  lists_[level].count = 0;
  const CPath path(here);
  if (const int error = guarded([&] { return table_.readdir(fs, path, add_name, &lists_[level]); }))
    return error;
  for (size_t i = 0; i < lists_[level].count; ++i) {
    const std::string& name = lists_[level].names[i];
    out.where = here;
    const bool good = !name.empty() && name.find('/') == std::string::npos && Path::holds(name);
    if (!good) return kBadName;
    if (!here.has_room_for(name)) return kLongName;
    out.where = here.child(name);
    if (out.tree.child(directory, name) != kNoNode) return kNameTwice;
    if (const int error = walk_entry(fs, directory, name, out)) return error;
  }
  out.where = here;
  return 0;
}

int PluginCalls::walk_entry(void* fs, NodeId directory, const std::string& name, Walk& out) {
  const CPath path(out.where);
  sisyfs_stat stat{};
  if (const int error = guarded([&] { return table_.stat(fs, path, &stat); })) return error;
  if (stat.type < SISYFS_FILE || stat.type > SISYFS_SYMLINK) return kBadType;
  if (stat.id != 0 && stat.type != SISYFS_DIRECTORY) {
    const auto met =
        std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.id == stat.id; });
    if (met != known_.end() && met->type != stat.type) return kOtherType;
    if (met != known_.end()) return out.tree.add_name(met->node, directory, name), 0;
  }
  if (known_.size() == kMostNames) return kTooManyObjects;
  const FileType type = stat.type == SISYFS_FILE        ? FileType::kFile
                        : stat.type == SISYFS_DIRECTORY ? FileType::kDirectory
                                                        : FileType::kSymlink;
  const NodeId node = out.tree.make(directory, name, type);
  known_.push_back({stat.id, node, stat.links, stat.type});
  int error = 0;
  if (type == FileType::kDirectory)
    error = walk_directory(fs, node, out);
  else if (type == FileType::kFile)
    error = walk_file(fs, node, stat.size, out);
  else
    error = walk_symlink(fs, node, out);
  if (error == 0 && type != FileType::kSymlink) error = walk_mode(fs, node, out);
  if (error == 0 && table_.listxattr != nullptr && type != FileType::kSymlink)
    error = walk_xattrs(fs, node, out);
  return error;
}

int PluginCalls::walk_file(void* fs, NodeId node, uint64_t size, Walk& out) {
  if (size == 0 || table_.read == nullptr) return 0;
  const CPath path(out.where);
  return read_all(node, size, out, [&](uint64_t at, uint32_t length) {
    return table_.read(fs, path, at, buffer_.data(), length);
  });
}

template <class Read>
int PluginCalls::read_all(NodeId node, uint64_t size, Walk& out, Read read) {
  if (size > left_bytes_) return kTooLarge;
  left_bytes_ -= size;
  for (uint64_t at = 0; at < size;) {
    const auto length = static_cast<uint32_t>(std::min<uint64_t>(size - at, kLargestValue));
    int64_t count = 0;
    if (const int error = guarded([&] { return count = read(at, length); })) return error;
    if (count != length) return count < length ? kShortFile : kTooManyBytes;
    out.tree.write(node, at, std::span(buffer_).first(length));
    at += length;
  }
  return 0;
}

// What is behind a handle is a file of its own here: whether it is the one of a name is not asked.
int PluginCalls::walk_handle(void* fs, void* handle, uint32_t number, Walk& out) {
  sisyfs_stat stat{};
  if (const int error = guarded([&] { return table_.stat_handle(fs, handle, &stat); })) return error;
  if (stat.type != SISYFS_FILE) return kBadType;
  const NodeId node = out.tree.make_nameless(number);
  return read_all(node, stat.size, out, [&](uint64_t at, uint32_t length) {
    return table_.read_handle(fs, handle, at, buffer_.data(), length);
  });
}

int PluginCalls::walk_mode(void* fs, NodeId node, Walk& out) {
  if (table_.chmod == nullptr) return 0;
  const CPath path(out.where);
  uint32_t mode = 0;
  if (const int error = guarded([&] { return table_.mode(fs, path, &mode); })) return error;
  if ((mode & ~uint32_t{kAllModeBits}) != 0) return kBadMode;
  if (mode != out.tree.node(node).mode) out.tree.set_mode(node, static_cast<uint16_t>(mode));
  return 0;
}

int PluginCalls::walk_symlink(void* fs, NodeId node, Walk& out) {
  const CPath path(out.where);
  int64_t length = 0;
  if (const int error = guarded([&] {
        return length = table_.readlink(fs, path, reinterpret_cast<char*>(buffer_.data()), kLargestLink);
      }))
    return error;
  if (length <= 0 || length > kLargestLink) return kBadLink;
  out.tree.write(node, 0, std::span(buffer_).first(static_cast<size_t>(length)));
  return 0;
}

int PluginCalls::walk_xattrs(void* fs, NodeId node, Walk& out) {
  const CPath path(out.where);
  names_.fence = &fence_;
  names_.count = 0;
  if (const int error = guarded([&] { return table_.listxattr(fs, path, add_name, &names_); })) return error;
  for (size_t i = 0; i < names_.count; ++i) {
    const char* name = names_.names[i].c_str();
    int64_t size = 0;
    if (const int error =
            guarded([&] { return size = table_.getxattr(fs, path, name, buffer_.data(), kLargestValue); }))
      return error;
    if (size > kLargestValue) return kTooManyBytes;
    out.tree.set_xattr(node, names_.names[i], std::span(buffer_).first(static_cast<size_t>(size)));
  }
  return 0;
}

}  // namespace sisyfs
