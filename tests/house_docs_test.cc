// House rules about documents and about what belongs together: links, the order of rooms, the documented
// plug-in interface, tests beside their sources, tokens of an old format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "house.h"

namespace sisyfs::house::house_docs_test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

// --- links ---------------------------------------------------------------------------------------------

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

TEST(HouseDocsTest, DeadLinkIsFound) {
  const Source document{"docs/README.md",
                        "[a](../README.md) [b](gone.md#part)\n[c](https://example.org/x.md)\n"};
  const auto exists = [](const std::string& path) { return path == "README.md"; };
  EXPECT_THAT(links_lead_somewhere(document, exists),
              ElementsAre("docs/README.md:1: no such file as docs/gone.md"));
}

TEST(HouseDocsTest, LinksLeadSomewhere) {
  const auto exists = [](const std::string& path) { return std::filesystem::exists(kRoot / path); };
  for (const Source& document : files_in({"docs", "bench", "examples"}, {".md"})) {
    EXPECT_THAT(links_lead_somewhere(document, exists), IsEmpty());
  }
}

// --- the order of rooms --------------------------------------------------------------------------------

// The lines of a section of a document, without its heading. "" takes the whole document.
std::vector<std::string> section_of(const std::string& text, const std::string& heading) {
  std::vector<std::string> section;
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    const size_t level = std::min(line.find_first_not_of('#'), heading.find_first_not_of('#'));
    if (line.starts_with('#') && level == line.find_first_not_of('#')) {
      inside = line == heading;
    } else if (inside) {
      section.push_back(line);
    }
  }
  return section;
}

// The rooms that the section "The rooms" describes: a paragraph each, which begins with the bold name.
std::vector<std::string> documented_rooms(const std::string& architecture) {
  std::vector<std::string> rooms;
  static const std::regex kRoom(R"(^\*\*(\w+)\*\*)");
  for (const std::string& line : section_of(architecture, "## The rooms")) {
    std::smatch match;
    if (std::regex_search(line, match, kRoom)) rooms.push_back(match[1]);
  }
  return rooms;
}

TEST(HouseDocsTest, DocumentedRoomsAreTheBoldNamesOfTheirSection) {
  EXPECT_THAT(documented_rooms("**no**\n## The rooms\n\n**base** is\nsaid of **disk**.\n\n**disk** is\n"
                               "### More\n**crash** is\n## The ideas\n**One explorer.**\n"),
              ElementsAre("base", "disk", "crash"));
}

TEST(HouseDocsTest, DocumentedOrderOfRoomsIsTheEnforcedOne) {
  EXPECT_THAT(documented_rooms(read_text(kRoot / "docs/ARCHITECTURE.md")), ElementsAreArray(kRooms));
}

// --- the plug-in interface -----------------------------------------------------------------------------

// The fields of a C struct, in their order.
std::vector<std::string> fields_of(const std::string& header, const std::string& name) {
  const std::string code = code_of(header);
  std::smatch head;
  if (!std::regex_search(code, head, std::regex("struct " + name + R"(\s*\{)"))) return {};
  const size_t begin = static_cast<size_t>(head.position() + head.length());
  std::string body = code.substr(begin, code.find('}', begin) - begin);
  // The name of a function pointer takes the place of its whole declaration.
  body = std::regex_replace(body, std::regex(R"([\w\s*]+\(\*(\w+)\)\s*\([^)]*\))"), " $1");
  std::vector<std::string> fields;
  static const std::regex kField(R"((\w+)\s*(?=[;,]))");
  for (std::sregex_iterator field(body.begin(), body.end(), kField), end; field != end; ++field) {
    fields.push_back((*field)[1]);
  }
  return fields;
}

// The names in the first cells of the table under a heading, in their order.
std::vector<std::string> documented_fields(const std::string& document, const std::string& name) {
  std::vector<std::string> fields;
  static const std::regex kName(R"(`(\w+)`)");
  for (const std::string& line : section_of(document, "### " + name)) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(1, line.find('|', 1) - 1);
    for (std::sregex_iterator field(cell.begin(), cell.end(), kName), end; field != end; ++field) {
      fields.push_back((*field)[1]);
    }
  }
  return fields;
}

std::string version_of(const std::string& header) {
  std::smatch major, minor;
  if (!std::regex_search(header, major, std::regex(R"(#define SISYFS_PLUGIN_MAJOR (\d+))"))) return "";
  if (!std::regex_search(header, minor, std::regex(R"(#define SISYFS_PLUGIN_MINOR (\d+))"))) return "";
  return major[1].str() + "." + minor[1].str();
}

TEST(HouseDocsTest, FieldsOfAStructAreReadInTheirOrder) {
  const std::string header =
      "typedef struct other {\n  int no;\n} other;\n"
      "typedef struct thing {\n  uint32_t a, b; /* int c; */\n  const char* name;\n"
      "  int64_t (*call)(void* fs,\n                  const void* bytes);\n  void* last;\n} thing;\n";
  EXPECT_THAT(fields_of(header, "thing"), ElementsAre("a", "b", "name", "call", "last"));
  EXPECT_THAT(fields_of(header, "gone"), IsEmpty());
}

TEST(HouseDocsTest, DocumentedFieldsAreThoseOfTheirTable) {
  const std::string document =
      "### other\n\n| `x` | |\n\n### thing\n\nWith `y`.\n\n| field | |\n| --- | --- |\n| `a`, `b` | as `z` "
      "|\n"
      "| `c` | |\n\n## Next\n\n| `d` | |\n";
  EXPECT_THAT(documented_fields(document, "thing"), ElementsAre("a", "b", "c"));
}

TEST(HouseDocsTest, PluginInterfaceIsDocumentedFieldByField) {
  const std::string header = read_text(kRoot / "include/sisyfs/plugin.h");
  const std::string document = read_text(kRoot / "docs/plugins.md");
  for (const char* name : {"sisyfs_plugin", "sisyfs_disk", "sisyfs_stat", "sisyfs_option"}) {
    const std::vector<std::string> fields = fields_of(header, name);
    EXPECT_FALSE(fields.empty()) << name;
    EXPECT_THAT(documented_fields(document, name), ElementsAreArray(fields)) << name;
  }
}

TEST(HouseDocsTest, PluginInterfaceIsDocumentedInItsVersion) {
  const std::string version = version_of(read_text(kRoot / "include/sisyfs/plugin.h"));
  ASSERT_NE(version, "");
  EXPECT_THAT(read_text(kRoot / "docs/plugins.md"), HasSubstr("version " + version));
}

// --- tests beside their sources ------------------------------------------------------------------------

// Rooms in which each source with code has its own test beside it. Headers of types alone and headers that
// only tests use need none.
constexpr std::array<std::string_view, 3> kTestedRooms = {"machine", "judge", "finding"};

bool has_code(const Source& source) { return !blocks_of(code_of(source.text)).empty(); }

// Sources with code, by path without type, that lack thing_test.cc.
std::set<std::string> untested(const std::vector<Source>& sources) {
  std::set<std::string> things, tests;
  for (const Source& source : sources) {
    if (std::find(kTestedRooms.begin(), kTestedRooms.end(), room_of(source)) == kTestedRooms.end()) continue;
    const std::string thing = source.path.substr(0, source.path.rfind('.'));
    if (is_test(source)) {
      tests.insert(thing.substr(0, thing.size() - std::string_view("_test").size()));
    } else if (has_code(source) && !source.path.ends_with("_for_test.h")) {
      things.insert(thing);
    }
  }
  std::set<std::string> missing;
  std::set_difference(things.begin(), things.end(), tests.begin(), tests.end(),
                      std::inserter(missing, missing.end()));
  return missing;
}

TEST(HouseDocsTest, SourceWithoutTestIsFound) {
  EXPECT_THAT(untested({{"src/judge/a.cc", "int f() { return 1; }"},
                        {"src/judge/a.h", "int f();"},
                        {"src/judge/b.cc", "int g() { return 1; }"},
                        {"src/judge/b_test.cc", ""},
                        {"src/judge/words.h", "struct Words { int a = 1; };"},
                        {"src/judge/inline.h", "inline int h() { return 1; }"},
                        {"src/judge/toy_for_test.h", "inline int h() { return 1; }"},
                        {"src/tree/c.cc", "int f() { return 1; }"}}),
              ElementsAre("src/judge/a", "src/judge/inline"));
}

TEST(HouseDocsTest, SourcesHaveTheirTestsBesideThem) {
  for (const std::string& thing : untested(files_in({"src"}, kCodeTypes)))
    ADD_FAILURE() << thing << " has no " << thing << "_test.cc beside it";
}

// --- tokens --------------------------------------------------------------------------------------------

// Tokens of the first format, which is refused, in a document or in a comment.
Faults no_old_tokens(const Source& source) {
  const bool is_document = source.path.ends_with(".md") || source.path.ends_with(".1");
  const std::vector<std::string> lines = lines_of(is_document ? source.text : comments_of(source.text));
  Faults faults;
  static const std::regex kToken(R"(\bs1:[\w./])");
  for (size_t i = 0; i < lines.size(); ++i) {
    if (std::regex_search(lines[i], kToken)) faults.push_back(at(source, i + 1, "a token of an old format"));
  }
  return faults;
}

TEST(HouseDocsTest, OldTokenIsFound) {
  EXPECT_THAT(no_old_tokens({"docs/a.md", "\n    ./sisyfs replay s1:link::M3:0:5e1c\n"}),
              ElementsAre("docs/a.md:2: a token of an old format"));
  EXPECT_THAT(no_old_tokens({"src/a.h", "//   s1:link::M3\n"}), testing::SizeIs(1));
}

TEST(HouseDocsTest, NamesOfFormatsAndTestsOfRefusalAreFine) {
  EXPECT_THAT(no_old_tokens({"docs/a.md", "Tokens of `s1` are refused. A token begins with s2:link.\n"}),
              IsEmpty());
  EXPECT_THAT(no_old_tokens({"tests/a_test.cc", "refuses(\"s1:link::M3:0:5e1c\");"}), IsEmpty());
}

// Switched on when all tokens have been issued anew.
TEST(HouseDocsTest, NoOldTokensAreLeft) {
  for (const Source& document : files_in({"docs", "bench", "examples"}, {".md", ".1"})) {
    for (const std::string& fault : no_old_tokens(document)) ADD_FAILURE() << fault;
  }
  expect_everywhere(no_old_tokens);
}

}  // namespace
}  // namespace sisyfs::house::house_docs_test
