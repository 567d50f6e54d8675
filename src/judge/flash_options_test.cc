#include "judge/flash_options.h"

#include <gtest/gtest.h>

#include <string>

namespace sisyfs::flash_options_test {
namespace {

// The setup that the options give a flash of eight units of four pages, or the error.
Result<DiskSetup> setup_with(const std::vector<std::string>& settings, uint32_t erase_blocks = 4) {
  const Result<Options> options = Options::parse(flash_specs({}, 32), settings);
  EXPECT_TRUE(options);
  DiskSetup setup;
  setup.kind.disks = {.block_size = 32, .block_count = BlockCount(32), .erase_blocks = erase_blocks};
  if (Status s = set_flash(*options, setup); !s) return s.error();
  return setup;
}
std::string error_of(const std::vector<std::string>& settings, uint32_t erase_blocks = 4) {
  const Result<DiskSetup> setup = setup_with(settings, erase_blocks);
  return setup ? "" : setup.error().message;
}

TEST(FlashOptionsTest, WithoutOneItIsNandWhoseUnitsNeverWear) {
  const Result<DiskSetup> setup = setup_with({});
  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->kind.disks.flash, FlashRules());
  EXPECT_TRUE(setup->failures.bad_units.empty());
}

TEST(FlashOptionsTest, SayWhichFlashItIs) {
  const Result<DiskSetup> setup = setup_with(
      {"flash=nor", "program=4", "torn_bits=on", "erase_cycles=7", "bad_units=0+5", "bad_unit=program-noop"});
  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->kind.disks.flash, (FlashRules{.program_bytes = 4,
                                                 .erase_cycles = 7,
                                                 .bad_unit = BadUnit::kIgnoresProgram,
                                                 .units_go_bad = true}));
  EXPECT_TRUE(setup->cuts.device.torn_bits);
  EXPECT_EQ(setup->failures.bad_units, (std::vector<uint32_t>{0, 5}));
}

TEST(FlashOptionsTest, BytesThatAreProgrammedAtOnceDivideThePage) {
  const Options odd(flash_specs({.nor = true}, 12));
  EXPECT_EQ(odd.integer("program"), 4);
  EXPECT_EQ(odd.choice_text("flash"), "nor");
}

TEST(FlashOptionsTest, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(error_of({"torn_bits=on"}),
            "torn_bits is an option of NOR, and this flash is NAND: add flash=nor");
  EXPECT_EQ(error_of({"erase_cycles=2"}, 0), "erase_cycles is an option of raw flash, and this is a disk");
  EXPECT_EQ(error_of({"bad_unit=erase-noop"}),
            "bad_unit says what a bad unit does, and none is bad: add erase_cycles=N or bad_units=LIST");
  EXPECT_EQ(error_of({"bad_units=8"}), "bad_units has unit 8, and the flash has units 0 to 7");
  for (const char* list : {"1,2", "1+", "x", "+1", "1++2", "-1"})
    EXPECT_EQ(error_of({std::string("bad_units=") + list}),
              "bad_units is none, or numbers of units with + between them, not '" + std::string(list) + "'");
}

}  // namespace
}  // namespace sisyfs::flash_options_test
