// The house rules, as a test. Each rule takes a file's name and text and gives what is wrong with it, so
// that it can be shown to fire on a planted fault before it is let loose on the tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sisyfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kWidest = 110;
constexpr size_t kLongest = 600;

// The rooms in the order of docs/ARCHITECTURE.md. An include points to the same room or to an earlier one.
constexpr std::array<std::string_view, 18> kRooms = {
    "sisyfs",  "base",  "disk",    "crash",  "tree",     "expect", "workload", "target", "explore",
    "machine", "judge", "finding", "models", "adapters", "guard",  "report",   "cli",    "bench"};

// The one source that knows every subcommand, also those of the last room.
constexpr std::string_view kMain = "src/cli/main.cc";

// Files that may be longer than kLongest, and how long: a ratchet, to be lowered and never raised.
const std::map<std::string, size_t> kLongFiles = {};

struct Source {
  std::string path;  // from the repository's root: src/disk/image.h
  std::string text;
};
using Faults = std::vector<std::string>;

std::string at(const Source& source, size_t line, std::string_view what) {
  return source.path + ":" + std::to_string(line) + ": " + std::string(what);
}

size_t line_of(std::string_view text, size_t offset) {
  return 1 +
         static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(offset), '\n'));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The text with comments and the insides of literals blanked out; every line stays where it was.
std::string code_of(const std::string& text) {
  std::string code = text;
  const auto blank = [&code](size_t from, size_t to) {
    for (size_t i = from; i < std::min(to, code.size()); ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
  };
  const auto end_of = [&text](std::string_view mark, size_t from) {
    const size_t found = text.find(mark, from);
    return found == std::string::npos ? text.size() : found;
  };
  for (size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      const size_t end = end_of("\n", i);
      blank(i, end);
      i = end;
    } else if (text.compare(i, 2, "/*") == 0) {
      const size_t end = end_of("*/", i + 2) + 2;
      blank(i, end);
      i = end;
    } else if (text.compare(i, 2, "R\"") == 0) {
      const size_t open = end_of("(", i);
      const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
      const size_t end = end_of(close, open);
      blank(i + 2, end + close.size() - 1);
      i = end + close.size();
    } else if (text[i] == '"' ||
               (text[i] == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1]))))) {
      size_t end = i + 1;
      while (end < text.size() && text[end] != text[i]) end += text[end] == '\\' ? 2 : 1;
      blank(i + 1, end);
      i = end + 1;
    } else {
      ++i;
    }
  }
  return code;
}

bool is_under(const Source& source, std::string_view folder) { return source.path.starts_with(folder); }
bool is_header(const Source& source) { return source.path.ends_with(".h"); }
bool is_test(const Source& source) { return source.path.ends_with("_test.cc"); }

// --- the rules ---------------------------------------------------------------------------------------

Faults includes_point_up(const Source& source) {
  if (!is_under(source, "src/") && !is_under(source, "include/")) return {};
  const size_t room_begin = source.path.find('/') + 1;
  const std::string room = source.path.substr(room_begin, source.path.find('/', room_begin) - room_begin);
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

Faults headers_are_guarded(const Source& source) {
  if (!is_header(source) || code_of(source.text).find("#pragma once") != std::string::npos) return {};
  return {at(source, 1, "a header without #pragma once")};
}

// A call or name that does not belong, where it may still be used, and why it is banned.
struct Ban {
  std::regex pattern;
  std::vector<std::string_view> allowed_in;
  bool allowed_in_tests;
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
  const std::vector<std::string_view> cli = {"src/cli/", "src/base/assert.cc"};
  static const std::vector<Ban> kBans = {
      {std::regex(R"(print\(stderr\b)"),
       {"src/base/assert.cc"},
       false,
       "to_stderr() goes on where nobody can hear it; this throws"},
      {call_of("s?rand|s?rand48|rand_r|drand48|srandom"), nowhere, false, kRandom},
      {name_of("random_device"), nowhere, false, kRandom},
      {call_of("time|gettimeofday"), nowhere, false, kClock},
      {name_of("system_clock"), {"src/cli/", "src/report/"}, false, kClock},
      {name_of("cout|cerr|clog|stdout|stderr"), cli, true, kTalk},
      {call_of("printf|puts|putchar"), cli, true, kTalk},
      {std::regex(R"(\bfmt::print\s*\(\s*")"), cli, true, kTalk},
      {std::regex(R"(\bstd::(exit|abort|quick_exit|terminate)\s*\()"), cli, false, kEnd},
      {std::regex(R"(\busing\s+namespace\b)"), nowhere, true, "names say where they come from"},
  };
  return kBans;
}

Faults no_banned_calls(const Source& source) {
  if (!is_under(source, "src/") && !is_under(source, "include/")) return {};
  Faults faults;
  const std::vector<std::string> lines = lines_of(code_of(source.text));
  for (const Ban& ban : bans()) {
    if (ban.allowed_in_tests && is_test(source)) continue;
    if (std::any_of(ban.allowed_in.begin(), ban.allowed_in.end(),
                    [&](std::string_view folder) { return is_under(source, folder); })) {
      continue;
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      if (std::regex_search(lines[i], ban.pattern)) faults.push_back(at(source, i + 1, ban.why));
    }
  }
  return faults;
}

Faults nothing_left_undone(const Source& source) {
  if (!is_under(source, "src/") && !is_under(source, "include/")) return {};
  Faults faults;
  static const std::regex kUndone(R"(\b(TODO|FIXME|XXX|HACK)\b)");
  const std::vector<std::string> lines = lines_of(source.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (std::regex_search(lines[i], kUndone)) {
      faults.push_back(at(source, i + 1, "left undone; do it, or open an issue"));
    }
  }
  return faults;
}

// A block with a head in the form of a call: `name(arguments) {`, so a function or a TEST.
struct Block {
  std::string name, arguments, body;
  size_t line;
};

std::vector<Block> blocks_of(const std::string& code) {
  std::vector<Block> blocks;
  for (size_t open = code.find('{'); open != std::string::npos; open = code.find('{', open + 1)) {
    size_t close_head = code.find_last_not_of(" \n", open - (open > 0));
    for (const std::string_view word : {"override", "const"}) {
      if (close_head == std::string::npos || close_head + 1 < word.size()) continue;
      if (code.compare(close_head + 1 - word.size(), word.size(), word) != 0) continue;
      close_head = code.find_last_not_of(" \n", close_head - word.size());
    }
    if (close_head == std::string::npos || code[close_head] != ')') continue;
    size_t open_head = close_head;
    for (int depth = 1; depth > 0 && open_head > 0;) {
      --open_head;
      depth += (code[open_head] == ')') - (code[open_head] == '(');
    }
    size_t name = open_head;
    while (name > 0 && (std::isalnum(static_cast<unsigned char>(code[name - 1])) || code[name - 1] == '_'))
      --name;
    size_t end = open;
    for (int depth = 0; end < code.size(); ++end) {
      depth += (code[end] == '{') - (code[end] == '}');
      if (depth == 0) break;
    }
    blocks.push_back({code.substr(name, open_head - name),
                      code.substr(open_head + 1, close_head - open_head - 1), code.substr(open, end - open),
                      line_of(code, name)});
  }
  return blocks;
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

// Links of a document to files of the repository; `exists` is asked with a path from the root.
Faults links_lead_somewhere(const Source& document, const std::function<bool(const std::string&)>& exists) {
  Faults faults;
  static const std::regex kLink(R"(\]\(([^)#:\s]+)(#[^)]*)?\))");
  const std::vector<std::string> lines = lines_of(document.text);
  for (size_t i = 0; i < lines.size(); ++i) {
    for (std::sregex_iterator link(lines[i].begin(), lines[i].end(), kLink), end; link != end; ++link) {
      const std::filesystem::path from = std::filesystem::path(document.path).parent_path();
      const std::string to = (from / (*link)[1].str()).lexically_normal().generic_string();
      if (!exists(to)) faults.push_back(at(document, i + 1, "no such file as " + to));
    }
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

TEST(HouseRulesTest, HeaderWithoutGuardIsFound) {
  EXPECT_THAT(headers_are_guarded({"src/base/a.h", "// #pragma once\n"}), ElementsAre(HasSubstr("pragma")));
  EXPECT_THAT(headers_are_guarded({"src/base/a.h", "// A.\n#pragma once\n"}), IsEmpty());
  EXPECT_THAT(headers_are_guarded({"src/base/a.cc", ""}), IsEmpty());
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

TEST(HouseRulesTest, UndoneWorkIsFound) {
  const std::string word = std::string("TO") + "DO";
  EXPECT_THAT(nothing_left_undone({"src/base/a.h", "// " + word + ": later\n"}),
              ElementsAre(HasSubstr("a.h:1")));
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

TEST(HouseRulesTest, DeadLinkIsFound) {
  const Source document{"docs/README.md",
                        "[a](../README.md) [b](gone.md#part)\n[c](https://example.org/x.md)\n"};
  const auto exists = [](const std::string& path) { return path == "README.md"; };
  EXPECT_THAT(links_lead_somewhere(document, exists),
              ElementsAre("docs/README.md:1: no such file as docs/gone.md"));
}

// --- and stays silent on the tree ----------------------------------------------------------------------

namespace fs = std::filesystem;
const fs::path kRoot = SISYFS_SOURCE_DIR;

// The files of one of these types in one of these folders; a folder that is not there has none.
std::vector<Source> files_in(const std::vector<std::string>& folders, const std::vector<std::string>& types) {
  std::vector<Source> files;
  const auto add = [&](const fs::path& path) {
    if (std::find(types.begin(), types.end(), path.extension()) == types.end()) return;
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    files.push_back({fs::relative(path, kRoot).generic_string(), text.str()});
  };
  for (const std::string& folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) add(entry.path());
  }
  for (const auto& entry : fs::directory_iterator(kRoot)) add(entry.path());
  std::sort(files.begin(), files.end(), [](const Source& a, const Source& b) { return a.path < b.path; });
  return files;
}

void expect_everywhere(Faults (*rule)(const Source&)) {
  const std::vector<Source> sources = files_in({"include", "src", "tests", "bench"}, {".h", ".cc"});
  ASSERT_FALSE(sources.empty()) << "the tree lies in " << SISYFS_SOURCE_DIR;
  for (const Source& source : sources) {
    for (const std::string& fault : rule(source)) ADD_FAILURE() << fault;
  }
}

TEST(HouseTest, IncludesPointUp) { expect_everywhere(includes_point_up); }
TEST(HouseTest, LinesFit) { expect_everywhere(lines_fit); }
TEST(HouseTest, FilesAreShort) { expect_everywhere(files_are_short); }
TEST(HouseTest, HeadersAreGuarded) { expect_everywhere(headers_are_guarded); }
TEST(HouseTest, NoBannedCalls) { expect_everywhere(no_banned_calls); }
TEST(HouseTest, NothingIsLeftUndone) { expect_everywhere(nothing_left_undone); }
TEST(HouseTest, LinksLeadSomewhere) {
  const auto exists = [](const std::string& path) { return fs::exists(kRoot / path); };
  for (const Source& document : files_in({"docs", "bench", "examples"}, {".md"})) {
    EXPECT_THAT(links_lead_somewhere(document, exists), IsEmpty());
  }
}
TEST(HouseTest, TestsExpectSomething) { expect_everywhere(tests_expect_something); }

}  // namespace
}  // namespace sisyfs
