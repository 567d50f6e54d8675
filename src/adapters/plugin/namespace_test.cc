#include "adapters/plugin/namespace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csetjmp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "adapters/plugin/needed_libraries.h"
#include "adapters/plugin/play_for_test.h"
#include "adapters/plugin/source_location.h"

namespace sisyfs::namespace_test {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;

bool in_heap(const PluginNamespace& plugin, const void* memory) {
  const sisyfs_arena_control& control = plugin.control();
  const auto* place = static_cast<const char*>(memory);
  return place >= control.base && place < control.base + control.state->used;
}

bool in_ranges(const PluginNamespace& plugin, const void* memory) {
  for (const MemoryRange& range : plugin.ranges())
    if (memory >= range.begin && memory < range.begin + range.size) return true;
  return false;
}

std::string error_of(const std::string& path, ErrorKind kind) {
  const Result<PluginNamespace> plugin = PluginNamespace::load(path);
  if (plugin) return "loaded";
  EXPECT_EQ(plugin.error().kind, kind);
  return plugin.error().message;
}

TEST(NamespaceTest, MallocOfThePluginAndOfItsLibcComeFromTheArena) {
  const Play play;
  EXPECT_TRUE(in_heap(play.plugin, play.malloc(10)));
  char* const text = play.strdup("a text");
  EXPECT_TRUE(in_heap(play.plugin, text)) << "libc calls the malloc that wins";
  EXPECT_STREQ(text, "a text");
  EXPECT_FALSE(in_heap(play.plugin, std::make_unique<int>(1).get())) << "ours is as it was";
}

TEST(NamespaceTest, MallocOfALibraryThatThePluginIsLinkedWithComesFromTheArena) {
  if (!bundled_library("libuses_ext2fs.so")) GTEST_SKIP() << "libext2fs is not installed";
  const PluginNamespace plugin = load_bundled("libuses_ext2fs.so");
  const uint64_t before = plugin.control().state->live_blocks;
  ASSERT_EQ(function_of<int()>(plugin, "numbers_begin")(), 0);
  for (unsigned i = 0; i < 100; ++i) EXPECT_EQ(function_of<int(unsigned)>(plugin, "numbers_add")(i * 3), 0);
  EXPECT_EQ(function_of<int(unsigned)>(plugin, "numbers_have")(33), 1);
  EXPECT_EQ(function_of<int(unsigned)>(plugin, "numbers_have")(34), 0);
  EXPECT_TRUE(in_heap(plugin, function_of<void*()>(plugin, "numbers_where")()));
  EXPECT_GT(plugin.control().state->live_blocks, before);
  function_of<void()>(plugin, "numbers_end")();
  EXPECT_EQ(plugin.control().state->live_blocks, before);
  EXPECT_EQ(plugin.check_heap(), SISYFS_FAULT_NONE);
}

TEST(NamespaceTest, RangesHoldGlobalsOfThePluginAndOfItsLibcButNotTheEngines) {
  const Play play;
  EXPECT_TRUE(in_ranges(play.plugin, play.malloc(10)));
  EXPECT_TRUE(in_ranges(play.plugin, *static_cast<void**>(play.plugin.inner_symbol("stdout"))));
  EXPECT_FALSE(in_ranges(play.plugin, &play.plugin.control()));
  EXPECT_FALSE(in_ranges(play.plugin, stdout)) << "that is the stdout of this program";
  size_t thread_locals = 0;
  for (const MemoryRange& range : play.plugin.ranges()) thread_locals += range.paged ? 0 : range.size;
  EXPECT_EQ(thread_locals, sizeof(uint64_t)) << "play.c has one";
}

TEST(NamespaceTest, TwoPluginsShareNothing) {
  const Play one, two;
  EXPECT_NE(one.plugin.control().base, two.plugin.control().base);
  one.step(4, 0, 1);
  EXPECT_EQ(one.steps(), 1u);
  EXPECT_EQ(two.steps(), 0u);
}

TEST(NamespaceTest, NamespacesCanBeUsedAgain) {
  for (int i = 0; i < 40; ++i) {
    const Play play;
    ASSERT_NE(play.malloc(1), nullptr) << i;
  }
}

TEST(NamespaceTest, TooManyAreRefused) {
  std::vector<PluginNamespace> plugins;
  const std::string path = *bundled_library("libplay.so");
  for (int i = 0; i < 40; ++i) {
    Result<PluginNamespace> plugin = PluginNamespace::load(path);
    if (!plugin) {
      EXPECT_EQ(plugin.error().kind, ErrorKind::kSystem);
      EXPECT_THAT(plugin.error().message, AnyOf(HasSubstr("no private namespace"), HasSubstr("no room")))
          << plugins.size();
      EXPECT_GE(plugins.size(), 2u);
      while (!plugins.empty())
        plugins.pop_back();  // libc takes back the room of thread-locals from the end only
      return;
    }
    plugins.push_back(std::move(*plugin));
  }
  SUCCEED() << "this libc has no limit";
}

TEST(NamespaceTest, WhatCannotBeLoadedIsToldApart) {
  EXPECT_THAT(error_of("./no/such/lib.so", ErrorKind::kBadInput), HasSubstr("no such file"));
  EXPECT_THAT(error_of("/", ErrorKind::kBadInput), HasSubstr("folder"));
  const std::string text = testing::TempDir() + "sisyfs_text.so";
  std::ofstream(text) << "just a text, and long enough for the header of a library to be read from it: "
                      << "one two three four five six seven eight";
  EXPECT_THAT(error_of(text, ErrorKind::kBadInput), HasSubstr("not a shared library"));
  std::filesystem::remove(text);
  EXPECT_THAT(error_of(*bundled_library("libunresolved.so"), ErrorKind::kBadInput),
              HasSubstr("needs 'a_function_that_nobody_has'"));
}

TEST(NamespaceTest, LibrariesThatAPluginIsLinkedWithAreReadFromItsFile) {
  EXPECT_THAT(needed_libraries(*bundled_library("libplay.so")), Contains("libc.so.6"));
  EXPECT_TRUE(needed_libraries("/").empty());
  EXPECT_TRUE(needed_libraries("/proc/self/cmdline").empty());
}

TEST(NamespaceTest, SanitizersAreRefusedBeforeTheyEndTheProcess) {
  const Result<std::string> path = bundled_library("libsanitized.so");
  if (!path) GTEST_SKIP() << "this compiler has no AddressSanitizer";
  EXPECT_THAT(error_of(*path, ErrorKind::kBadInput), HasSubstr("sanitizer (libasan."));
}

TEST(NamespaceTest, SymbolsAreThePluginsOwn) {
  const Play play;
  EXPECT_NE(play.plugin.symbol("play_step"), nullptr);
  EXPECT_EQ(play.plugin.symbol("strdup"), nullptr) << "libc has it, the plug-in does not";
  EXPECT_NE(play.plugin.inner_symbol("strdup"), nullptr);
  EXPECT_EQ(play.plugin.symbol("no_such_name"), nullptr);
}

TEST(NamespaceTest, PlacesOfCodeAreTold) {
  const Play play;
  EXPECT_THAT(source_location(reinterpret_cast<void*>(play.step)), HasSubstr("play_step"));
  EXPECT_EQ(source_location(nullptr), "");
}

// --- the world that the plug-in sees

TEST(NamespaceTest, ClockStandsStillUntilItIsMoved) {
  const Play play;
  sisyfs_arena_control& control = play.plugin.control();
  const int64_t now = play.time();
  EXPECT_EQ(play.time(), now);
  EXPECT_EQ(play.clock(), now);
  EXPECT_EQ(control.clock_asked, 3u);
  control.clock_seconds += 100;
  EXPECT_EQ(play.time(), now + 100);
}

TEST(NamespaceTest, RandomNumbersFollowFromTheSeed) {
  const Play one, two;
  const uint64_t first = one.getrandom();
  EXPECT_NE(first, one.getrandom());
  EXPECT_EQ(two.getrandom(), first);
  const Play three;
  three.plugin.control().seed = 7;
  EXPECT_NE(three.getrandom(), first);
  EXPECT_EQ(one.plugin.control().random_asked, 2u);
}

jmp_buf left;
sisyfs_arena_end last_end;
void leave(sisyfs_arena_control*, const sisyfs_arena_end* end) {
  last_end = *end;
  std::longjmp(left, 1);
}

TEST(NamespaceTest, EndsAreToldInsteadOfEndingTheProcess) {
  static const Play play;
  play.plugin.control().on_end = leave;
  if (setjmp(left) == 0) play.abort();
  EXPECT_EQ(last_end.kind, SISYFS_END_ABORT);
  if (setjmp(left) == 0) play.exit(3);
  EXPECT_EQ(last_end.kind, SISYFS_END_EXIT);
  EXPECT_EQ(last_end.status, 3);
  if (setjmp(left) == 0) play.assert_that(1);
  EXPECT_EQ(last_end.kind, SISYFS_END_EXIT) << "that one holds";
  if (setjmp(left) == 0) play.assert_that(0);
  EXPECT_EQ(last_end.kind, SISYFS_END_ASSERT);
  EXPECT_THAT(last_end.text, HasSubstr("the truth"));
  EXPECT_THAT(last_end.file, HasSubstr("play.c"));
  EXPECT_THAT(source_location(call_before(last_end.caller)), HasSubstr("libplay.so"));
}

}  // namespace
}  // namespace sisyfs::namespace_test
