#include "report/layout.h"

#include <gtest/gtest.h>

namespace sisyfs::layout_test {
namespace {

TEST(LayoutTest, CountsHaveCommas) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(12'345'678), "12,345,678");
  EXPECT_EQ(plural(1, "step"), "1 step");
  EXPECT_EQ(plural(2000, "step"), "2,000 steps");
}

TEST(LayoutTest, ColumnsAreCharactersWithoutColours) {
  EXPECT_EQ(columns_of("\033[1;31mPOWER\033[0m cut"), 9u);
  EXPECT_EQ(columns_of("a\xc3\xa4"), 2u) << "UTF-8";
  EXPECT_EQ(bold({.colour = true}, "x"), "\033[1mx\033[0m");
  EXPECT_EQ(red({}, "x") + green({}, "y"), "xy");
}

TEST(LayoutTest, LinesAreBrokenBetweenWords) {
  const TextStyle narrow{.width = 12};
  EXPECT_EQ(wrapped("  one two", 4, narrow), "  one two\n");
  EXPECT_EQ(wrapped("  one two three four", 4, narrow), "  one two\n    three\n    four\n");
  EXPECT_EQ(wrapped("  1  two three", 4, narrow), "  1  two\n    three\n") << "two blanks stay";
}

TEST(LayoutTest, AWordThatIsTooWideStaysWhole) {
  EXPECT_EQ(wrapped("at 0123456789abcdef end", 2, {.width = 12}), "at\n  0123456789abcdef\n  end\n");
}

}  // namespace
}  // namespace sisyfs::layout_test
