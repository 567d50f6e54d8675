// A finding of a target with a disk: from the command line to its replay in another process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "program.h"

namespace sisyfs::adapter_e2e_test {
namespace {

using testing::HasSubstr;

TEST(AdapterEndToEndTest, AFindingIsToldAndReplayed) {
  for (const char* target : {"link", "index"}) {
    const Answer found = run(std::string("check ") + target + " --via disk --set order=naive --only M3");
    EXPECT_EQ(found.code, 1) << found.text;
    EXPECT_THAT(found.text, HasSubstr("FOUND double-pointer"));
    EXPECT_THAT(found.text, HasSubstr("lost: write 2"));
    const std::string token = token_in(found.text);
    ASSERT_NE(token, "") << found.text;
    const Answer again = run("replay " + token);
    EXPECT_EQ(again.code, 1) << again.text;
    EXPECT_THAT(again.text, HasSubstr("still happens"));
  }
}

TEST(AdapterEndToEndTest, OptionsThatDoNotGoTogetherAreOneMessage) {
  const Answer refused = run("check link --via disk --tasks 2");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(
      refused.text,
      "sisyfs: via=disk runs whole ops of one task: tasks=2, symmetry=on and data=counter need via=steps\n");
}

TEST(AdapterEndToEndTest, TheSafeOrderPasses) {
  const Answer clean = run("check link --via disk --set files=2 --set blocks=3 --set impossible=on");
  EXPECT_EQ(clean.code, 0) << clean.text;
  EXPECT_THAT(clean.text, HasSubstr("an impossible op was refused"));
}

}  // namespace
}  // namespace sisyfs::adapter_e2e_test
