// A run whose replays do not confirm the findings: searches are real, replays are stubs.
#include "cli/museum/museum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "finding/token.h"

namespace sisyfs::cli::museum_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSmall =
    "[[exhibit]]\nname = \"small\"\ntitle = \"t\"\nsource = \"s\"\ntakes = \"crash\"\n"
    "target = \"link\"\nwrong = [\"order=naive\"]\nset = [\"cache=off\"]\nfinds = [\"M2\"]\nat = 3\n";

struct Told {
  int code = -1;
  std::string text;
  std::vector<std::string> tokens;  // that were replayed
};

Told round_with(const Result<int>& answer, const std::string& json = "") {
  const Result<Museum> museum = parse_museum(kSmall, "e.toml");
  EXPECT_TRUE(museum);
  Told told;
  MuseumFlags flags;
  flags.progress = "off";
  flags.json = json;
  testing::internal::CaptureStdout();
  told.code = show_round(*museum, flags, {}, [&](const std::string& token) {
    told.tokens.push_back(token);
    return answer;
  });
  told.text = testing::internal::GetCapturedStdout();
  return told;
}

TEST(MuseumRoundTest, AReplayThatConfirmsIsAsExpected) {
  const Told told = round_with(static_cast<int>(kFound));
  EXPECT_EQ(told.code, kClean);
  ASSERT_EQ(told.tokens.size(), 1u);
  EXPECT_TRUE(parse_token(told.tokens[0]));
  EXPECT_THAT(told.text, HasSubstr("Each finding was replayed in a fresh process."));
  EXPECT_THAT(told.text, HasSubstr("./sisyfs replay " + told.tokens[0] + "\n"));
  EXPECT_THAT(told.text, HasSubstr("1 as expected, 0 differ"));
}

TEST(MuseumRoundTest, AReplayThatDoesNotConfirmDiffersAndIsExitCodeOne) {
  for (const int code : {static_cast<int>(kClean), static_cast<int>(kUsage), static_cast<int>(kHarness)}) {
    const Told told = round_with(code);
    EXPECT_EQ(told.code, kFound);
    EXPECT_THAT(told.text,
                HasSubstr("DIFFERS: the replay in a fresh process does not confirm it: exit code " +
                          std::to_string(code) + "; 1 was expected"));
    EXPECT_THAT(told.text, HasSubstr(told.tokens.at(0) + "  (NOT CONFIRMED)"));
    EXPECT_THAT(told.text, Not(HasSubstr("Each finding was")));
    EXPECT_THAT(told.text, HasSubstr("0 as expected, 1 differ"));
  }
}

TEST(MuseumRoundTest, JsonSaysThatTheReplayDidNotConfirm) {
  const Told told = round_with(static_cast<int>(kClean), "-");
  EXPECT_EQ(told.code, kFound);
  const nlohmann::json museum = nlohmann::json::parse(told.text);
  EXPECT_EQ(museum["differ"], 1);
  EXPECT_EQ(museum["exhibits"][0]["fit"], "differs");
  EXPECT_EQ(museum["exhibits"][0]["replayed"], false);
  EXPECT_EQ(museum["exhibits"][0]["search"]["found"][0], "M2");
}

TEST(MuseumRoundTest, AReplayThatCannotBeStartedIsAProblemOfTheHarness) {
  testing::internal::CaptureStderr();
  const Told told = round_with(system_error("cannot start the replay"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("sisyfs: cannot start the replay"));
  EXPECT_EQ(told.code, kHarness);
}

}  // namespace
}  // namespace sisyfs::cli::museum_test
