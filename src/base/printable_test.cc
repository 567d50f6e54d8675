#include "base/printable.h"

#include <gtest/gtest.h>

namespace sisyfs::printable_test {
namespace {

TEST(PrintableTest, PlainTextStaysAsItIs) {
  for (const char* text : {"", "plain", "a \\ b",
                           "Gr\xc3\xbc\xc3\x9f"
                           "e",
                           "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(printable(text), text);
}

TEST(PrintableTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(printable(std::string_view("\0\n\t\r\x7f", 5)), "\\x00\\x0a\\x09\\x0d\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m")
      << "C1 as UTF-8";
}

TEST(PrintableTest, CharactersThatTurnTheDirectionAreEscaped) {
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "x"),
            "\\xe2\\x80\\xaex");
  EXPECT_EQ(printable("\xe2\x81\xa6"), "\\xe2\\x81\\xa6");
  EXPECT_EQ(printable("\xe2\x80\xa9"), "\xe2\x80\xa9") << "U+2029 is before them";
}

TEST(PrintableTest, WhatIsNotUtf8IsEscaped) {
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\\xffb");
  EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut off";
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "longer than needed";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80") << "beyond the last character";
}

TEST(PrintableTest, LongArgumentsAreCut) {
  EXPECT_EQ(shown(std::string(80, 'x')), std::string(80, 'x'));
  EXPECT_EQ(shown(std::string(81, 'x')), std::string(80, 'x') + "...");
  EXPECT_EQ(shown("\xe2\x82\xac\xe2\x82\xac", 1), "\xe2\x82\xac...") << "between two characters";
}

TEST(PrintableTest, LongWordsOfAMessageAreCutAndTokensAreNot) {
  const std::string word(1000, 'x'), token = "s2:" + word;
  EXPECT_EQ(printable_message("unknown '" + word + "' here"), "unknown " + shown("'" + word + "'") + " here");
  EXPECT_EQ(printable_message("replay " + token), "replay " + token);
  EXPECT_EQ(printable_message(" a  b "), " a  b ");
}

}  // namespace
}  // namespace sisyfs::printable_test
