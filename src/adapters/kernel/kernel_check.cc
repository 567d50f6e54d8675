#include "adapters/kernel/kernel_check.h"

#include <fmt/format.h>
#include <sys/mount.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>

#include "adapters/kernel/host_past.h"
#include "adapters/kernel/kernel_setup.h"
#include "adapters/kernel/kernel_target.h"
#include "adapters/kernel/repair.h"
#include "adapters/kernel/tool.h"
#include "adapters/kernel/user_image.h"
#include "adapters/recorded/recorded_setup.h"
#include "finding/disk_check.h"
#include "judge/flash_options.h"
#include "judge/workload_options.h"

namespace sisyfs {
namespace {

constexpr const char* kPackagedKernel = "/usr/bin/linux.uml";

OpSet ops_of(const FileSystem& fs) {
  return OpSet::all() - fs.without -
         OpSet(OpKind::kFsck, OpKind::kSnapshot, OpKind::kRestore, OpKind::kOpen, OpKind::kClose);
}

}  // namespace

// The default of `crash`. A copy-up is one long transaction of the file system below, which has too many
// subsets. Where we mend the disk ourselves, all of it is read, and nothing is left to decide later.
std::string_view usual_cuts(const FileSystem& fs) {
  if (!fs.rare.below.type.empty()) return "prefixes";
  return fs.rare.mend != nullptr ? "subsets" : kPlainDiskCuts;
}

std::vector<OptionSpec> kernel_option_specs(const FileSystem& fs) {
  std::vector<OptionSpec> specs = {
      OptionSpec::integer("disk", 64, int64_t{1} << 30, static_cast<int64_t>(fs.kibibytes),
                          "KiB of the disk"),
      OptionSpec::integer("block", 512, 4096, fs.block, "bytes that the disk reads and writes at least"),
      OptionSpec::text("mount", std::string(fs.mount),
                       "options of mount, with commas; also sync and dirsync"),
      OptionSpec::text("mkfs", "default",
                       "more words for the command that makes the file system, with + between them"),
      OptionSpec::choice("on", {"guest", "host"}, "guest",
                         "the kernel: one in a guest, or as root the one that is running (--host)"),
      OptionSpec::text("kernel", "packaged",
                       "a user-mode Linux to boot instead of the packaged one, by its path"),
      OptionSpec::integer("seconds", 1, 3600, 60, "time limit of the work of one call"),
      OptionSpec::integer("unit", 1, 65536, fs.block,
                          "bytes; sizes and offsets of the workload are multiples of this"),
      OptionSpec::choice(
          "contract",
          {"claimed", "atomic", "ordered", "names", "fsync", "structure", "promised", "whole", "fresh"},
          "claimed", "what must survive a power cut: what is known of the file system, or another contract"),
      OptionSpec::choice(
          "fsync_names", {"claimed", "on", "off"}, "claimed",
          "fsync of a file also makes its name durable: as is known of the file system, or not"),
      // One more than those that are there from the beginning.
      OptionSpec::integer("files", 1, 8, fs.rare.below.type.empty() ? 2 : 3, "files in the workload"),
      OptionSpec::integer("dirs", 0, 8, fs.rare.below.type.empty() ? 1 : 2, "directories in the workload"),
      OptionSpec::integer("depth", 1, 8, 2, "names in a path of the workload"),
      OptionSpec::integer("write", 1, 4096, 1, "a second size of writes, in units; 1: none"),
      OptionSpec::integer("file_blocks", 1, 4096, 2, "units of a file in the workload"),
      OptionSpec::flag("fsync", true, "also fsync"),
      OptionSpec::flag("sync_writes", true, "also writes with O_SYNC"),
      OptionSpec::flag("remount", true, "also unmount and mount"),
      OptionSpec::flag("links", true, "also hard and symbolic links, where the file system has them"),
      OptionSpec::flag("xattrs", true, "also extended attributes, where the file system has them"),
      OptionSpec::flag("one_write", false, "try one write for each file and state; off: all writes"),
      OptionSpec::flag("impossible", false, "also try ops that must fail"),
      OptionSpec::integer("system_ops", 1, 1000, 3, "syncs, remounts and power cuts on a path, at most"),
      OptionSpec::flag("handles", false,
                       "also open files, which are removed, renamed and replaced while they are open"),
      OptionSpec::integer(
          "tasks", 1, 2, 1,
          "processes in the guest; 2: each with open files of its own, so that a call comes between "
          "those of the other (with handles)"),
      OptionSpec::flag("modes", true, "also chmod"),
      OptionSpec::flag("odd", false, "also sizes and offsets that are no multiple of `unit`"),
  };
  for (OptionSpec& spec : call_specs(Width::kWide)) specs.push_back(std::move(spec));
  for (OptionSpec& spec : linux_specs(ops_of(fs), true)) specs.push_back(std::move(spec));
  specs.push_back(names_spec());
  for (OptionSpec& spec : cut_specs("", usual_cuts(fs))) specs.push_back(std::move(spec));
  if (!fs.fsck.empty())
    specs.push_back(OptionSpec::choice(
        "recovery", {"mount", "repair", "checked"}, fs.mount_recovers ? "mount" : "repair",
        "after a power cut: mount alone, repair (its tool, then mount), checked (mount, after which its tool "
        "finds nothing)"));
  if (fs.rare.erase_unit != 0)
    for (OptionSpec& spec : flash_specs({.nor = true}, fs.block)) specs.push_back(std::move(spec));
  specs.push_back(both_ways_spec());
  if (!fs.fsck.empty()) specs.push_back(both_modes_spec());
  specs.push_back(first_mount_spec());
  specs.push_back(OptionSpec::text("start", "new",
                                   "the file system at the start: new, aged (a few hundred calls have "
                                   "fragmented it), full (files fill it up "
                                   "to a few blocks), or the path of a disk image"));
  specs.push_back(failures_spec());
  for (OptionSpec& spec : log_specs()) specs.push_back(std::move(spec));
  // For tests. An option without help is not listed.
  specs.push_back(OptionSpec::text("plant", "none", ""));
  if (!fs.fsck.empty()) {
    specs.push_back(OptionSpec::flag("watch", true, ""));
    specs.push_back(OptionSpec::text("preen", "default", ""));
  }
  // What is in the image that `start` names, so that a finding is replayed on no other one.
  specs.push_back(OptionSpec::text("start_digest", "none", ""));
  return specs;
}

namespace {

struct MountFlag {
  const char* name;
  uint32_t flag;
};
constexpr MountFlag kMountFlags[] = {{"sync", MS_SYNCHRONOUS},
                                     {"dirsync", MS_DIRSYNC},
                                     {"noatime", MS_NOATIME},
                                     {"ro", MS_RDONLY},
                                     {"nodev", MS_NODEV},
                                     {"nosuid", MS_NOSUID},
                                     {"noexec", MS_NOEXEC},
                                     {"nodiratime", MS_NODIRATIME},
                                     {"lazytime", MS_LAZYTIME},
                                     {"relatime", MS_RELATIME},
                                     {"strictatime", MS_STRICTATIME}};

// Takes the options that are flags of the system call out of the list.
void set_mount(std::string_view text, KernelSetup& setup) {
  for (const std::string& word : words_of(text, ',')) {
    const auto flag = std::find_if(std::begin(kMountFlags), std::end(kMountFlags),
                                   [&](const MountFlag& one) { return word == one.name; });
    if (flag != std::end(kMountFlags))
      setup.mount_flags |= flag->flag;
    else if (word != "defaults")
      setup.mount += (setup.mount.empty() ? "" : ",") + word;
  }
}

// "panic@fsync": what goes wrong, and in which calls.
Result<Planted> planted_of(const std::string& text) {
  const std::vector<std::string> words = words_of(text, '@');
  const auto name =
      words.empty() ? std::end(guest::kPlantNames)
                    : std::find(std::begin(guest::kPlantNames), std::end(guest::kPlantNames), words.front());
  if (words.size() != 2 || name == std::end(guest::kPlantNames))
    return bad_input(fmt::format("plant={}: nothing of that kind can be planted", text));
  return Planted{static_cast<guest::Plant>(name - std::begin(guest::kPlantNames)), words[1]};
}

std::string whole_path(const std::string& path) {
  std::error_code unknown;
  const auto whole = std::filesystem::absolute(path, unknown).lexically_normal();
  return unknown ? path : whole.string();
}

// Paths become whole, and an image of the user is noted with its digest.
Status settle_options(Options& options) {
  if (options.differs("kernel"))
    if (Status s = options.set("kernel=" + whole_path(options.value_text("kernel"))); !s) return s;
  const std::string start = whole_path(options.value_text("start")),
                    noted = options.value_text("start_digest");
  if (!is_image_path(options.value_text("start"))) {
    if (noted == "none") return {};
    return bad_input("start_digest is for a start that is an image");
  }
  const Result<std::vector<std::byte>> image = read_user_image(start);
  if (!image) return image.error();
  const std::string digest = image_digest(*image);
  if (noted != "none" && noted != digest)
    return bad_input(fmt::format(
        "start={} is another image than the one of the finding: its digest is {}, and that one's is {}",
        start, digest, noted));
  if (Status s = options.set("start=" + start); !s) return s;
  return options.set("start_digest=" + digest);
}

// The image of the user, as a disk of whole blocks.
Status set_start(const Options& options, uint64_t block, KernelSetup& setup) {
  setup.start.path = options.value_text("start");
  Result<std::vector<std::byte>> image = read_user_image(setup.start.path);
  if (!image) return image.error();
  if (image_digest(*image) != options.value_text("start_digest"))
    return bad_input(fmt::format("start={} was changed while it was read", setup.start.path));
  setup.start.content = *std::move(image);
  setup.start.content.resize((setup.start.content.size() + block - 1) / block * block);
  const uint64_t bytes = setup.start.content.size();
  if (options.differs("disk") && static_cast<uint64_t>(options.integer("disk")) * 1024 != bytes)
    return bad_input(
        fmt::format("disk={}: the image that start names has {} bytes, and its size is that of the disk",
                    options.integer("disk"), bytes));
  if (options.differs("mkfs"))
    return bad_input("mkfs= makes a new file system, and start= names an image that is there");
  if (options.flag("first_mount"))
    return bad_input("first_mount=on begins on a new disk, and start has another one");
  setup.disk.block_count = BlockCount(bytes / block);
  return {};
}

// The kernel, with the tools of the file system.
Status choose_kernel(const Options& options, const InstallPackages& install, KernelSetup& setup) {
  const FileSystem& fs = setup.fs;
  const bool on_host = options.choice_text("on") == "host";
  const std::string named = options.value_text("kernel");
  const bool packaged = named == "packaged";
  if (fs.rare.erase_unit != 0 && (on_host || packaged))
    return bad_input(fmt::format(
        "{} needs a kernel with flash, and the packaged one has none: build one as docs/kernels.md "
        "says under \"Another kernel\", and add --kernel PATH",
        fs.name));
  if (on_host && !packaged) return bad_input("--host takes the running kernel: leave out kernel=" + named);
  if (on_host && options.integer("tasks") != 1)
    return bad_input("--host has one process: leave out --tasks, or --host");
  if (on_host)
    if (Status s = HostMachine::possible(std::string(fs.type)); !s) return s.error();
  if (on_host && !fs.rare.below.type.empty())
    return bad_input(fmt::format("{} is checked in a guest: leave out --host", fs.name));
  std::vector<std::string> missing;
  if (!on_host && packaged && find_tool(kPackagedKernel).empty()) missing.emplace_back("user-mode-linux");
  const std::string tool = words_of(fs.mkfs.empty() ? "true" : fs.mkfs).front();
  if (find_tool(tool).empty()) missing.emplace_back(fs.package);
  if (!missing.empty())
    if (Status s = install(missing); !s) return s.error();
  const std::chrono::seconds patience(options.integer("seconds"));
  if (on_host) {
    setup.host = HostKernel{.patience = patience};
    return {};
  }
  Result<GuestKernel> kernel = GuestKernel::find(packaged ? kPackagedKernel : named);
  if (!kernel) return kernel.error();
  setup.kernel = *std::move(kernel);
  setup.kernel.patience = patience;
  setup.kernel.to_load = fs.modules;
  setup.kernel.to_load.insert(setup.kernel.to_load.begin(), "nbd");
  return {};
}

// Why the accesses of repair tools are not seen; empty if they are.
std::string why_unwatched(const Options& options) {
  if (!options.flag("watch"))
    return "the repair tool works on a copy of the disk, which is written back by rising address and flushed";
  const Status can = can_watch_tools();
  return can ? std::string() : can.error().message;
}

// Whether two modes of its repair tool can be compared, if that is wanted.
Status check_modes(const FileSystem& fs, const Options& options) {
  if (!options.has("both_modes") || !options.flag("both_modes")) return {};
  if (fs.preen.empty())
    return bad_input(fmt::format("both_modes=on compares two modes of a repair tool, and {} has one",
                                 fs.fsck.substr(0, fs.fsck.find(' '))));
  if (options.choice_text("recovery") != "repair")
    return bad_input("both_modes=on compares repairs, and here the mount recovers (recovery=repair)");
  return {};
}

// Makes a flash of the disk.
Status set_erase_units(const FileSystem& fs, const Options& options, KernelSetup& setup) {
  if (fs.rare.erase_unit == 0) return {};
  for (const char* name : {"device", "atomic", "write_cache", "discarded", "fresh", "log", "base"})
    if (options.differs(name))
      return bad_input(fmt::format("{} is an option of disks, and {} is on raw flash", name, fs.name));
  if (is_image_path(options.value_text("start")))
    return bad_input(fmt::format("start= names the image of a disk, and {} is on raw flash", fs.name));
  if (options.choice_text("flash") == "nand")
    return bad_input("flash=nand: the flash of a guest is NOR, which is programmed byte by byte");
  if (setup.disk.blocks_per_disk() * setup.disk.block_size % fs.rare.erase_unit != 0)
    return bad_input(
        fmt::format("the flash is not a whole number of erase units of {} bytes", fs.rare.erase_unit));
  DiskSetup rules;
  rules.kind.disks = setup.disk;
  rules.kind.disks.erase_blocks = fs.rare.erase_unit / setup.disk.block_size;
  if (Status s = set_flash(options, rules); !s) return s;
  setup.disk = rules.kind.disks;
  return {};
}

// `disk`: the one of a log, if there is one.
Result<std::shared_ptr<KernelSetup>> make_kernel_setup(const FileSystem& fs, const Options& options,
                                                       const InstallPackages& install,
                                                       const std::optional<Geometry>& disk) {
  auto setup = std::make_shared<KernelSetup>();
  setup->fs = fs;
  if (Status s = choose_kernel(options, install, *setup); !s) return s.error();
  if (options.differs("plant")) {
    Result<Planted> planted = planted_of(options.value_text("plant"));
    if (!planted) return planted.error();
    setup->planted = *std::move(planted);
  }
  setup->processes = static_cast<uint32_t>(options.integer("tasks"));
  const auto block = static_cast<uint32_t>(options.integer("block"));
  const auto bytes = static_cast<uint64_t>(options.integer("disk")) * 1024;
  if ((block & (block - 1)) != 0) return bad_input(fmt::format("block={} is no power of two", block));
  if (bytes % block != 0) return bad_input("the disk is not a whole number of blocks");
  setup->disk = disk.value_or(Geometry{.block_size = block, .block_count = BlockCount(bytes / block)});
  if (Status s = set_erase_units(fs, options, *setup); !s) return s.error();
  setup->mkfs = words_of(fs.mkfs);
  if (is_image_path(options.value_text("start")))
    if (Status s = set_start(options, block, *setup); !s) return s.error();
  if (options.differs("mkfs") && fs.mkfs.empty())
    return bad_input(fmt::format("mkfs: {} is made without such a command", fs.name));
  if (options.differs("mkfs"))
    for (std::string& word : words_of(options.value_text("mkfs"), '+'))
      setup->mkfs.push_back(std::move(word));
  set_mount(options.value_text("mount"), *setup);
  if (setup->host) set_mount(fs.host_mount, *setup);
  if (options.has("watch")) setup->repair.unwatched = why_unwatched(options);
  if (fs.rare.mend != nullptr)
    setup->repair.unwatched =
        "the volume is marked clean by the checker, written back by rising address and flushed";
  if (options.has("preen") && options.differs("preen")) {
    setup->repair.preen = options.value_text("preen");
    std::replace(setup->repair.preen.begin(), setup->repair.preen.end(), '+', ' ');
    setup->fs.preen = setup->repair.preen;
  }
  if (Status s = check_modes(setup->fs, options); !s) return s.error();
  if (!fs.rare.below.type.empty()) {
    const std::string below = guest::kBelow;
    setup->mount = fmt::format("lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work{1}{2}", below,
                               setup->mount.empty() ? "" : ",", setup->mount);
  }
  return setup;
}

TargetKind kernel_kind(const std::shared_ptr<KernelSetup>& setup, const Options& options) {
  const FileSystem& fs = setup->fs;
  const bool sync = (setup->mount_flags & MS_SYNCHRONOUS) != 0;
  TargetKind kind;
  kind.ops = ops_of(fs);
  kind.claims = {.contract = fs.contract,
                 .durable = sync ? OpSet::all() : OpSet(),
                 .fsync_names = fs.fsync_names,
                 .fsync_all = false,
                 .rename_both = (fs.quirks & kRenamesTwice) != 0,
                 .mount_recovers = fs.mount_recovers,
                 .limited_space = true,
                 .split_writes = true,
                 .stale_data = (fs.quirks & kStaleData) != 0,
                 .retries_sync = false};
  if (const std::string_view name = options.choice_text("contract"); name != "claimed")
    kind.claims.contract = *parse_contract(name);
  // A file that comes back whole has no half of a write.
  if (kind.claims.contract == Contract::kWhole) kind.claims.split_writes = false;
  if (options.differs("fsync_names")) kind.claims.fsync_names = options.choice_text("fsync_names") == "on";
  kind.limits.write_unit = static_cast<uint32_t>(options.integer("unit"));
  kind.limits.any_byte = true;
  kind.limits.max_name = fs.max_name;
  kind.disks = setup->disk;
  const std::string_view recovery = options.has("recovery") ? options.choice_text("recovery") : "mount";
  kind.has_fsck = recovery != "mount" || fs.rare.mend != nullptr;
  kind.has_preen = kind.has_fsck && !fs.preen.empty();
  kind.fsck_notes = (fs.quirks & kRepairDecides) != 0;
  kind.words.problems = repair_problems();
  if (setup->host) kind.words.marks = host_marks();
  kind.faults = kDied | kHung | kComplained;
  if (kind.has_fsck)
    kind.repairs = !setup->repair.unwatched.empty() ? setup->repair.unwatched : std::string(kWatchedRepairs);
  kind.snapshots = setup->host ? "the calls since the mount, which are made again, with other bytes"
                               : "the disk before the mount and the calls since then, which are made again";
  kind.make = [setup] { return make_kernel_target(setup); };
  return kind;
}

// Checks that the file system can be made, mounted and read.
Status try_kernel(const KernelSetup& setup, const TargetKind& kind, FreshContent fresh) {
  const std::unique_ptr<Target> target = kind.make();
  Media disk{fresh_image(kind.disks, fresh)};
  const auto tell = [&](const char* call, int error) -> Status {
    if (const auto refused = setup.refused_start()) return bad_input(*refused);
    if (const auto trouble = setup.trouble()) return system_error(*trouble);
    if (target->has_faults()->take_faults() != 0)
      return system_error(fmt::format("{} cannot be brought to its start: {}", setup.fs.name,
                                      target->has_faults()->fault_text()));
    if (error == 0) return {};
    return bad_input(fmt::format("{} cannot be brought to its start: {} answers {}", setup.fs.name, call,
                                 errno_text(error)));
  };
  if (Status s = tell("mkfs", target->format(disk)); !s) return s;
  if (Status s = tell("mount", target->mount(disk)); !s) return s;
  const Walk walk = target->walk();
  if (Status s = tell("a look at the root directory", walk.error < kNoErrno ? walk.error : 0); !s) return s;
  if (walk.error == 0) return {};
  return bad_input(fmt::format("{} cannot be brought to its start: {}", setup.fs.name, error_text(walk)));
}

}  // namespace

Result<KernelCheck> make_kernel_check(const FileSystem& fs, const Options& options,
                                      const InstallPackages& install) {
  Result<std::optional<LogFiles>> log =
      LogFiles::open(options, static_cast<uint32_t>(options.integer("block")));
  if (!log) return log.error();
  const bool plays = log->has_value();
  if (plays && options.differs("disk")) return bad_input("disk cannot be set with --base, which is the disk");
  Result<std::shared_ptr<KernelSetup>> kernel =
      make_kernel_setup(fs, options, install, plays ? std::optional<Geometry>((*log)->disk()) : std::nullopt);
  if (!kernel) return kernel.error();
  DiskSetup setup;
  setup.kind = kernel_kind(*kernel, options);
  if (!plays)
    if (Status s = try_kernel(**kernel, setup.kind, fresh_of(options)); !s) return s.error();
  setup.failures.most = static_cast<uint32_t>(options.integer("failures"));
  setup.failures.memory = false;
  if (options.flag("links")) setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kLink, OpKind::kSymlink);
  if (options.flag("xattrs"))
    setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kSetxattr, OpKind::kRemovexattr);
  setup.trouble = [kernel = *kernel] { return kernel->trouble(); };
  // What the image holds is left alone, but for files with names of the workload.
  setup.bounds.variety.ballast = !(*kernel)->start.path.empty();
  set_workload(options, setup);
  // What is decided at a read needs reads that are the same each time.
  if ((*kernel)->host) setup.cuts.lazy = false;
  if (setup.kind.disks.is_flash()) {
    setup.cuts.device = *DeviceModel::preset("nand");
    setup.cuts.device.flash = options.choice_text("crash") != "prefixes";
    if (Status s = set_flash(options, setup); !s) return s.error();
  }
  setup.recovery.mount_alone = options.has("recovery") && options.choice_text("recovery") == "checked";
  if (plays)
    if (Status s = play_log(*std::move(*log), options, setup); !s)
      return (*kernel)->trouble() ? system_error(*(*kernel)->trouble()) : s.error();
  setup.kind.version = "Linux " + (*kernel)->release();
  Result<std::unique_ptr<Check>> check = make_disk_check(std::move(setup));
  if (!check) return check.error();
  return KernelCheck{*std::move(kernel), *std::move(check)};
}

void add_kernel_targets(CheckRegistry& registry, InstallPackages install) {
  for (const FileSystem& fs : file_systems())
    registry.add({.name = std::string(fs.name),
                  .summary = std::string(fs.summary),
                  .options = kernel_option_specs(fs),
                  .make = [&fs, install](const Options& options) -> Result<std::unique_ptr<Check>> {
                    Result<KernelCheck> made = make_kernel_check(fs, options, install);
                    if (!made) return made.error();
                    return std::move(made->check);
                  },
                  .isolation = Isolation::kNone,
                  .in_stages = true,
                  .settle = settle_options,
                  .confirmations = 3});
}

}  // namespace sisyfs
