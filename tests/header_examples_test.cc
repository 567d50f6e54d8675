// Examples in header comments are compiled (tests/CMakeLists.txt). This tests their extraction from the
// headers, and that none is forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "house.h"
#include "program.h"

namespace sisyfs::house::header_examples_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Rooms in which every example is compiled. Others have some in the template; add a room here when all are.
constexpr std::array<std::string_view, 6> kCompiledRooms = {"sisyfs", "base",     "tree",
                                                            "expect", "workload", "cli"};

// Whether the comment above #pragma once has a line of code in it: indented, and ending as code does.
bool has_example(const Source& header) {
  static const std::regex kCode(R"(^(//   | \*     )\s*[^.\s].*(;|\{|\.\.\.)(\s+//.*)?$)");
  for (const std::string& line : lines_of(header.text)) {
    if (line.starts_with("#pragma once")) return false;
    if (std::regex_search(line, kCode)) return true;
  }
  return false;
}

Faults examples_are_compiled(const Source& source, const std::string& templates) {
  const std::string room = room_of(source);
  if (std::find(kCompiledRooms.begin(), kCompiledRooms.end(), room) == kCompiledRooms.end()) return {};
  if (!is_header(source) || !has_example(source)) return {};
  if (std::regex_search(templates, std::regex("// EXAMPLE " + source.path + "( first)?\n"))) return {};
  return {at(source, 1, "its example is not compiled; name it in tests/header_examples.cc.in")};
}

TEST(HeaderExamplesTest, ForgottenExampleIsFound) {
  const Source header{"src/tree/a.h", "// A.\n//\n//   A a;   // it\n#pragma once\n"};
  EXPECT_THAT(examples_are_compiled(header, "// EXAMPLE src/tree/b.h\n"),
              ElementsAre(HasSubstr("a.h:1: its example is not compiled")));
  EXPECT_THAT(examples_are_compiled(header, "  // EXAMPLE src/tree/a.h\n"), IsEmpty());
}

TEST(HeaderExamplesTest, HeaderWithATableOrADiagramNeedsNone) {
  EXPECT_THAT(
      examples_are_compiled({"src/tree/a.h", "//   file /a   3 bytes\n#pragma once\n//   A a;\n"}, ""),
      IsEmpty());
}

TEST(HeaderExamplesTest, EveryExampleOfTheseRoomsIsCompiled) {
  const std::string templates =
      read_text(kRoot / "tests/header_examples.cc.in") + read_text(kRoot / "tests/header_examples_c.c.in");
  expect_everywhere([&](const Source& source) { return examples_are_compiled(source, templates); });
}

class HeaderExamplesScriptTest : public testing::Test {
 protected:
  Answer extract(const std::string& text) {
    const std::string path = directory_.write("template", text);
    return run_line("sh '" SISYFS_SOURCE_DIR "/scripts/header_examples.sh' '" + path + "' '" +
                    directory_.file("") + "'");
  }
  TemporaryDirectory directory_;
};

TEST_F(HeaderExamplesScriptTest, LastIndentedLinesAreTakenWithTheirPlace) {
  directory_.write("a.h",
                   "// A table:\n//\n//   one   two\n//\n// And then:\n//\n"
                   "//   A a;   // ... or so\n//\n//   for (;;) ...\n//   ... and so on\n#pragma once\n"
                   "//   B b;\n");
  const std::string root = directory_.file("");
  EXPECT_EQ(extract("void f() {\n  // EXAMPLE a.h\n}\n").text,
            "void f() {\n#line 7 \"" + root + "/a.h\"\nA a;   \n\nfor (;;) {}\n\n#line 3 \"" +
                directory_.file("template") + "\"\n}\n");
  EXPECT_THAT(extract("// EXAMPLE a.h first\n").text, HasSubstr("one   two\n#line"));
}

TEST_F(HeaderExamplesScriptTest, CommentsInCHaveExamplesToo) {
  directory_.write("c.h", "/* C.\n *\n *     int c;\n */\n#pragma once\n");
  EXPECT_THAT(extract("// EXAMPLE c.h\n").text, HasSubstr("c.h\"\nint c;\n"));
}

TEST_F(HeaderExamplesScriptTest, HeaderWithoutExampleFails) {
  directory_.write("a.h", "// A.\n#pragma once\n");
  const Answer answer = extract("\n// EXAMPLE a.h\n");
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, HasSubstr("template:2: no example in the header comment of a.h"));
  EXPECT_EQ(extract("// EXAMPLE gone.h\n").code, 1);
}

}  // namespace
}  // namespace sisyfs::house::header_examples_test
