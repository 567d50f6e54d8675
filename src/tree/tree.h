// Tree: the reference model of a POSIX name space with its data.
//
// A tree is the content that a file system should have: directories, files with their bytes, hard links,
// symbolic links, extended attributes. Calls return 0 or the errno that Linux gives; a call that fails
// changes nothing. Copying a tree costs one reference count; the first change after a copy copies one flat
// block of pooled memory. The digest is updated with each change, so comparing two trees compares 16 bytes.
//
//   Tree before = tree;
//   int error = tree.rename("/a", "/d/b");   // 0, ENOENT, EISDIR, ...
//   if (tree == before) ...
//
//   const NodeId d = tree.make(kRootNode, "d", FileType::kDirectory);   // without paths
//   for (const Tree::Entry& entry : tree.children(d)) use(entry.name(), entry.node);
//
//   error = tree.open("/a", "@1");           // a numbered handle
//   error = tree.unlink("/a");
//   error = tree.truncate("@1", 512);
//   error = tree.close("@1");                // now its data is gone
//
// Paths are absolute: "/" or "/d/b", with no empty, "." or ".." component and no slash at the end.
// The target of a symbolic link is any text; an absolute target starts at the tree's root. Not modelled:
// whether permissions allow a call, times, and extended attributes whose names do not start with "user.".
//
// Open files. A tree has kHandles numbered handles, like file descriptors. A call that takes the path of a
// file also takes a handle, "@1". A file that has lost its last name lives on until its last handle is
// closed. Such a file is not covered by digest(): a power cut takes it.
//
// Models whose files are opened and closed by path have one handle for a file: open("/a"), close("/a"). For
// these, removing the last name of an open file is refused.
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

// Identifies a file, directory or symbolic link within one tree, like an inode number. It has no meaning in
// another tree and is not part of digests.
enum class NodeId : uint32_t {};
inline constexpr NodeId kRootNode{0};
inline constexpr NodeId kNoNode{UINT32_MAX};

// Permission bits of a new file, directory or symbolic link.
inline constexpr uint16_t kNewModes[kFileTypes] = {0644, 0755, 0777};
inline constexpr uint16_t kAllModeBits = 0777;

struct Stat {
  FileType type = FileType::kFile;
  uint16_t mode = 0;  // permission bits
  uint32_t links = 0;
  uint64_t size = 0;  // 0 for a directory
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
    NodeId node = kNoNode;  // the node with this name; kNoNode in a free slot
    NodeId parent = kNoNode;
    std::string_view name() const { return text.text(); }

   private:
    friend class Tree;
    Name text;
    uint32_t next = kNoEntry;       // next entry of the directory, in the order of names
    uint32_t next_name = kNoEntry;  // next entry of the same node
  };
  struct Node {
    FileType type = FileType::kFile;
    bool open = false;        // a file that was opened by path
    uint16_t mode = 0;        // permission bits
    uint32_t names = 0;       // number of entries for this node; 0: a free slot
    uint32_t links = 0;       // link count: number of names; for a directory 2 plus its subdirectories
    NodeId parent = kNoNode;  // only for a directory
    Digest path_digest;       // sum of the digests of its paths
    FileData data;            // content of a file, target of a symbolic link
    Xattrs xattrs;            // only for a file or directory

   private:
    friend class Tree;
    uint32_t birth = 0;
    uint32_t first = kNoEntry;  // first entry of a directory
    uint32_t name = kNoEntry;   // first of the entries for this node
    uint32_t handles = 0;       // numbered handles for it
    Digest below;               // of a directory: the sum of the shapes of its children
  };
  // The entries of a directory in the order of names. Valid until the tree changes.
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

  // An empty root directory.
  Tree();

  // Covers names, types, modes, which names are the same file, link counts, sizes, data and attributes. Does
  // not cover open files and their handles, and does not depend on the history of the tree.
  const Digest& digest() const { return body_->digest; }
  friend bool operator==(const Tree& a, const Tree& b) {
    return a.body_.get() == b.body_.get() || a.digest() == b.digest();
  }

  // Covers which files are open and which handle is whose: by their paths, or by the content of a file
  // without a name. Zero if no file is open.
  Digest open_digest() const;
  // Files that are open by path, and numbered handles in use.
  uint32_t open_count() const { return body_->open_count; }
  // Covers the bytes that can be read through each handle. Zero without handles.
  Digest handle_digest() const;
  // What reading back everything shows: the names, and what is behind the handles.
  Digest seen_digest() const { return open_count() == 0 ? digest() : digest() + handle_digest(); }
  // Equal for trees that differ only in names and in order. Covers mode, size, link count and handles of a
  // file, mode and link count of a symbolic link, mode, link count and multiset of entries of a directory,
  // the number of attributes of each, and open files without a name. Does not cover which names are the same
  // file, only how many names it has.
  Digest shape() const;

  // Each returns 0 or an errno. `path` is the path that is created, removed or changed.
  [[nodiscard]] int create(std::string_view path);  // as open with O_CREAT | O_EXCL
  [[nodiscard]] int mkdir(std::string_view path);
  [[nodiscard]] int unlink(std::string_view path);
  [[nodiscard]] int rmdir(std::string_view path);
  [[nodiscard]] int rename(std::string_view from, std::string_view to);
  // As renameat2 with RENAME_EXCHANGE, and with RENAME_NOREPLACE.
  [[nodiscard]] int exchange(std::string_view from, std::string_view to);
  [[nodiscard]] int rename_new(std::string_view from, std::string_view to);
  [[nodiscard]] int link(std::string_view from, std::string_view path);
  [[nodiscard]] int symlink(std::string_view target, std::string_view path);
  // As open with O_WRONLY and then pwrite.
  [[nodiscard]] int write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] int truncate(std::string_view path, uint64_t size);
  // As open with O_WRONLY and then fallocate: with no flag, with FALLOC_FL_KEEP_SIZE, with
  // FALLOC_FL_PUNCH_HOLE, with FALLOC_FL_ZERO_RANGE. What is reserved cannot be seen.
  [[nodiscard]] int fallocate(std::string_view path, uint64_t offset, uint64_t length);
  [[nodiscard]] int fallocate_keep(std::string_view path, uint64_t offset, uint64_t length) const;
  [[nodiscard]] int punch_hole(std::string_view path, uint64_t offset, uint64_t length);
  [[nodiscard]] int zero_range(std::string_view path, uint64_t offset, uint64_t length);
  [[nodiscard]] int chmod(std::string_view path, uint16_t mode);  // follows a last symbolic link

  // As open with O_RDWR, and close of that handle. EBUSY for a second handle, EBADF for closing a file that
  // is not open. While a file is open, removing its last name gives EBUSY.
  [[nodiscard]] int open(std::string_view path);
  // `path` may be a numbered handle: EBADF if it is not in use.
  [[nodiscard]] int close(std::string_view path);
  // As open with O_RDWR, as the handle "@1", "@2", ... EBUSY if that one is in use. A file may have several.
  [[nodiscard]] int open(std::string_view path, std::string_view handle);
  // Closes all handles, as a power cut does.
  void close_all();

  // Extended attributes. A last symbolic link is followed, so only files and directories have attributes.
  [[nodiscard]] int setxattr(std::string_view path, std::string_view name, std::span<const std::byte> bytes);
  [[nodiscard]] int removexattr(std::string_view path, std::string_view name);

  // Output goes to the last argument, and only on success.
  [[nodiscard]] int read(std::string_view path, uint64_t offset, std::span<std::byte> out,
                         size_t* count) const;
  [[nodiscard]] int stat(std::string_view path, Stat* out) const;
  [[nodiscard]] int lstat(std::string_view path, Stat* out) const;
  [[nodiscard]] int readlink(std::string_view path, std::string* target) const;
  [[nodiscard]] int readdir(std::string_view path, Children* children) const;

  // The returned pointers are valid until the tree changes.
  [[nodiscard]] int getxattr(std::string_view path, std::string_view name, const FileData** value) const;
  [[nodiscard]] int listxattr(std::string_view path, const Xattrs** all) const;

  // For a walk that reads back the tree of a system: sets the link count that the system reports, right or
  // wrong. Follows no symbolic link.
  [[nodiscard]] int set_links(std::string_view path, uint32_t links);

  // Access by node instead of by path. A reference to a node is valid until the tree changes. A NodeId is
  // valid in this tree and in copies of it, while its node has a name.
  const Node& node(NodeId id) const { return body_->nodes()[static_cast<uint32_t>(id)]; }
  // Whether a node with this id exists; any id may be asked.
  bool has_node(NodeId id) const {
    return static_cast<uint32_t>(id) < body_->node_limit && node(id).names != 0;
  }
  Children children(NodeId directory) const { return children(node(directory)); }
  Children children(const Node& directory) const { return {body_->entries(), directory.first}; }
  NodeId child(NodeId directory, std::string_view name) const;  // kNoNode if there is none
  // The first of the node's paths.
  std::string path_of(NodeId id) const;
  // Makes a new node. The name must be free in the directory, must not be "", "." or "..", and its memory
  // must not belong to this tree. The target of a symbolic link is set by write().
  NodeId make(NodeId directory, std::string_view name, FileType type);
  // Adds a further name for a file or symbolic link.
  void add_name(NodeId id, NodeId directory, std::string_view name);
  void write(NodeId id, uint64_t offset, std::span<const std::byte> bytes);
  void resize(NodeId id, uint64_t size);
  // Makes these bytes zeros, as far as the file goes.
  void clear(NodeId id, uint64_t offset, uint64_t length);
  void set_links(NodeId id, uint32_t links);
  void set_mode(NodeId id, uint16_t mode);
  // Numbered handles. The number of a handle "@1" is 0; kHandles if it is not the text of one.
  static constexpr uint32_t kHandles = 4;
  static uint32_t handle_in(std::string_view text);
  // The file behind a handle, or kNoNode.
  NodeId behind(uint32_t handle) const { return body_->handles[handle]; }
  // Whether the node is a file that has lost its last name and lives by its handles.
  bool is_nameless(NodeId id) const { return node(id).names == 0 && node(id).handles != 0; }
  bool has_nameless() const;
  // For a walk that reads back the tree of a system: a file that only this free handle leads to.
  NodeId make_nameless(uint32_t handle);
  void set_xattr(NodeId id, std::string_view name, std::span<const std::byte> bytes);

  // A number that no other node of this tree, or of the trees that it was copied from, has had. The root has
  // 0. Two copies of one tree use the same numbers for their different new nodes.
  uint32_t birth(NodeId id) const { return node(id).birth; }
  // The node with this number, or kNoNode if its last name was removed.
  NodeId born(uint32_t birth) const;
  // The same, also if it is an open file without a name.
  NodeId born_or_nameless(uint32_t birth) const;

  // All node ids are below this number.
  size_t node_limit() const { return body_->node_limit; }
  // The number of nodes of a type, including the root and open files without a name.
  uint32_t count(FileType type) const { return body_->counts[static_cast<size_t>(type)]; }

 private:
  // One block of pooled memory: Body, `capacity` nodes, `capacity` entries. Slots below the limits are
  // initialized.
  struct Body {
    RefCount refs;
    uint32_t capacity = 0;
    uint32_t node_limit = 0;
    uint32_t entry_limit = 0;
    uint32_t entry_count = 0;
    uint32_t next_birth = 0;
    uint32_t open_count = 0;
    uint32_t counts[kFileTypes] = {};
    NodeId handles[kHandles] = {kNoNode, kNoNode, kNoNode, kNoNode};
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
  // Whether `id` is `ancestor` or below it.
  bool lies_in(NodeId id, NodeId ancestor) const;
  // Whether removing a name of the node would leave an open file without a name.
  bool is_held(NodeId id) const { return node(id).open && node(id).names == 1; }
  // The body, copied first if it is shared, with room for `more` nodes and entries.
  Body& own(uint32_t more = 0);
  int add(std::string_view path, FileType type, std::string_view data);
  void drop_xattr(NodeId id, std::string_view name);
  int find_for_xattr(std::string_view path, std::string_view name, NodeId* id) const;
  // The file whose range is to be changed.
  int find_range(std::string_view path, uint64_t offset, uint64_t length, NodeId* id) const;
  int set_open(std::string_view path, bool open);
  void set_open(NodeId id, bool open);
  void hold(uint32_t handle, NodeId id);
  void release(uint32_t handle);
  static uint32_t find(const Body& body, NodeId directory, std::string_view name);
  // Insert an entry into the sorted list of its directory, and remove it.
  static void enlist(Body& body, uint32_t entry);
  static void delist(Body& body, uint32_t entry);
  // Removes a name, and with its last name the node.
  void drop_name(NodeId directory, std::string_view name);
  void move(uint32_t entry, NodeId to, std::string_view name);
  static void move_paths(Body& body, NodeId id, const Digest& by);
  // The sum of shapes in `directory` changed by this amount.
  static void add_shape(Body& body, NodeId directory, Digest by);
  // Runs `change` on a node and updates digest and shapes.
  template <class Change>
  static void edit(Body& body, NodeId id, Change change);

  Ref<Body> body_;
};

}  // namespace sisyfs
