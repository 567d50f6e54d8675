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

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "adapters/plugin/fence.h"
#include "target/target.h"
#include "workload/op.h"

namespace sisyfs {

// The errno that a negative result stands for; 0: none. A number that is no errno becomes kNoErrno (op.h).
int errno_in(int64_t result);

class PluginCalls {
 public:
  PluginCalls(const sisyfs_plugin& table, Fence& fence) : table_(table), fence_(fence) {}

  // The ops that this plug-in supports.
  static OpSet ops_of(const sisyfs_plugin& table);

  // Allocates the buffer for what the op writes or reads.
  void prepare(const Op& op);
  // Only inside the fence.
  OpResult apply(void* fs, const Op& op);

  // The tree as the plug-in shows it. Enters the fence for each call; EIO if the plug-in dies.
  Walk walk(void* fs);

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
  int walk_root(void* fs, Walk& out);
  int walk_directory(void* fs, NodeId directory, Walk& out);
  int walk_entry(void* fs, NodeId directory, const std::string& name, Walk& out);
  int walk_file(void* fs, NodeId node, uint64_t size, Walk& out);
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
