// Workload: the ops that can be tried from a state.
//
// Ops are generated from the objects of the current tree: each op that is possible, once, and no other. A new
// name is the first name of the pool that is free in its directory, so states that differ only in naming are
// not generated twice. A file with several names is written, read and synced by the first of them. The order
// depends only on the content of the tree and on the bounds.
//
//   Result<Workload> workload = Workload::make(bounds);
//   std::vector<Candidate> ops;                     // reused from state to state
//   workload->from(tree, &ops);
//   for (const Candidate& c : ops) ...              // c.error is the answer that the system must give
//
// A workload has scratch memory, so each thread needs its own. Nothing is allocated once that memory and the
// caller's vector have grown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tree/tree.h"
#include "workload/name_pool.h"
#include "workload/op.h"
#include "workload/path.h"

namespace sisyfs {

// The names of the ballast of a start (machine/start_image.h) begin so.
inline constexpr std::string_view kBallastName = "old";

// What makes a workload wider than whole units at fixed places.
struct Variety {
  uint32_t unit = 1;            // in bytes; bounds_for() sets it
  bool write_steps = false;     // also write one unit before and one unit beyond the end of a file
  bool truncate_steps = false;  // also make a file one unit shorter and one unit longer
  // Also write and truncate within units: bounds_for() adds to the pools, and files are truncated to one byte
  // less and one byte more.
  bool odd = false;
  NameStyle names = NameStyle::kPlain;  // bounds_for() replaces Bounds::names for the other styles
  // Numbered handles that are open at the same time; 0: none. Files are removed, renamed and replaced under
  // them, and are also used by path.
  uint32_t max_handles = 0;
  // With 2, the handles from "@3" on are those of a second process. Each may have max_handles / 2 of them.
  uint32_t processes = 1;
  std::vector<uint16_t> modes;  // that chmod sets; of directories with the right to search
  // What lies in the root under a name that is not one of Bounds::names is a ballast: no op names it, and its
  // files and directories do not count.
  bool ballast = false;
};

// What offsets and lengths of write_direct are multiples of, for a system that is written in these units: the
// kernel refuses others, or writes them as if they were not direct.
constexpr uint32_t direct_unit(uint32_t unit) { return unit > 1 ? unit : 512; }

// Limits of a workload. Ops that would exceed a limit are not generated.
struct Bounds {
  // The kinds of op. Ops that only read (read, readdir, stat) or only wait for the disk (fsync ...) are off
  // by default. kWriteSync adds each write and append once more, with O_SYNC; so do kWriteDirect those of
  // whole units (direct_unit), and kWriteMapped those within the file.
  OpSet ops = OpSet(OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir, OpKind::kRename,
                    OpKind::kWrite, OpKind::kAppend, OpKind::kTruncate);
  uint32_t max_files = 3;
  uint32_t max_dirs = 2;  // without the root
  uint32_t max_symlinks = 1;
  uint32_t max_links = 2;  // names of one file
  uint32_t max_depth = 2;  // names in a path
  std::vector<std::string> names = {"a", "b", "c", "d"};
  // Try each free name instead of the first one: for systems whose names are not interchangeable.
  bool fixed_names = false;
  std::vector<uint32_t> write_sizes = {1};                      // in bytes, of write and append
  std::vector<uint64_t> write_offsets = {0};                    // in bytes
  std::vector<uint64_t> truncate_sizes = {0};                   // in bytes
  uint64_t max_file_size = 4;                                   // in bytes
  std::vector<std::string> xattr_names = {"user.a", "user.b"};  // a new attribute gets the first free name
  std::vector<uint32_t> xattr_sizes = {1};                      // in bytes, of attribute values
  Variety variety;
  uint32_t versions = 2;    // number of contents that overwrites cycle through; 1: always the same bytes
  bool impossible = false;  // also generate ops that must fail
  // With handles, a file must be open to be written, truncated or synced, and closed to be removed, renamed
  // or linked. Without, each op on a file opens and closes it.
  bool handles = false;
  uint32_t max_open = 2;  // with handles: files that are open at the same time
  // Generate only one of all writes and appends possible for a file. A hash of its path, its size and
  // `versions` selects it, so that equal trees get the same one.
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

  // Sets `out` to all possible ops, ordered by kind and then by paths, followed by the impossible ones if the
  // bounds ask for them. Names that a Path cannot hold are skipped.
  void from(const Tree& tree, std::vector<Candidate>* out);

 private:
  // A path of the tree and its node. They are in the order of paths, each directory before its entries.
  struct PathNode {
    Path path;
    NodeId node;
    NodeId parent;
    FileType type;
    bool first;        // the first path of the node
    uint32_t depth;    // names in the path
    uint32_t deepest;  // names in the longest path below it
    size_t end;        // index of the next path that is not below it
  };

  explicit Workload(Bounds bounds) : bounds_(std::move(bounds)) {}

  void find_path_nodes(const Tree& tree);
  void find_path_nodes_in(const Tree& tree, size_t directory);
  // Counts what is in the ballast.
  void leave_out(const Tree& tree, NodeId id);
  uint32_t count(const Tree& tree, FileType type) const {
    return tree.count(type) - left_out_[static_cast<size_t>(type)];
  }
  bool has(OpKind kind) const { return bounds_.ops.has(kind); }

  void add_new(const Tree& tree, OpKind kind, std::vector<Candidate>* out);
  void add_removals(const Tree& tree, std::vector<Candidate>* out);
  void add_renames(const Tree& tree, std::vector<Candidate>* out);
  void add_links(const Tree& tree, std::vector<Candidate>* out);
  void add_writes(const Tree& tree, std::vector<Candidate>* out);
  void add_queries(const Tree& tree, std::vector<Candidate>* out);
  void add_truncates(const Tree& tree, std::vector<Candidate>* out);
  // Calls use(size) for each size that a file of this size could get.
  template <class Use>
  void each_truncate(uint64_t size, Use use) const;
  void add_syncs(const Tree& tree, std::vector<Candidate>* out);
  void add_xattrs(const Tree& tree, std::vector<Candidate>* out);
  void add_handles(const Tree& tree, std::vector<Candidate>* out);
  void add_numbered(const Tree& tree, std::vector<Candidate>* out);
  void add_through(uint32_t handle, const FileData& data, std::vector<Candidate>* out);
  void add_modes(const Tree& tree, std::vector<Candidate>* out);
  void add_exchanges(const Tree& tree, std::vector<Candidate>* out);
  void add_ranges(const Tree& tree, std::vector<Candidate>* out);
  // Calls use(offset, length) for each range of a file of this size that an op of this kind is tried on.
  template <class Use>
  void each_range(OpKind kind, uint64_t size, Use use) const;
  bool admits(OpKind kind, const Op& op, uint64_t size) const;
  void add_impossible(const Tree& tree, std::vector<Candidate>* out);
  void find_paths(const Tree& tree);
  // Calls use(offset) for each offset at which a file of this size could be written.
  template <class Use>
  void each_offset(uint64_t size, Use use) const;
  // Calls use(op) for each write and append that the file could get.
  template <class Use>
  void each_write(const Path& path, const FileData& data, Use use) const;
  // With handles: whether the file must be opened before ops on its content, or is open and must be closed
  // before ops on its names.
  bool needs_open(const Tree& tree, const PathNode& p) const {
    return bounds_.handles && p.type == FileType::kFile && !tree.node(p.node).open;
  }
  bool is_open(const Tree& tree, const PathNode& p) const {
    return bounds_.handles && tree.node(p.node).open;
  }

  // Calls use(path) for each new path that may be made in the directory.
  template <class Use>
  void each_new_path(const Tree& tree, const PathNode& directory, Use use) const;

  Bounds bounds_;
  std::vector<PathNode> path_nodes_;    // scratch
  std::vector<uint8_t> seen_;           // scratch: nodes that were already visited
  std::vector<Path> paths_;             // scratch: paths for impossible ops
  uint32_t left_out_[kFileTypes] = {};  // scratch: nodes of the ballast
};

template <class Use>
void Workload::each_new_path(const Tree& tree, const PathNode& directory, Use use) const {
  if (directory.depth >= bounds_.max_depth) return;
  for (const std::string& name : bounds_.names) {
    if (tree.child(directory.node, name) != kNoNode || !directory.path.has_room_for(name)) continue;
    use(directory.path.child(name));
    if (!bounds_.fixed_names) return;
  }
}

}  // namespace sisyfs
