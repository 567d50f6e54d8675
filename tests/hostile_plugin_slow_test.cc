// Plug-ins that do all that a plug-in should not do, in each of its functions: the program ends in time, with
// the right exit code, and leaves nothing behind.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "hostile_plugin.h"

namespace sisyfs::hostile_plugin_slow_test {
namespace {

// What the program must say of it.
enum class Class : uint8_t {
  kNoEffect,  // the plug-in is right otherwise: 0
  kFinding,   // 1
  kRefused,   // the plug-in cannot be loaded, or its table or its start is wrong: 2
  kHarness,   // it cannot be brought to its start, or harms the checker where nothing can prevent it: 4
  kDamage,    // memory of the checker: what is hit depends on the build. A finding or a harness error
  kAny,       // it may even go well
};

std::set<int> codes_of(Class wanted) {
  switch (wanted) {
    case Class::kNoEffect:
      return {0};
    case Class::kFinding:
      return {1};
    case Class::kRefused:
      return {2};
    case Class::kHarness:
      return {4};
    case Class::kDamage:
      return {1, 4};
    case Class::kAny:
      return {0, 1, 4};
  }
  return {};
}

struct Case {
  const char* deed;
  Class wanted;
};

void run_all(std::initializer_list<Case> cases) {
  const Hostile plugin;
  for (const Case& one : cases) {
    const std::string deed = one.deed;
#ifdef __SANITIZE_ADDRESS__
    // What the kernel calls the heap is not used by a sanitizer, and frames on the stack have other places
    // and gaps.
    if (deed.find("_heap") != std::string::npos || deed.starts_with("damage_stack")) continue;
#endif
    const auto start = std::chrono::steady_clock::now();
    const bool xattrs = deed.find("xattr") != std::string::npos;
    const Answer a = plugin.check(deed, xattrs ? "--set xattrs=on" : "");
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const std::string said = plugin.said();
    std::printf("%-32s exit code %d, %.1f s\n", one.deed, a.code, time.count());
    EXPECT_TRUE(codes_of(one.wanted).contains(a.code)) << deed << ": " << a.code << '\n' << a.text << said;
    for (const char c : a.text + said)
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << deed << '\n' << a.text << said;
    if (a.code == 2 || a.code == 4) {
      EXPECT_NE(said.find("sisyfs: "), std::string::npos) << deed << '\n' << a.text << said;
    }
    EXPECT_TRUE(plugin.leaves_no_process()) << deed;
    EXPECT_EQ(plugin.left_files(), "") << deed;
  }
}

using enum Class;

TEST(HostilePluginTest, SignalsAndLimits) {
  run_all({{"stop@write", kFinding},
           {"stop_by_kill@write", kFinding},
           {"raw_stop@write", kNoEffect},
           {"raw_stop_thread@write", kNoEffect},
           {"ignore_all@write", kFinding},
           {"raw_block_all@write", kFinding},
           {"raw_ignore_all@write", kFinding},
           {"stack_elsewhere@write", kFinding},
           {"raw_stack_elsewhere@write", kFinding},
           {"set_limits@write", kFinding},
           {"raw_set_limits@write", kNoEffect},
           {"kill_parent@write", kFinding},
           {"kill_group@write", kFinding},
           {"raw_kill_parent@write", kNoEffect},
           {"raw_kill_group@write", kNoEffect},
           {"terminate@write", kFinding},
           {"set_alarm@write", kNoEffect},
           {"sleep_for_ever@write", kFinding},
           {"trace_parent@write", kFinding},
           {"begin_session@write", kFinding}});
}

TEST(HostilePluginTest, DescriptorsAndDirectories) {
  run_all({{"close_all@write", kFinding},
           {"raw_close_all@write", kNoEffect},
           {"close_a_range@write", kFinding},
           {"raw_close_a_range@write", kNoEffect},
           {"overwrite_all@write", kFinding},
           {"raw_overwrite_all@write", kNoEffect},
           {"change_directory@write", kFinding},
           {"raw_change_directory@write", kNoEffect},
           {"change_root@write", kFinding},
           {"raw_change_root@write", kNoEffect},
           {"raw_close_all@format", kNoEffect},
           {"close_all@format", kHarness},
           {"raw_close_all@constructor", kNoEffect},
           {"print@all", kNoEffect}});
}

TEST(HostilePluginTest, EndsOfTheProcess) {
  run_all({{"end_by_exit@write", kFinding},
           {"end_at_once@write", kFinding},
           {"end_quickly@write", kFinding},
           {"end_by_abort@write", kFinding},
           {"raw_end@write", kFinding},
           {"jump_nowhere@write", kFinding},
           {"jump_back@write", kAny},
           {"use_up_stack@write", kFinding},
           {"become_true@write", kFinding},
           {"raw_become_true@write", kFinding},
           {"raw_become_sleep@write", kFinding},
           {"crash@write", kFinding},
           {"run_bad_code@write", kFinding},
           {"loop@write", kFinding}});
}

TEST(HostilePluginTest, MemoryOfTheChecker) {
  run_all({{"damage_heap@write", kDamage},
           {"damage_heap@format", kDamage},
           {"damage_heap@constructor", kDamage},
           {"damage_stack@write", kDamage},
           {"unmap_own@write", kDamage},
           {"unmap_heap@write", kDamage},
           {"unmap_heap@format", kHarness},
           {"unmap_code@write", kDamage},
           {"protect_heap@write", kDamage},
           {"protect_heap@format", kHarness},
           {"overrun@read", kDamage},
           {"overrun@readlink", kDamage},
           {"overrun@name_block", kDamage}});
}

TEST(HostilePluginTest, CrashesInEachFunction) {
  run_all({{"crash@constructor", kRefused},
           {"crash@destructor", kNoEffect},
           {"crash@entry", kRefused},
           {"crash@format", kHarness},
           {"crash@mount", kHarness},
           {"crash@unmount", kFinding},
           {"crash@create", kFinding},
           {"crash@unlink", kFinding},
           {"crash@read", kFinding},
           {"crash@readdir", kFinding},
           {"crash@stat", kHarness},
           {"crash@fsck", kFinding},
           {"crash@readlink", kFinding},
           {"crash@getxattr", kFinding},
           {"crash@listxattr", kFinding},
           {"crash@name_block", kFinding}});
}

TEST(HostilePluginTest, LoopsInEachFunction) {
  run_all({{"loop@constructor", kRefused},
           {"loop@destructor", kNoEffect},
           {"loop@entry", kRefused},
           {"loop@format", kHarness},
           {"loop@mount", kHarness},
           {"loop@unmount", kFinding},
           {"loop@readdir", kFinding},
           {"loop@fsck", kFinding},
           {"loop@name_block", kFinding}});
}

TEST(HostilePluginTest, HarmBeforeTheSearch) {
  run_all({{"raw_block_all@format", kHarness},
           {"raw_become_true@format", kHarness},
           {"raw_become_sleep@format", kHarness},
           {"raw_end@format", kHarness},
           {"kill_parent@format", kHarness},
           {"end_by_exit@constructor", kRefused},
           {"raw_end@constructor", kRefused},
           {"become_true@constructor", kRefused},
           {"raw_become_true@constructor", kRefused},
           {"raw_block_all@constructor", kRefused},
           {"kill_parent@constructor", kRefused},
           {"stop@constructor", kRefused},
           {"print@constructor", kNoEffect},
           {"end_by_exit@destructor", kNoEffect},
           {"raw_end@destructor", kNoEffect}});
}

TEST(HostilePluginTest, WrongAnswers) {
  run_all({{"least@format", kRefused},
           {"least@mount", kRefused},
           {"bad_pointer@mount", kHarness},
           {"least@unmount", kFinding},
           {"least@create", kFinding},
           {"no_errno@create", kFinding},
           {"least@write", kFinding},
           {"huge@write", kFinding},
           {"least@read", kFinding},
           {"huge@read", kFinding},
           {"one_more@read", kFinding},
           {"control@readdir", kFinding},
           {"slash@readdir", kFinding},
           {"empty@readdir", kFinding},
           {"dots@readdir", kFinding},
           {"no_name@readdir", kFinding},
           {"bytes@readdir", kFinding},
           {"long_name@readdir", kFinding},
           {"twice@readdir", kFinding},
           {"wrong_list@readdir", kFinding},
           {"least@readdir", kFinding},
           {"endless@readdir", kFinding},
           {"same_id@stat", kFinding},
           {"root_id@stat", kFinding},
           {"huge@stat", kFinding},
           {"large@stat", kFinding},
           {"type@stat", kFinding},
           {"links@stat", kFinding},
           {"directory@stat", kFinding},
           {"changing@stat", kDamage},
           {"least@stat", kFinding},
           {"least@readlink", kFinding},
           {"huge@readlink", kFinding},
           {"one_more@readlink", kFinding},
           {"huge@getxattr", kFinding},
           {"one_more@getxattr", kFinding},
           {"least@getxattr", kFinding},
           {"control@listxattr", kFinding},
           {"endless@listxattr", kFinding},
           {"control@fsck", kFinding},
           {"no_text@fsck", kFinding},
           {"wrong_report@fsck", kFinding},
           {"endless@fsck", kFinding},
           {"least@fsck", kFinding},
           {"unterminated@name_block", kFinding},
           {"control@name_block", kFinding},
           {"least@name_block", kFinding}});
}

TEST(HostilePluginTest, WrongTables) {
  run_all(
      {{"null@entry", kRefused},        {"bad_pointer@entry", kRefused}, {"nothing@entry", kRefused},
       {"garbage@entry", kRefused},     {"small@entry", kRefused},       {"large@entry", kNoEffect},
       {"major@entry", kRefused},       {"no_name@entry", kRefused},     {"bad_name@entry", kRefused},
       {"bad_summary@entry", kRefused}, {"control@entry", kNoEffect},    {"contract@entry", kRefused},
       {"promises@entry", kRefused},    {"block_size@entry", kRefused},  {"odd_block@entry", kFinding},
       {"block_count@entry", kRefused}, {"no_room@entry", kRefused},     {"erase_blocks@entry", kRefused},
       {"odd_erase@entry", kRefused},   {"write_unit@entry", kRefused},  {"whole_unit@entry", kRefused},
       {"odd_whole@entry", kNoEffect},  {"limits@entry", kNoEffect},     {"large_limits@entry", kNoEffect}});
}

}  // namespace
}  // namespace sisyfs::hostile_plugin_slow_test
