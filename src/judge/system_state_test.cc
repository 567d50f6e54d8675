#include "judge/system_state.h"

#include <gtest/gtest.h>

namespace sisyfs::system_state_test {
namespace {

TEST(DiskMoveTest, AChoiceHoldsAllThreeNumbers) {
  for (const DiskMove& move : {DiskMove{0, 0, 0}, DiskMove{1, 2, 3},
                               DiskMove{DiskMove::kOps - 1, DiskMove::kPositions - 1, DiskMove::kStates - 1},
                               DiskMove{DiskMove::kOps - 1, 0, 0}, DiskMove{0, DiskMove::kPositions - 1, 0},
                               DiskMove{0, 0, DiskMove::kStates - 1}})
    EXPECT_EQ(DiskMove::of(move.choice()), move);
  EXPECT_NE((DiskMove{1, 0, 0}.choice()), (DiskMove{0, 1, 0}.choice()));
}

TEST(ShapePrintTest, CoversShapeSystemOpsAndTheLastOps) {
  DiskSystemState state;
  state.last_ops = 0x0201;
  const Digest print = shape_print(state, 2);
  DiskSystemState other = state;
  other.print = Digest{1, 2};
  EXPECT_EQ(shape_print(other, 2), print) << "the exact fingerprint says nothing about the shape";
  other.system_ops = 1;
  EXPECT_NE(shape_print(other, 2), print);
  other = state;
  other.shape = Digest{1, 2};
  EXPECT_NE(shape_print(other, 2), print);
  other = state;
  other.damaged = true;
  EXPECT_NE(shape_print(other, 2), print);
}

TEST(ShapePrintTest, ForgetsOpsFromLongAgo) {
  DiskSystemState state, other;
  state.last_ops = 0x010203;
  other.last_ops = 0xff0203;
  EXPECT_EQ(shape_print(state, 2), shape_print(other, 2));
  EXPECT_NE(shape_print(state, 3), shape_print(other, 3));
  EXPECT_NE(shape_print(state, 8), shape_print(other, 8));
}

TEST(ShapePrintTest, AllPathsThatEndedAreOne) {
  DiskSystemState state, other;
  state.over = other.over = true;
  other.last_ops = 7;
  EXPECT_EQ(shape_print(state, 2), shape_print(other, 2));
}

TEST(TreePrintTest, CoversAllButDiskAndMemory) {
  DiskSystemState state, other;
  state.last_ops = other.last_ops = 0x010203;
  other.print = Digest{1, 2};
  other.shape = Digest{1, 2};
  EXPECT_EQ(tree_print(other, 2), tree_print(state, 2));
  other.last_ops = 0xff0203;
  EXPECT_EQ(tree_print(other, 2), tree_print(state, 2));
  EXPECT_NE(tree_print(other, 3), tree_print(state, 3));
  other = state;
  other.known = Digest{1, 2};
  EXPECT_NE(tree_print(other, 2), tree_print(state, 2));
  other = state;
  other.damaged = true;
  EXPECT_NE(tree_print(other, 2), tree_print(state, 2));
  state.over = other.over = true;
  EXPECT_EQ(tree_print(other, 2), tree_print(state, 2));
}

}  // namespace
}  // namespace sisyfs::system_state_test
