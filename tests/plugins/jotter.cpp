// jotter: a plug-in with every call of the interface, for tests of the workload. It takes any size and
// offset.
//
// Everything is in memory until a sync, which writes all of it to the older one of two halves of the disk:
// first the content, then a header with a number and a checksum. A power cut leaves the last sync, or the one
// in progress. JOTTER_FAULT selects one planted bug; each needs a part of the workload that finds it.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <memory>
#include <sisyfs/plugin.hpp>
#include <string>
#include <vector>

#define NONE 0
#define HOLE 1      /* a hole reads as garbage */
#define GROW 2      /* a file that is made longer shows what it had there before it was made shorter */
#define STALE 3     /* a read keeps what it has read, and a write does not change that */
#define LISTED 4    /* a readdir keeps the names that it has read */
#define FDATASYNC 5 /* fdatasync does nothing */
#define XATTR 6     /* rename forgets the attributes */
#define CASED 7     /* names that differ in the case are one */
#define CUT_OFF 8   /* only the first 20 characters of a name count */
#define HASHED 9    /* names with the same sum of letters are one */
#define ODD 10      /* a write within a block begins at the block */
#ifndef JOTTER_FAULT
#define JOTTER_FAULT NONE
#endif

namespace {

using Bytes = std::vector<unsigned char>;
constexpr bool has(int fault) { return JOTTER_FAULT == fault; }

struct Node {
  uint32_t type = SISYFS_FILE;
  uint32_t links = 1;
  uint64_t size = 0;
  Bytes data;  // as long as the file, or longer with GROW
  std::map<std::string, Bytes> xattrs;
  Bytes kept;                       // STALE
  std::vector<std::string> listed;  // LISTED
  bool keeps = false;
};

struct Name {
  uint64_t node = 0;
  std::string path;
};

// What stands for a path in the table of names.
std::string key_of(std::string_view path) {
  std::string key, name;
  const auto add = [&] {
    if (has(CASED))
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (has(CUT_OFF)) name.resize(std::min<size_t>(name.size(), 20));
    if (has(HASHED)) {
      unsigned sum = 0;
      for (const char c : name) sum += static_cast<unsigned char>(c);
      name = std::to_string(sum);
    }
    key += name;
    name.clear();
  };
  for (const char c : path) {
    if (c != '/') {
      name += c;
      continue;
    }
    add();
    key += '/';
  }
  add();
  return key;
}

uint32_t checksum(const Bytes& bytes) {
  uint32_t sum = 2166136261u;
  for (const unsigned char b : bytes) sum = (sum ^ b) * 16777619u;
  return sum;
}

class Writer {
 public:
  void number(uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<unsigned char>(value >> (8 * i)));
  }
  void text(std::string_view text) {
    number(text.size());
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  void block(const Bytes& data) {
    number(data.size());
    bytes.insert(bytes.end(), data.begin(), data.end());
  }
  Bytes bytes;
};

class Reader {
 public:
  explicit Reader(const Bytes& bytes) : bytes_(bytes) {}
  uint64_t number() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= uint64_t{bytes_[at_++]} << (8 * i);
    return value;
  }
  Bytes block() {
    const size_t size = number();
    Bytes out(bytes_.begin() + static_cast<long>(at_), bytes_.begin() + static_cast<long>(at_ + size));
    at_ += size;
    return out;
  }
  std::string text() {
    const Bytes bytes = block();
    return {bytes.begin(), bytes.end()};
  }

 private:
  const Bytes& bytes_;
  size_t at_ = 0;
};

struct Header {
  uint32_t magic, length;
  uint64_t number;
  uint32_t sum, own_sum;
};
constexpr uint32_t kMagic = 0x6A6F7474;

uint32_t own_sum(const Header& h) {
  return h.magic ^ h.length * 31 ^ static_cast<uint32_t>(h.number) * 77 ^ h.sum * 3;
}

}  // namespace

class Jotter {
 public:
  static constexpr sisyfs::Plugin kPlugin{
      .name = "jotter",
      .summary = "everything in memory until a sync",
      .contract = SISYFS_ATOMIC,
      .promises = SISYFS_FSYNC_ALL | SISYFS_MOUNT_RECOVERS | SISYFS_LIMITED_SPACE,
      .block_size = 512,
      .block_count = 64,
      .max_name = 40};

  static constexpr sisyfs_option kOptions[] = {
      {SISYFS_CHOICE, 0, "fdatasync", "what fdatasync writes: full, or nothing (wrong)", "full",
       "full,nothing", 0, 0},
      {SISYFS_INT, 0, "first", "number of the first file", "2", nullptr, 2, 1000},
      {SISYFS_BOOL, 0, "reuse", "numbers of removed files are used again", "on", nullptr, 0, 0},
      {SISYFS_TEXT, 0, "label", "a label in the header; not 'refused'", "jotter", nullptr, 0, 0}};
  static int configure(std::string_view name, std::string_view value) {
    if (name == "fdatasync") lazy = value == "nothing";
    if (name == "first") first = std::stoul(std::string(value));
    if (name == "reuse") reuse = value == "on";
    if (name == "label") label = static_cast<uint32_t>(value.size());
    return value == "refused" ? -EINVAL : 0;
  }

  static int format(const sisyfs_disk& disk) {
    Jotter fs(disk);
    fs.nodes_[1].type = SISYFS_DIRECTORY;
    fs.names_["/"] = {1, "/"};
    // Both halves, so that garbage is never taken for a header.
    const int error = fs.save();
    return error != 0 ? error : fs.save();
  }
  explicit Jotter(const sisyfs_disk& disk) : disk_(disk) {}

  int mount() {
    Bytes best;
    for (int half = 0; half < 2; ++half) {
      Header h{};
      Bytes content;
      const int error = read_half(half, h, content);
      if (error < 0) return error;
      if (error == 0 && h.number > number_) {
        number_ = h.number;
        best = content;
      }
    }
    return best.empty() ? -EIO : (load(best), 0);
  }
  int unmount() { return save(); }

  int create(std::string_view path) { return add(path, SISYFS_FILE); }
  int mkdir(std::string_view path) { return add(path, SISYFS_DIRECTORY); }
  int symlink(std::string_view content, std::string_view path) {
    if (const int error = add(path, SISYFS_SYMLINK)) return error;
    Node& node = *find(path);
    node.data.assign(content.begin(), content.end());
    node.size = node.data.size();
    return 0;
  }
  int unlink(std::string_view path) {
    const Node* node = find(path);
    if (node == nullptr) return -ENOENT;
    if (node->type == SISYFS_DIRECTORY) return -EISDIR;
    drop(path);
    return 0;
  }
  int rmdir(std::string_view path) {
    const Node* node = find(path);
    if (node == nullptr) return -ENOENT;
    if (node->type != SISYFS_DIRECTORY) return -ENOTDIR;
    if (has_entries(path)) return -ENOTEMPTY;
    drop(path);
    return 0;
  }
  int rename(std::string_view from, std::string_view to) {
    Node* node = find(from);
    if (node == nullptr || !has_parent(to)) return -ENOENT;
    if (Node* old = find(to); old != nullptr) {
      if (old == node) return 0;
      if (old->type == SISYFS_DIRECTORY && has_entries(to)) return -ENOTEMPTY;
      drop(to);
    }
    if (has(XATTR)) node->xattrs.clear();
    const std::string below = std::string(from) + "/";
    std::vector<Name> moved;
    for (auto at = names_.begin(); at != names_.end();) {
      if (at->second.path != from && at->second.path.compare(0, below.size(), below) != 0) {
        ++at;
        continue;
      }
      moved.push_back({at->second.node, std::string(to) + at->second.path.substr(from.size())});
      at = names_.erase(at);
    }
    for (const Name& name : moved) names_[key_of(name.path)] = name;
    return 0;
  }
  int link(std::string_view from, std::string_view to) {
    const auto at = names_.find(key_of(from));
    if (at == names_.end() || !has_parent(to)) return -ENOENT;
    if (find(to) != nullptr) return -EEXIST;
    const uint64_t id = at->second.node;
    names_[key_of(to)] = {id, std::string(to)};
    ++nodes_[id].links;
    return 0;
  }

  int64_t write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes) {
    Node* node = find(path);
    return node == nullptr ? -ENOENT : put(*node, offset, bytes);
  }
  int64_t write_sync(std::string_view path, uint64_t offset, std::span<const std::byte> bytes) {
    const int64_t count = write(path, offset, bytes);
    if (count < 0) return count;
    const int error = save();
    return error != 0 ? error : count;
  }
  int64_t read(std::string_view path, uint64_t offset, std::span<std::byte> bytes) {
    Node* node = find(path);
    if (node == nullptr) return -ENOENT;
    if (node->type == SISYFS_DIRECTORY) return -EISDIR;
    if (offset >= node->size) return 0;
    const size_t count = std::min<uint64_t>(bytes.size(), node->size - offset);
    const unsigned char* from = node->data.data();
    if (has(STALE)) {
      if (!node->keeps || node->kept.size() != node->size) {
        node->kept.assign(node->data.begin(), node->data.begin() + static_cast<long>(node->size));
        node->keeps = true;
      }
      from = node->kept.data();
    }
    std::memcpy(bytes.data(), from + offset, count);
    return static_cast<int64_t>(count);
  }
  int truncate(std::string_view path, uint64_t size) {
    Node* node = find(path);
    if (node == nullptr) return -ENOENT;
    if (node->type == SISYFS_DIRECTORY) return -EISDIR;
    resize(*node, size);
    return 0;
  }
  int fsync(std::string_view path) { return find(path) == nullptr ? -ENOENT : save(); }
  int fdatasync(std::string_view path) {
    if (has(FDATASYNC) || lazy) return 0;
    return fsync(path);
  }
  int sync() { return save(); }

  int readdir(std::string_view path, const std::function<void(std::string_view)>& name) {
    Node* node = find(path);
    if (node == nullptr) return -ENOENT;
    if (node->type != SISYFS_DIRECTORY) return -ENOTDIR;
    if (!has(LISTED) || !node->keeps) {
      node->listed.clear();
      for (const auto& [key, entry] : names_)
        if (entry.path != "/" && parent_of(entry.path) == path)
          node->listed.push_back(entry.path.substr(entry.path.rfind('/') + 1));
      node->keeps = !node->listed.empty();
    }
    for (const std::string& each : node->listed) name(each);
    return 0;
  }
  int stat(std::string_view path, sisyfs_stat& out) {
    const auto at = names_.find(key_of(path));
    if (at == names_.end()) return -ENOENT;
    const Node& node = nodes_[at->second.node];
    out = {};
    out.type = node.type;
    out.links = node.type == SISYFS_DIRECTORY ? 0 : node.links;
    out.size = node.size;
    out.id = at->second.node;
    return 0;
  }
  int64_t readlink(std::string_view path, std::span<char> content) {
    const Node* node = find(path);
    if (node == nullptr) return -ENOENT;
    std::memcpy(content.data(), node->data.data(), std::min<size_t>(content.size(), node->size));
    return static_cast<int64_t>(node->size);
  }

  int setxattr(std::string_view path, std::string_view name, std::span<const std::byte> value) {
    Node* node = find(path);
    if (node == nullptr) return -ENOENT;
    const auto* bytes = reinterpret_cast<const unsigned char*>(value.data());
    node->xattrs[std::string(name)] = Bytes(bytes, bytes + value.size());
    return 0;
  }
  int64_t getxattr(std::string_view path, std::string_view name, std::span<std::byte> value) {
    const Node* node = find(path);
    if (node == nullptr) return -ENOENT;
    const auto at = node->xattrs.find(std::string(name));
    if (at == node->xattrs.end()) return -ENODATA;
    std::memcpy(value.data(), at->second.data(), std::min(value.size(), at->second.size()));
    return static_cast<int64_t>(at->second.size());
  }
  int listxattr(std::string_view path, const std::function<void(std::string_view)>& name) {
    const Node* node = find(path);
    if (node == nullptr) return -ENOENT;
    for (const auto& [each, value] : node->xattrs) name(each);
    return 0;
  }
  int removexattr(std::string_view path, std::string_view name) {
    Node* node = find(path);
    if (node == nullptr) return -ENOENT;
    return node->xattrs.erase(std::string(name)) != 0 ? 0 : -ENODATA;
  }

 private:
  static std::string parent_of(std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == 0 ? "/" : std::string(path.substr(0, slash));
  }
  Node* find(std::string_view path) {
    const auto at = names_.find(key_of(path));
    return at == names_.end() ? nullptr : &nodes_[at->second.node];
  }
  bool has_parent(std::string_view path) {
    const Node* node = find(parent_of(path));
    return node != nullptr && node->type == SISYFS_DIRECTORY;
  }
  bool has_entries(std::string_view path) {
    return std::any_of(names_.begin(), names_.end(), [&](const auto& each) {
      return each.second.path != "/" && parent_of(each.second.path) == path;
    });
  }
  int add(std::string_view path, uint32_t type) {
    if (!has_parent(path)) return -ENOENT;
    if (find(path) != nullptr) return -EEXIST;
    // The smallest free number, so that equal trees have equal numbers more often.
    uint64_t id = first;
    if (!reuse && !nodes_.empty()) id = std::max(first, nodes_.rbegin()->first + 1);
    while (nodes_.count(id) != 0) ++id;
    nodes_[id].type = type;
    names_[key_of(path)] = {id, std::string(path)};
    return 0;
  }
  void drop(std::string_view path) {
    const auto at = names_.find(key_of(path));
    const uint64_t id = at->second.node;
    names_.erase(at);
    if (--nodes_[id].links == 0) nodes_.erase(id);
  }
  static void resize(Node& node, uint64_t size) {
    if (!has(GROW) || size > node.data.size())
      node.data.resize(size, has(HOLE) && size > node.size + 512 ? 0x5A : 0);
    node.size = size;
  }
  static int64_t put(Node& node, uint64_t offset, std::span<const std::byte> bytes) {
    if (node.type == SISYFS_DIRECTORY) return -EISDIR;
    if (has(ODD)) offset = offset / 512 * 512;
    const uint64_t end = offset + bytes.size();
    if (has(GROW) && offset > node.size && node.data.size() > node.size)
      std::fill(node.data.begin() + static_cast<long>(node.size), node.data.end(), 0);
    if (end > node.size) resize(node, end);
    std::memcpy(node.data.data() + offset, bytes.data(), bytes.size());
    return static_cast<int64_t>(bytes.size());
  }

  uint64_t half_blocks() const { return disk_.block_count / 2; }
  int read_half(int half, Header& h, Bytes& content) const {
    Bytes block(disk_.block_size);
    const uint64_t first = static_cast<uint64_t>(half) * half_blocks();
    if (const int error = disk_.read(&disk_, first, 1, block.data())) return error;
    std::memcpy(&h, block.data(), sizeof h);
    const uint64_t blocks = (uint64_t{h.length} + disk_.block_size - 1) / disk_.block_size;
    if (h.magic != kMagic || h.own_sum != own_sum(h) + label || blocks >= half_blocks()) return 1;
    content.resize(blocks * disk_.block_size);
    if (const int error = disk_.read(&disk_, first + 1, static_cast<uint32_t>(blocks), content.data()))
      return error;
    content.resize(h.length);
    return checksum(content) == h.sum ? 0 : 1;
  }
  int save() {
    Writer out;
    out.number(nodes_.size());
    for (const auto& [id, node] : nodes_) {
      out.number(id);
      out.number(node.type);
      out.number(node.links);
      out.block(Bytes(node.data.begin(), node.data.begin() + static_cast<long>(node.size)));
      out.number(node.xattrs.size());
      for (const auto& [name, value] : node.xattrs) out.text(name), out.block(value);
    }
    out.number(names_.size());
    for (const auto& [key, name] : names_) out.text(name.path), out.number(name.node);
    Header h{kMagic, static_cast<uint32_t>(out.bytes.size()), number_ + 1, checksum(out.bytes), 0};
    h.own_sum = own_sum(h) + label;
    const uint64_t blocks = (out.bytes.size() + disk_.block_size - 1) / disk_.block_size;
    if (blocks >= half_blocks()) return -ENOSPC;
    out.bytes.resize(blocks * disk_.block_size);
    const uint64_t first = h.number % 2 * half_blocks();
    if (const int error = disk_.write(&disk_, first + 1, static_cast<uint32_t>(blocks), out.bytes.data()))
      return error;
    if (const int error = disk_.flush(&disk_)) return error;
    Bytes block(disk_.block_size);
    std::memcpy(block.data(), &h, sizeof h);
    if (const int error = disk_.write(&disk_, first, 1, block.data())) return error;
    if (const int error = disk_.flush(&disk_)) return error;
    number_ = h.number;
    return 0;
  }
  void load(const Bytes& content) {
    Reader in(content);
    for (uint64_t count = in.number(); count-- > 0;) {
      Node& node = nodes_[in.number()];
      node.type = static_cast<uint32_t>(in.number());
      node.links = static_cast<uint32_t>(in.number());
      node.data = in.block();
      node.size = node.data.size();
      for (uint64_t left = in.number(); left-- > 0;) {
        const std::string name = in.text();
        node.xattrs[name] = in.block();
      }
    }
    for (uint64_t count = in.number(); count-- > 0;) {
      const std::string path = in.text();
      names_[key_of(path)] = {in.number(), path};
    }
  }

  static inline bool lazy = false, reuse = true;
  static inline uint64_t first = 2;
  static inline uint32_t label = 6;

  const sisyfs_disk& disk_;
  uint64_t number_ = 0;  // of the last sync
  std::map<uint64_t, Node> nodes_;
  std::map<std::string, Name> names_;  // by key_of(path)
};

SISYFS_PLUGIN(Jotter)
