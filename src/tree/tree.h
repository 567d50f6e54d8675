// Tree: the reference model of a POSIX name space with its data.
//
// A tree says what a file system should hold: directories, files with their bytes, hard links, symbolic
// links, extended attributes. Calls answer as Linux does: 0, or the errno that Linux gives; a call that fails
// changes nothing. Copying a tree costs one reference count; the first change after it copies one flat block
// of pooled memory. The digest is kept up to date with each change, so that comparing two trees is comparing
// 16 bytes.
//
//   Tree before = tree;
//   int error = tree.rename("/a", "/d/b");   // 0, ENOENT, EISDIR, ...
//   if (tree == before) ...
//
//   const NodeId d = tree.make(kRootNode, "d", FileType::kDirectory);   // without paths
//   for (const Tree::Entry& entry : tree.children(d)) use(entry.name(), entry.node);
//
// Paths are absolute: "/" or "/d/b", with no empty, "." or ".." component and no slash at the end.
// Targets of symbolic links are any text; absolute ones start at the tree's root. Permissions and times are
// not modelled, and of extended attributes only those whose names start with "user.". A file has at most one
// open handle, and one that is open keeps its last name: files without a name are not modelled.
//
// A copy belongs to one thread; different copies may be used in different threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/ref.h"
#include "tree/file_data.h"
#include "tree/name.h"
#include "tree/xattrs.h"

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

// A POSIX name space with its data, as a value.
// LARGE CLASS: it has a function for each POSIX call, by path, and for each step of a walk over nodes.
class Tree {
  static constexpr uint32_t kNoEntry = UINT32_MAX;

 public:
  // A name in a directory.
  struct Entry {
    NodeId node = kNoNode;  // what it leads to; of a free slot: nothing
    NodeId parent = kNoNode;
    std::string_view name() const { return text.text(); }

   private:
    friend class Tree;
    Name text;
    uint32_t next = kNoEntry;       // in the directory, in the order of names
    uint32_t next_name = kNoEntry;  // of the same node
  };
  struct Node {
    FileType type = FileType::kFile;
    bool open = false;        // of a file: there is a handle
    uint32_t names = 0;       // how many entries lead here; 0: a free slot
    uint32_t links = 0;       // the link count: names; of a directory 2 and one for each directory in it
    NodeId parent = kNoNode;  // of a directory
    Digest places;            // the sum over its paths, each a digest
    FileData data;            // of a file; of a symbolic link: its target
    Xattrs xattrs;            // of a file or directory

   private:
    friend class Tree;
    uint32_t birth = 0;
    uint32_t first = kNoEntry;  // of a directory: its entries
    uint32_t name = kNoEntry;   // the entries that lead here
    Digest below;               // of a directory: the sum over the shapes of its children
  };
  // The entries of a directory in the order of names. They live until the tree changes.
  class Children {
   public:
    class Iterator {
     public:
      const Entry& operator*() const { return entries_[at_]; }
      const Entry* operator->() const { return entries_ + at_; }
      Iterator& operator++() { return at_ = entries_[at_].next, *this; }
      friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

     private:
      friend class Children;
      Iterator(const Entry* entries, uint32_t at) : entries_(entries), at_(at) {}
      const Entry* entries_;
      uint32_t at_;
    };
    Children() = default;
    Iterator begin() const { return {entries_, first_}; }
    Iterator end() const { return {entries_, kNoEntry}; }
    bool empty() const { return first_ == kNoEntry; }
    size_t size() const;

   private:
    friend class Tree;
    Children(const Entry* entries, uint32_t first) : entries_(entries), first_(first) {}
    const Entry* entries_ = nullptr;
    uint32_t first_ = kNoEntry;
  };

  // A root directory with nothing in it.
  Tree();

  // Covers names, types, which names are the same file, link counts, sizes, data and attributes; not what is
  // open.
  // Does not depend on how the tree came to be.
  const Digest& digest() const { return body_->digest; }
  friend bool operator==(const Tree& a, const Tree& b) {
    return a.body_.get() == b.body_.get() || a.digest() == b.digest();
  }

  // Covers which files are open, by their paths. Zero if none is.
  Digest open_digest() const;
  uint32_t open_count() const { return body_->open_count; }
  // Equal for trees that differ only in names and in order. A file counts with its size, link count and
  // handle, a symbolic link with its link count, a directory with its link count and the multiset of what
  // is in it, and each with the number of its attributes. Which names of different directories are one file
  // is not told, only how many it has.
  Digest shape() const { return shape_of(node(kRootNode)); }

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

  // As open with O_RDWR and close of that handle. A second handle is refused with EBUSY, a close of what
  // is not open with EBADF; so is, with EBUSY, what would take the last name of an open file.
  [[nodiscard]] int open(std::string_view path);
  [[nodiscard]] int close(std::string_view path);
  // Takes away all handles, as a power cut does.
  void close_all();

  // Extended attributes. The last symbolic link is followed, so that only files and directories have any.
  [[nodiscard]] int setxattr(std::string_view path, std::string_view name, std::span<const std::byte> bytes);
  [[nodiscard]] int removexattr(std::string_view path, std::string_view name);

  // Where a call gives something beside the errno, it goes to the last argument, and only on success.
  [[nodiscard]] int read(std::string_view path, uint64_t offset, std::span<std::byte> out,
                         size_t* count) const;
  [[nodiscard]] int stat(std::string_view path, Stat* out) const;
  [[nodiscard]] int lstat(std::string_view path, Stat* out) const;
  [[nodiscard]] int readlink(std::string_view path, std::string* target) const;
  [[nodiscard]] int readdir(std::string_view path, Children* children) const;

  // What these give lives until the tree changes.
  [[nodiscard]] int getxattr(std::string_view path, std::string_view name, const FileData** value) const;
  [[nodiscard]] int listxattr(std::string_view path, const Xattrs** all) const;

  // For a walk that reads a tree back from a system: that system claims this link count. Follows no
  // symbolic link.
  [[nodiscard]] int set_links(std::string_view path, uint32_t links);

  // For those who build and walk over nodes instead of paths. A reference to a node lives until the tree
  // changes; a NodeId stays good while its node has a name, in this tree and in copies of it.
  const Node& node(NodeId id) const { return body_->nodes()[static_cast<uint32_t>(id)]; }
  // Whether there is a node with this id, which may be any.
  bool has_node(NodeId id) const {
    return static_cast<uint32_t>(id) < body_->node_limit && node(id).names != 0;
  }
  Children children(NodeId directory) const { return children(node(directory)); }
  Children children(const Node& directory) const { return {body_->entries(), directory.first}; }
  NodeId child(NodeId directory, std::string_view name) const;  // kNoNode if there is none
  // The first of its paths.
  std::string path_of(NodeId id) const;
  // The name must be free in the directory, not be "", "." or "..", and not lie in this tree. The target of a
  // symbolic link is written to it.
  NodeId make(NodeId directory, std::string_view name, FileType type);
  // A further name for what is not a directory.
  void add_name(NodeId id, NodeId directory, std::string_view name);
  void write(NodeId id, uint64_t offset, std::span<const std::byte> bytes);
  void resize(NodeId id, uint64_t size);
  void set_links(NodeId id, uint32_t links);
  void set_xattr(NodeId id, std::string_view name, std::span<const std::byte> bytes);

  // A number that no other node of this tree, or of those it was copied and changed from, has had. The
  // root has 0. Two trees that were copied from one go on with the same numbers for different nodes.
  uint32_t birth(NodeId id) const { return node(id).birth; }
  // The node that has this number, or kNoNode if it is gone.
  NodeId born(uint32_t birth) const;

  // Every node has an id below this one.
  size_t node_limit() const { return body_->node_limit; }
  // How many there are of a type, the root included.
  uint32_t count(FileType type) const { return body_->counts[static_cast<size_t>(type)]; }

 private:
  // One block of pooled memory: this, `capacity` nodes, `capacity` entries. Slots below the limits are made.
  struct Body {
    RefCount refs;
    uint32_t capacity = 0;
    uint32_t node_limit = 0;
    uint32_t entry_limit = 0;
    uint32_t entry_count = 0;
    uint32_t next_birth = 0;
    uint32_t open_count = 0;
    uint32_t counts[kFileTypes] = {};
    Digest digest;

    Node* nodes() { return reinterpret_cast<Node*>(this + 1); }
    const Node* nodes() const { return reinterpret_cast<const Node*>(this + 1); }
    Entry* entries() { return reinterpret_cast<Entry*>(nodes() + capacity); }
    const Entry* entries() const { return reinterpret_cast<const Entry*>(nodes() + capacity); }
    Node& node(NodeId id) { return nodes()[static_cast<uint32_t>(id)]; }
    uint32_t node_count() const { return counts[0] + counts[1] + counts[2]; }
    static Body* make(uint32_t capacity);
    static Body* copy(const Body& from, uint32_t capacity);
    static void destroy(const Body* body);
  };
  class Lookup;

  static Digest shape_of(const Node& node);
  bool is_directory(NodeId id) const { return node(id).type == FileType::kDirectory; }
  // Whether `id` is `ancestor`, or lies below it.
  bool lies_in(NodeId id, NodeId ancestor) const;
  // Whether a call would take the last name of an open file.
  bool is_held(NodeId id) const { return node(id).open && node(id).names == 1; }
  // The body, after a copy if others share it, with room for `more` nodes and entries.
  Body& own(uint32_t more = 0);
  int add(std::string_view path, FileType type, std::string_view data);
  void drop_xattr(NodeId id, std::string_view name);
  int find_for_xattr(std::string_view path, std::string_view name, NodeId* id) const;
  int set_open(std::string_view path, bool open);
  void set_open(NodeId id, bool open);
  static uint32_t find(const Body& body, NodeId directory, std::string_view name);
  // Put an entry into the list of its directory, by its name, and take it out again.
  static void enlist(Body& body, uint32_t entry);
  static void delist(Body& body, uint32_t entry);
  // Takes a name away, and the node with its last name.
  void drop_name(NodeId directory, std::string_view name);
  void move(uint32_t entry, NodeId to, std::string_view name);
  static void move_places(Body& body, NodeId id, const Digest& by);
  // The shape of something in `directory` changed by this much.
  static void add_shape(Body& body, NodeId directory, Digest by);
  // Runs `change` on a node, and brings digest and shapes up to date.
  template <class Change>
  static void edit(Body& body, NodeId id, Change change);

  Ref<Body> body_;
};

}  // namespace sisyfs
