// The house rules, as a test. Each rule takes a file's name and text and returns what is wrong with it. So it
// can be shown to fire on a planted fault before it is applied to the tree. Rules about classes are in
// house_classes_test.cc, rules about documents in house_docs_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "house.h"

namespace sisyfs::house::house_rules_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kWidest = 110;
constexpr size_t kLongest = 600;

// The one source that knows every subcommand, also those of the last room.
constexpr std::string_view kMain = "src/cli/main.cc";

// Files that may be longer than kLongest, and how long: a ratchet, to be lowered and never raised.
const std::map<std::string, size_t> kLongFiles = {};

// --- the rules ---------------------------------------------------------------------------------------

Faults includes_point_up(const Source& source) {
  const std::string room = room_of(source);
  if (room.empty()) return {};
  const auto own = std::find(kRooms.begin(), kRooms.end(), room);
  if (own == kRooms.end()) return {at(source, 1, "no such room as " + room)};

  Faults faults;
  static const std::regex kInclude(R"re(^\s*#\s*include\s*"([^"]+)")re");
  const std::vector<std::string> lines = lines_of(source.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(lines[i], match, kInclude)) continue;
    const std::string path = match[1];
    const auto other = std::find(kRooms.begin(), kRooms.end(), path.substr(0, path.find('/')));
    if (path.find('/') == std::string::npos || other == kRooms.end()) {
      faults.push_back(at(source, i + 1, path + " is not named by its room"));
    } else if (other > own && source.path != kMain) {
      faults.push_back(
          at(source, i + 1, room + " comes before " + std::string(*other) + " and may not include " + path));
    }
  }
  return faults;
}

Faults lines_fit(const Source& source) {
  Faults faults;
  const std::vector<std::string> lines = lines_of(source.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto is_first_byte = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    if (std::count_if(lines[i].begin(), lines[i].end(), is_first_byte) > static_cast<ptrdiff_t>(kWidest)) {
      faults.push_back(at(source, i + 1, "wider than " + std::to_string(kWidest)));
    }
  }
  return faults;
}

Faults files_are_short(const Source& source) {
  const auto allowed = kLongFiles.find(source.path);
  const size_t longest = allowed == kLongFiles.end() ? kLongest : allowed->second;
  const size_t lines = lines_of(source.text).size();
  if (lines <= longest) return {};
  return {
      at(source, lines, "longer than " + std::to_string(longest) + " lines; which noun is hiding in it?")};
}

// A release compiles several tests as one source, where the helpers of two tests may have the same name.
Faults tests_have_their_own_namespace(const Source& source) {
  const std::string name = source.path.substr(source.path.rfind('/') + 1);
  if (!name.ends_with("_test.cc")) return {};
  const std::string own = name.substr(0, name.size() - 3);
  for (const std::string& line : lines_of(source.text)) {
    if (line.starts_with("namespace sisyfs::") && line.ends_with("::" + own + " {")) return {};
  }
  return {at(source, 1, "a test is in a namespace of its own, here sisyfs::...::" + own)};
}

// The examples are C for any compiler, so they may have the classic guard.
Faults headers_are_guarded(const Source& source) {
  const std::string code = code_of(source.text);
  if (!is_header(source) || code.find("#pragma once") != std::string::npos) return {};
  static const std::regex kClassic(R"(^\s*#ifndef (\w+)\n#define \1\n)");
  if (is_under(source, "examples/") && std::regex_search(code, kClassic)) return {};
  return {at(source, 1, "a header without #pragma once")};
}

// A call or name that does not belong in a source, where it may be used all the same, and why it is banned.
enum class Scope : uint8_t {
  kEverywhere,  // sources, tests, benches and examples
  kRooms,       // src/ and include/
  kNoTests,     // src/ and include/ without the tests in them
};
struct Ban {
  std::regex pattern;
  std::vector<std::string_view> allowed_in;
  Scope scope;
  std::string_view why;
};

// A free function of one of these names, called; a member of that name is something else.
std::regex call_of(const std::string& names) {
  return std::regex(R"((^|[^\w.>])((std)?::)?()" + names + R"()\s*\()");
}
std::regex name_of(const std::string& names) { return std::regex("\\b(" + names + ")\\b"); }

const std::vector<Ban>& bans() {
  constexpr std::string_view kRandom = "randomness comes from a generator that was passed in";
  constexpr std::string_view kClock = "no clock decides anything";
  constexpr std::string_view kTalk = "only the command line talks";
  constexpr std::string_view kEnd = "only the command line and assertions end the program";
  const std::vector<std::string_view> nowhere;
  // The arena is what a plug-in has in place of the C library: it answers these calls itself. So do the
  // libraries for guests and tools. Plug-ins of the
  // tests misbehave on purpose.
  constexpr std::string_view kArena = "src/adapters/plugin/arena/";
  constexpr std::string_view kGuests = "src/adapters/guest/inside/";
  constexpr std::string_view kBadPlugins = "tests/plugins/";
  const std::vector<std::string_view> cli = {"src/cli/", "src/base/assert.cc", kArena};
  static const std::vector<Ban> kBans = {
      {std::regex(R"(print\(stderr\b)"),
       {"src/base/assert.cc"},
       Scope::kRooms,
       "throws where standard error is closed; use to_stderr()"},
      {call_of("s?rand|s?rand48|rand_r|drand48|srandom"), {kBadPlugins}, Scope::kEverywhere, kRandom},
      {name_of("random_device"), nowhere, Scope::kEverywhere, kRandom},
      {call_of("time|gettimeofday"), {kArena, kGuests, kBadPlugins}, Scope::kEverywhere, kClock},
      {name_of("system_clock"), {"src/cli/", "src/report/"}, Scope::kEverywhere, kClock},
      {name_of("cout|cerr|clog|stdout|stderr"), cli, Scope::kNoTests, kTalk},
      {call_of("printf|puts|putchar"), cli, Scope::kNoTests, kTalk},
      {std::regex(R"(\bfmt::print\s*\(\s*")"), cli, Scope::kNoTests, kTalk},
      {std::regex(R"(\bstd::(exit|abort|quick_exit|terminate)\s*\()"), cli, Scope::kRooms, kEnd},
      {std::regex(R"(\busing\s+namespace\b)"), nowhere, Scope::kNoTests, "names say where they come from"},
  };
  return kBans;
}

bool applies(const Ban& ban, const Source& source) {
  const bool in_room = !room_of(source).empty();
  if (ban.scope != Scope::kEverywhere && !in_room) return false;
  if (ban.scope == Scope::kNoTests && is_test(source)) return false;
  return std::none_of(ban.allowed_in.begin(), ban.allowed_in.end(),
                      [&](std::string_view folder) { return is_under(source, folder); });
}

Faults no_banned_calls(const Source& source) {
  Faults faults;
  const std::vector<std::string> lines = lines_of(code_of(source.text));
  for (const Ban& ban : bans()) {
    if (!applies(ban, source)) continue;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (std::regex_search(lines[i], ban.pattern)) faults.push_back(at(source, i + 1, ban.why));
    }
  }
  return faults;
}

Faults nothing_left_undone(const Source& source) {
  Faults faults;
  static const std::regex kUndone(R"(\b(TODO|FIXME|XXX|HACK)\b)");
  const std::vector<std::string> lines = lines_of(without_literals(source.text));
  for (size_t i = 0; i < lines.size(); ++i) {
    if (std::regex_search(lines[i], kUndone)) {
      faults.push_back(at(source, i + 1, "left undone; do it, or open an issue"));
    }
  }
  return faults;
}

// Each TEST expects something: itself, or through a function of the same file or one whose name says so
// (expect_same()). SUCCEED() marks a test that a sanitizer judges.
Faults tests_expect_something(const Source& source) {
  if (!is_test(source)) return {};
  static const std::regex kExpects(
      R"(\b(EXPECT|ASSERT|expect|assert)_\w+\s*[(<]|\b(FAIL|ADD_FAILURE|SUCCEED)\s*\()");
  const std::vector<Block> blocks = blocks_of(code_of(source.text));
  std::set<std::string> helpers;
  for (const Block& block : blocks) {
    if (std::regex_search(block.body, kExpects)) helpers.insert(block.name);
  }
  const auto calls_helper = [&](const std::string& body) {
    static const std::regex kCall(R"((\w+)\s*[(<])");
    return std::any_of(std::sregex_iterator(body.begin(), body.end(), kCall), std::sregex_iterator(),
                       [&](const std::smatch& call) { return helpers.contains(call[1].str()); });
  };
  static const std::regex kTest("(TYPED_)?TEST(_F|_P)?");
  Faults faults;
  for (const Block& block : blocks) {
    if (!std::regex_match(block.name, kTest) || std::regex_search(block.body, kExpects)) continue;
    if (!calls_helper(block.body))
      faults.push_back(at(source, block.line, "expects nothing: " + block.arguments));
  }
  return faults;
}

// --- each rule fires on a planted fault ----------------------------------------------------------------

TEST(HouseRulesTest, IncludeOfALaterRoomIsFound) {
  const auto found = includes_point_up({"src/disk/image.h",
                                        "#pragma once\n#include \"base/digest.h\"\n"
                                        "#include \"tree/tree.h\"\n"});
  EXPECT_THAT(found,
              ElementsAre("src/disk/image.h:3: disk comes before tree and may not include tree/tree.h"));
}

TEST(HouseRulesTest, IncludeOfAnEarlierOrTheSameRoomIsFine) {
  EXPECT_THAT(includes_point_up({"src/cli/main.cc",
                                 "#include \"cli/check.h\"\n#include \"base/result.h\"\n"
                                 "#include <vector>\n"}),
              IsEmpty());
}

TEST(HouseRulesTest, IncludeWithoutRoomAndUnknownRoomAreFound) {
  EXPECT_THAT(includes_point_up({"src/disk/log.cc", "#include \"log.h\"\n"}),
              ElementsAre(HasSubstr("its room")));
  EXPECT_THAT(includes_point_up({"src/attic/log.cc", ""}), ElementsAre(HasSubstr("no such room")));
}

TEST(HouseRulesTest, WidthIsInCharactersNotBytes) {
  std::string umlauts;
  for (size_t i = 0; i < kWidest; ++i) umlauts += "ö";
  EXPECT_THAT(lines_fit({"src/base/a.h", umlauts + "\n"}), IsEmpty());
  EXPECT_THAT(lines_fit({"src/base/a.h", "\n" + umlauts + "x\n"}), ElementsAre(HasSubstr("a.h:2: wider")));
}

TEST(HouseRulesTest, LongFileIsFound) {
  std::string text;
  for (size_t i = 0; i < kLongest; ++i) text += "//\n";
  EXPECT_THAT(files_are_short({"src/base/a.h", text}), IsEmpty());
  EXPECT_THAT(files_are_short({"src/base/a.h", text + "//\n"}), ElementsAre(HasSubstr("longer")));
}

TEST(HouseRulesTest, TestWithoutItsOwnNamespaceIsFound) {
  EXPECT_THAT(tests_have_their_own_namespace({"src/crash/a_test.cc", "namespace sisyfs {\n}\n"}),
              ElementsAre(HasSubstr("sisyfs::...::a_test")));
  EXPECT_THAT(tests_have_their_own_namespace({"src/crash/a_test.cc", "namespace sisyfs::a_test {\n}\n"}),
              IsEmpty());
  EXPECT_THAT(tests_have_their_own_namespace({"src/crash/a.cc", "namespace sisyfs {\n}\n"}), IsEmpty());
}

TEST(HouseRulesTest, HeaderWithoutGuardIsFound) {
  EXPECT_THAT(headers_are_guarded({"src/base/a.h", "// #pragma once\n"}), ElementsAre(HasSubstr("pragma")));
  EXPECT_THAT(headers_are_guarded({"src/base/a.h", "// A.\n#pragma once\n"}), IsEmpty());
  EXPECT_THAT(headers_are_guarded({"src/base/a.cc", ""}), IsEmpty());
  const std::string classic = "/* A. */\n#ifndef A_H\n#define A_H\n#endif\n";
  EXPECT_THAT(headers_are_guarded({"examples/a/a.h", classic}), IsEmpty());
  EXPECT_THAT(headers_are_guarded({"src/base/a.h", classic}), ElementsAre(HasSubstr("pragma")));
}

TEST(HouseRulesTest, BannedCallsAreFound) {
  for (const char* call :
       {"int a = rand();", "std::srand(1);", "seed(time(nullptr));", "std::time(nullptr)",
        "std::random_device d;", "std::chrono::system_clock::now();", "std::cout << 1;", "printf(\"x\");",
        "std::fprintf(stderr, \"x\");", "fmt::print(\"{}\", 1);", "std::exit(1);", "using namespace std;"}) {
    EXPECT_THAT(no_banned_calls({"src/explore/search.cc", call}), testing::SizeIs(1)) << call;
  }
  EXPECT_THAT(no_banned_calls({"src/cli/run.cc", "fmt::print(stderr, \"x\");"}), testing::SizeIs(1));
}

TEST(HouseRulesTest, WhatOnlyLooksBannedIsFine) {
  for (const char* call :
       {"brand();", "run_time(1);", "bounds.time(3);", "// rand() would be wrong", "f(\"rand()\");",
        "snprintf(b, 2, f);", "fmt::print(file, \"x\");", "steady_clock::now();", "R\"(time(0))\"",
        "/* std::cout\n rand() */", "x = 1'000; // time(0)", "c = '\"'; // rand()"}) {
    EXPECT_THAT(no_banned_calls({"src/explore/search.cc", call}), IsEmpty()) << call;
  }
  EXPECT_THAT(no_banned_calls({"src/cli/main.cc", "std::cout << 1;"}), IsEmpty());
}

TEST(HouseRulesTest, BansReachAsFarAsTheyShould) {
  EXPECT_THAT(no_banned_calls({"examples/a/a.c", "x = rand();"}), testing::SizeIs(1));
  EXPECT_THAT(no_banned_calls({"tests/a_test.cc", "x = rand();"}), testing::SizeIs(1));
  EXPECT_THAT(no_banned_calls({"examples/a/a.c", "printf(\"x\");"}), IsEmpty());
  EXPECT_THAT(no_banned_calls({"src/explore/a_test.cc", "printf(\"x\");"}), IsEmpty());
  EXPECT_THAT(no_banned_calls({"src/explore/a_test.cc", "std::exit(1);"}), testing::SizeIs(1));
}

TEST(HouseRulesTest, UndoneWorkIsFound) {
  const std::string word = std::string("TO") + "DO";
  for (const char* path : {"src/base/a.h", "tests/a_test.cc", "examples/a.c"}) {
    EXPECT_THAT(nothing_left_undone({path, "// " + word + ": later\n"}), ElementsAre(HasSubstr(":1: left")));
  }
  EXPECT_THAT(nothing_left_undone({"tests/a_test.cc", "f(\"" + word + "\");\n"}), IsEmpty());
}

TEST(HouseRulesTest, RulesReadCAndEveryKindOfCpp) {
  std::set<std::string> types;
  for (const Source& source : files_in(kCodeFolders, kCodeTypes)) {
    types.insert(std::filesystem::path(source.path).extension());
  }
  EXPECT_THAT(types, ElementsAre(".c", ".cc", ".cpp", ".h", ".hpp"));
  EXPECT_THAT(headers_are_guarded({"include/sisyfs/a.hpp", ""}), ElementsAre(HasSubstr("pragma")));
}

TEST(HouseRulesTest, TestThatExpectsNothingIsFound) {
  const Source source{"src/base/a_test.cc",
                      "void fails(int e) const { EXPECT_EQ(e, 1); }\n"
                      "void runs(int e) { run(e); }\n"
                      "TEST(A, Good) {\n  if (x) { y(); }\n  EXPECT_EQ(1, 1);\n}\n"
                      "TEST_F(A, Bad) {\n  if (x) { runs(1); }  // EXPECT_EQ(1, 1)\n}\n"
                      "TEST(A, Helped) { expect_same(1, 1); }\n"
                      "TEST(A, HelpedByName) { fails(f(1)); }\n"};
  EXPECT_THAT(tests_expect_something(source), ElementsAre("src/base/a_test.cc:7: expects nothing: A, Bad"));
}

// --- and stays silent on the tree ----------------------------------------------------------------------

TEST(HouseTest, IncludesPointUp) { expect_everywhere(includes_point_up); }
TEST(HouseTest, LinesFit) { expect_everywhere(lines_fit); }
TEST(HouseTest, FilesAreShort) { expect_everywhere(files_are_short); }
TEST(HouseTest, TestsHaveTheirOwnNamespace) { expect_everywhere(tests_have_their_own_namespace); }
TEST(HouseTest, HeadersAreGuarded) { expect_everywhere(headers_are_guarded); }
TEST(HouseTest, NoBannedCalls) { expect_everywhere(no_banned_calls); }
TEST(HouseTest, NothingIsLeftUndone) { expect_everywhere(nothing_left_undone); }
TEST(HouseTest, TestsExpectSomething) { expect_everywhere(tests_expect_something); }

}  // namespace
}  // namespace sisyfs::house::house_rules_test
