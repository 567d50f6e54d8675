#include "models/journal/check.h"

#include <fmt/format.h>

#include "finding/disk_check.h"
#include "judge/workload_options.h"
#include "models/journal/core.h"
#include "models/journal/damage.h"
#include "models/journal/target.h"

namespace sisyfs::journal {
namespace {

// The switches whose wrong values are planted bugs.
std::vector<OptionSpec> bug_specs() {
  return {
      OptionSpec::choice("record", {"barrier", "tagged", "ends"}, "barrier",
                         "how replay knows that a record is complete: barrier (flush before the commit "
                         "block), tagged (checksum "
                         "of each block), or ends (wrong: sequence number in its first and last block)"),
      OptionSpec::choice("commit_barrier", {"both", "no-before", "no-after", "none"}, "both",
                         "flushes around the commit block; fewer than both: wrong"),
      OptionSpec::flag(
          "replay_flush", true,
          "mount flushes the replayed blocks before it clears the journal; off (wrong): no flush"),
      OptionSpec::flag(
          "fsck_flush", true,
          "fsck flushes the replayed blocks before it clears the journal; off (wrong): no flush"),
      OptionSpec::choice("clean_flag", {"late", "early"}, "late",
                         "unmount marks the system clean at its end, or (wrong) at its beginning"),
      OptionSpec::flag("abort_leak", false, "on (wrong): an op that fails leaves its directory entry behind"),
      OptionSpec::choice("fsck_dir", {"keep", "drop"}, "keep",
                         "fsck removes a bad entry, or (wrong) all entries of its directory"),
      OptionSpec::choice("fsck_map", {"write", "forget"}, "write",
                         "fsck writes the bitmaps that it has repaired in memory, or (wrong) does not"),
      OptionSpec::choice(
          "error_ino", {"checked", "stored"}, "checked",
          "ENOSPC from the inode allocator: checked (the op fails), or stored (wrong: as an inode number)"),
      OptionSpec::flag("fsync_parent", true, "fsync commits directories too; off (wrong): it does not"),
      OptionSpec::flag("fsync_size", true, "fsync commits the file's size; off (wrong): the size before"),
      OptionSpec::choice(
          "reuse_type", {"checked", "confused"}, "checked",
          "replay of a file whose inode was a directory: checked, or confused (wrong: without its blocks)"),
      OptionSpec::flag("sync_bitmap", true, "sync writes the bitmaps; off (wrong): skips them"),
      OptionSpec::choice("osync", {"full", "data"}, "full",
                         "what a write with O_SYNC (sync_writes, sync_mount) makes durable: full, or data "
                         "(wrong: no metadata)"),
      OptionSpec::flag("revoke", true, "replay obeys revoke records; off (wrong): ignores them"),
      OptionSpec::choice(
          "lookup_error", {"errno", "absent"}, "errno",
          "a directory block that cannot be read: errno (the op fails), or absent (wrong: taken for empty)"),
  };
}

}  // namespace

std::vector<OptionSpec> option_specs() {
  std::vector<OptionSpec> specs = {
      OptionSpec::choice(
          "mode", {"ordered", "writeback", "data"}, "ordered",
          "file data: ordered (written before its metadata), writeback (at any time), data (in the journal)"),
      OptionSpec::integer("blocks", kLeastDataBlocks, kMaxDataBlocks, 48, "blocks for files and directories"),
      OptionSpec::integer("inodes", kLeastInodes, kMaxInodes, 16, "inodes, two of them in use at the start"),
      OptionSpec::integer("journal", kLeastJournal, kMaxJournal, 24, "blocks of the journal"),
      OptionSpec::flag("sync_mount", false, "every op is durable when it returns"),
      OptionSpec::choice(
          "fsck", {"full", "fast", "off"}, "full",
          "recovery: full (fsck replays and checks everything), fast (fsck only replays), off (mount alone)"),
      OptionSpec::choice("start", {"empty", "entry-free", "entry-beyond", "entry-type", "entry-name"},
                         "empty",
                         "the disk at the start: empty, or damaged by a directory entry with a free inode, "
                         "with an inode number "
                         "beyond the table, of another type than its inode, or with an invalid name"),
      OptionSpec::integer("files", 0, kMaxInodes, 3, "files in the workload"),
      OptionSpec::integer("dirs", 0, kMaxInodes, 2, "directories in the workload"),
      OptionSpec::integer("depth", 1, 8, 2, "names in a path"),
      OptionSpec::integer("write", 1, kMaxFileBlocks, 5, "blocks of a long write; a short one has one block"),
      OptionSpec::integer("file_blocks", 1, kMaxFileBlocks, kMaxFileBlocks,
                          "blocks of a file in the workload"),
      OptionSpec::flag("links", false, "also hard and symbolic links"),
      OptionSpec::flag("handles", false, "also open and close files"),
      OptionSpec::flag("one_write", true, "try one write for each file and state; off: all writes"),
      OptionSpec::flag("rename", true, "also rename"),
      OptionSpec::flag("fsync", true, "also fsync, which commits everything"),
      OptionSpec::flag("sync_writes", false, "also writes with O_SYNC"),
      OptionSpec::flag("remount", true, "also unmount and mount"),
      OptionSpec::integer("system_ops", 1, 1000, 3, "syncs, remounts and power cuts on a path, at most"),
      OptionSpec::flag("impossible", false, "also try ops that must fail"),
  };
  for (OptionSpec& spec : call_specs(Width::kPublished)) specs.push_back(std::move(spec));
  for (OptionSpec& spec : cut_specs("", kPlainDiskCuts)) specs.push_back(std::move(spec));
  specs.push_back(both_ways_spec());
  specs.push_back(failures_spec());
  for (OptionSpec& spec : bug_specs()) specs.push_back(std::move(spec));
  return specs;
}

Config config_of(const Options& options) {
  Config c;
  c.blocks = static_cast<unsigned>(options.integer("blocks"));
  c.inodes = static_cast<unsigned>(options.integer("inodes"));
  c.journal = static_cast<unsigned>(options.integer("journal"));
  c.mode = options.choice<Mode>("mode");
  c.sync_mount = options.flag("sync_mount");
  c.recovery = options.choice<Recovery>("fsck");
  c.record = options.choice<Record>("record");
  c.commit_barrier = options.choice<CommitBarrier>("commit_barrier");
  c.replay_flush = options.flag("replay_flush");
  c.fsck.flushes = options.flag("fsck_flush");
  c.early_clean = options.choice_text("clean_flag") == "early";
  c.abort_leak = options.flag("abort_leak");
  c.fsck.drops = options.choice_text("fsck_dir") == "drop";
  c.fsck.writes_map = options.choice_text("fsck_map") == "write";
  c.store_error = options.choice_text("error_ino") == "stored";
  c.fsync.parent = options.flag("fsync_parent");
  c.fsync.size = options.flag("fsync_size");
  c.reuse_checked = options.choice_text("reuse_type") == "checked";
  c.sync_bitmap = options.flag("sync_bitmap");
  c.osync_metadata = options.choice_text("osync") == "full";
  c.revoke = options.flag("revoke");
  c.lookup_error = options.choice_text("lookup_error") == "errno";
  return c;
}

Result<DiskSetup> setup_of(const Options& options) {
  const Config config = config_of(options);
  // A write with its inode, bitmap and indirect block is one transaction.
  if (const unsigned most = Core(config).max_logged() - 4;
      config.mode == Mode::kData && options.integer("write") > most)
    return bad_input(
        fmt::format("write is at most {} with a journal of {} blocks for data", most, config.journal));
  DiskSetup setup;
  setup.kind = kind_of(config);
  set_workload(options, setup);
  setup.failures.most = static_cast<uint32_t>(options.integer("failures"));
  OpSet& ops = setup.bounds.ops;
  if (!options.flag("rename")) ops = ops - OpSet(OpKind::kRename);
  if (options.flag("links")) ops = ops | OpSet(OpKind::kLink, OpKind::kSymlink);
  const auto damage = options.choice<Damage>("start");
  if (damage == Damage::kNone) return setup;
  if (config.recovery != Recovery::kFull)
    return bad_input("a disk that is damaged at the start is mended by fsck=full only");
  setup.start.ops = damage_start();
  setup.start.damage = [config, damage](Disk& disk) { put_damage(config, damage, disk); };
  return setup;
}

Result<std::unique_ptr<Check>> make_check(const Options& options) {
  Result<DiskSetup> setup = setup_of(options);
  if (!setup) return setup.error();
  return make_disk_check(*std::move(setup));
}

}  // namespace sisyfs::journal
