#include "adapters/plugin/memory_snapshot.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <optional>
#include <random>
#include <thread>

#include "adapters/plugin/page_fault.h"
#include "adapters/plugin/play_for_test.h"

namespace sisyfs::memory_snapshot_test {
namespace {

using testing::HasSubstr;

// All that the ranges hold, copied as a whole; of a heap what is in use.
std::string whole(const std::vector<MemoryRange>& ranges) {
  std::string bytes;
  for (const MemoryRange& range : ranges)
    bytes.append(reinterpret_cast<const char*>(range.begin),
                 range.used == nullptr ? range.size : *range.used);
  return bytes;
}

class MemorySnapshotTest : public testing::TestWithParam<Tracker> {
 protected:
  void SetUp() override {
    install_page_fault_handler();
    Result<std::unique_ptr<PluginMemory>> memory = PluginMemory::make(play_.plugin.ranges(), GetParam());
    if (!memory) GTEST_SKIP() << memory.error().message;
    memory_ = std::move(*memory);
  }
  Play play_;
  std::unique_ptr<PluginMemory> memory_;
};

INSTANTIATE_TEST_SUITE_P(Trackers, MemorySnapshotTest, testing::ValuesIn(kTrackers),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST_P(MemorySnapshotTest, LoadBringsBackGlobalsHeapThreadLocalsAndLibc) {
  const MemoryImage start = memory_->save();
  const int first = play_.random();
  void* const block = play_.malloc(100);
  for (uint32_t op = 0; op < 100; ++op) play_.step(op, op * 7, op * 31);
  EXPECT_EQ(play_.steps(), 100u);
  const MemoryImage later = memory_->save();
  memory_->load(start);
  EXPECT_EQ(play_.steps(), 0u);
  EXPECT_EQ(play_.plugin.control().state->live_blocks, 0u);
  EXPECT_EQ(play_.random(), first) << "the state of rand() lies in libc";
  EXPECT_EQ(play_.malloc(100), block);
  memory_->load(later);
  EXPECT_EQ(play_.steps(), 100u);
  EXPECT_EQ(play_.plugin.check_heap(), SISYFS_FAULT_NONE);
}

TEST_P(MemorySnapshotTest, EqualMemoriesHaveEqualDigests) {
  const MemoryImage start = memory_->save();
  EXPECT_EQ(memory_->save(), start);
  void* const block = play_.malloc(5000);
  const MemoryImage with = memory_->save();
  EXPECT_NE(with.digest(), start.digest());
  play_.free(block);
  EXPECT_EQ(memory_->save().digest(), start.digest());
  EXPECT_EQ(play_.malloc(5000), block);
  EXPECT_EQ(memory_->save().digest(), with.digest());
}

// Random ops and random saves and loads, in the manner of a search, beside copies of the whole memory.
TEST_P(MemorySnapshotTest, AgreesWithWholeCopiesOfTheMemory) {
  constexpr int kRuns = 2000;
  struct Saved {
    MemoryImage image;
    std::string bytes;
  };
  const std::vector<MemoryRange> ranges = play_.plugin.ranges();
  const uint64_t& used = play_.plugin.control().state->used;
  uint64_t peak = used;  // the most that was ever in use
  std::mt19937 random(60);
  std::vector<Saved> saved = {{memory_->save(), whole(ranges)}};
  for (int run = 0; run < kRuns; ++run) {
    for (uint32_t op = random() % 12; op > 0; --op)
      play_.step(static_cast<uint32_t>(random()), static_cast<uint32_t>(random()),
                 static_cast<uint32_t>(random()));
    peak = std::max(peak, used);
    const bool just_saved = random() % 2 == 0;
    if (just_saved) {
      Saved next{memory_->save(), whole(ranges)};
      if (saved.size() < 12)
        saved.push_back(std::move(next));
      else
        saved[1 + random() % 11] = std::move(next);
    }
    if (random() % 3 != 0) {
      const Saved& wanted = saved[random() % saved.size()];
      memory_->load(wanted.image,
                    just_saved ? PluginMemory::Since::kHasNotRun : PluginMemory::Since::kMayHaveRun);
      ASSERT_TRUE(whole(ranges) == wanted.bytes) << "run " << run;
      if (random() % 4 == 0) {
        ASSERT_EQ(memory_->save().digest(), wanted.image.digest());
      }
    }
    ASSERT_EQ(play_.plugin.check_heap(), SISYFS_FAULT_NONE);
    if (run % 50 != 0) continue;
    for (uint64_t i = used; i < peak; ++i)
      ASSERT_EQ(play_.plugin.control().base[i], 0) << "what is not in use is zero";
  }
  for (const Saved& a : saved)
    for (const Saved& b : saved) EXPECT_EQ(a.image == b.image, a.bytes == b.bytes);
}

TEST_P(MemorySnapshotTest, TrackerCanBeChangedOnTheWay) {
  const MemoryImage start = memory_->save();
  play_.step(5, 100, 1);  // not yet saved when the tracker changes
  for (const Tracker tracker : kTrackers) {
    if (!memory_->use(tracker)) continue;
    EXPECT_EQ(memory_->tracker(), tracker);
    play_.step(0, 1, 32);
    EXPECT_NE(memory_->save(), start);
    memory_->load(start);
    EXPECT_EQ(play_.steps(), 0u);
    EXPECT_EQ(memory_->save(), start);
  }
}

TEST_P(MemorySnapshotTest, ChoiceSaysWhyAndLeavesTheMemoryAsItWas) {
  const MemoryImage start = memory_->save();
  uint32_t at = 0;
  const TrackerChoice choice = choose_tracker(
      *memory_, [&] { ++at, play_.step(at, at * 3, at * 5); }, 50);
  EXPECT_EQ(memory_->tracker(), choice.tracker);
  EXPECT_THAT(choice.why, HasSubstr(std::string(name_of(choice.tracker)) + ": "));
  for (const Tracker tracker : kTrackers) EXPECT_THAT(choice.why, HasSubstr(std::string(name_of(tracker))));
  EXPECT_EQ(memory_->save(), start);
}

TEST_P(MemorySnapshotTest, SystemCallsThatWriteAreSeenOrFail) {
  play_.step(0, 0, 160);  // slot 0 holds 160 bytes
  const MemoryImage start = memory_->save();
  for (int i = 0; i < 100; ++i) (void)memory_->save();  // all pages are idle, and watched
  const int zero = open("/dev/zero", O_RDONLY);
  const int got = play_.read(zero);
  close(zero);
  if (GetParam() == Tracker::kProtect) {
    EXPECT_EQ(got, -1);
    EXPECT_EQ(play_.error(), EFAULT) << "the kernel does not fault for us";
  } else {
    EXPECT_EQ(got, 1);
    EXPECT_NE(memory_->save(), start);
  }
}

TEST_P(MemorySnapshotTest, GoesOnInAChildOfThisProcess) {
  const MemoryImage start = memory_->save();
  play_.step(0, 1, 32);
  const MemoryImage later = memory_->save();
  const auto child = [&] {
    play_.step(0, 2, 48);
    memory_->load(later);
    if (play_.steps() != 1) _exit(1);
    for (int i = 0; i < 50; ++i) {
      play_.step(4, static_cast<uint32_t>(i * 100), 9);
      if (memory_->save() == later) _exit(2);
      memory_->load(start);
      if (play_.steps() != 0 || !(memory_->save() == start)) _exit(3);
      memory_->load(later);
    }
    _exit(memory_->save() == later ? 0 : 4);
  };
  testing::GTEST_FLAG(death_test_style) = "fast";
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

// Each thread has thread-local variables of its own; the plug-in's go along. Threads that follow each other
// often have the same stack, and so the same addresses.
TEST_P(MemorySnapshotTest, ThreadLocalsGoAlongToOtherThreads) {
  const MemoryImage start = memory_->save();
  play_.step(4, 1, 1);
  MemoryImage last = memory_->save();
  for (uint64_t steps = 1; steps < 5; ++steps) {
    std::thread([&] {
      memory_->load(last);
      memory_->use_this_thread();
      EXPECT_EQ(play_.steps(), steps);
      play_.step(4, 1, 1);
      last = memory_->save();
    }).join();
  }
  memory_->load(start);
  memory_->use_this_thread();
  EXPECT_EQ(play_.steps(), 0u);
  memory_->load(last);
  EXPECT_EQ(play_.steps(), 5u);
}

TEST_P(MemorySnapshotTest, LongWalksWithoutALoadEndWhereTheyShould) {
  const MemoryImage start = memory_->save();
  for (uint32_t i = 0; i < 5000; ++i) {
    play_.step(3 + i % 3, i * 17, i);
    (void)memory_->save();
  }
  const MemoryImage end = memory_->save();
  memory_->load(start);
  EXPECT_EQ(play_.steps(), 0u);
  memory_->load(end);
  EXPECT_EQ(play_.steps(), 5000u);
  EXPECT_EQ(memory_->save(), end);
}

TEST_P(MemorySnapshotTest, MemoryIsWritableAfterTheEnd) {
  memory_.reset();
  play_.step(4, 0, 1);
  play_.step(0, 1, 2);
  EXPECT_EQ(play_.steps(), 2u);
}

// --- faults that are not ours

sigjmp_buf escaped;
void escape(int, siginfo_t*, void*) { siglongjmp(escaped, 1); }

TEST(PageFaultTest, FaultsOfOthersReachTheHandlerThatWasThereBefore) {
  // A process of its own: the handler is installed once, on top of what is there.
  const auto child = [] {
    struct sigaction action {};
    action.sa_sigaction = escape;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    install_page_fault_handler();
    static Play play;
    static auto memory = PluginMemory::make(play.plugin.ranges(), Tracker::kProtect);
    const MemoryImage start = (*memory)->save();
    for (int i = 0; i < 3; ++i) {
      play.step(0, 1, 2);
      if (sigsetjmp(escaped, 1) == 0) {
        play.wild_write();
        _exit(1);
      }
      (*memory)->load(start);
      if (play.steps() != 0) _exit(2);
    }
    _exit(0);
  };
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(PageFaultTest, AnswersNoForWhatIsNotTracked) {
  static int ours;
  EXPECT_FALSE(on_page_fault(&ours));
  EXPECT_FALSE(on_page_fault(nullptr));
  const Play play;
  const auto memory = PluginMemory::make(play.plugin.ranges(), Tracker::kProtect);
  ASSERT_TRUE(memory);
  char* const heap = play.plugin.control().base;
  EXPECT_TRUE(on_page_fault(heap)) << "protected until the first write";
  EXPECT_FALSE(on_page_fault(heap)) << "a fault there has another reason now";
}

}  // namespace
}  // namespace sisyfs::memory_snapshot_test
