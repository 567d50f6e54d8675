#include "cli/services/services.h"

#include <gtest/gtest.h>

#include <set>

#include "workload/script.h"

namespace sisyfs::cli::services_test {
namespace {

const Service& service(std::string_view name) {
  for (const Service& one : services())
    if (one.name == name) return one;
  ADD_FAILURE() << name;
  return services().front();
}

TEST(ServicesTest, EachServiceHasAScriptThatIsUnderstood) {
  std::set<std::string_view> names;
  for (const Service& one : services()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    for (const uint32_t unit : {512u, 1024u, 4096u}) {
      const auto text = script_of(one, OpSet::all(), unit);
      ASSERT_TRUE(text) << one.name;
      const Result<Script> script = Script::parse(*text);
      ASSERT_TRUE(script) << one.name << ": " << script.error().message;
      EXPECT_TRUE(script->lines().back().crash) << one.name << ": the power goes at the end";
      EXPECT_EQ(script->lines().back().after, !one.during) << one.name;
    }
  }
}

TEST(ServicesTest, SizesAreMultiplesOfTheUnit) {
  const std::string text = *script_of(service("truncate"), OpSet::all(), 1024);
  EXPECT_NE(text.find("append /a 1024 | append /a 16384\n"), text.npos) << text;
  EXPECT_NE(text.find("truncate /a 0 | truncate /a 512 | truncate /a 20480\n"), text.npos) << text;
}

TEST(ServicesTest, WhatAFileSystemDoesNotHaveIsLeftOut) {
  const OpSet without_links = OpSet::all() - OpSet(OpKind::kLink, OpKind::kChmod);
  const std::string text = *script_of(service("sync"), without_links, 512);
  EXPECT_NE(text.find("\n? rename /a /b | unlink /a | truncate /a 512 | rename /a /d/a\n"), text.npos)
      << text;
  EXPECT_EQ(text.find("chmod"), text.npos) << text;
  EXPECT_FALSE(script_of(service("syncfs"), OpSet::all() - OpSet(OpKind::kSyncfs), 512));
}

}  // namespace
}  // namespace sisyfs::cli::services_test
