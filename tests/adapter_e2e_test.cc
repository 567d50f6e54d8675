// A finding through the adapter, from the command line to the replay in another process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace sisyfs {
namespace {

using testing::HasSubstr;

struct Answer {
  int code = -1;
  std::string text;
};

Answer run(const std::string& arguments) {
  Answer out;
  FILE* pipe = popen((std::string("'") + SISYFS_PROGRAM + "' " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) != 0;) out.text.append(buffer, n);
  out.code = WEXITSTATUS(pclose(pipe));
  return out;
}

TEST(AdapterEndToEndTest, AFindingIsToldAndReplayed) {
  for (const char* target : {"link", "index"}) {
    const Answer found = run(std::string("check ") + target + " --via disk --set order=naive --only M3");
    EXPECT_EQ(found.code, 1) << found.text;
    EXPECT_THAT(found.text, HasSubstr("FOUND double-pointer"));
    EXPECT_THAT(found.text, HasSubstr("lost: write 2"));
    const size_t at = found.text.find("s1:");
    ASSERT_NE(at, std::string::npos) << found.text;
    const std::string token = found.text.substr(at, found.text.find('\n', at) - at);
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
}  // namespace sisyfs
