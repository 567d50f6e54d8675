// Parts of the workload of a plug-in: each finds a planted bug that the search without it does not find, and
// says nothing about the right system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "program.h"

namespace sisyfs::wide_workload_e2e_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kNarrow =
    " --set truncates=zero --set offsets=start --set fdatasync=off --set xattrs=off --set reads=off --set "
    "odd=off ";

TEST(WideWorkloadTest, EachPartFindsABugThatTheOthersMiss) {
  struct Planted {
    std::string fault, settings, code, story;
    int depth;
  };
  const std::vector<Planted> all = {
      {"grow", "--set truncates=ends", "O2", "truncate /a 512", 5},
      {"grow", "--set truncates=all", "O2", "truncate /a 512", 5},
      {"hole", "--set offsets=ends --set unit=512", "O2", "write /a 512 512", 3},
      {"hole", "--set offsets=all --set file_blocks=3", "O2", "write /a 512 512", 3},
      {"stale", "--set reads=on", "O2", "read /a 0 512", 5},
      {"listed", "--set reads=on", "O2", "readdir /", 3},
      {"fdatasync", "--set fdatasync=on", "R3", "fdatasync /a", 3},
      {"xattr", "--set xattrs=on", "O2", "setxattr /a user.a 1", 3},
      {"cased", "--set names=colliding", "O1", "answers EEXIST", 4},
      {"cut_off", "--set names=long", "O1", "answers EEXIST", 2},
      {"hashed", "--set names=colliding", "O1", "answers EEXIST", 2},
      {"odd", "--set odd=on", "O2", "write /a 511 512", 3},
  };
  for (const Planted& planted : all) {
    SCOPED_TRACE(planted.fault + " " + planted.settings);
    const std::string depth = "--depth " + std::to_string(planted.depth) +
                              " --set crash=" + (planted.code == "R3" ? "lazy" : "none") +
                              " --set file_blocks=3 --set dirs=0 --set links=off --set files=" +
                              (planted.fault == "cased" ? "3" : "2");
    // Options are given once each.
    std::string narrow = kNarrow;
    for (const char* name : {"truncates", "offsets", "fdatasync", "xattrs", "reads", "odd"}) {
      const std::string word = std::string("--set ") + name + "=";
      if (planted.settings.find(word) == std::string::npos) continue;
      const size_t at = narrow.find(word);
      narrow.erase(at, narrow.find(' ', at + 6) - at);
    }
    std::string own = planted.settings;
    if (const size_t at = own.find(" --set file_blocks=3"); at != std::string::npos) own.erase(at, 20);
    const Answer found = check_plugin("jotter_" + planted.fault, depth + narrow + own);
    EXPECT_EQ(found.code, 1) << found.text;
    EXPECT_THAT(found.text, HasSubstr("(" + planted.code));
    EXPECT_THAT(found.text, HasSubstr(planted.story));
    const Answer replayed = run("replay '" + token_in(found.text) + "'");
    EXPECT_EQ(replayed.code, 1) << replayed.text;
    const Answer missed = check_plugin("jotter_" + planted.fault, depth + kNarrow);
    EXPECT_EQ(missed.code, 0) << missed.text;
    const Answer right = check_plugin("jotter", depth + narrow + own);
    EXPECT_EQ(right.code, 0) << right.text;
  }
}

TEST(WideWorkloadTest, TheRightSystemPassesWithAllOfIt) {
  for (const char* names : {"plain", "long", "colliding"}) {
    const Answer a = check_plugin("jotter",
                                  "--depth 3 --set reads=on --set odd=on --set truncates=all "
                                  "--set offsets=all --set write=2 --set names=" +
                                      std::string(names));
    EXPECT_EQ(a.code, 0) << a.text;
    EXPECT_THAT(a.text, Not(HasSubstr("not reached")));
  }
}

TEST(WideWorkloadTest, OddSizesNeedAPluginThatTakesThem) {
  const Answer whole = check_plugin("ledger", "--set odd=on");
  EXPECT_EQ(whole.code, 2) << whole.text;
  EXPECT_THAT(whole.text,
              HasSubstr("odd=on needs a plug-in that takes any size and offset, and this one takes "
                        "multiples of 64 bytes (write_unit)"));
  const Answer bytes = check_plugin("jotter", "--set odd=on --set unit=1");
  EXPECT_EQ(bytes.code, 2) << bytes.text;
  EXPECT_THAT(bytes.text, HasSubstr("odd=on tries sizes and offsets within a unit, and unit=1 leaves none"));
}

TEST(WideWorkloadTest, ModelsHaveTheCallsToo) {
  const std::string wide =
      " --depth 3 --progress off --set fdatasync=on --set reads=on --set truncates=all "
      "--set offsets=all";
  for (const char* target : {"journal", "f2fs"}) {
    const Answer a = run(std::string("check ") + target + wide);
    EXPECT_EQ(a.code, 0) << a.text;
    EXPECT_THAT(a.text, Not(HasSubstr("fdatasync (--set"))) << "it was not tried";
  }
  EXPECT_EQ(run("check verifs2 --depth 3 --progress off --set reads=on").code, 0);
}

}  // namespace
}  // namespace sisyfs::wide_workload_e2e_test
