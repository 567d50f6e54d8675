#include "adapters/plugin/known_addresses.h"

#include <gtest/gtest.h>

#include <vector>

namespace sisyfs::known_addresses_test {
namespace {

const void* at(uint64_t address) { return reinterpret_cast<const void*>(address); }

TEST(KnownAddressesTest, WordsOutsideOfAllRangesStay) {
  KnownAddresses known;
  EXPECT_EQ(known.stable(0x7f0000001000), 0x7f0000001000u) << "there are no ranges";
  known.add(at(0x7f0000001000), 0x1000);
  known.add(at(0x7f0000005000), 0x1000);
  for (const uint64_t word : {uint64_t{0}, uint64_t{42}, uint64_t{0x7f0000000fff}, uint64_t{0x7f0000002000},
                              uint64_t{0x7f0000004fff}, uint64_t{0x7f0000006000}, ~uint64_t{0}})
    EXPECT_EQ(known.stable(word), word);
}

TEST(KnownAddressesTest, SamePlaceInARangeIsTheSameWordInEachProcess) {
  KnownAddresses here, there;
  here.add(at(0x7f0000001000), 0x1000);
  here.add(at(0x550000000000), 0x2000);
  there.add(at(0x7f1234567000), 0x1000);
  there.add(at(0x56789abcd000), 0x2000);
  EXPECT_EQ(here.stable(0x7f0000001010), there.stable(0x7f1234567010));
  EXPECT_EQ(here.stable(0x550000001ff8), there.stable(0x56789abceff8));
  EXPECT_NE(here.stable(0x7f0000001010), here.stable(0x7f0000001018));
  EXPECT_NE(here.stable(0x7f0000001010), here.stable(0x550000000010)) << "the ranges are told apart";
}

TEST(KnownAddressesTest, MovedRangeIsKnownAtItsNewPlaceOnly) {
  KnownAddresses known;
  const size_t stack = known.add(at(0x7f0000001000), 0x1000);
  const uint64_t before = known.stable(0x7f0000001008);
  known.move(stack, at(0x7e0000000000), 0x1000);
  EXPECT_EQ(known.stable(0x7e0000000008), before);
  EXPECT_EQ(known.stable(0x7f0000001008), 0x7f0000001008u);
}

TEST(KnownAddressesTest, CodeAndConstantsOfTheProgramAreKnown) {
  KnownAddresses known;
  known.add_loaded_objects();
  static const int constant = 1;
  const auto code = reinterpret_cast<uint64_t>(&at), data = reinterpret_cast<uint64_t>(&constant);
  EXPECT_NE(known.stable(code), code);
  EXPECT_NE(known.stable(data), data);
  const std::vector<int> heap(10);
  EXPECT_EQ(known.stable(reinterpret_cast<uint64_t>(heap.data())), reinterpret_cast<uint64_t>(heap.data()));
}

}  // namespace
}  // namespace sisyfs::known_addresses_test
