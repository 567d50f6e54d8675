#include "models/f2fs_check.h"

#include <fmt/format.h>

#include "judge/disk_system.h"
#include "models/f2fs_target.h"

namespace sisyfs::f2fs {
namespace {

// What a power cut leaves of the writes since the last flush, in the order of the option's values.
enum class PowerCuts : uint8_t { kPrefixes, kSubsets, kNone };

}  // namespace

std::vector<OptionSpec> option_specs() {
  return {
      OptionSpec::choice("preset", {"thesis", "small"}, "thesis", "the sizes of the thesis, or few segments"),
      OptionSpec::integer("segments", 0, kMaxSegments, 0, "segments of 4 blocks; 0: as the preset has it"),
      OptionSpec::integer("dentry_blocks", 0, kMaxDentryBlocks, 0,
                          "blocks of a directory, 4 entries each; 0: as the preset has it"),
      OptionSpec::integer("reserved", 0, kMaxSegments, 0,
                          "segments that users cannot fill; 0: as the preset has it"),
      OptionSpec::choice("reuse", {"checkpoint", "lifo", "fifo"}, "checkpoint",
                         "when an empty segment is written again: after a checkpoint, or at once (wrong)"),
      OptionSpec::flag("bitmaps", true, "two copies of SIT and NAT; off: one, written in place (wrong)"),
      OptionSpec::choice("cp_order", {"right", "footer-first", "tables-last"}, "right",
                         "order of a checkpoint's writes; only right is right"),
      OptionSpec::flag("cp_flush", true, "a flush before the footer of a checkpoint; off is wrong"),
      OptionSpec::flag("rollforward", true, "recovery brings fsynced files forward; off is wrong"),
      OptionSpec::integer("files", 1, kNids - 1, 3, "files at a time"),
      OptionSpec::integer("dirs", 0, kNids - 1, 2, "directories at a time"),
      OptionSpec::integer("depth", 1, 4, 2, "names in a path"),
      OptionSpec::integer("write_blocks", 1, kMaxFileBlocks, 6,
                          "the larger write, in blocks; the other is 1"),
      OptionSpec::flag("sync", true, "the workload syncs and remounts"),
      OptionSpec::flag("fsync", true, "the workload fsyncs files"),
      OptionSpec::flag("handles", true, "files are opened, written through the cache, and closed"),
      OptionSpec::flag("one_write", true,
                       "one write for each file and state, as in the thesis, and not each"),
      OptionSpec::integer("system_ops", 1, 1000, 3, "syncs, remounts and power cuts on a path, at most"),
      OptionSpec::choice("crash", {"prefixes", "subsets", "none"}, "prefixes",
                         "what a power cut keeps of the writes since the last flush"),
      OptionSpec::flag("impossible", false, "also try ops that must fail"),
  };
}

Result<Config> config_of(const Options& options) {
  Config c;
  if (options.choice_text("preset") == "small")
    c.segments = 24, c.reserved_segments = 18, c.dentry_blocks = 1;
  if (const auto n = options.integer("segments")) c.segments = static_cast<unsigned>(n);
  if (const auto n = options.integer("dentry_blocks")) c.dentry_blocks = static_cast<unsigned>(n);
  if (const auto n = options.integer("reserved")) c.reserved_segments = static_cast<unsigned>(n);
  if (c.reserved_segments < 18) return bad_input("reserved: logs and cleaning need at least 18 segments");
  if (c.segments < c.reserved_segments + 2)
    return bad_input(
        fmt::format("segments: {} leave no room beside {} reserved ones", c.segments, c.reserved_segments));
  c.reuse = options.choice<Reuse>("reuse");
  c.bitmaps = options.flag("bitmaps");
  c.cp_order = options.choice<CpOrder>("cp_order");
  c.cp_flush = options.flag("cp_flush");
  c.rollforward = options.flag("rollforward");
  return c;
}

Result<std::unique_ptr<Check>> make_check(const Options& options) {
  const Result<Config> config = config_of(options);
  if (!config) return config.error();
  const auto cuts = options.choice<PowerCuts>("crash");
  DiskSetup setup;
  setup.make_target = [config = *config] { return make_target(config); };
  if (options.flag("sync")) setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kSync, OpKind::kRemount);
  if (options.flag("fsync")) setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kFsync);
  if (options.flag("handles")) {
    setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kOpen, OpKind::kClose);
    setup.bounds.handles = true;
  }
  setup.bounds.one_write = options.flag("one_write");
  setup.max_system_ops = static_cast<uint32_t>(options.integer("system_ops"));
  setup.bounds.max_files = static_cast<uint32_t>(options.integer("files"));
  setup.bounds.max_dirs = static_cast<uint32_t>(options.integer("dirs"));
  setup.bounds.max_depth = static_cast<uint32_t>(options.integer("depth"));
  const auto large = static_cast<uint32_t>(options.integer("write_blocks"));
  setup.bounds.write_sizes = large == 1 ? std::vector<uint32_t>{1} : std::vector<uint32_t>{1, large};
  setup.bounds.max_file_size = kMaxFileBlocks;
  setup.bounds.impossible = options.flag("impossible");
  setup.device.cache = WriteCache::kVolatile;
  setup.device.order = cuts == PowerCuts::kSubsets ? WriteOrder::kFree : WriteOrder::kInOrder;
  setup.crashes = cuts != PowerCuts::kNone;
  return make_disk_check(std::move(setup));
}

}  // namespace sisyfs::f2fs
