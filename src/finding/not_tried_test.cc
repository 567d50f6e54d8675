#include "finding/not_tried.h"

#include <gtest/gtest.h>

#include <string>

namespace sisyfs::not_tried_test {
namespace {

DiskSetup setup_of(OpSet ops) {
  DiskSetup setup;
  setup.kind.ops = ops;
  setup.kind.disks.block_count = BlockCount(8);
  setup.options = {"crash", "nesting", "failures", "impossible", "links", "dirs"};
  return setup;
}

std::string told(const DiskSetup& setup, OpSet performed) {
  std::string text;
  for (const NotTried& one : not_tried(setup, performed))
    text += one.what + (one.setting.empty() ? "" : " (" + one.setting + ")") + "; ";
  return text;
}

TEST(NotTriedTest, SettingsThatLeaveSomethingOutAreNamed) {
  DiskSetup setup = setup_of(OpSet(OpKind::kCreate));
  const OpSet performed(OpKind::kCreate);
  EXPECT_EQ(told(setup, performed),
            "power cuts in recovery (nesting=1); failing disk accesses (failures=1); "
            "ops that must fail (impossible=on); ");
  setup.cuts.nesting = setup.failures.most = 1;
  setup.bounds.impossible = true;
  EXPECT_EQ(told(setup, performed), "");
  setup.cuts.enabled = false;
  setup.kind.has_fsck = true;
  EXPECT_EQ(told(setup, performed), "power cuts, recovery and fsck (crash=lazy); ");
  setup.kind.disks.block_count = BlockCount(0);
  EXPECT_EQ(told(setup, performed), "");
}

TEST(NotTriedTest, PartsOfTheWorkloadThatAreOffAreNamed) {
  DiskSetup setup = setup_of(OpSet(OpKind::kCreate));
  setup.cuts.nesting = setup.failures.most = 1;
  setup.bounds.impossible = true;
  setup.options = {"reads", "offsets", "odd"};
  setup.kind.limits.write_unit = 512;
  setup.kind.limits.any_byte = true;
  const OpSet performed(OpKind::kCreate);
  EXPECT_EQ(told(setup, performed),
            "reads between other ops (reads=on); holes, writes in the middle of files (offsets=ends); "
            "sizes and offsets within a unit (odd=on); ");
  setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kRead);
  setup.bounds.variety.write_steps = setup.bounds.variety.odd = true;
  EXPECT_EQ(told(setup, performed), "");
  setup.bounds.variety.odd = setup.kind.limits.any_byte = false;
  EXPECT_EQ(told(setup, performed), "") << "the target takes whole units only";
}

TEST(NotTriedTest, OfAScriptTheOpsAreChosenByTheUser) {
  DiskSetup setup = setup_of(OpSet(OpKind::kCreate, OpKind::kLink));
  setup.cuts.nesting = 1;
  setup.script = std::make_shared<const Script>(*Script::parse("sync"));
  EXPECT_EQ(told(setup, OpSet()), "failing disk accesses (failures=1); ops that the script does not name; ");
}

TEST(NotTriedTest, OpsThatWereNeverPerformedAreNamed) {
  DiskSetup setup = setup_of(OpSet(OpKind::kCreate, OpKind::kMkdir, OpKind::kRmdir, OpKind::kLink,
                                   OpKind::kFdatasync, OpKind::kRead, OpKind::kStat, OpKind::kSetxattr));
  setup.cuts.nesting = setup.failures.most = 1;
  setup.bounds.impossible = true;
  setup.bounds.max_dirs = 0;
  // The target has no option that adds attributes.
  EXPECT_EQ(told(setup, OpSet(OpKind::kCreate)),
            "mkdir, rmdir (dirs=1); link (links=on); fdatasync; setxattr; ");
  EXPECT_EQ(told(setup, setup.kind.ops), "");
  // In the workload, and no state of the search allows it.
  setup.bounds.max_dirs = 1;
  EXPECT_EQ(told(setup, setup.kind.ops - OpSet(OpKind::kRmdir)), "not reached within the bounds: rmdir; ");
  setup.kind.ops = setup.kind.ops | OpSet(OpKind::kWrite, OpKind::kAppend);
  EXPECT_EQ(told(setup, setup.kind.ops - OpSet(OpKind::kWrite)), "");
}

TEST(NotTriedTest, OpenFilesAndModesAreNamedWithTheirSetting) {
  DiskSetup setup = setup_of(OpSet(OpKind::kCreate, OpKind::kChmod) | kHandleOps);
  setup.cuts.nesting = setup.failures.most = 1;
  setup.bounds.impossible = true;
  setup.options = {"handles", "modes"};
  EXPECT_EQ(told(setup, OpSet(OpKind::kCreate)),
            "open @, close @, write @, append @, truncate @, fsync @, fdatasync @ (handles=on); "
            "chmod (modes=on); ");
  EXPECT_EQ(told(setup, setup.kind.ops - OpSet(OpKind::kAppendHandle, OpKind::kStatHandle)), "");
}

TEST(NotTriedTest, CallsOfLinuxAreNamedWithTheirSetting) {
  DiskSetup setup = setup_of(kLinuxOps);
  setup.cuts.nesting = setup.failures.most = 1;
  setup.bounds.impossible = true;
  setup.options = {"fallocate", "exchange", "direct", "mapped", "commit"};
  EXPECT_EQ(told(setup, OpSet()),
            "fallocate, fallocate_keep, punch_hole, zero_range (fallocate=on); "
            "exchange, rename_new (exchange=on); write_direct (direct=on); "
            "write_mapped, msync (mapped=on); syncfs, commit (commit=on); ");
}

}  // namespace
}  // namespace sisyfs::not_tried_test
