// File systems on raw flash, which only a kernel of the user has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "program.h"

namespace sisyfs::flash_e2e_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(FlashE2eTest, WithoutAKernelOfTheUserItIsRefusedInOneSentence) {
  for (const std::string command : {"check jffs2", "check jffs2 --depth 1", "check jffs2 --host --depth 1",
                                    "services jffs2 --only sync", "check ubifs --depth 1"}) {
    const Answer a = run(command + " --progress off");
    EXPECT_EQ(a.code, 2) << command << '\n' << a.text;
    EXPECT_THAT(a.text, AllOf(HasSubstr("needs a kernel with flash"), HasSubstr("docs/kernels.md"),
                              HasSubstr("Another kernel"), HasSubstr("--kernel PATH")))
        << command;
  }
}

TEST(FlashE2eTest, TheOptionsOfFlashAreListed) {
  EXPECT_THAT(run("targets jffs2").text, AllOf(HasSubstr("--set torn_bits="), HasSubstr("--set bad_units=")));
  EXPECT_THAT(run("targets ext4").text, Not(HasSubstr("torn_bits")));
}

}  // namespace
}  // namespace sisyfs::flash_e2e_test
