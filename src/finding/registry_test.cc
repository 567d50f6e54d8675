#include "finding/registry.h"

#include <gtest/gtest.h>

namespace sisyfs::registry_test {
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
       },
       Isolation::kNone});
  out.add({"also", "nothing", {}, {}, Isolation::kProcess});
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

TEST(RegistryTest, ANameOfBeforeIsRefusedWithTheNameOfNow) {
  CheckRegistry checks = registry();
  checks.rename("plain", "flat");
  EXPECT_EQ(checks.make("plain", {}).error().message, "the target 'plain' is called 'flat' now");
  EXPECT_EQ(checks.isolation_of("plain"), Isolation::kNone);
}

// The name of a plug-in became that of a model: the model is what is meant.
TEST(RegistryTest, ATargetTakesANameOfBefore) {
  CheckRegistry checks = registry();
  checks.rename("flat", "also");
  EXPECT_EQ((*checks.find("flat"))->name, "flat");
}

TEST(RegistryTest, ASetupNamesOnlyWhatDiffersFromTheDefaults) {
  const auto named = registry().make("flat", {"cache=off", "files=4", "files=2"});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->setup.target, "flat");
  EXPECT_EQ(named->setup.settings, std::vector<std::string>{"cache=off"});
}

TEST(RegistryTest, IsolationIsKnownBeforeATargetIsLoaded) {
  CheckRegistry checks = registry();
  EXPECT_EQ(checks.isolation_of("flat"), Isolation::kNone);
  EXPECT_EQ(checks.isolation_of("also"), Isolation::kProcess);
  EXPECT_EQ(checks.isolation_of("./lib.so"), Isolation::kNone) << "nothing handles it";
  int loaded = 0;
  checks.set_loader({.handles = [](std::string_view name) { return name.ends_with(".so"); },
                     .load = [&](const std::string& name) -> Result<CheckEntry> {
                       ++loaded;
                       return CheckEntry{name, "a library", {}, {}, Isolation::kProcess};
                     },
                     .isolation = Isolation::kProcess});
  EXPECT_EQ(checks.isolation_of("./lib.so"), Isolation::kProcess);
  EXPECT_EQ(checks.isolation_of("flat"), Isolation::kNone);
  EXPECT_EQ(checks.isolation_of("falt"), Isolation::kNone) << "an unknown name is refused later";
  EXPECT_EQ(loaded, 0);
  EXPECT_EQ(checks.entry("./lib.so")->summary, "a library");
  EXPECT_EQ(checks.entry("flat")->summary, "files of whole units");
  EXPECT_FALSE(checks.entry("falt"));
  EXPECT_EQ(loaded, 1);
}

}  // namespace
}  // namespace sisyfs::registry_test
