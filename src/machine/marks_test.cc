#include "machine/marks.h"

#include <gtest/gtest.h>

namespace sisyfs::marks_test {
namespace {

struct Reaches : ReachesMarks {
  uint32_t bits = 0;
  uint32_t take_marks() override { return std::exchange(bits, 0); }
};

TEST(MarksTest, MarksOfATargetLieBehindThoseOfTheMachine) {
  Reaches target;
  target.bits = 0b101;
  EXPECT_EQ(marks_of(&target), kOfTarget | kOfTarget << 2);
  EXPECT_EQ(marks_of(&target), 0u) << "they were taken";
}

TEST(MarksTest, ATargetWithoutMarksReachesNone) { EXPECT_EQ(marks_of(nullptr), 0u); }

// The last bit says that something was left out. A target cannot say so.
TEST(MarksTest, ATargetCannotSetTheMarkOfWhatWasLeftOut) {
  Reaches target;
  target.bits = ~0u;
  EXPECT_EQ(marks_of(&target) & kLeftOut, 0u);
}

}  // namespace
}  // namespace sisyfs::marks_test
