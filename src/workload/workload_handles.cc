// Ops on numbered handles, and chmod. Each handle gets one write of each kind: the places of a write are
// varied by path.
#include <algorithm>
#include <array>

#include "workload/next_version.h"
#include "workload/workload.h"

namespace sisyfs {
namespace {

Path handle_path(uint32_t handle) {
  const std::array<char, 2> text{'@', static_cast<char>('1' + handle)};
  return Path({text.data(), text.size()});
}

}  // namespace

void Workload::add_numbered(const Tree& tree, std::vector<Candidate>* out) {
  if (bounds_.variety.max_handles == 0) return;
  const uint32_t processes = bounds_.variety.processes, of_one = Tree::kHandles / processes;
  uint32_t all_used = 0;
  for (uint32_t process = 0; process < processes; ++process) {
    uint32_t used = 0, free = Tree::kHandles;
    for (uint32_t i = (process + 1) * of_one; i-- > process * of_one;) {
      if (tree.behind(i) != kNoNode)
        ++used;
      else
        free = i;
    }
    // Which of two processes opens a file first makes no difference: the first one does.
    const bool is_first = process == 0 || all_used != 0;
    all_used += used;
    if (!has(OpKind::kOpenHandle) || used >= bounds_.variety.max_handles / processes || !is_first ||
        free == Tree::kHandles)
      continue;
    for (const PathNode& p : path_nodes_) {
      if (p.type == FileType::kFile && p.first)
        out->push_back({Op::of(OpKind::kOpenHandle, p.path, handle_path(free))});
    }
  }
  for (uint32_t i = 0; i < Tree::kHandles; ++i)
    if (tree.behind(i) != kNoNode) add_through(i, tree.node(tree.behind(i)).data, out);
}

void Workload::add_through(uint32_t handle, const FileData& data, std::vector<Candidate>* out) {
  const Path path = handle_path(handle);
  const uint32_t length = bounds_.write_sizes.empty() ? 0 : bounds_.write_sizes.front();
  const uint64_t size = data.size();
  const auto write = [&](OpKind kind, uint64_t offset) { return Op{kind, 0, 0, length, offset, path, {}}; };
  if (has(OpKind::kWriteHandle) && length != 0 && size != 0 && length <= bounds_.max_file_size)
    out->push_back({next_version(write(OpKind::kWriteHandle, 0), data, bounds_.versions)});
  const bool fits = size <= bounds_.max_file_size && length <= bounds_.max_file_size - size;
  if (has(OpKind::kAppendHandle) && length != 0 && fits) out->push_back({write(OpKind::kAppendHandle, 0)});
  if (has(OpKind::kTruncateHandle) && size != 0) out->push_back({Op::of(OpKind::kTruncateHandle, path)});
  if (has(OpKind::kReadHandle)) {
    Op read = Op::of(OpKind::kReadHandle, path);
    read.length =
        static_cast<uint32_t>(std::max<uint64_t>(std::min<uint64_t>(size, UINT32_MAX), bounds_.variety.unit));
    out->push_back({read});
  }
  for (const OpKind kind :
       {OpKind::kStatHandle, OpKind::kFsyncHandle, OpKind::kFdatasyncHandle, OpKind::kCloseHandle})
    if (has(kind)) out->push_back({Op::of(kind, path)});
}

void Workload::add_modes(const Tree& tree, std::vector<Candidate>* out) {
  if (!has(OpKind::kChmod)) return;
  for (const PathNode& p : path_nodes_) {
    if (p.type == FileType::kSymlink || !p.first) continue;
    for (const uint16_t mode : bounds_.variety.modes) {
      // A directory that may be read may be searched.
      const uint16_t search = p.type == FileType::kDirectory ? (mode & 0444) >> 2 : 0;
      const auto wanted = static_cast<uint16_t>(mode | search);
      if (wanted != tree.node(p.node).mode) out->push_back({Op::chmod(p.path, wanted)});
    }
  }
}

}  // namespace sisyfs
