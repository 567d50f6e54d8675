// Tools that do what they are told to, on a disk that notes each access.
#include "adapters/repair/watched_tool.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "adapters/kernel/repair.h"
#include "adapters/kernel/tool.h"

namespace sisyfs::watched_tool_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr const char* kDiskTool = SISYFS_PLUGIN_DIR "/disk_tool";
constexpr uint32_t kBlock = 512;
constexpr uint64_t kBlocks = 32;

// A disk of letters that notes "read 3+1", "write 3+1 aa", "flush".
class NotingDisk : public Disk {
 public:
  NotingDisk() : content_(kBlock * kBlocks, std::byte{'.'}) {}
  const Geometry& geometry() const override { return geometry_; }
  IoStatus read(BlockAddress first, std::span<std::byte> out) override {
    note_access("read", first, out.size(), "");
    if (fails()) return IoStatus::kIoError;
    std::memcpy(out.data(), content_.data() + first.value * kBlock, out.size());
    return IoStatus::kOk;
  }
  IoStatus write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags) override {
    note_access(flags.fua ? "write through" : "write", first, bytes.size(), summary(bytes));
    if (fails()) return IoStatus::kIoError;
    std::memcpy(content_.data() + first.value * kBlock, bytes.data(), bytes.size());
    return IoStatus::kOk;
  }
  IoStatus flush() override {
    notes_.emplace_back("flush");
    return fails() ? IoStatus::kIoError : IoStatus::kOk;
  }
  IoStatus discard(BlockAddress, BlockCount) override { return IoStatus::kIoError; }
  void note(const Boundary&) override {}

  std::vector<std::string> take() { return std::exchange(notes_, {}); }
  // The nth access from now on fails.
  void fail(int nth) { fail_ = nth; }
  std::string at(size_t offset, size_t length) const {
    return summary(std::span(content_).subspan(offset, length));
  }

 private:
  // "aab" for a lot of a and then some b: a letter for each change, twice for the first of a block.
  static std::string summary(std::span<const std::byte> bytes) {
    std::string out;
    for (const std::byte b : bytes)
      if (const char c = b == std::byte{0} ? '0' : static_cast<char>(b); out.empty() || out.back() != c)
        out += c;
    return out;
  }
  void note_access(const char* what, BlockAddress first, size_t size, const std::string& more) {
    notes_.push_back(std::string(what) + " " + std::to_string(first.value) + "+" +
                     std::to_string(size / kBlock) + (more.empty() ? "" : " " + more));
  }
  bool fails() { return fail_ != 0 && --fail_ == 0; }

  const Geometry geometry_{.block_size = kBlock, .block_count = BlockCount(kBlocks)};
  std::vector<std::byte> content_;
  std::vector<std::string> notes_;
  int fail_ = 0;
};

class WatchedTool : public testing::Test {
 protected:
  void SetUp() override {
    const Status can = can_watch_tools();
    if (!can) GTEST_SKIP() << can.error().message;
    auto made = WatchedDisk::make(disk_.geometry());
    ASSERT_TRUE(made);
    watched_ = *std::move(made);
    watched_->attach(disk_);
  }
  // What the disk saw.
  std::vector<std::string> does(const std::string& script, FsckMode mode = FsckMode::kRepair,
                                std::chrono::milliseconds deadline = 20s) {
    std::vector<std::string> words = words_of(std::string(kDiskTool) + " " + script);
    words.emplace_back(kToolImage);
    const Result<ToolRun> run = watched_->run(words, mode, deadline);
    EXPECT_TRUE(run) << run.error().message;
    if (run) ran_ = *run;
    return disk_.take();
  }

  NotingDisk disk_;
  std::unique_ptr<WatchedDisk> watched_;
  ToolRun ran_;
};

TEST_F(WatchedTool, WritesAndFlushesAreSeenInTheirOrderWithTheirSizes) {
  EXPECT_THAT(does("pwrite:1024:512:a write:0:1536:b fsync writev:4096:1024:c fdatasync pwrite:1024:512:d"),
              ElementsAre("write 2+1 a", "write 0+3 b", "flush", "write 8+2 c", "flush", "write 2+1 d"));
  EXPECT_TRUE(ran_.ended) << ran_.how;
  EXPECT_EQ(ran_.exit, 0) << ran_.output;
  EXPECT_EQ(disk_.at(0, 2048), "bd.") << "1024 bytes b, 512 d";
}

TEST_F(WatchedTool, AWriteOfAPartOfABlockReadsTheRest) {
  EXPECT_THAT(
      does("pwrite:700:10:a pwrite:710:10:b pwrite:500:1000:c"),
      ElementsAre("read 1+1", "write 1+1 .a.", "write 1+1 .ab.", "read 0+1", "read 2+1", "write 0+3 .c."));
}

TEST_F(WatchedTool, StdioIsSeenAsTheWritesThatItMakes) {
  EXPECT_THAT(does("stdio:512:1024:a fsync"), ElementsAre("read 0+1", "write 1+2 a", "flush"));
}

TEST_F(WatchedTool, DirectAccessIsTaken) {
  EXPECT_THAT(does("direct:4096:4096:a trunc:512:512:b"), ElementsAre("write 8+8 a", "write 1+1 b"));
  EXPECT_EQ(ran_.exit, 0) << ran_.output;
}

TEST_F(WatchedTool, SynchronousWritesPassTheCache) {
  EXPECT_THAT(does("osync:0:512:a dsync:512:512:b pwrite:0:512:c"),
              ElementsAre("write through 0+1 a", "write through 1+1 b", "write 0+1 c"));
}

TEST_F(WatchedTool, StoresThroughAMappingAreWrittenBeforeTheNextWriteOrFlush) {
  EXPECT_THAT(does("store:512:1024:a store:5120:1:b fsync store:0:512:c pwrite:1024:512:d store:5120:2:e"),
              ElementsAre("read 0+32", "write 1+2 a", "write 10+1 b.", "flush", "write 0+1 c", "write 2+1 d",
                          "write 10+1 e."));
  EXPECT_THAT(does("store:1024:512:x msync"), ElementsAre("write 2+1 x", "flush"));
}

TEST_F(WatchedTool, OnlyWhatIsReadIsReadAndOnlyOnce) {
  EXPECT_THAT(does("read:1024:512 read:1030:100 readv:512:2048 dup read:1024:512 map:8192:4096"),
              ElementsAre("read 2+1", "read 1+1", "read 3+2", "read 16+8"));
  EXPECT_EQ(ran_.output, ".\n.\n.\n.\n.\n");
  watched_->attach(disk_);
  EXPECT_THAT(does("read:1024:512"), ElementsAre("read 2+1"));
}

TEST_F(WatchedTool, ReadsFindWhatWasWritten) {
  EXPECT_THAT(does("pwrite:1000:48:a read:1000:8 read:990:1 stdio:1000:1:b read:1000:1"),
              ElementsAre("read 1+1", "read 2+1", "write 1+2 .a.", "read 0+1", "write 1+1 .ba"));
  EXPECT_EQ(ran_.output, "a\n.\nb\n");
}

TEST_F(WatchedTool, HolesAreZerosAndTheSizeStays) {
  EXPECT_THAT(does("punch:512:1000 read:600:1 reserve:0:16384 truncate:16384"),
              ElementsAre("read 2+1", "write 1+2 0."));
  EXPECT_EQ(ran_.exit, 0) << ran_.output;
  EXPECT_THAT(does("truncate:100"), IsEmpty());
  EXPECT_EQ(ran_.exit, 8);
  EXPECT_THAT(does("reserve:16384:1"), IsEmpty());
  EXPECT_EQ(ran_.exit, 8);
  EXPECT_THAT(does("pwrite:16000:1000:a"), IsEmpty()) << "beyond the end";
  EXPECT_EQ(ran_.exit, 8);
  EXPECT_EQ(ran_.output, "No space left on device\n");
}

TEST_F(WatchedTool, WaysAroundAreRefused) {
  EXPECT_THAT(does("sendfile:0:512"), IsEmpty());
  EXPECT_EQ(ran_.output, std::to_string(EINVAL) + "\n" + std::to_string(EINVAL) + "\n");
}

TEST_F(WatchedTool, OtherFilesAndSyncsOfTheWholeSystemAreNoConcernOfTheDisk) {
  EXPECT_THAT(does("null:0:512:a sync pwrite:0:512:a"), ElementsAre("write 0+1 a"));
}

TEST_F(WatchedTool, WhatItsChildrenWriteIsSeen) {
  EXPECT_THAT(does("child:512:512:a fsync"), ElementsAre("write 1+1 a", "flush"));
}

// An access that a signal interrupts would be made again.
TEST_F(WatchedTool, SignalsRepeatNoAccess) {
  std::string script = "ticks";
  for (int i = 0; i < 200; ++i) script += " pwrite:512:512:a";
  EXPECT_EQ(does(script).size(), 200u);
  EXPECT_EQ(ran_.exit, 0) << ran_.output;
}

TEST_F(WatchedTool, AToolThatOnlyLooksChangesNothing) {
  EXPECT_THAT(does("pwrite:512:512:a fsync read:512:1", FsckMode::kCheck), IsEmpty());
  EXPECT_EQ(ran_.output, "a\n");
  EXPECT_THAT(does("read:512:1"), ElementsAre("read 1+1"));
  EXPECT_EQ(ran_.output, ".\n");
  EXPECT_THAT(does("store:0:512:a read:0:1", FsckMode::kCheck), ElementsAre("read 0+1", "read 2+30"));
  EXPECT_THAT(does("read:0:1"), ElementsAre("read 0+1"));
  EXPECT_EQ(ran_.output, ".\n");
}

TEST_F(WatchedTool, AFailingAccessIsTheToolsErrno) {
  disk_.fail(1);
  EXPECT_THAT(does("read:0:512 read:0:512"), ElementsAre("read 0+1", "read 0+1"));
  EXPECT_EQ(ran_.output, std::to_string(EIO) + "\n.\n");
  EXPECT_TRUE(watched_->failed());
  disk_.fail(1);
  EXPECT_THAT(does("pwrite:512:512:a pwrite:512:512:b"), ElementsAre("write 1+1 a"));
  EXPECT_EQ(ran_.exit, 8);
  EXPECT_EQ(ran_.output, "Input/output error\n");
  disk_.fail(2);
  EXPECT_THAT(does("pwrite:512:512:a fsync fsync"), ElementsAre("write 1+1 a", "flush"));
  EXPECT_EQ(ran_.exit, 8);
  EXPECT_THAT(does("read:512:1"), IsEmpty());
  EXPECT_EQ(ran_.output, "a\n") << "a write that failed has no effect, the one after it has";
  EXPECT_FALSE(watched_->failed());
}

TEST_F(WatchedTool, AToolThatDiesIsTold) {
  EXPECT_THAT(does("pwrite:512:512:a die pwrite:512:512:b"), ElementsAre("write 1+1 a"));
  EXPECT_FALSE(ran_.ended);
  EXPECT_EQ(ran_.how, "died of signal 11");
}

TEST_F(WatchedTool, AToolThatDoesNotEndIsKilled) {
  for (const char* script : {"pwrite:512:512:a hang", "pwrite:512:512:a endless:512:1"}) {
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_THAT(does(script, FsckMode::kRepair, 300ms), ElementsAre("write 1+1 a"));
    EXPECT_EQ(ran_.how, "was killed after 300 ms");
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
  }
}

size_t open_descriptors() {
  size_t count = 0;
  DIR* const own = opendir("/proc/self/fd");
  while (readdir(own) != nullptr) ++count;
  closedir(own);
  return count;
}

TEST_F(WatchedTool, NothingIsLeftOpen) {
  (void)does("read:0:1");
  const size_t before = open_descriptors();
  (void)does("read:0:1 hang", FsckMode::kRepair, 100ms);
  (void)does("die");
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(WatchedTool, ToolsOfSeveralThreadsDoNotMeet) {
  std::vector<std::thread> threads;
  std::vector<size_t> right(4);
  for (size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&right, t] {
      NotingDisk disk;
      auto watched = WatchedDisk::make(disk.geometry());
      const std::string letter(1, static_cast<char>('a' + t));
      for (int i = 0; i < 10; ++i) {
        (*watched)->attach(disk);
        const Result<ToolRun> run = (*watched)->run(
            {kDiskTool, "pwrite:512:512:" + letter, "fsync", kToolImage}, FsckMode::kRepair, 20s);
        if (run && run->ended && disk.take() == std::vector<std::string>{"write 1+1 " + letter, "flush"})
          ++right[t];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, testing::Each(10u));
}

}  // namespace
}  // namespace sisyfs::watched_tool_test
