// Each problem that can be had by changing one block of a sound disk: the check names it, and repair mends
// it.
#include "models/f2fs/fsck.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "disk/media.h"
#include "judge/catalogue.h"

namespace sisyfs::f2fs::fsck_test {
namespace {

// A synced disk with the files /a and /b of one block each, and ways to change what is on it.
class PatchedDisk {
 public:
  PatchedDisk() : core_(Config{}), disk_(Image(Geometry{148, BlockCount(core_.layout().block_count())})) {
    EXPECT_EQ(core_.format(disk_), 0);
    EXPECT_EQ(core_.mount(disk_), 0);
    const std::vector<std::byte> data(148, std::byte{7});
    for (const char* path : {"/a", "/b"}) {
      EXPECT_EQ(core_.create(path, false), 0);
      EXPECT_EQ(core_.write(path, 0, data), 0);
    }
    EXPECT_EQ(core_.sync(), 0);
  }

  Nid nid_of(const char* path) { return core_.find(path).node; }
  Node node_of(const char* path) { return core_.node(nid_of(path)); }
  Address address_of(const char* path) { return core_.memory().nat[nid_of(path)].address; }
  Address root_entries() { return core_.node(kRootNid).inode.data[0]; }
  // The blocks of the tables that tell of a block of the main area.
  Address sit_block(Address of) {
    const unsigned b = core_.layout().segment_of(of) / kTableEntries;
    return core_.layout().sit(core_.memory().sit_version >> b & 1, b);
  }
  SitEntry& sit_entry(SitBlock& block, Address of) {
    return block.entries[core_.layout().segment_of(of) % kTableEntries];
  }
  uint8_t bit_of(Address of) { return static_cast<uint8_t>(1u << core_.layout().offset_of(of)); }
  Address ssa_block(Address of) { return core_.layout().ssa(core_.layout().segment_of(of)); }
  Address nat_block() { return core_.layout().nat(core_.memory().nat_version & 1, 0); }

  template <class T, class Change>
  void change(Address address, Change change) {
    std::vector<std::byte> bytes(148);
    EXPECT_EQ(disk_.read(BlockAddress(address), bytes), IoStatus::kOk);
    auto value = read_from<T>(bytes.data());
    change(value);
    std::memcpy(bytes.data(), &value, sizeof value);
    EXPECT_EQ(disk_.write(BlockAddress(address), bytes, {}), IoStatus::kOk);
  }
  void fill(Address address, std::byte with) {
    EXPECT_EQ(disk_.write(BlockAddress(address), std::vector<std::byte>(148, with), {}), IoStatus::kOk);
  }

  // The codes that the check names, with repair; and it is clean afterwards.
  std::vector<std::string> codes() {
    RepairReport report, again;
    Fsck(Config{}).run(disk_, FsckMode::kRepair, &report);
    EXPECT_EQ(report.error, 0);
    Fsck(Config{}).run(disk_, FsckMode::kCheck, &again);
    EXPECT_TRUE(again.clean());
    std::vector<std::string> out;
    for (const Problem& problem : report.problems) out.emplace_back(kProblems[problem.kind].code);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

 private:
  Core core_;
  Media disk_;
};

using Codes = std::vector<std::string>;

TEST(F2fsFsckTest, ASoundDiskHasNoProblem) { EXPECT_EQ(PatchedDisk().codes(), Codes()); }

// Property 5.9: a valid block is used. Block 3 of its segment is not yet.
TEST(F2fsFsckTest, AValidBlockThatNobodyUsesIsADeadBlock) {
  PatchedDisk disk;
  const Address data = disk.node_of("/a").inode.data[0];
  disk.change<SitBlock>(disk.sit_block(data), [&](SitBlock& block) {
    SitEntry& entry = disk.sit_entry(block, data);
    entry.valid_map |= 8;
    ++entry.valid_count;
  });
  // The log would write there next but one.
  EXPECT_EQ(disk.codes(), Codes({"M1", "M2"}));
}

// Property 5.10: a used block is valid.
TEST(F2fsFsckTest, AUsedBlockThatIsNotValidIsALostBlock) {
  PatchedDisk disk;
  const Address data = disk.node_of("/a").inode.data[0];
  disk.change<SitBlock>(disk.sit_block(data), [&](SitBlock& block) {
    SitEntry& entry = disk.sit_entry(block, data);
    entry.valid_map = static_cast<uint8_t>(entry.valid_map & ~disk.bit_of(data));
    --entry.valid_count;
  });
  EXPECT_EQ(disk.codes(), Codes({"M2"}));
}

// Property 5.8.
TEST(F2fsFsckTest, ANodeWhoseBlockIsNotValidIsALostNode) {
  PatchedDisk disk;
  const Address inode = disk.address_of("/a");
  disk.change<SitBlock>(disk.sit_block(inode), [&](SitBlock& block) {
    SitEntry& entry = disk.sit_entry(block, inode);
    entry.valid_map = static_cast<uint8_t>(entry.valid_map & ~disk.bit_of(inode));
    --entry.valid_count;
  });
  EXPECT_EQ(disk.codes(), Codes({"M7"}));
}

TEST(F2fsFsckTest, ANodeThatWasOverwrittenIsALostNode) {
  PatchedDisk disk;
  disk.fill(disk.address_of("/a"), std::byte{0x5A});
  EXPECT_EQ(disk.codes(), Codes({"M1", "M5", "M7"}));
}

TEST(F2fsFsckTest, ASummaryWithAnotherOwnerIsABadSummary) {
  PatchedDisk disk;
  disk.change<SsaBlock>(disk.ssa_block(disk.address_of("/a")),
                        [](SsaBlock& block) { ++block.entries[0].nid; });
  EXPECT_EQ(disk.codes(), Codes({"M9"}));
}

// Property 5.10. What /b had is dead then.
TEST(F2fsFsckTest, TwoPointersToOneBlockAreADoublePointer) {
  PatchedDisk disk;
  const Address shared = disk.node_of("/a").inode.data[0];
  disk.change<Node>(disk.address_of("/b"), [&](Node& b) { b.inode.data[0] = shared; });
  EXPECT_EQ(disk.codes(), Codes({"M1", "M3"}));
}

// Two nids whose addresses are one block: the second cannot be the node that it says.
TEST(F2fsFsckTest, TwoNidsWithOneAddressAreADoublePointer) {
  PatchedDisk disk;
  const Nid a = disk.nid_of("/a"), b = disk.nid_of("/b");
  disk.change<NatBlock>(disk.nat_block(),
                        [&](NatBlock& nat) { nat.entries[b].address = nat.entries[a].address; });
  const Codes codes = disk.codes();
  EXPECT_NE(std::find(codes.begin(), codes.end(), "M3"), codes.end());
}

// Property 5.7. The inode that no entry leads to any more is a dead node.
TEST(F2fsFsckTest, TwoEntriesForOneInodeAreASharedNode) {
  PatchedDisk disk;
  const Nid a = disk.nid_of("/a"), b = disk.nid_of("/b");
  disk.change<DentryBlock>(disk.root_entries(), [&](DentryBlock& block) {
    for (Dentry& d : block.entries)
      if (d.ino == b) d.ino = a;
  });
  EXPECT_EQ(disk.codes(), Codes({"M1", "M5", "M6"}));
}

// Thesis 5.3.2: the checkpoint leads to a block that was used again, so all files are gone.
TEST(F2fsFsckTest, ARootInodeThatWasOverwrittenIsALostRoot) {
  PatchedDisk disk;
  disk.fill(disk.address_of("/"), std::byte{0x5A});
  EXPECT_EQ(disk.codes(), Codes({"M1", "M10", "M5"}));
}

TEST(F2fsFsckTest, ARootInodeWithoutAnAddressIsALostRoot) {
  PatchedDisk disk;
  disk.change<NatBlock>(disk.nat_block(), [](NatBlock& nat) { nat.entries[kRootNid].address = 0; });
  EXPECT_EQ(disk.codes(), Codes({"M1", "M10", "M5"}));
}

TEST(F2fsFsckTest, RootEntriesThatWereOverwrittenAreALostRoot) {
  PatchedDisk disk;
  disk.fill(disk.root_entries(), std::byte{0x5A});
  EXPECT_EQ(disk.codes(), Codes({"M1", "M10", "M5", "M8"}));
}

// One entry that cannot be is bad, but the root is there.
TEST(F2fsFsckTest, OneBadEntryIsNoLostRoot) {
  PatchedDisk disk;
  disk.change<DentryBlock>(disk.root_entries(), [](DentryBlock& block) { block.entries[1].hash ^= 1; });
  EXPECT_EQ(disk.codes(), Codes({"M1", "M5", "M8"}));
}

// A block that is told by a problem is one of its numbers, and all problems are kinds of the catalogue.
TEST(F2fsFsckTest, EveryProblemIsAKindOfTheCatalogue) {
  for (const ProblemKind& problem : kProblems) {
    const auto kind = find_kind(problem.code);
    ASSERT_TRUE(kind) << problem.code;
    EXPECT_EQ(kind->name, problem.name);
    EXPECT_EQ(kind->severity, problem.severity);
    EXPECT_LT(problem.block, 4);
  }
}

}  // namespace
}  // namespace sisyfs::f2fs::fsck_test
