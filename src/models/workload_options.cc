#include "models/workload_options.h"

namespace sisyfs {

void set_workload(const Options& options, DiskSetup& setup) {
  const auto count = [&](const char* name) { return static_cast<uint32_t>(options.integer(name)); };
  Bounds& bounds = setup.bounds;
  bounds.ops = bounds.ops | OpSet(OpKind::kSync);
  if (options.flag("fsync")) bounds.ops = bounds.ops | OpSet(OpKind::kFsync);
  if (options.has("sync_writes") && options.flag("sync_writes"))
    bounds.ops = bounds.ops | OpSet(OpKind::kWriteSync);
  if (options.flag("remount")) bounds.ops = bounds.ops | OpSet(OpKind::kRemount);
  bounds.handles = options.flag("handles");
  if (bounds.handles) bounds.ops = bounds.ops | OpSet(OpKind::kOpen, OpKind::kClose);
  bounds.one_write = options.flag("one_write");
  bounds.max_files = count("files");
  bounds.max_dirs = count("dirs");
  bounds.max_depth = count("depth");
  bounds.names = {"a", "b", "c", "d", "e", "f", "g", "h"};  // more than a small directory holds
  bounds.write_sizes = {1};
  if (count("write") != 1) bounds.write_sizes.push_back(count("write"));
  bounds.max_file_size = count("file_blocks");
  bounds.impossible = options.flag("impossible");
  setup.max_system_ops = count("system_ops");
  setup.device.order = options.choice_text("crash") == "prefixes" ? WriteOrder::kInOrder : WriteOrder::kFree;
  setup.crashes = options.choice_text("crash") != "none";
}

}  // namespace sisyfs
