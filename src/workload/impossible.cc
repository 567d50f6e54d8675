// The ops of a workload that must fail. Each kind of op is tried on a selection of paths; the ops that the
// reference model refuses are generated, with its errno.
#include <algorithm>
#include <cerrno>

#include "workload/workload.h"

namespace sisyfs {

// The paths are: each existing path, a free name in each directory, a name below that free name, and a name
// below each file. A system without directories gets neither the root nor deeper paths.
void Workload::find_paths(const Tree& tree) {
  paths_.clear();
  const bool flat = !has(OpKind::kMkdir);
  auto add = [&](const Path& path, uint32_t depth) {
    if (depth <= bounds_.max_depth) paths_.push_back(path);
  };
  for (const PathNode& p : path_nodes_) {
    if (p.depth > 0 || !flat) add(p.path, p.depth);
    if (p.type == FileType::kFile && p.path.has_room_for(bounds_.names.front())) {
      add(p.path.child(bounds_.names.front()), p.depth + 1);
    }
    if (p.type != FileType::kDirectory) continue;
    each_new_path(tree, p, [&](const Path& path) {
      add(path, p.depth + 1);
      if (path.has_room_for(bounds_.names.front())) add(path.child(bounds_.names.front()), p.depth + 2);
    });
  }
}

void Workload::add_impossible(const Tree& tree, std::vector<Candidate>* out) {
  find_paths(tree);
  Tree scratch = tree;
  auto attempt = [&](const Op& op) {
    const int error = apply(op, scratch).error;
    if (error == 0) {
      scratch = tree;
      return;
    }
    // EBUSY for an open file is a limit of the reference model; a real system may allow the op.
    const bool root = op.path.text() == "/" || op.other.text() == "/";
    const bool limit = error == EBUSY && !root;
    // Whether a file is long enough to be mapped is known before the system is asked.
    const bool mapped = error == EINVAL && (op.kind == OpKind::kWriteMapped || op.kind == OpKind::kMsync);
    if (!limit && !mapped) out->push_back({op, error});
  };
  auto each_path = [&](OpKind kind, auto make) {
    if (!has(kind)) return;
    for (const Path& path : paths_) attempt(make(path));
  };
  auto plain = [&](OpKind kind) { each_path(kind, [&](const Path& path) { return Op::of(kind, path); }); };
  auto each_pair = [&](OpKind kind) {
    if (!has(kind)) return;
    for (const Path& from : paths_) {
      for (const Path& to : paths_) attempt(Op::of(kind, from, to));
    }
  };
  const uint32_t length = bounds_.write_sizes.empty() ? 1 : bounds_.write_sizes.front();

  for (OpKind kind : {OpKind::kCreate, OpKind::kMkdir, OpKind::kUnlink, OpKind::kRmdir}) plain(kind);
  each_pair(OpKind::kRename);
  each_pair(OpKind::kExchange);
  each_pair(OpKind::kRenameNew);
  each_pair(OpKind::kLink);
  each_path(OpKind::kSymlink,
            [&](const Path& path) { return Op::of(OpKind::kSymlink, path, Path(bounds_.names.front())); });
  each_path(OpKind::kWrite, [&](const Path& path) { return Op::write(path, 0, length); });
  each_path(OpKind::kWriteSync, [&](const Path& path) { return Op::write_sync(path, 0, length); });
  for (OpKind kind : {OpKind::kFallocate, OpKind::kFallocateKeep, OpKind::kPunchHole, OpKind::kZeroRange,
                      OpKind::kWriteMapped})
    each_path(kind, [&](const Path& path) { return Op::range(kind, path, 0, length); });
  const uint32_t unit = direct_unit(bounds_.variety.unit);
  each_path(OpKind::kWriteDirect,
            [&](const Path& path) { return Op::range(OpKind::kWriteDirect, path, 0, unit); });
  each_path(OpKind::kAppend, [&](const Path& path) { return Op::append(path, length); });
  each_path(OpKind::kTruncate, [&](const Path& path) { return Op::truncate(path, 0); });
  each_path(OpKind::kRead, [&](const Path& path) { return Op::read(path, 0, length); });
  // Targets differ in whether stat follows a symbolic link, so it is not tried on one.
  for (const Path& path : paths_) {
    Stat stat;
    if (!has(OpKind::kStat) || (tree.lstat(path, &stat) == 0 && stat.type == FileType::kSymlink)) continue;
    attempt(Op::of(OpKind::kStat, path));
  }
  for (OpKind kind : {OpKind::kReaddir, OpKind::kFsync, OpKind::kFdatasync, OpKind::kMsync}) plain(kind);
  if (bounds_.handles) plain(OpKind::kOpen);
  // A handle that is in use is no error of a file system.
  if (bounds_.variety.max_handles != 0 && tree.behind(Tree::kHandles - 1) == kNoNode)
    each_path(OpKind::kOpenHandle,
              [&](const Path& path) { return Op::of(OpKind::kOpenHandle, path, Path("@4")); });
  each_path(OpKind::kChmod, [&](const Path& path) { return Op::chmod(path, 0600); });
  for (const std::string& name : bounds_.xattr_names) {
    for (OpKind kind : {OpKind::kGetxattr, OpKind::kRemovexattr})
      each_path(kind, [&](const Path& path) { return Op::of(kind, path, Path(name)); });
  }
  if (bounds_.xattr_names.empty()) return;
  each_path(OpKind::kSetxattr,
            [&](const Path& path) { return Op::setxattr(path, bounds_.xattr_names.front(), 1); });
  plain(OpKind::kListxattr);
}

}  // namespace sisyfs
