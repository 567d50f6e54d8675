#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "crash/crash_points.h"
#include "crash/crash_states.h"
#include "models/flash/core.h"

namespace sisyfs::flash::flash_test {
namespace {

using Files = std::map<std::string, std::vector<std::byte>>;

struct FlashTest : testing::Test {
  Config config;
  Core core{config};
  std::unique_ptr<Media> disk = std::make_unique<Media>(blank(config));

  static Image blank(const Config& config) {
    return Image({kPageSize, BlockCount(uint64_t{config.units} * config.pages), config.pages});
  }
  void start(const Config& with) {
    config = with;
    core = Core(config);
    disk = std::make_unique<Media>(blank(config));
    ASSERT_EQ(core.format(*disk), 0);
    ASSERT_EQ(core.mount(*disk), 0);
  }
  int store(std::string_view name, size_t size, int value) {
    return core.store(name, std::vector<std::byte>(size, static_cast<std::byte>(value)));
  }
  static Files files_of(Core& from) {
    Files files;
    for (unsigned ino = 0; ino < from.config().files; ++ino) {
      const File& file = from.memory().files[ino];
      if (!file.used()) continue;
      Record record;
      EXPECT_EQ(from.read(ino, &record), 0);
      files[std::string(text_of(file.name))] = {record.data.begin(), record.data.begin() + record.size};
    }
    return files;
  }
};

TEST_F(FlashTest, FilesAreMadeChangedAndDeleted) {
  start({});
  EXPECT_EQ(core.create("a"), 0);
  EXPECT_EQ(core.create("a"), EEXIST);
  EXPECT_EQ(store("a", 8, 1), 0);
  EXPECT_EQ(store("b", 8, 1), ENOENT);
  EXPECT_EQ(store("a", 17, 1), EFBIG);
  EXPECT_EQ(core.create("b"), 0);
  EXPECT_EQ(core.create("c"), 0);
  EXPECT_EQ(core.create("d"), ENOSPC);
  EXPECT_EQ(core.take_marks() & kNoInode, kNoInode);
  EXPECT_EQ(core.remove("b"), 0);
  EXPECT_EQ(core.remove("b"), ENOENT);
  EXPECT_EQ(core.create("d"), 0);
  const Files expected = {{"a", std::vector<std::byte>(8, std::byte{1})}, {"c", {}}, {"d", {}}};
  EXPECT_EQ(files_of(core), expected);
  Core again(config);
  ASSERT_EQ(again.mount(*disk), 0);
  EXPECT_EQ(files_of(again), expected);
}

// However long it is used, it never programs a page twice, never runs out of room, and mounts as it was.
TEST_F(FlashTest, CleaningMakesRoomForEver) {
  std::mt19937_64 random(3);
  for (const Config& shape :
       {Config{}, Config{.units = 2, .pages = 4, .files = 3}, Config{.units = 5, .pages = 3, .files = 8}}) {
    start(shape);
    uint32_t marks = 0;
    for (int i = 0; i < 400; ++i) {
      const std::string name(1, static_cast<char>('a' + random() % config.files));
      const unsigned dice = random() % 4;
      const bool there = core.find(name) != kMaxFiles;
      if (!there)
        ASSERT_EQ(core.create(name), 0);
      else if (dice == 0)
        ASSERT_EQ(core.remove(name), 0);
      else
        ASSERT_EQ(store(name, 8 * (random() % 3), i), 0);
      marks |= core.take_marks();
      ASSERT_EQ(disk->state().log.misuses() + disk->state().log.strays(), 0u);
      Core again(config);
      Media copy(disk->state().current);
      ASSERT_EQ(again.mount(copy), 0);
      ASSERT_EQ(files_of(again), files_of(core));
      disk->load(MediaState(disk->state().current));
    }
    EXPECT_EQ(marks, kCleaned | kCopied | kKeptDeletion);
  }
}

// Every cut of every op of a random run, and every cut of the mount after it: one of the two states comes
// back, and what came back can be used.
TEST_F(FlashTest, EveryCutLeavesTheStateBeforeOrAfterAnOpEvenIfTheMountIsCutToo) {
  const DeviceModel nand = *DeviceModel::preset("nand");
  std::mt19937_64 random(11);
  start({.units = 3, .pages = 3, .files = 3});
  disk->load(MediaState(disk->state().current));
  uint64_t cuts = 0, nested = 0;
  for (int i = 0; i < 60; ++i) {
    const Files before = files_of(core);
    const std::string name(1, static_cast<char>('a' + random() % config.files));
    const int error = core.find(name) == kMaxFiles ? core.create(name)
                      : random() % 3 == 0          ? core.remove(name)
                                                   : store(name, 8, i);
    ASSERT_EQ(error, 0);
    const Files after = files_of(core);
    const auto check = [&](const Image& image, Media& on) {
      on.load(MediaState(image));
      Core again(config);
      ASSERT_EQ(again.mount(on), 0);
      const Files files = files_of(again);
      ASSERT_TRUE(files == before || files == after);
      ASSERT_EQ(on.state().log.misuses(), 0u);
    };
    CrashPoints points(nand, disk->state());
    while (const CrashPoint* point = points.next()) {
      CrashStates states(point->epoch);
      while (CrashState* state = states.next()) {
        Media recovered(state->image());
        check(state->image(), recovered);
        ++cuts;
        CrashPoints inner(nand, recovered.state());
        while (const CrashPoint* deeper = inner.next()) {
          CrashStates in_mount(deeper->epoch);
          Media twice(recovered.state().current);
          for (; CrashState* cut = in_mount.next(); ++nested) check(cut->image(), twice);
        }
      }
    }
    ASSERT_FALSE(HasFatalFailure());
    disk->load(MediaState(disk->state().current));
  }
  EXPECT_GT(cuts, 500u);
  EXPECT_GT(nested, 500u);
}

}  // namespace
}  // namespace sisyfs::flash::flash_test
