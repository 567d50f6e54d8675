// Tree: the reference model of a POSIX name space with its data.
//
// A tree says what a file system should hold: directories, files with their bytes, hard links, symbolic
// links. Calls answer as Linux does: 0, or the errno that Linux gives; a call that fails changes nothing.
// Copying a tree costs one reference count; copies share every node that neither has changed. The
// digest is kept up to date with each change, so that comparing two trees is comparing 32 bytes.
//
//   Tree before = tree;
//   int error = tree.rename("/a", "/d/b");   // 0, ENOENT, EISDIR, ...
//   if (tree == before) ...
//
// Paths are absolute: "/" or "/d/b", with no empty, "." or ".." component and no slash at the end.
// Targets of symbolic links are any text; absolute ones start at the tree's root. Permissions, times and
// open handles are not modelled.
//
// A copy belongs to one thread; different copies may be used in different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "tree/file_data.h"
#include "tree/shared.h"

namespace sisyfs {

enum class FileType : uint8_t { kFile, kDirectory, kSymlink };
inline constexpr size_t kFileTypes = 3;

// Names a file, directory or symbolic link within one tree, as an inode number does. Says nothing in
// another tree, and does not go into digests.
enum class NodeId : uint32_t {};
inline constexpr NodeId kRootNode{0};
inline constexpr NodeId kNoNode{UINT32_MAX};

struct Stat {
  FileType type = FileType::kFile;
  uint32_t links = 0;
  uint64_t size = 0;  // of a directory: 0
  NodeId node = kNoNode;

  friend bool operator==(const Stat&, const Stat&) = default;
};

class Tree {
 public:
  struct Entry {
    std::string name;
    NodeId node;
  };
  struct Node {
    FileType type = FileType::kFile;
    uint32_t names = 0;          // how many entries lead here
    uint32_t links = 0;          // the link count: names; of a directory 2 and one for each directory in it
    uint32_t birth = 0;          // see Tree::birth()
    NodeId parent = kNoNode;     // of a directory
    Digest places;               // the sum over its paths, each a digest
    std::vector<Entry> entries;  // of a directory, by name
    FileData data;               // of a file; of a symbolic link: its target
  };

  // A root directory with nothing in it.
  Tree();

  // Covers names, types, which names are the same file, link counts, sizes and data. Does not
  // depend on how the tree came to be.
  const Digest& digest() const { return body_->digest; }
  friend bool operator==(const Tree& a, const Tree& b) {
    return a.body_.same(b.body_) || a.digest() == b.digest();
  }

  // Each returns 0 or an errno. `path` names what is made or changed.
  [[nodiscard]] int create(std::string_view path);  // as open with O_CREAT | O_EXCL
  [[nodiscard]] int mkdir(std::string_view path);
  [[nodiscard]] int unlink(std::string_view path);
  [[nodiscard]] int rmdir(std::string_view path);
  [[nodiscard]] int rename(std::string_view from, std::string_view to);
  [[nodiscard]] int link(std::string_view from, std::string_view path);
  [[nodiscard]] int symlink(std::string_view target, std::string_view path);
  // As open with O_WRONLY and then pwrite.
  [[nodiscard]] int write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] int truncate(std::string_view path, uint64_t size);

  // Where a call gives something beside the errno, it goes to the last argument, and only on success.
  [[nodiscard]] int read(std::string_view path, uint64_t offset, std::span<std::byte> out,
                         size_t* count) const;
  [[nodiscard]] int stat(std::string_view path, Stat* out) const;
  [[nodiscard]] int lstat(std::string_view path, Stat* out) const;
  [[nodiscard]] int readlink(std::string_view path, std::string* target) const;
  // The entries live until the tree changes.
  [[nodiscard]] int readdir(std::string_view path, std::span<const Entry>* entries) const;

  // For a walk that reads a tree back from a system: that system claims this link count. Follows no
  // symbolic link.
  [[nodiscard]] int set_links(std::string_view path, uint32_t links);

  // For those who walk over nodes instead of paths. The node lives until the tree changes.
  const Node& node(NodeId id) const { return *body_->nodes[static_cast<uint32_t>(id)]; }
  // Which object this is among trees that descend from each other by calls: never given twice in such a
  // line, and kept over renames. The root is 0. Does not go into digests.
  uint32_t birth(NodeId id) const { return node(id).birth; }
  // Whether there is such a node.
  bool has_node(NodeId id) const {
    const auto slot = static_cast<uint32_t>(id);
    return slot < body_->nodes.size() && body_->nodes[slot];
  }
  // Every node has an id below this one.
  size_t node_limit() const { return body_->nodes.size(); }
  // How many there are of a type, the root included.
  uint32_t count(FileType type) const { return body_->counts[static_cast<size_t>(type)]; }

 private:
  struct Body {
    Digest digest;
    uint32_t counts[kFileTypes] = {};
    uint32_t births = 0;              // how many there were, the root not counted
    std::vector<Shared<Node>> nodes;  // a free slot holds nothing
  };
  class Lookup;

  bool is_directory(NodeId id) const { return node(id).type == FileType::kDirectory; }
  // Whether `id` is `ancestor`, or lies below it.
  bool lies_in(NodeId id, NodeId ancestor) const;
  // Adds a new node under a name that is free; returns what keeps it from that, or 0.
  int add(std::string_view path, FileType type, std::string_view data);
  NodeId take_slot();
  void add_name(NodeId parent, std::string_view name, NodeId id);
  // Takes a name away, and the node with its last name.
  void drop_name(NodeId parent, std::string_view name, NodeId id);
  void move_places(NodeId id, const Digest& by);
  // Runs `change` on a node that is this tree's own, and brings the digest up to date.
  template <class Change>
  void edit(NodeId id, Change change);

  Shared<Body> body_;
};

}  // namespace sisyfs
