#include "finding/registry.h"

#include <gtest/gtest.h>

namespace sisyfs {
namespace {

CheckRegistry registry() {
  CheckRegistry out;
  out.add(
      {"flat",
       "files of whole units",
       {OptionSpec::integer("files", 1, 4, 2, "number of files"), OptionSpec::flag("cache", true, "a cache")},
       [](const Options& o) -> Result<std::unique_ptr<Check>> {
         if (o.integer("files") == 3) return bad_input("three is a crowd");
         return std::unique_ptr<Check>();
       }});
  out.add({"also", "nothing", {}, {}});
  return out;
}

TEST(RegistryTest, ErrorsNameWhatThereIs) {
  const CheckRegistry checks = registry();
  EXPECT_EQ(checks.make("falt", {}).error().message, "unknown target 'falt'; targets are also, flat");
  EXPECT_EQ(checks.make("flat", {"files=5"}).error().message,
            "option 'files': '5' is not allowed; it takes 1..4");
  EXPECT_EQ(checks.make("flat", {"files=3"}).error().message, "three is a crowd");
  EXPECT_EQ((*checks.find("flat"))->summary, "files of whole units");
}

TEST(RegistryTest, ASetupNamesOnlyWhatDiffersFromTheDefaults) {
  const auto named = registry().make("flat", {"cache=off", "files=4", "files=2"});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->setup.target, "flat");
  EXPECT_EQ(named->setup.settings, std::vector<std::string>{"cache=off"});
}

}  // namespace
}  // namespace sisyfs
