#include "models/targets.h"

#include "models/f2fs/check.h"
#include "models/flash/check.h"
#include "models/journal/check.h"
#include "models/mapping/check.h"
#include "models/verifs/check.h"

namespace sisyfs {
namespace {

CheckEntry mapping_entry(mapping::Model model, const char* name, const char* summary) {
  return {.name = name,
          .summary = summary,
          .options = mapping::option_specs(),
          .make = [model](const Options& options) -> Result<std::unique_ptr<Check>> {
            return mapping::make_check(model, options);
          }};
}

CheckEntry verifs_entry(verifs::Version version, const char* name, const char* summary) {
  return {.name = name,
          .summary = summary,
          .options = verifs::option_specs(version),
          .make = [version](const Options& options) -> Result<std::unique_ptr<Check>> {
            return verifs::make_check(version, options);
          }};
}

}  // namespace

void add_model_targets(CheckRegistry& registry) {
  registry.add(
      mapping_entry(mapping::Model::kLink, "link", "file mapping by a table of links, as in the FAT family"));
  registry.add(mapping_entry(mapping::Model::kIndex, "index",
                             "file mapping by index tables and a bitmap, as in the ext family"));
  registry.add({.name = "f2fs",
                .summary = "a small F2FS: logs, node table, checkpoints, roll-forward, cleaning",
                .options = f2fs::option_specs(),
                .make = f2fs::make_check,
                .in_stages = true});
  registry.add({.name = "journal",
                .summary = "a small ext3: write-ahead journal in three modes, replay, revoke, orphans, fsck",
                .options = journal::option_specs(),
                .make = journal::make_check,
                .in_stages = true});
  registry.add({.name = "flash",
                .summary = "a small JFFS2 on raw flash: a log of whole files, mount scans, cleaning",
                .options = flash::option_specs(),
                .make = flash::make_check,
                .in_stages = true});
  registry.add(verifs_entry(verifs::Version::kFirst, "verifs1",
                            "VeriFS, in memory: files and directories, snapshot and restore"));
  registry.add(verifs_entry(verifs::Version::kSecond, "verifs2",
                            "VeriFS 2: also rename, hard and symbolic links, and limited room"));
}

}  // namespace sisyfs
