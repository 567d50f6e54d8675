// Options that a plug-in declares: listed, given to it before it formats, and a part of the token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"

namespace sisyfs::plugin_options_e2e_test {
namespace {

using testing::HasSubstr;

TEST(PluginOptionsE2eTest, AreListedWithThoseOfEveryPlugin) {
  const Answer a = run("targets " + plugin_library("jotter"));
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("--set plugin.fdatasync=full, nothing"));
  EXPECT_THAT(a.text, HasSubstr("what fdatasync writes: full, or nothing (wrong) (default full)"));
  EXPECT_THAT(a.text, HasSubstr("--set plugin.label="));
}

TEST(PluginOptionsE2eTest, DecideWhatThePluginDoes) {
  EXPECT_EQ(check_plugin("jotter", "--depth 3").code, 0);
  EXPECT_EQ(check_plugin("jotter",
                         "--depth 3 --set plugin.first=70 --set plugin.reuse=off "
                         "--set plugin.label=a,b=c")
                .code,
            0);
  const Answer found =
      check_plugin("jotter", "--depth 3 --set plugin.fdatasync=nothing --set plugin.label=a,b%c");
  EXPECT_EQ(found.code, 1) << found.text;
  EXPECT_THAT(found.text, HasSubstr("fdatasync /a"));
  EXPECT_THAT(token_in(found.text), HasSubstr("plugin.fdatasync=nothing,plugin.label=a%2cb%25c"));
  const Answer again = run("replay '" + token_in(found.text) + "'");
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(again.text, HasSubstr("still happens"));
}

TEST(PluginOptionsE2eTest, WrongValuesAreRefused) {
  const Answer value = check_plugin("jotter", "--set plugin.fdatasync=some");
  EXPECT_EQ(value.code, 2) << value.text;
  EXPECT_THAT(value.text,
              HasSubstr("option 'plugin.fdatasync': 'some' is not allowed; it takes full, nothing"));
  const Answer range = check_plugin("jotter", "--set plugin.first=1");
  EXPECT_EQ(range.code, 2) << range.text;
  const Answer refused = check_plugin("jotter", "--set plugin.label=refused");
  EXPECT_EQ(refused.code, 2) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("option 'plugin.label': the plug-in refuses 'refused' (EINVAL)"));
  const Answer unknown = check_plugin("slots", "--set plugin.first=3");
  EXPECT_EQ(unknown.code, 2) << unknown.text;
}

}  // namespace
}  // namespace sisyfs::plugin_options_e2e_test
