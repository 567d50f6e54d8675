#include "adapters/plugin/plugin_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "adapters/kernel/tool.h"
#include "adapters/plugin/determinism.h"
#include "adapters/plugin/plugin_host.h"
#include "adapters/plugin/plugin_options.h"
#include "adapters/plugin/plugin_target.h"
#include "adapters/plugin/process_guard.h"
#include "adapters/recorded/recorded_setup.h"
#include "disk/media.h"
#include "disk/wear.h"
#include "finding/disk_check.h"
#include "judge/catalogue.h"
#include "judge/flash_options.h"
#include "judge/workload_options.h"
#include "machine/usable.h"

namespace sisyfs {
namespace {

constexpr uint64_t kBlocks = 256;
constexpr uint32_t kBlockSize = 512;

// Another process has tried whether the plug-in is deterministic.
bool trials_done = false;

// A mount that recovers is judged without the fsck that the plug-in also has.
bool recovers_alone(const sisyfs_plugin& t) {
  return t.fsck != nullptr && (t.promises & SISYFS_MOUNT_RECOVERS) != 0;
}

// `own`: those that the plug-in declares.
std::vector<OptionSpec> option_specs(const sisyfs_plugin& t, const std::vector<OptionSpec>& own) {
  const auto or_else = [](uint64_t value, uint64_t fallback) {
    return static_cast<int64_t>(value != 0 ? value : fallback);
  };
  std::vector<OptionSpec> specs = {
      OptionSpec::integer("block", 1, 65536, or_else(t.block_size, kBlockSize),
                          "bytes of a block of the disk"),
      OptionSpec::integer("blocks", 1, int64_t{1} << 32, or_else(t.block_count, kBlocks),
                          "blocks of the disk"),
      OptionSpec::integer("erase_blocks", 0, 65536, t.erase_blocks,
                          "raw flash: blocks of an erase unit; 0: a disk"),
      OptionSpec::integer("unit", 1, 65536, or_else(t.write_unit, or_else(t.block_size, kBlockSize)),
                          "bytes; sizes and offsets of the workload are multiples of this"),
      OptionSpec::choice("contract", {"claimed", "atomic", "ordered", "names", "fsync", "structure"},
                         "claimed",
                         "what must survive a power cut: what the plug-in claims, or another contract"),
      OptionSpec::integer("files", 1, 8, 2, "files in the workload"),
      OptionSpec::integer("dirs", 0, 8, 1, "directories in the workload"),
      OptionSpec::integer("depth", 1, 8, 2, "names in a path of the workload"),
      OptionSpec::integer("write", 1, 4096, 1, "a second size of writes, in units; 1: none"),
      OptionSpec::integer("file_blocks", 1, 4096, 2, "units of a file in the workload"),
      OptionSpec::flag("fsync", true, "also fsync, where the plug-in has it"),
      OptionSpec::flag("sync_writes", true, "also writes with O_SYNC, where the plug-in has them"),
      OptionSpec::flag("remount", true, "also unmount and mount"),
      OptionSpec::flag("links", true, "also hard and symbolic links, where the plug-in has them"),
      OptionSpec::flag("xattrs", true, "also extended attributes, where the plug-in has them"),
      OptionSpec::flag("one_write", false, "try one write for each file and state; off: all writes"),
      OptionSpec::flag("impossible", false, "also try ops that must fail"),
      OptionSpec::integer("system_ops", 1, 1000, 3, "syncs, remounts and power cuts on a path, at most"),
  };
  if (t.open != nullptr)
    specs.push_back(OptionSpec::flag(
        "handles", false, "also open files, which are removed, renamed and replaced while they are open"));
  if (t.chmod != nullptr) specs.push_back(OptionSpec::flag("modes", false, "also chmod"));
  for (OptionSpec& spec : call_specs(Width::kWide)) specs.push_back(std::move(spec));
  specs.push_back(OptionSpec::flag(
      "odd", false, "also sizes and offsets that are no multiple of `unit`, where the plug-in takes any"));
  specs.push_back(names_spec());
  for (OptionSpec& spec : cut_specs("", kPlainDiskCuts)) specs.push_back(std::move(spec));
  for (OptionSpec& spec : log_specs()) specs.push_back(std::move(spec));
  const FlashClaims flash{.nor = (t.promises & SISYFS_NOR_FLASH) != 0,
                          .handles_bad_units = (t.promises & SISYFS_HANDLES_BAD_UNITS) != 0};
  for (OptionSpec& spec : flash_specs(flash, static_cast<uint32_t>(or_else(t.block_size, kBlockSize))))
    specs.push_back(std::move(spec));
  specs.push_back(both_ways_spec(recovers_alone(t)));
  specs.push_back(first_mount_spec());
  specs.push_back(start_spec());
  specs.push_back(
      OptionSpec::integer("failures", 0, 3, 0, "disk accesses and allocations that fail on a path, at most"));
  specs.push_back(OptionSpec::choice("fail", {"both", "disk", "memory"}, "both",
                                     "what fails with failures=N: disk accesses, allocations, or both"));
  specs.push_back(OptionSpec::choice(
      "clock", {"moved", "fixed"}, "moved",
      "check before the search that the plug-in writes the same at another time of day (moved), or "
      "not (fixed); the clock stands still in the search"));
  specs.push_back(OptionSpec::integer("memory", 1, 4096, 64, "MiB of memory that the plug-in may use"));
  specs.push_back(OptionSpec::integer("seconds", 1, 3600, 10, "time limit of one call"));
  specs.push_back(OptionSpec::choice("prints", {"hide", "show"}, "hide",
                                     "what the plug-in prints: nowhere, or to standard error"));
  specs.insert(specs.end(), own.begin(), own.end());
  return specs;
}

Result<Geometry> geometry_of(const Options& options) {
  const Geometry geometry{static_cast<uint32_t>(options.integer("block")),
                          BlockCount(static_cast<uint64_t>(options.integer("blocks"))),
                          static_cast<uint32_t>(options.integer("erase_blocks"))};
  if (geometry.erase_blocks != 0 && geometry.block_count.value % geometry.erase_blocks != 0)
    return bad_input(fmt::format("blocks={} is not a whole number of erase units of {}",
                                 geometry.block_count.value, geometry.erase_blocks));
  return geometry;
}

// Checks that format, mount and walk work. A fault here comes before any trace, so it is an error and no
// finding.
Status try_start(PluginHost& host, const DiskSetup& setup, FreshContent fresh) {
  const std::unique_ptr<Target> target = setup.kind.make();
  Media disk{with_bad_units(fresh_image(setup.kind.disks, fresh), setup.failures.bad_units)};
  const auto tell = [&](const char* call, int error) -> Status {
    if (target->has_faults()->take_faults() != 0)
      return system_error(fmt::format("{} cannot be brought to its start: {}", host.code().path(),
                                      target->has_faults()->fault_text()));
    if (error == 0) return {};
    return bad_input(fmt::format("{} cannot be brought to its start: {} answers {}", host.code().path(), call,
                                 errno_text(error)));
  };
  if (Status s = tell("format", target->format(disk)); !s) return s;
  if (Status s = tell("mount", target->mount(disk)); !s) return s;
  const Walk walk = target->walk();
  if (Status s = tell("a look at the root directory", walk.error < kNoErrno ? walk.error : 0); !s) return s;
  if (walk.error == 0) return {};
  return bad_input(
      fmt::format("{} cannot be brought to its start: {}", host.code().path(), error_text(walk)));
}

// Checks that a fresh file system has room for the file of the trial of use. Otherwise no recovery would pass
// that trial. Everything else that goes wrong here the search finds.
Status try_room(PluginHost& host, const DiskSetup& setup, FreshContent fresh) {
  const std::unique_ptr<Target> target = setup.kind.make();
  Media disk{fresh_image(setup.kind.disks, fresh)};
  if (target->format(disk) != 0 || target->mount(disk) != 0) return {};
  Walk walk = target->walk();
  if (walk.error != 0) return {};
  const std::optional<Op> refused = refused_for_space(
      setup.kind, *target, disk, bounds_for(setup.kind, setup.bounds), std::move(walk.tree));
  (void)target->has_faults()->take_faults();
  if (!refused) return {};
  return bad_input(fmt::format(
      "the disk of {} blocks of {} bytes is too small for {}: '{}' answers ENOSPC on a "
      "fresh file system (--disk, or block_count in its table)",
      host.geometry().block_count.value, host.geometry().block_size, host.code().path(), to_text(*refused)));
}

// Whether its fsck is a program: one of those that are built with this one.
bool runs_a_tool(const PluginCode& code) {
  const std::string name = code.path().substr(code.path().rfind('/') + 1);
  return std::any_of(bundled_plugins().begin(), bundled_plugins().end(), [&](const BundledPlugin& plugin) {
    return name == fmt::format("libsisyfs_{}.so", plugin.name);
  });
}

Result<DiskSetup> make_setup(const std::shared_ptr<PluginCode>& code, const Options& options) {
  Result<std::optional<LogFiles>> log =
      LogFiles::open(options, static_cast<uint32_t>(options.integer("block")));
  if (!log) return log.error();
  const bool plays = log->has_value();
  if (plays && (options.differs("blocks") || options.integer("erase_blocks") != 0))
    return bad_input("blocks and erase_blocks cannot be set with --base, which is the disk");
  const Result<Geometry> geometry = plays ? Result<Geometry>((*log)->disk()) : geometry_of(options);
  if (!geometry) return geometry.error();
  if (plays && geometry->block_size != static_cast<uint32_t>(options.integer("block")))
    return bad_input(fmt::format("the entries of the log are no whole blocks of {} bytes: --set block={}",
                                 options.integer("block"), geometry->block_size));
  PluginClaims claims;
  claims.unit = static_cast<uint32_t>(options.integer("unit"));
  if (const std::string_view name = options.choice_text("contract"); name != "claimed")
    claims.contract = *parse_contract(name);
  if (!takes_any_byte(code->table()) && claims.unit % code->table().write_unit != 0)
    return bad_input(
        fmt::format("unit={} is not a multiple of the plug-in's {}", claims.unit, code->table().write_unit));
  if (options.choice_text("prints") == "show") show_prints();
  if (options.flag("odd") && !takes_any_byte(code->table()))
    return bad_input(
        fmt::format("odd=on needs a plug-in that takes any size and offset, and this one takes "
                    "multiples of {} bytes (write_unit)",
                    code->table().write_unit));
  if (options.flag("odd") && claims.unit == 1)
    return bad_input("odd=on tries sizes and offsets within a unit, and unit=1 leaves none");
  code->fence().set_limits({.seconds = static_cast<double>(options.integer("seconds"))});
  if (Status s = configure_plugin(code->table(), code->fence(), options); !s) return s.error();
  auto host = std::make_shared<PluginHost>(code, *geometry);
  host->set_memory_limit(static_cast<uint64_t>(options.integer("memory")) << 20);
  DiskSetup setup;
  setup.kind = plugin_kind(host, claims);
  if (Status s = set_flash(options, setup); !s) return s.error();
  if (!plays)
    if (Status s = try_start(*host, setup, fresh_of(options)); !s) return s.error();
  setup.failures.most = static_cast<uint32_t>(options.integer("failures"));
  setup.failures.disk = options.choice_text("fail") != "memory";
  setup.failures.memory = options.choice_text("fail") != "disk";
  if (options.flag("links")) setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kLink, OpKind::kSymlink);
  if (options.flag("xattrs"))
    setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kSetxattr, OpKind::kRemovexattr);
  setup.trouble = [host] { return host->trouble(); };
  setup.edges = [host] { return host->edges(); };
  set_workload(options, setup);
  setup.recovery.with_first_write = true;
  setup.recovery.mount_alone = recovers_alone(code->table());
  if (runs_a_tool(*code)) {
    const Status watched = can_watch_tools();
    setup.kind.repairs = watched ? kWatchedRepairs : watched.error().message;
  }
  if (geometry->erase_blocks != 0) {
    for (const char* name : {"device", "atomic", "write_cache", "discarded", "fresh"})
      if (options.differs(name))
        return bad_input(fmt::format("{} is an option of disks, and this plug-in is on raw flash", name));
    const bool torn_bits = setup.cuts.device.torn_bits;
    setup.cuts.device = *DeviceModel::preset("nand");
    setup.cuts.device.flash = options.choice_text("crash") != "prefixes";
    setup.cuts.device.torn_bits = torn_bits;
  }
  if (plays) {
    if (Status s = play_log(*std::move(*log), options, setup); !s) return s.error();
    host->forget_edges();
    return setup;
  }
  const bool fixed_clock = options.choice_text("clock") == "fixed";
  if (!trials_done || host->memory() == nullptr)
    if (Status s = check_determinism(*host, setup.kind, setup.bounds, fixed_clock); !s) return s.error();
  if (!trials_done || options.differs("blocks"))
    if (Status s = try_room(*host, setup, fresh_of(options)); !s) return s.error();
  host->forget_edges();  // the trial runs above belong to no state
  return setup;
}

Result<std::unique_ptr<Check>> make_check(const std::shared_ptr<PluginCode>& code, const Options& options) {
  Result<DiskSetup> setup = make_setup(code, options);
  if (!setup) return setup.error();
  return make_disk_check(*std::move(setup));
}

}  // namespace

void skip_plugin_trials() { trials_done = true; }

std::span<const BundledPlugin> bundled_plugins() {
  static constexpr BundledPlugin kAll[] = {
      {"libext2fs", "ext2 by libext2fs, written back when it is told to; repaired by the real e2fsck"},
      {"fuse2fs", "the same, written back as fuse2fs does it"},
      {"libext2fs_sync", "the same, written back after every call"},
      {"libntfs", "NTFS by libntfs-3g; ntfsfix repairs what it can"},
  };
  return kAll;
}

// The plain names are those of the kernel's file systems. A row ends where a target of that name begins.
std::span<const RenamedPlugin> renamed_plugins() {
  static constexpr RenamedPlugin kAll[] = {
      {"ext2_sync", "libext2fs_sync"},
      {"ntfs", "libntfs"},
  };
  return kAll;
}

bool is_plugin(std::string_view target) {
  const auto named = [&](const BundledPlugin& plugin) { return target == plugin.name; };
  return target.find('/') != std::string_view::npos || target.ends_with(".so") ||
         std::any_of(bundled_plugins().begin(), bundled_plugins().end(), named);
}

Result<std::string> plugin_path(const std::string& target) {
  if (target.find('/') != std::string::npos || target.ends_with(".so")) return target;
  Result<std::string> path = bundled_library("libsisyfs_" + target + ".so");
  if (path) return path;
  return bad_input(fmt::format(
      "the target {} was not built: it needs {} when Sisyfs is configured, and ./sisyfs installs it", target,
      target == "libntfs" ? "ntfs-3g-dev" : "libext2fs-dev"));
}

Result<CheckEntry> plugin_entry(const std::string& target) {
  const Result<std::string> path = plugin_path(target);
  if (!path) return path.error();
  const Result<std::shared_ptr<PluginCode>> code = PluginCode::open(*path);
  if (!code) return code.error();
  const sisyfs_plugin& table = (*code)->table();
  return CheckEntry{.name = target,
                    .summary = table.summary != nullptr ? table.summary : table.name,
                    .options = option_specs(table, (*code)->options()),
                    .make = [code = *code](const Options& options) { return make_check(code, options); },
                    .isolation = Isolation::kProcess,
                    .in_stages = true};
}

Result<DiskSetup> plugin_setup(const std::string& target, const std::vector<std::string>& settings) {
  const Result<std::string> path = plugin_path(target);
  if (!path) return path.error();
  const Result<std::shared_ptr<PluginCode>> code = PluginCode::open(*path);
  if (!code) return code.error();
  const Result<Options> options =
      Options::parse(option_specs((*code)->table(), (*code)->options()), settings);
  if (!options) return options.error();
  return make_setup(*code, *options);
}

}  // namespace sisyfs
