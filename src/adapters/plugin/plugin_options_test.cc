#include "adapters/plugin/plugin_options.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace sisyfs::plugin_options_test {
namespace {

sisyfs_option option(uint32_t type, const char* name, const char* fallback, const char* values = nullptr,
                     int64_t min = 0, int64_t max = 0) {
  sisyfs_option o{};
  o.type = type;
  o.name = name;
  o.help = "what it does";
  o.fallback = fallback;
  o.values = values;
  o.min = min;
  o.max = max;
  return o;
}

std::string told;  // to the plug-in

int tell(const char* name, const char* value) {
  if (std::string(value) == "refused") return -EINVAL;
  if (std::string(value) == "deadly") __builtin_trap();
  told += std::string(name) + "=" + value + " ";
  return 0;
}

Result<std::vector<OptionSpec>> read(const std::vector<sisyfs_option>& all) {
  sisyfs_plugin table{};
  table.options = all.data();
  table.option_count = static_cast<uint32_t>(all.size());
  table.configure = tell;
  Fence fence({});
  return read_plugin_options(table, fence);
}

std::string error_of(const sisyfs_option& o) {
  const auto specs = read({o});
  return specs ? "(read)" : specs.error().message;
}

TEST(PluginOptionsTest, OfEachTypeAreReadAndGivenToThePlugin) {
  const std::vector<sisyfs_option> all = {
      option(SISYFS_BOOL, "safe", "on"), option(SISYFS_INT, "depth", "3", nullptr, 1, 9),
      option(SISYFS_CHOICE, "mode", "slow", "fast,slow"), option(SISYFS_TEXT, "label", "x")};
  const auto specs = read(all);
  ASSERT_TRUE(specs) << specs.error().message;
  Result<Options> options = Options::parse(*specs, {"plugin.mode=fast", "plugin.label=a,b=c"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->text(), "plugin.mode=fast plugin.label=a,b=c");
  sisyfs_plugin table{};
  table.options = all.data();
  table.option_count = 4;
  table.configure = tell;
  Fence fence({});
  told.clear();
  ASSERT_TRUE(configure_plugin(table, fence, *options));
  EXPECT_EQ(told, "safe=on depth=3 mode=fast label=a,b=c ");
  for (const char* value : {"refused", "deadly"}) {
    ASSERT_TRUE(options->set(std::string("plugin.label=") + value));
    const Status status = configure_plugin(table, fence, *options);
    ASSERT_FALSE(status);
    EXPECT_TRUE(status.error().message.starts_with("option 'plugin.label': the plug-in "))
        << status.error().message;
  }
}

TEST(PluginOptionsTest, WrongTablesAreRefused) {
  EXPECT_EQ(error_of(option(SISYFS_BOOL, "a b", "on")),
            "its option 'a b' has a name that is not of letters, digits, '-' and '_'");
  EXPECT_EQ(error_of(option(SISYFS_BOOL, "a", "yes")), "its option 'a' is on or off by default");
  EXPECT_EQ(error_of(option(SISYFS_INT, "a", "10", nullptr, 1, 9)),
            "its option 'a' has a default that is no number from 1 to 9");
  EXPECT_EQ(error_of(option(SISYFS_CHOICE, "a", "c", "x,y")),
            "its option 'a' has a default that is none of its values");
  EXPECT_EQ(error_of(option(SISYFS_CHOICE, "a", "", "")),
            "its option 'a' has values that are not words with commas between them");
  EXPECT_EQ(error_of(option(SISYFS_TEXT, "a", "b c")), "its option 'a' has a default with blanks, or none");
  EXPECT_EQ(error_of(option(9, "a", "b")), "its option 'a' has a type that this program does not know");
  EXPECT_EQ(read({option(SISYFS_BOOL, "a", "on"), option(SISYFS_BOOL, "a", "on")}).error().message,
            "its option 'a' is declared twice");
  sisyfs_option bad = option(SISYFS_BOOL, "a", "on");
  bad.help = reinterpret_cast<const char*>(8);
  EXPECT_TRUE(error_of(bad).starts_with("its options cannot be read: SIGSEGV")) << error_of(bad);
}

}  // namespace
}  // namespace sisyfs::plugin_options_test
