#include "crash/device_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "crash/crash_points.h"
#include "crash/crash_states.h"

namespace sisyfs::device_model_test {
namespace {

constexpr Geometry kSectors{512, BlockCount(8)}, kTiny{32, BlockCount(8)}, kFlash{32, BlockCount(8), 4};

DeviceModel device(std::string_view name) {
  const Result<DeviceModel> model = DeviceModel::preset(name);
  EXPECT_TRUE(model) << name;
  return *model;
}

TEST(DeviceModelTest, EachPresetHasANameAndFitsItsDisk) {
  std::set<std::string_view> names;
  for (const DevicePreset& preset : DeviceModel::presets()) {
    EXPECT_TRUE(names.insert(preset.name).second);
    EXPECT_FALSE(preset.says.empty());
    const Geometry& geometry = preset.name == "nand" ? kFlash : kTiny;
    EXPECT_TRUE(device(preset.name).fitted_to(geometry).check(geometry)) << preset.name;
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"ordered", "torn", "disk", "scattered", "hostile", "nand"}));
  const Result<DeviceModel> none = DeviceModel::preset("tape");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "There is no device 'tape'; there are ordered, torn, disk, scattered, hostile, nand.");
}

TEST(DeviceModelTest, TheDescriptionSaysWhatIsAssumed) {
  EXPECT_EQ(describe(device("ordered"), kTiny),
            "Writes reach the medium in order, and are durable after a flush or with FUA; a write is kept "
            "whole or not at all; discarded blocks read as zeros.");
  EXPECT_EQ(describe(device("disk"), kSectors),
            "Writes reach the medium in any order between two flushes, and are durable after a flush or with "
            "FUA; a write is kept whole or not at all; discarded blocks read as zeros.");
  const std::string hostile = describe(device("hostile"), kSectors);
  EXPECT_NE(hostile.find("a write may tear into sectors of 512 bytes"), std::string::npos) << hostile;
  const std::string nand = describe(device("nand"), kFlash);
  EXPECT_NE(nand.find("pages of 32 bytes, erased 4 at a time"), std::string::npos) << nand;
  EXPECT_NE(nand.find("each page of a unit"), std::string::npos) << nand;
  EXPECT_NE(describe(device("nand"), {32, BlockCount(16), 8}).find("each quarter of a unit"),
            std::string::npos);
}

// All disks that a power cut may leave of three writes, of which two are long and meet in a block.
std::set<std::vector<std::byte>> disks_left_by(std::string_view name) {
  const DeviceModel model = device(name).fitted_to(kTiny);
  Media disk{Image(kTiny)};
  const std::vector<std::byte> one(3 * 32, std::byte{1}), two(2 * 32, std::byte{2}), three(32, std::byte{3});
  EXPECT_EQ(disk.write(BlockAddress(1), one), IoStatus::kOk);
  EXPECT_EQ(disk.write(BlockAddress(6), three), IoStatus::kOk);
  EXPECT_EQ(disk.write(BlockAddress(3), two), IoStatus::kOk);
  std::set<std::vector<std::byte>> disks;
  CrashPoints points(model, disk.state());
  while (const CrashPoint* point = points.next()) {
    CrashStates states(point->epoch);
    while (CrashState* state = states.next()) {
      const auto bytes = state->image().bytes();
      disks.emplace(bytes.begin(), bytes.end());
    }
  }
  return disks;
}

TEST(DeviceModelTest, ThePerspectivesGoFromTheSimplestToTheSternest) {
  std::vector<std::set<std::vector<std::byte>>> left;
  std::vector<std::string_view> names;
  for (const DevicePreset& perspective : DeviceModel::perspectives()) {
    names.push_back(perspective.name);
    left.push_back(disks_left_by(perspective.name));
  }
  ASSERT_EQ(names, (std::vector<std::string_view>{"ordered", "torn", "disk", "scattered", "hostile"}));
  const auto within = [&](size_t a, size_t b) {
    return std::includes(left[b].begin(), left[b].end(), left[a].begin(), left[a].end());
  };
  EXPECT_EQ(left[0].size(), 4u) << "prefixes of three writes";
  EXPECT_EQ(left[1].size(), 7u) << "of six blocks";
  EXPECT_EQ(left[2].size(), 8u) << "any of three writes";
  EXPECT_EQ(left[3].size(), 1u + 7 + 1 + 3) << "any blocks of the write that is cut off";
  EXPECT_EQ(left[4].size(), 3u * 16) << "two versions of one block, one of four others";
  for (const auto& [a, b] : {std::pair{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 4}})
    EXPECT_TRUE(within(a, b)) << names[a] << " in " << names[b];
  EXPECT_FALSE(within(2, 3));
  EXPECT_FALSE(within(3, 2));
}

TEST(DeviceModelTest, UnitsInAnyOrderWithinAWriteNeedOrderBetweenWrites) {
  EXPECT_TRUE(device("scattered").check(kSectors));
  DeviceModel free = device("scattered");
  free.order = WriteOrder::kFree;
  EXPECT_FALSE(free.check(kSectors));
  EXPECT_NE(describe(device("scattered"), kSectors)
                .find("of the write that is cut off any blocks of 512 bytes may be kept"),
            std::string::npos);
  EXPECT_NE(describe(device("torn"), kSectors).find("the first blocks of 512 bytes may be kept"),
            std::string::npos);
}

// The blocks of a small model stand for sectors: the unit is one of them, and the description says so.
TEST(DeviceModelTest, WhereBlocksAreSmallTheUnitIsOneBlock) {
  const DeviceModel fitted = device("hostile").fitted_to(kTiny);
  EXPECT_EQ(fitted.unit_bytes, 32u);
  EXPECT_EQ(fitted.blocks_per_unit(kTiny), 1u);
  const std::string text = describe(fitted, kTiny);
  EXPECT_NE(text.find("a write may tear into blocks of 32 bytes, which stand for sectors"), std::string::npos)
      << text;
  EXPECT_EQ(device("hostile").fitted_to(kSectors), device("hostile"));
  EXPECT_EQ(device("hostile").fitted_to({4096, BlockCount(2)}).unit_bytes, 4096u);
}

TEST(DeviceModelTest, RawFlashAndDisksAreNotTakenForEachOther) {
  EXPECT_FALSE(device("nand").check(kTiny));
  EXPECT_FALSE(device("disk").check(kFlash));
  EXPECT_FALSE(device("nand").check({32, BlockCount(6), 4}));
  DeviceModel whole = device("nand");
  whole.flash = false;
  EXPECT_TRUE(whole.check(kFlash)) << "programs and erases that are never cut off in the middle";
}

// What a pending discard may leave: what was there, or what the device lets discarded blocks read as.
TEST(DeviceModelTest, APendingDiscardLeavesTheOldContentOrWhatTheDeviceMakesOfIt) {
  const auto contents = [](DiscardReads reads) {
    DeviceModel model = device("disk");
    model.discard = reads;
    Image image(kTiny);
    image.set(BlockAddress(3), filled_block(32, std::byte{7}));
    Media disk(image);
    disk.set_discard(model.discard);
    EXPECT_EQ(disk.discard(BlockAddress(3), BlockCount(1)), IoStatus::kOk);
    CrashPoints points(model, disk.state());
    std::set<int> found;
    while (const CrashPoint* point = points.next()) {
      CrashStates states(point->epoch);
      while (CrashState* state = states.next()) {
        const Block* block = state->image().block(BlockAddress(3));
        found.insert(block == nullptr ? 0 : static_cast<int>(block->bytes()[0]));
      }
    }
    EXPECT_EQ(points.settled().current, disk.state().current);
    EXPECT_EQ(points.settled().log.digest(), disk.state().log.digest()) << "it is still in doubt";
    return found;
  };
  EXPECT_EQ(contents(DiscardReads::kZeros), (std::set<int>{0, 7}));
  EXPECT_EQ(contents(DiscardReads::kOld), (std::set<int>{7}));
  EXPECT_EQ(contents(DiscardReads::kGarbage), (std::set<int>{0xDB, 7}));
}

}  // namespace
}  // namespace sisyfs::device_model_test
