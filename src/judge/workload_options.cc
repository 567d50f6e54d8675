#include "judge/workload_options.h"

#include <charconv>

#include "base/assert.h"

namespace sisyfs {

void set_workload(const Options& options, DiskSetup& setup) {
  const auto count = [&](const char* name) { return static_cast<uint32_t>(options.integer(name)); };
  Bounds& bounds = setup.bounds;
  bounds.ops = bounds.ops | OpSet(OpKind::kSync);
  if (options.flag("fsync")) bounds.ops = bounds.ops | OpSet(OpKind::kFsync);
  if (options.has("sync_writes") && options.flag("sync_writes"))
    bounds.ops = bounds.ops | OpSet(OpKind::kWriteSync);
  if (options.flag("remount")) bounds.ops = bounds.ops | OpSet(OpKind::kRemount);
  bounds.handles = options.has("handles") && options.flag("handles");
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
  set_cuts(options, setup);
}

std::vector<OptionSpec> cut_specs(std::string_view prefix, std::string_view crash) {
  const auto says = [&](std::string_view text) { return std::string(prefix) + std::string(text); };
  return {
      OptionSpec::choice(
          "crash", {"prefixes", "subsets", "lazy", "none"}, crash,
          says("what a power cut keeps of the writes since the last flush: the first so many; "
               "any of them, tried one by one up to a bound; any of them, told apart only where "
               "recovery looks; or the power never goes")),
      OptionSpec::choice(
          "device", {"by-crash", "ordered", "torn", "disk", "scattered", "hostile"}, "by-crash",
          says("what the device does to writes that no flush has followed: as `crash` says; "
               "keeps their order; the same, and of the one that is cut off its first blocks; "
               "any of them may be lost; keeps their order, and of the one that is cut off any "
               "blocks; any of them may be lost, and blocks of one write by themselves")),
      OptionSpec::choice(
          "atomic", {"by-device", "whole", "512", "1024", "2048", "4096"}, "by-device",
          says("bytes that the device writes at once: a longer write may be cut between these, and "
               "smaller blocks that share them keep their order; whole: no write is cut")),
      OptionSpec::choice("write_cache", {"by-device", "volatile", "through"}, "by-device",
                         says("what is written is durable after a flush or with FUA; or when it returns")),
      OptionSpec::choice("discarded", {"zeros", "old", "garbage"}, "zeros",
                         says("what discarded blocks read as")),
      OptionSpec::integer("samples", 0, 1000, 7,
                          says("with crash=subsets: crash states that are drawn where there are too many to "
                               "try them all")),
      OptionSpec::integer("sample_seed", 0, 1'000'000'000, 0, says("another seed draws others")),
      OptionSpec::integer("nesting", 0, 3, 0,
                          says("power cuts in recovery, in recovery from that, and so on, at most")),
      OptionSpec::flag("all_nested", false,
                       says("power cuts in recovery also where it has changed nothing that it had read")),
  };
}

OptionSpec both_ways_spec() {
  return OptionSpec::flag("both_ways", false,
                          "recovery by the mount alone must bring back what the check and the mount do");
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
  setup.cuts.enabled = crash != "none";
  setup.cuts.lazy = crash == "lazy";
  setup.cuts.enumeration.samples = static_cast<uint32_t>(options.integer("samples"));
  setup.cuts.enumeration.seed = static_cast<uint64_t>(options.integer("sample_seed"));
  setup.cuts.nesting = static_cast<uint32_t>(options.integer("nesting"));
  setup.cuts.all_nested = options.flag("all_nested");
  setup.recovery.both_ways = options.has("both_ways") && options.flag("both_ways");
}

}  // namespace sisyfs
