#include "target/options.h"

#include <gtest/gtest.h>

namespace sisyfs::options_test {
namespace {

enum class Order { kNaive, kPointed };

std::vector<OptionSpec> specs() {
  return {OptionSpec::choice("order", {"naive", "pointed"}, "pointed", "what is written first"),
          OptionSpec::integer("files", 1, 4, 4, "number of files"),
          OptionSpec::flag("cache", true, "a volatile cache")};
}

std::string error_of(std::string_view assignment) {
  Options options(specs());
  const std::string before = options.text();
  const Status status = options.set(assignment);
  EXPECT_EQ(options.text(), before) << "an error changes nothing";
  return status ? "(set)" : status.error().message;
}

TEST(OptionsTest, FallbacksHoldUntilSet) {
  Options options(specs());
  EXPECT_EQ(options.choice<Order>("order"), Order::kPointed);
  EXPECT_EQ(options.integer("files"), 4);
  EXPECT_TRUE(options.flag("cache"));
  EXPECT_EQ(options.text(), "");
  ASSERT_TRUE(options.set("order=naive"));
  ASSERT_TRUE(options.set("files=1"));
  ASSERT_TRUE(options.set("cache=off"));
  EXPECT_EQ(options.choice<Order>("order"), Order::kNaive);
  EXPECT_EQ(options.choice_text("order"), "naive");
  EXPECT_EQ(options.integer("files"), 1);
  EXPECT_FALSE(options.flag("cache"));
}

TEST(OptionsTest, WordsOfAUserNameEachOptionOnce) {
  EXPECT_TRUE(Options::each_once({"files=1", "order=naive", "file=2"}));
  const Status twice = Options::each_once({"files=1", "order=naive", "files=1"});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message, "option 'files' is given twice; say it once");
}

TEST(OptionsTest, TextGivesTheSameOptionsAgain) {
  const Result<Options> options =
      Options::parse(specs(), {"cache=false", "files=3", "order=naive", "files=2"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->text(), "order=naive files=2 cache=off") << "the last word counts";
  const Result<Options> again = Options::parse(specs(), {"order=naive", "files=2", "cache=off"});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text(), options->text());
}

TEST(OptionsTest, ErrorsNameWhatIsAllowed) {
  EXPECT_EQ(error_of("ordr=naive"), "unknown option 'ordr'; options are order, files, cache");
  EXPECT_EQ(error_of(""), "unknown option ''; options are order, files, cache");
  EXPECT_EQ(error_of("order"), "option 'order' wants a value: order=pointed; it takes naive, pointed");
  EXPECT_EQ(error_of("order="), "option 'order': '' is not allowed; it takes naive, pointed");
  EXPECT_EQ(error_of("order=Naive"), "option 'order': 'Naive' is not allowed; it takes naive, pointed");
  EXPECT_EQ(error_of("cache=maybe"), "option 'cache': 'maybe' is not allowed; it takes on, off");
  for (const char* bad : {"0", "5", "-1", "x", "", "1x", "99999999999999999999"}) {
    EXPECT_EQ(error_of(std::string("files=") + bad),
              std::string("option 'files': '") + bad + "' is not allowed; it takes 1..4");
  }
  EXPECT_EQ(Options({}).set("a=b").error().message, "unknown option 'a'; this target has none");
  EXPECT_FALSE(Options::parse(specs(), {"files=2", "files=9"}));
}

TEST(OptionsTest, TextsAreAnyWord) {
  Options options({OptionSpec::text("label", "none", "what it is called")});
  EXPECT_EQ(options.value_text("label"), "none");
  ASSERT_TRUE(options.set("label=a=b,c"));
  ASSERT_TRUE(options.set("label=x"));
  EXPECT_EQ(options.text(), "label=x");
  EXPECT_TRUE(options.differs("label"));
  ASSERT_TRUE(options.set("label=none"));
  EXPECT_EQ(options.text(), "");
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("\x01"), std::string(201, 'a')})
    EXPECT_EQ(options.set("label=" + bad).error().message,
              "option 'label': '" + bad + "' is not allowed; it takes a text without blanks");
  EXPECT_EQ(options.value_text("label"), "none");
}

TEST(OptionsDeathTest, UndeclaredOptionIsOurBug) {
  const Options options(specs());
  EXPECT_DEATH((void)options.integer("order"), "asked for as it was declared");
  EXPECT_DEATH((void)options.flag("nothing"), "asked for as it was declared");
}

}  // namespace
}  // namespace sisyfs::options_test
