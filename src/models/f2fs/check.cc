#include "models/f2fs/check.h"

#include <fmt/format.h>

#include "finding/disk_check.h"
#include "judge/workload_options.h"
#include "models/f2fs/layout.h"
#include "models/f2fs/target.h"

namespace sisyfs::f2fs {

std::vector<OptionSpec> option_specs() {
  std::vector<OptionSpec> specs = {
      OptionSpec::choice("preset", {"thesis", "small"}, "thesis",
                         "sizes: as in the thesis, or small enough that a few ops fill the disk"),
      OptionSpec::integer("segments", 0, kMaxSegments, 0, "segments of the main area; 0: from the preset"),
      OptionSpec::integer("nids", 0, kMaxNids, 0,
                          "node ids, two of them in use at the start; 0: from the preset"),
      OptionSpec::integer("dentry_blocks", 0, kMaxDentryBlocks, 0,
                          "blocks of a directory, four entries each; 0: from the preset"),
      OptionSpec::integer("user_blocks", 0, kMaxSegments * 4, 0,
                          "blocks that files and nodes may use; 0: from the preset"),
      OptionSpec::integer("block_size", kMinBlockSize, kMaxBlockSize, 148, "bytes of a block"),
      OptionSpec::choice(
          "reuse", {"checkpoint", "lifo", "fifo"}, "checkpoint",
          "when a segment without valid blocks is reused: after a checkpoint, or (wrong) at once"),
      OptionSpec::flag("bitmaps", true, "two copies of SIT and NAT, chosen by bitmaps; off (wrong): one"),
      OptionSpec::choice("cp_order", {"right", "footer-first", "tables-last"}, "right",
                         "what a checkpoint writes last: its footer, or (wrong) its body or its tables"),
      OptionSpec::flag("cp_flush", true, "a flush before the footer of a checkpoint; off (wrong): none"),
      OptionSpec::flag("rollforward", true,
                       "recovery applies files synced after the checkpoint; off (wrong): ignores them"),
      OptionSpec::integer("files", 0, kMaxNids, 3, "files in the workload"),
      OptionSpec::integer("dirs", 0, kMaxNids, 2, "directories in the workload"),
      OptionSpec::integer("depth", 1, 8, 2, "names in a path"),
      OptionSpec::integer("write", 1, kMaxFileBlocks, 6, "blocks of a long write; a short one has one block"),
      OptionSpec::integer("file_blocks", 1, kMaxFileBlocks, kMaxFileBlocks,
                          "blocks of a file in the workload"),
      OptionSpec::flag(
          "eager_dirs", false,
          "each op writes changed directories to the logs, as in the thesis; off: the checkpoint does"),
      OptionSpec::flag("handles", false,
                       "also open and close files; data of an open file stays in the cache"),
      OptionSpec::flag("one_write", true,
                       "try one write for each file and state, as in the thesis; off: all writes"),
      OptionSpec::flag("fsync", true, "also fsync"),
      OptionSpec::flag("remount", true, "also unmount and mount"),
      OptionSpec::integer("system_ops", 1, 1000, 3, "syncs, remounts and power cuts on a path, at most"),
      OptionSpec::flag("impossible", false, "also try ops that must fail"),
  };
  for (OptionSpec& spec : call_specs(Width::kPublished)) specs.push_back(std::move(spec));
  for (OptionSpec& spec : cut_specs()) specs.push_back(std::move(spec));
  specs.push_back(both_ways_spec());
  specs.push_back(start_spec());
  return specs;
}

Config config_of(const Options& options) {
  Config c = options.choice_text("preset") == "small" ? Config::small() : Config{};
  const auto number = [&](const char* name, unsigned fallback) {
    const auto value = static_cast<unsigned>(options.integer(name));
    return value == 0 ? fallback : value;
  };
  const bool resized = options.integer("segments") != 0;
  c.segments = number("segments", c.segments);
  c.nids = number("nids", c.nids);
  c.dentry_blocks = number("dentry_blocks", c.dentry_blocks);
  c.user_blocks = number("user_blocks", resized ? 0 : c.user_blocks);
  c.block_size = static_cast<unsigned>(options.integer("block_size"));
  c.reuse = options.choice<Reuse>("reuse");
  c.bitmaps = options.flag("bitmaps");
  c.order = options.choice<CheckpointOrder>("cp_order");
  c.checkpoint_flush = options.flag("cp_flush");
  c.eager_dirs = options.flag("eager_dirs");
  c.rollforward = options.flag("rollforward");
  return c;
}

Result<DiskSetup> setup_of(const Options& options) {
  const Config config = config_of(options);
  if (config.segments < kLeastSegments)
    return bad_input(fmt::format("segments is at least {}: six logs, and room to clean", kLeastSegments));
  if (config.nids < 3) return bad_input("nids is at least 3: none, the root and one file");
  // Beyond this cleaning may find nothing to gain (measured by long random runs).
  const unsigned most = (config.segments - kLogs - 3) * kSegmentBlocks;
  if (config.capacity() > most)
    return bad_input(fmt::format("user_blocks is at most {} with {} segments", most, config.segments));
  DiskSetup setup;
  setup.kind = kind_of(config);
  set_workload(options, setup);
  return setup;
}

Result<std::unique_ptr<Check>> make_check(const Options& options) {
  Result<DiskSetup> setup = setup_of(options);
  if (!setup) return setup.error();
  return make_disk_check(*std::move(setup));
}

}  // namespace sisyfs::f2fs
