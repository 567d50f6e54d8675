// The command museum: a complete run, and the messages if something differs from the catalogue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.h"

namespace sisyfs::museum_e2e_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// An exhibit that takes milliseconds.
const std::string kLink =
    "[[exhibit]]\nname = \"small\"\ntitle = \"t\"\nsource = \"s\"\ntakes = \"crash\"\ntarget = \"link\"\n"
    "wrong = [\"order=naive\"]\nset = [\"cache=off\"]\n";

// A round through a data file of this text.
Answer round_of(const std::string& text, const std::string& flags = "") {
  const TemporaryDirectory directory;
  return run("museum --progress off --exhibits '" + directory.write("e.toml", text) + "' " + flags);
}

TEST(MuseumTest, WholeRoundIsAsExpected) {
  const Answer a = run("museum --progress off --json");
  EXPECT_EQ(a.code, 0) << a.text;
  const json museum = json::parse(a.text);
  EXPECT_EQ(museum["schema"], "sisyfs.museum/1");
  EXPECT_EQ(museum["differ"], 0);
  EXPECT_EQ(museum["stopped"], 0);
  EXPECT_EQ(museum["not_tried"], 0);
  std::vector<std::string> waiting;
  for (const json& exhibit : museum["exhibits"]) {
    if (exhibit["fit"] == "waits") {
      waiting.push_back(exhibit["name"]);
      EXPECT_FALSE(exhibit.contains("search")) << exhibit;
      continue;
    }
    EXPECT_EQ(exhibit["fit"], "as expected") << exhibit;
    EXPECT_EQ(exhibit["replayed"], true) << exhibit;
    EXPECT_FALSE(exhibit["search"]["found"].empty()) << exhibit;
    EXPECT_TRUE(exhibit["twin"]["found"].empty()) << exhibit;
    EXPECT_GT(exhibit["twin"]["transitions"], 0) << exhibit;
  }
  EXPECT_THAT(waiting, IsEmpty());
  for (const json& model : museum["models"]) {
    EXPECT_EQ(model["fit"], "as expected") << model;
    EXPECT_TRUE(model["search"]["found"].empty()) << model;
    EXPECT_EQ(model["search"]["left_out"], 0) << model;
  }
}

TEST(MuseumTest, TableHasATokenThatReplays) {
  const Answer a = run("museum --progress off --only verifs1-stale-names");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("as expected"));
  EXPECT_THAT(a.text, Not(HasSubstr("verifs1-truncate")));
  EXPECT_EQ(run("replay --quiet " + token_in(a.text)).code, 1);
}

TEST(MuseumTest, ListNamesWhatThereIsAndSearchesNothing) {
  const Answer a = run("museum --list");
  EXPECT_EQ(a.code, 0);
  EXPECT_THAT(a.text, HasSubstr("journal-lookup-error"));
  EXPECT_THAT(a.text, HasSubstr("verifs2"));
}

TEST(MuseumTest, AnythingElseThanExpectedIsExitCodeOne) {
  const auto differs = [](const std::string& text, const char* why) {
    const Answer a = round_of(text);
    EXPECT_EQ(a.code, 1) << a.text;
    EXPECT_THAT(a.text, HasSubstr(why));
    EXPECT_THAT(a.text, HasSubstr("0 as expected, 1 differ, 0 stopped or not tried, 0 waiting"));
  };
  EXPECT_EQ(round_of(kLink + "finds = [\"M2\"]\nat = 3\n").code, 0);
  differs(kLink + "finds = [\"M2\"]\nat = 4\n", "DIFFERS: found at depth 3; 4 was expected");
  differs(kLink + "finds = [\"M2\"]\nat = 2\n", "DIFFERS: not found to depth 2; M2 at depth 2 was expected");
  differs(kLink + "finds = [\"M2\", \"M3\"]\nat = 3\n", "DIFFERS: found M2; M2 M3 was expected");
  differs(
      "[[exhibit]]\nname = \"twin\"\ntitle = \"t\"\nsource = \"s\"\ntakes = \"crash\"\ntarget = \"link\"\n"
      "wrong = [\"files=2\"]\nset = [\"order=naive\", \"cache=off\"]\nfinds = [\"M2\"]\nat = 3\n",
      "DIFFERS: without the mistake: M2 at depth 3");
  differs("[[model]]\nname = \"m\"\ntitle = \"t\"\ntarget = \"verifs1\"\nset = [\"truncate_clear=off\"]\n",
          "DIFFERS: O2 at depth 2");
  differs("[[model]]\nname = \"m\"\ntitle = \"t\"\ntarget = \"f2fs\"\nset = [\"crash=subsets\"]\ndepth = 3\n",
          "DIFFERS: no finding, but the verdict is unknown");
}

TEST(MuseumTest, BadDataFileAndBadNamesAreExitCodeTwoWithOneLine) {
  const auto refused = [](const Answer& a, const char* why) {
    EXPECT_EQ(a.code, 2) << a.text;
    EXPECT_THAT(a.text, HasSubstr(why));
    EXPECT_EQ(std::count(a.text.begin(), a.text.end(), '\n'), 1) << a.text;
  };
  refused(round_of(kLink + "finds = [\"M99\"]\nat = 3\n"),
          "e.toml:9: exhibit 'small': 'finds': unknown finding 'M99'");
  refused(round_of("[[exhibit]\n"), "e.toml:1: this is not TOML");
  refused(run("museum --exhibits /nowhere/e.toml"), "cannot read /nowhere/e.toml");
  refused(run("museum --only nothing-like-it"), "no such exhibit or model; --list names them");
  refused(run("museum --threads 0"), "--threads takes a whole number from 1 on");
}

TEST(MuseumTest, InterruptLeavesAPartOfTheTable) {
  const TemporaryDirectory directory;
  const std::string file =
      directory.write("e.toml", kLink +
                                    "finds = [\"M2\"]\nat = 3\n"
                                    "[[model]]\nname = \"endless\"\ntitle = \"t\"\ntarget = \"f2fs\"\n"
                                    "[[model]]\nname = \"never\"\ntitle = \"t\"\ntarget = \"link\"\n");
  const Answer a = run_line("timeout --foreground --preserve-status -s INT 3 '" SISYFS_PROGRAM
                            "' museum --progress off --exhibits '" +
                            file + "'");
  EXPECT_EQ(a.code, 3) << a.text;
  EXPECT_THAT(a.text, HasSubstr("as expected"));
  EXPECT_THAT(a.text, HasSubstr("stopped: the search was stopped at depth"));
  EXPECT_THAT(a.text, HasSubstr("1 as expected, 0 differ, 2 stopped or not tried, 0 waiting"));
}

TEST(MuseumTest, JsonGoesToAFileBesideTheTable) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("museum.json");
  const Answer a = run("museum --progress off --only link-double-pointer --json '" + file + "'");
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("link-double-pointer"));
  const json museum = json::parse(content_of(file));
  ASSERT_EQ(museum["exhibits"].size(), 1u);
  const json& exhibit = museum["exhibits"][0];
  EXPECT_THAT(exhibit["search"]["found"], ElementsAre("M3"));
  EXPECT_EQ(exhibit["found_at"], 6);
  EXPECT_EQ(run("replay --quiet " + exhibit["token"].get<std::string>()).code, 1);
}

}  // namespace
}  // namespace sisyfs::museum_e2e_test
