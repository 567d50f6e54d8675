#include "adapters/kernel/guest_walk.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "adapters/guest/wire.h"

namespace sisyfs {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20, kMostObjects = 10'000;

std::string_view text_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool has_attributes(const FileSystem& fs) { return !fs.without.has(OpKind::kSetxattr); }
bool has_modes(const FileSystem& fs) { return (fs.quirks & kNoModes) == 0; }

}  // namespace

bool GuestWalk::add(std::span<const std::byte> bytes) {
  is_too_much_ = is_too_much_ || bytes.size() > kMostBytes - all_.size();
  if (!is_too_much_) all_.insert(all_.end(), bytes.begin(), bytes.end());
  return !is_too_much_;
}

int GuestWalk::add_attributes(NodeId node, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    uint32_t lengths[2];
    if (bytes.size() < sizeof lengths) return kTooManyBytes;
    std::memcpy(lengths, bytes.data(), sizeof lengths);
    bytes = bytes.subspan(sizeof lengths);
    if (bytes.size() < uint64_t{lengths[0]} + lengths[1]) return kTooManyBytes;
    const std::string_view name = text_in(bytes.first(lengths[0]));
    if (name.empty() || !Path::holds(name)) return kBadName;
    out_.tree.set_xattr(node, name, bytes.subspan(lengths[0], lengths[1]));
    bytes = bytes.subspan(size_t{lengths[0]} + lengths[1]);
  }
  return 0;
}

int GuestWalk::add_entry(std::span<const std::byte>& left) {
  guest::WalkEntry entry;
  if (left.size() < sizeof entry) return kTooManyBytes;
  std::memcpy(&entry, left.data(), sizeof entry);
  left = left.subspan(sizeof entry);
  const auto take = [&](uint64_t size) {
    const auto part = left.first(std::min<uint64_t>(size, left.size()));
    left = left.subspan(part.size());
    return part;
  };
  if (left.size() < uint64_t{entry.path_bytes} + entry.target_bytes + entry.xattr_bytes) return kTooManyBytes;
  const std::string_view path = text_in(take(entry.path_bytes));
  const auto target = take(entry.target_bytes), attributes = take(entry.xattr_bytes), data = take(entry.size);
  if (data.size() != entry.size) return kTooManyBytes;
  if (!Path::holds(path)) {
    if (const auto head = path.substr(0, Path::kCapacity); Path::holds(head)) out_.where = Path(head);
    return path.size() > Path::kCapacity ? kLongName : kBadName;
  }
  out_.where = Path(path);
  if (entry.error != 0) return entry.error > 0 && entry.error < 4096 ? entry.error : kNoErrno;
  if (known_.size() == kMostObjects) return kTooManyObjects;
  Tree& tree = out_.tree;
  if (path == "/") {
    if (!S_ISDIR(entry.mode)) return kNoDirectory;
    known_.push_back({entry.inode, kRootNode, entry.links, FileType::kDirectory});
    if (has_modes(fs_)) tree.set_mode(kRootNode, entry.mode & kAllModeBits);
    return has_attributes(fs_) ? add_attributes(kRootNode, attributes) : 0;
  }
  if (const uint32_t handle = Tree::handle_in(path); handle != Tree::kHandles) {
    if (tree.behind(handle) != kNoNode) return kNameTwice;
    tree.write(tree.make_nameless(handle), 0, data);
    return 0;
  }
  if (!Path::is_canonical(path)) return kBadName;
  const FileType type = S_ISREG(entry.mode)   ? FileType::kFile
                        : S_ISDIR(entry.mode) ? FileType::kDirectory
                                              : FileType::kSymlink;
  if (type == FileType::kSymlink && !S_ISLNK(entry.mode)) return kBadType;
  const size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);
  NodeId directory = kRootNode;
  for (size_t at = 1; at < slash;) {
    const size_t end = std::min(path.find('/', at), slash);
    directory = tree.child(directory, path.substr(at, end - at));
    if (directory == kNoNode || tree.node(directory).type != FileType::kDirectory) return kNoDirectory;
    at = end + 1;
  }
  if (tree.child(directory, name) != kNoNode) return kNameTwice;
  if (type != FileType::kDirectory) {
    const auto met =
        std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.inode == entry.inode; });
    if (met != known_.end() && met->type != type) return kOtherType;
    if (met != known_.end()) return tree.add_name(met->node, directory, name), 0;
  }
  const NodeId node = tree.make(directory, name, type);
  known_.push_back({entry.inode, node, entry.links, type});
  if (type == FileType::kFile) tree.write(node, 0, data);
  if (type == FileType::kSymlink) {
    if (target.empty()) return kBadLink;
    tree.write(node, 0, target);
    return 0;
  }
  if (has_modes(fs_)) tree.set_mode(node, entry.mode & kAllModeBits);
  return has_attributes(fs_) ? add_attributes(node, attributes) : 0;
}

Walk GuestWalk::finish() {
  out_ = {};
  known_.clear();
  std::span<const std::byte> left(all_);
  if (is_too_much_) out_.error = kTooManyObjects;
  while (out_.error == 0 && !left.empty()) out_.error = add_entry(left);
  if (out_.error != 0) return std::move(out_);
  for (const Known& known : known_) {
    const bool says_nothing =
        (fs_.quirks & (known.type == FileType::kDirectory ? kPlainDirectoryLinks : kNoFileLinks)) != 0;
    // lost+found counts, and is not shown.
    const uint32_t links =
        known.links - (known.node == kRootNode && (fs_.quirks & kHidesLostFound) != 0 ? 1 : 0);
    if (!says_nothing && links != out_.tree.node(known.node).links) out_.tree.set_links(known.node, links);
  }
  return std::move(out_);
}

}  // namespace sisyfs
