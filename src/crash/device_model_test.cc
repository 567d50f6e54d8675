#include "crash/device_model.h"

#include <gtest/gtest.h>

#include <set>

#include "crash/crash_states.h"
#include "crash/looks.h"

namespace sisyfs {
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
  EXPECT_EQ(names, (std::set<std::string_view>{"ordered", "disk", "hostile", "nand"}));
  const Result<DeviceModel> none = DeviceModel::preset("tape");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "There is no device 'tape'; there are ordered, disk, hostile, nand.");
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
    MemDisk disk(image);
    disk.set_discard(model.discard);
    EXPECT_EQ(disk.discard(BlockAddress(3), BlockCount(1)), IoStatus::kOk);
    Looks looks(model, disk.state());
    std::set<int> found;
    while (const Look* look = looks.next()) {
      CrashStates states(look->epoch);
      while (CrashState* state = states.next()) {
        const Block* block = state->image().block(BlockAddress(3));
        found.insert(block == nullptr ? 0 : static_cast<int>(block->bytes()[0]));
      }
    }
    EXPECT_EQ(looks.settled().current, disk.state().current);
    EXPECT_EQ(looks.settled().log.digest(), disk.state().log.digest()) << "it is still in doubt";
    return found;
  };
  EXPECT_EQ(contents(DiscardReads::kZeros), (std::set<int>{0, 7}));
  EXPECT_EQ(contents(DiscardReads::kOld), (std::set<int>{7}));
  EXPECT_EQ(contents(DiscardReads::kGarbage), (std::set<int>{0xDB, 7}));
}

}  // namespace
}  // namespace sisyfs
