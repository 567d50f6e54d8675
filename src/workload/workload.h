// Workload: the ops that can be tried from a state.
//
// It is made from objects, not from text: from the tree at hand it gives each op that is possible there,
// once, and no other. A new name is the first of the pool that is free in its directory, so that states
// which differ only in naming are not made twice; a file with several names is written, read and synced by
// the first of them. The order depends on nothing but the tree's content and the bounds.
//
//   Result<Workload> workload = Workload::make(bounds);
//   std::vector<Candidate> ops;                     // kept from state to state
//   workload->from(tree, &ops);
//   for (const Candidate& c : ops) ...              // c.error is what the system has to answer
//
// A workload keeps scratch memory: each thread has its own. No memory is allocated once that and the
// caller's vector have grown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tree/tree.h"
#include "workload/op.h"
#include "workload/path.h"

namespace sisyfs {

// How far a workload goes. Beyond a bound nothing is generated; what is there already stays.
struct Bounds {
  // Which kinds of op. What only looks (read, readdir, stat) and what only waits for the disk (fsync ...)
  // are off unless asked for. kWriteSync gives each write and append once more, with O_SYNC.
  OpSet ops = OpSet(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename,
                    OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate);
  uint32_t max_files = 3;
  uint32_t max_dirs = 2;  // the root not counted
  uint32_t max_symlinks = 1;
  uint32_t max_links = 2;  // names of one file
  uint32_t max_depth = 2;  // names in a path
  std::vector<std::string> names = {"a", "b", "c", "d"};
  // Instead of the first free name, each free name: for systems whose names are not interchangeable.
  bool fixed_names = false;
  std::vector<uint32_t> write_sizes = {1};                      // in bytes, of write and append
  std::vector<uint64_t> write_offsets = {0};                    // in bytes
  std::vector<uint64_t> truncate_sizes = {0};                   // in bytes
  uint64_t max_file_size = 4;                                   // in bytes
  std::vector<std::string> xattr_names = {"user.a", "user.b"};  // of attributes; a new one is the first free
  std::vector<uint32_t> xattr_sizes = {1};                      // in bytes, of their values
  uint32_t versions = 2;    // how many contents an overwritten place takes in turn; 1: always the same bytes
  bool impossible = false;  // also give ops that must fail
  // Files have handles: one is opened first, then written, truncated, synced and closed; and only closed
  // files are removed, renamed or linked. Otherwise nothing is opened, each op on a file does it itself.
  bool handles = false;
  uint32_t max_open = 2;  // files that are open at the same time, with handles
  // Of all writes and appends that a file could get only one is given. Which one follows from a hash of
  // its path, its size and `versions`, so that it is the same in equal trees.
  bool one_write = false;
};

struct Candidate {
  Op op;
  int error = 0;  // the answer of the reference model: 0, or the errno that an impossible op must get
};

class Workload {
 public:
  // Refuses bounds that make no sense (no names, a name with a slash, paths that would not fit).
  static Result<Workload> make(Bounds bounds);

  const Bounds& bounds() const { return bounds_; }

  // Replaces `out` by all possible ops, in order of kind and then of paths, and behind them, if the
  // bounds ask for them, the impossible ones. Names that a Path cannot hold are passed over.
  void from(const Tree& tree, std::vector<Candidate>* out);

 private:
  // One name in the tree. Places are in the order of paths, each directory before what it holds.
  struct Place {
    Path path;
    NodeId node;
    NodeId parent;
    FileType type;
    bool first;        // no earlier place leads to the same node
    uint32_t depth;    // names in the path
    uint32_t deepest;  // the same for the deepest place below it
    size_t end;        // the first place that is not below it
  };

  explicit Workload(Bounds bounds) : bounds_(std::move(bounds)) {}

  void find_places(const Tree& tree);
  void find_places_in(const Tree& tree, size_t directory);
  bool has(OpKind kind) const { return bounds_.ops.has(kind); }

  void add_new(const Tree& tree, OpKind kind, std::vector<Candidate>* out);
  void add_removals(const Tree& tree, std::vector<Candidate>* out);
  void add_renames(const Tree& tree, std::vector<Candidate>* out);
  void add_links(const Tree& tree, std::vector<Candidate>* out);
  void add_writes(const Tree& tree, std::vector<Candidate>* out);
  void add_points(const Tree& tree, std::vector<Candidate>* out);
  void add_truncates(const Tree& tree, std::vector<Candidate>* out);
  void add_syncs(const Tree& tree, std::vector<Candidate>* out);
  void add_xattrs(const Tree& tree, std::vector<Candidate>* out);
  void add_handles(const Tree& tree, std::vector<Candidate>* out);
  void add_impossible(const Tree& tree, std::vector<Candidate>* out);
  void find_paths(const Tree& tree);
  // Calls use(op) for each write and append that the file could get.
  template <class Use>
  void each_write(const Path& path, const FileData& data, Use use) const;
  // With handles: whether ops on the file itself, or on its names, must wait.
  bool is_shut(const Tree& tree, const Place& p) const {
    return bounds_.handles && p.type == FileType::kFile && !tree.node(p.node).open;
  }
  bool is_held(const Tree& tree, const Place& p) const { return bounds_.handles && tree.node(p.node).open; }

  // Calls use(path) for each new name that may be given in the directory.
  template <class Use>
  void each_new_path(const Tree& tree, const Place& directory, Use use) const;

  Bounds bounds_;
  std::vector<Place> places_;  // scratch
  std::vector<uint8_t> seen_;  // scratch: nodes that a place has led to
  std::vector<Path> paths_;    // scratch: paths to try the impossible on
};

template <class Use>
void Workload::each_new_path(const Tree& tree, const Place& directory, Use use) const {
  if (directory.depth >= bounds_.max_depth) return;
  for (const std::string& name : bounds_.names) {
    if (tree.child(directory.node, name) != kNoNode || !directory.path.has_room_for(name)) continue;
    use(directory.path.child(name));
    if (!bounds_.fixed_names) return;
  }
}

}  // namespace sisyfs
