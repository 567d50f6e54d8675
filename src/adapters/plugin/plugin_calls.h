// PluginCalls: turns ops into calls of a plug-in, and the answers into OpResult.
//
// The calls run inside a fence, which leaves them by a jump if the plug-in dies. So memory is allocated
// before, in prepare().
//
//   PluginCalls calls(table);
//   calls.prepare(op);
//   fence.run([&] { result = calls.apply(fs, op); });
#pragma once

#include <sisyfs/plugin.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "adapters/plugin/fence.h"
#include "target/target.h"
#include "workload/op.h"

namespace sisyfs {

// The errno that a negative count stands for; 0: none. A number that is no errno becomes kNoErrno (op.h).
int errno_in(int64_t count);
// The same of a call that returns 0 or an errno: a positive number becomes kNoErrno as well.
int errno_of(int result);

// The handles of a plug-in that are open, by their numbers (Tree::kHandles).
struct PluginHandles {
  std::array<void*, Tree::kHandles> all{};
  uint32_t open = 0;  // a bit for each

  bool has(uint32_t number) const { return number < all.size() && (open >> number & 1) != 0; }
};

class PluginCalls {
 public:
  PluginCalls(const sisyfs_plugin& table, Fence& fence) : table_(table), fence_(fence) {}

  // The ops that this plug-in supports.
  static OpSet ops_of(const sisyfs_plugin& table);

  // Allocates the buffer for what the op writes or reads.
  void prepare(const Op& op);
  // Only inside the fence.
  OpResult apply(void* fs, const Op& op, PluginHandles& handles);

  // The tree as the plug-in shows it, with what is behind its handles. Enters the fence for each call; EIO if
  // the plug-in dies.
  Walk walk(void* fs, const PluginHandles& handles);

 private:
  struct Names {
    Fence* fence;
    std::vector<std::string> names;
    size_t count = 0;  // names in use
  };
  struct Known {
    uint64_t id;
    NodeId node;
    uint32_t links, type;
  };

  static int add_name(void* list, const char* name);

  OpResult write(void* fs, const Op& op, uint64_t offset);
  OpResult read(void* fs, const Op& op);
  OpResult list(void* fs, const Op& op);
  OpResult apply_to_handle(void* fs, const Op& op, PluginHandles& handles);
  OpResult open(void* fs, const Op& op, PluginHandles& handles);
  OpResult written(int64_t count);
  OpResult was_read(const Op& op, int64_t count);
  int walk_root(void* fs, Walk& out);
  int walk_directory(void* fs, NodeId directory, Walk& out);
  int walk_entry(void* fs, NodeId directory, const std::string& name, Walk& out);
  int walk_file(void* fs, NodeId node, uint64_t size, Walk& out);
  int walk_handle(void* fs, void* handle, uint32_t number, Walk& out);
  // Calls read(offset, length) until it has all bytes.
  template <class Read>
  int read_all(NodeId node, uint64_t size, Walk& out, Read read);
  int walk_mode(void* fs, NodeId node, Walk& out);
  int walk_symlink(void* fs, NodeId node, Walk& out);
  int walk_xattrs(void* fs, NodeId node, Walk& out);
  // 0 or an errno; EIO if the call died.
  template <class Call>
  int guarded(Call&& call);

  const sisyfs_plugin& table_;
  Fence& fence_;
  std::vector<std::byte> buffer_;
  std::vector<Names> lists_;  // by depth of the walk
  std::vector<Known> known_;  // files that the walk has visited
  uint64_t left_bytes_ = 0;   // that the walk may still read
  Names names_;
};

}  // namespace sisyfs
