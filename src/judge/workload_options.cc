#include "judge/workload_options.h"

#include <charconv>
#include <numeric>

#include "base/assert.h"

namespace sisyfs {
namespace {

// 0, 1, ... last
std::vector<uint64_t> up_to(uint64_t last) {
  std::vector<uint64_t> all(last + 1);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Of those that sync, only what is done by path as well. Reading back the tree reads through handles too.
void add_numbered_handles(bool reads, Bounds& bounds) {
  OpSet ops = kHandleOps;
  if (!bounds.ops.has(OpKind::kFsync)) ops = ops - OpSet(OpKind::kFsyncHandle);
  if (!bounds.ops.has(OpKind::kFdatasync)) ops = ops - OpSet(OpKind::kFdatasyncHandle);
  if (!reads) ops = ops - OpSet(OpKind::kReadHandle, OpKind::kStatHandle);
  bounds.ops = bounds.ops | ops;
  bounds.variety.max_handles = 2;
}

// Where files are written, and what they are truncated to. `bounds` still counts units.
void set_places(const Options& options, Bounds& bounds) {
  const auto is = [&](const char* name, std::string_view value) {
    return options.has(name) && options.choice_text(name) == value;
  };
  bounds.variety.truncate_steps = is("truncates", "ends");
  if (is("truncates", "all")) bounds.truncate_sizes = up_to(bounds.max_file_size);
  bounds.variety.write_steps = is("offsets", "ends");
  if (is("offsets", "all")) bounds.write_offsets = up_to(bounds.max_file_size - 1);
}

// The calls of Linux, by the option that switches them on.
struct LinuxCalls {
  const char* option;
  OpSet ops;
  const char* help;
};
constexpr LinuxCalls kLinuxCalls[] = {
    {"fallocate", kRangeOps, "also room reserved for a file, holes punched in it, and ranges made zeros"},
    {"exchange", OpSet(OpKind::kExchange, OpKind::kRenameNew),
     "also renames that exchange two names, and those that replace nothing"},
    {"direct", OpSet(OpKind::kWriteDirect), "also each write of whole units with O_DIRECT"},
    {"mapped", OpSet(OpKind::kWriteMapped, OpKind::kMsync),
     "also stores through a shared mapping of a file, and msync"},
    {"commit", OpSet(OpKind::kSyncfs, OpKind::kCommit),
     "also syncfs, and commits that the system makes on its own account"},
};

}  // namespace

std::vector<OptionSpec> linux_specs(OpSet ops, bool by_default) {
  std::vector<OptionSpec> specs;
  for (const LinuxCalls& calls : kLinuxCalls)
    if ((ops & calls.ops) != OpSet()) specs.push_back(OptionSpec::flag(calls.option, by_default, calls.help));
  return specs;
}

std::vector<OptionSpec> call_specs(Width width) {
  const bool wide = width == Width::kWide;
  return {
      OptionSpec::choice(
          "truncates", {"zero", "ends", "all"}, wide ? "ends" : "zero",
          "sizes of truncate: zero, ends (also one unit shorter and one unit longer), all (each "
          "number of units)"),
      OptionSpec::choice(
          "offsets", {"start", "ends", "all"}, wide ? "ends" : "start",
          "where a file is written, beside its end: start, ends (also one unit before the end, and "
          "one beyond it, which leaves a hole), all (each unit)"),
      OptionSpec::flag("fdatasync", wide,
                       wide ? "also fdatasync, where the plug-in has it" : "also fdatasync"),
      OptionSpec::flag("reads", false,
                       "also read, stat and readdir as calls of their own: they may change what is cached"),
  };
}

OptionSpec names_spec() {
  return OptionSpec::choice(
      "names", {"plain", "long", "colliding"}, "plain",
      "names of files: plain (one letter), long (as long as the target and a path of 47 "
      "characters allow, different in the last one), colliding (equal under common hashes, "
      "or up to the case, or up to the last letter)");
}

void set_workload(const Options& options, DiskSetup& setup) {
  const auto count = [&](const char* name) { return static_cast<uint32_t>(options.integer(name)); };
  Bounds& bounds = setup.bounds;
  bounds.ops = bounds.ops | OpSet(OpKind::kSync);
  if (options.flag("fsync")) bounds.ops = bounds.ops | OpSet(OpKind::kFsync);
  if (options.has("sync_writes") && options.flag("sync_writes"))
    bounds.ops = bounds.ops | OpSet(OpKind::kWriteSync);
  if (options.flag("remount")) bounds.ops = bounds.ops | OpSet(OpKind::kRemount);
  // Two processes differ in what they have open.
  const bool two = options.has("tasks") && options.has("handles") && options.integer("tasks") == 2;
  bounds.handles = two || (options.has("handles") && options.flag("handles"));
  if (bounds.handles) bounds.ops = bounds.ops | OpSet(OpKind::kOpen, OpKind::kClose);
  const auto on = [&](const char* name) { return options.has(name) && options.flag(name); };
  if (on("modes")) bounds.ops = bounds.ops | OpSet(OpKind::kChmod), bounds.variety.modes = {0644, 0600};
  for (const LinuxCalls& calls : kLinuxCalls)
    if (on(calls.option)) bounds.ops = bounds.ops | calls.ops;
  if (on("fdatasync")) bounds.ops = bounds.ops | OpSet(OpKind::kFdatasync);
  if (on("reads")) {
    bounds.ops = bounds.ops | OpSet(OpKind::kRead, OpKind::kReaddir, OpKind::kStat);
    if (bounds.ops.has(OpKind::kSetxattr))
      bounds.ops = bounds.ops | OpSet(OpKind::kGetxattr, OpKind::kListxattr);
  }
  if (bounds.handles) add_numbered_handles(on("reads"), bounds);
  if (two) bounds.variety.processes = 2;
  bounds.variety.odd = on("odd");
  bounds.one_write = options.flag("one_write");
  bounds.max_files = count("files");
  bounds.max_dirs = count("dirs");
  bounds.max_depth = count("depth");
  bounds.names = {"a", "b", "c", "d", "e", "f", "g", "h"};  // more than a small directory holds
  bounds.write_sizes = {1};
  if (count("write") != 1) bounds.write_sizes.push_back(count("write"));
  bounds.max_file_size = count("file_blocks");
  set_places(options, bounds);
  if (options.has("names")) bounds.variety.names = options.choice<NameStyle>("names");
  bounds.impossible = options.flag("impossible");
  setup.max_system_ops = count("system_ops");
  set_cuts(options, setup);
}

std::vector<OptionSpec> cut_specs(std::string_view prefix, std::string_view crash) {
  const auto says = [&](std::string_view text) { return std::string(prefix) + std::string(text); };
  return {
      OptionSpec::choice(
          "crash", {"prefixes", "subsets", "lazy", "persisted", "none"}, crash,
          says(
              "crash states: prefixes, subsets (enumerated, bounded), lazy (all subsets, decided on first "
              "read), persisted (cheap, proves nothing: only right after a call that promised something, and "
              "nothing is lost), none")),
      OptionSpec::choice(
          "device", {"by-crash", "ordered", "torn", "disk", "scattered", "hostile"}, "by-crash",
          says("what a power cut may do to unflushed writes: by-crash (as `crash` implies), ordered (keeps a "
               "prefix), torn (also a prefix of the interrupted write), disk (loses any of them), scattered "
               "(keeps a prefix, and any blocks of the interrupted write), hostile (loses any blocks)")),
      OptionSpec::choice(
          "atomic", {"by-device", "whole", "512", "1024", "2048", "4096"}, "by-device",
          says("bytes that the device writes atomically: a longer write may tear at a multiple of this, and "
               "smaller blocks within one unit keep their order; whole: no write tears")),
      OptionSpec::choice(
          "write_cache", {"by-device", "volatile", "through"}, "by-device",
          says("volatile (a write is durable after a flush, or with FUA), through (when it returns)")),
      OptionSpec::choice("discarded", {"zeros", "old", "garbage"}, "zeros",
                         says("content of discarded blocks")),
      OptionSpec::choice(
          "fresh", {"garbage", "zeros"}, "garbage",
          says("content of the disk before it is formatted: garbage that reports recognise, or zeros")),
      OptionSpec::integer(
          "samples", 0, 1000, 7,
          says("crash=subsets: random crash states of a crash point that has too many to try all")),
      OptionSpec::integer("sample_seed", 0, 1'000'000'000, 0,
                          says("crash=subsets: seed of these random crash states")),
      OptionSpec::integer("nesting", 0, 3, 0, says("power cuts during recovery, nested at most this deep")),
      OptionSpec::flag("all_nested", false,
                       says("cut the power in recovery also before it has changed a block that it had read")),
  };
}

FreshContent fresh_of(const Options& options) {
  return options.choice_text("fresh") == "zeros" ? FreshContent::kZeros : FreshContent::kGarbage;
}

OptionSpec both_ways_spec(bool by_default) {
  return OptionSpec::flag("both_ways", by_default,
                          "recovery by mount alone must give the same tree as fsck and mount");
}

OptionSpec both_modes_spec() {
  return OptionSpec::flag(
      "both_modes", false,
      "the cautious mode of the repair tool (e2fsck -p) must bring back the same tree as its "
      "full one, or say that it cannot repair");
}

OptionSpec first_mount_spec() {
  return OptionSpec::flag("first_mount", false,
                          "begin before the first mount: power cuts may lose what format left unflushed");
}

OptionSpec start_spec() {
  return OptionSpec::choice("start", {"new", "aged", "full"}, "new",
                            "the file system at the start: new, aged (a few hundred calls have fragmented "
                            "it), or full (files fill it up "
                            "to a few blocks)");
}

OptionSpec failures_spec() {
  return OptionSpec::integer("failures", 0, 3, 0, "disk accesses that fail on a path, at most");
}

namespace {

// A device by its name, in the scale of the target's disk.
DeviceModel device_for(const TargetKind& kind, std::string_view name) {
  const Result<DeviceModel> device = DeviceModel::preset(name);
  SISYFS_ASSERT(device, "the option has only names of devices");
  return device->fitted_to({kind.disks.block_size, kind.disks.block_count});
}

// What is said of the device in particular.
void set_details(const Options& options, DeviceModel& device) {
  if (options.differs("atomic")) {
    const std::string_view bytes = options.choice_text("atomic");
    device.tearing = bytes != "whole";
    device.unit_bytes = 0;
    if (device.tearing) std::from_chars(bytes.data(), bytes.data() + bytes.size(), device.unit_bytes);
  }
  if (options.differs("write_cache"))
    device.cache =
        options.choice_text("write_cache") == "through" ? WriteCache::kWriteThrough : WriteCache::kVolatile;
  device.discard = options.choice<DiscardReads>("discarded");
  device.fresh = fresh_of(options);
}

// A device that is chosen by its name does not tear what the target needs whole. A unit that is given in
// bytes stays; DeviceModel::check() refuses it if it is too small.
void keep_whole(const TargetKind& kind, bool unit_is_given, DeviceModel& device) {
  device.whole_bytes = kind.limits.whole_unit;
  if (!device.writes_are_tied() && !unit_is_given && device.unit_bytes < device.whole_bytes)
    device.unit_bytes = device.whole_bytes;
}

}  // namespace

void set_cuts(const Options& options, DiskSetup& setup) {
  const std::string_view crash = options.choice_text("crash");
  const std::string_view device = options.choice_text("device");
  if (device != "by-crash")
    setup.cuts.device = device_for(setup.kind, device);
  else
    setup.cuts.device.order = crash == "prefixes" ? WriteOrder::kInOrder : WriteOrder::kFree;
  set_details(options, setup.cuts.device);
  setup.options = options.names();
  keep_whole(setup.kind, options.differs("atomic"), setup.cuts.device);
  setup.cuts.enabled = crash != "none";
  setup.cuts.lazy = crash == "lazy";
  setup.cuts.persisted = crash == "persisted";
  setup.cuts.enumeration.samples = static_cast<uint32_t>(options.integer("samples"));
  setup.cuts.enumeration.seed = static_cast<uint64_t>(options.integer("sample_seed"));
  setup.cuts.nesting = static_cast<uint32_t>(options.integer("nesting"));
  setup.cuts.all_nested = options.flag("all_nested");
  setup.start.unmounted = options.has("first_mount") && options.flag("first_mount");
  if (options.has("start") && options.value_text("start") == "aged") setup.start.image = StartImage::kAged;
  if (options.has("start") && options.value_text("start") == "full") setup.start.image = StartImage::kFull;
  setup.recovery.both_modes = options.has("both_modes") && options.flag("both_modes");
  setup.recovery.both_ways = options.has("both_ways") && options.flag("both_ways");
}

}  // namespace sisyfs
