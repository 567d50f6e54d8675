#include "models/flash/check.h"

#include <fmt/format.h>

#include "finding/disk_check.h"
#include "judge/flash_options.h"
#include "models/flash/layout.h"
#include "models/flash/target.h"

namespace sisyfs::flash {

std::vector<OptionSpec> option_specs() {
  std::vector<OptionSpec> specs = {
      OptionSpec::integer("units", 2, kMaxUnits, 3, "erase units, one of which is kept erased"),
      OptionSpec::integer("pages", 2, kMaxUnitPages, 2, "pages of an erase unit, each for one record"),
      OptionSpec::integer("inodes", 1, kMaxFiles, 3, "files that the system can hold"),
      OptionSpec::integer("files", 1, kMaxFiles, 2, "files in the workload"),
      OptionSpec::integer("file_blocks", 1, kDataBytes / kWriteUnit, 2, "runs of 8 bytes of a file"),
      OptionSpec::flag("remount", true, "also unmount and mount"),
      OptionSpec::integer("system_ops", 1, 1000, 3, "remounts and power cuts on a path, at most"),
      OptionSpec::choice("crash", {"flash", "lazy", "whole", "persisted", "none"}, "flash",
                         "crash states of an interrupted program or erase: flash (partly done, enumerated), "
                         "lazy (partly done, "
                         "decided on first read), whole (not done at all), persisted (cheap, proves nothing: "
                         "only right after a call "
                         "that promised something), none"),
      OptionSpec::integer("nesting", 0, 3, 0, "power cuts during mount, nested at most this deep"),
      OptionSpec::flag("all_nested", false,
                       "cut the power in a mount also before it has changed a page that it had read"),
      OptionSpec::flag("impossible", false, "also try ops that must fail"),
      OptionSpec::flag(
          "checksum", true,
          "mount accepts a page as a record if its checksum is right; off (wrong): if its header "
          "is plausible"),
      OptionSpec::choice(
          "erased", {"whole", "first"}, "whole",
          "mount accepts a unit as erased if all of its pages are, or (wrong) if its first page is"),
      OptionSpec::choice("clean", {"copy-first", "erase-first"}, "copy-first",
                         "cleaning copies live records and then erases, or (wrong) erases first"),
      OptionSpec::choice("unreadable", {"skip", "end"}, "skip",
                         "mount skips an unreadable page, or (wrong) takes it for the end of its unit"),
      OptionSpec::flag("keep_deleted", true,
                       "cleaning keeps the record of a deletion while an older record exists; off (wrong): "
                       "drops it"),
      OptionSpec::choice(
          "commit", {"checksum", "mark", "mark-first"}, "checksum",
          "a record counts if its checksum is right (checksum), or with flash=nor if a byte is "
          "cleared: after the record is there (mark), or (wrong) before (mark-first)"),
      OptionSpec::choice(
          "refused", {"retire", "ignore-erase", "ignore-program"}, "retire",
          "a unit that refuses an erase or a program is retired, or (wrong) the refusal of an erase or "
          "of a program is ignored"),
      OptionSpec::flag("verify", false,
                       "read back what was programmed and erased: finds out units that do nothing"),
  };
  for (OptionSpec& spec : flash_specs({.handles_bad_units = true}, kPageSize))
    specs.push_back(std::move(spec));
  return specs;
}

Config config_of(const Options& options) {
  Config c;
  c.units = static_cast<unsigned>(options.integer("units"));
  c.pages = static_cast<unsigned>(options.integer("pages"));
  c.files = static_cast<unsigned>(options.integer("inodes"));
  c.checksum = options.flag("checksum");
  c.whole_erase = options.choice_text("erased") == "whole";
  c.copy_first = options.choice_text("clean") == "copy-first";
  c.skip_bad = options.choice_text("unreadable") == "skip";
  c.keep_deleted = options.flag("keep_deleted");
  c.commit = options.choice<Commit>("commit");
  c.heed_erase = options.choice_text("refused") != "ignore-erase";
  c.heed_program = options.choice_text("refused") != "ignore-program";
  c.verify = options.flag("verify");
  return c;
}

Result<DiskSetup> setup_of(const Options& options) {
  const Config config = config_of(options);
  // Each inode needs one record at most; cleaning gains nothing where all pages but the spare unit's do.
  if (const unsigned room = (config.units - 1) * config.pages; config.files >= room)
    return bad_input(
        fmt::format("inodes is at most {} with {} units of {} pages", room - 1, config.units, config.pages));
  Result<DeviceModel> device = DeviceModel::preset("nand");
  if (!device) return device.error();
  DiskSetup setup;
  setup.options = options.names();
  setup.kind = kind_of(config);
  setup.cuts.device = *device;
  setup.cuts.device.flash = options.choice_text("crash") == "flash" || options.choice_text("crash") == "lazy";
  setup.cuts.lazy = options.choice_text("crash") == "lazy";
  setup.cuts.persisted = options.choice_text("crash") == "persisted";
  setup.cuts.nesting = static_cast<uint32_t>(options.integer("nesting"));
  setup.cuts.all_nested = options.flag("all_nested");
  setup.cuts.enabled = options.choice_text("crash") != "none";
  if (Status s = set_flash(options, setup); !s) return s.error();
  if (config.commit != Commit::kChecksum && !setup.kind.disks.is_nor())
    return bad_input("commit=mark programs a page twice, which takes flash=nor");
  setup.max_system_ops = static_cast<uint32_t>(options.integer("system_ops"));
  Bounds& bounds = setup.bounds;
  if (options.flag("remount")) bounds.ops = bounds.ops | OpSet(OpKind::kRemount);
  bounds.names = {"a", "b", "c", "d", "e", "f", "g", "h"};
  bounds.max_files = static_cast<uint32_t>(options.integer("files"));
  bounds.max_file_size = static_cast<uint64_t>(options.integer("file_blocks"));
  bounds.write_sizes = {1};
  bounds.impossible = options.flag("impossible");
  return setup;
}

Result<std::unique_ptr<Check>> make_check(const Options& options) {
  Result<DiskSetup> setup = setup_of(options);
  if (!setup) return setup.error();
  return make_disk_check(*std::move(setup));
}

}  // namespace sisyfs::flash
