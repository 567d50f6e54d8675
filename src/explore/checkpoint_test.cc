#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "explore/run.h"
#include "explore/same_result_for_test.h"
#include "explore/toy_systems.h"

namespace sisyfs::checkpoint_test {
namespace {

using testing::HasSubstr;

constexpr Digest kIdentity{12, 34};

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("sisyfs_checkpoint_") + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "run.checkpoint").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  SearchOptions saving(SearchOrder order, unsigned threads) const {
    SearchOptions o;
    o.order = order;
    o.threads = threads;
    o.bounds.depth = order == SearchOrder::kBreadthFirst ? 10 : SearchBounds::kNoDepth;
    o.checkpoint = CheckpointOptions{path_, std::chrono::hours(1), kIdentity, "{\"target\": \"toy\"}"};
    return o;
  }
  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void set_content(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  std::filesystem::path folder_;
  std::string path_;
};

// A search that is interrupted after a number of expansions, also in the middle of a generation, and resumed
// with another number of threads, ends with the result of a search that was never interrupted.
TEST_F(CheckpointTest, AResumedSearchEndsAsAnUninterruptedOne) {
  for (SearchOrder order : {SearchOrder::kBreadthFirst, SearchOrder::kMostRecovery, SearchOrder::kRarest}) {
    SearchOptions plain = saving(order, 1);
    plain.checkpoint.reset();
    const SearchResult whole = run_search(Blurred{}, plain, {});
    for (unsigned threads : {1u, 2u}) {
      for (uint64_t at : {1u, 2u, 100u, 1003u, 4444u, 9001u}) {
        std::atomic<uint64_t> expansions{0};
        std::atomic<bool> interrupt{false};
        SearchOptions o = saving(order, threads);
        o.interrupt = &interrupt;
        const Blurred watched{.expansions = &expansions, .interrupt = &interrupt, .interrupt_at = at};
        const SearchResult part = run_search(watched, o, {});
        ASSERT_EQ(part.stopped, Stop::kInterrupted);
        EXPECT_LT(part.transitions, whole.transitions);
        const Result<LoadedCheckpoint> loaded = load_checkpoint(path_);
        ASSERT_TRUE(loaded) << loaded.error().message;
        EXPECT_EQ(loaded->setup(), "{\"target\": \"toy\"}");
        SearchOptions again = saving(order, 3 - threads);
        again.resume = &*loaded;
        expect_same(whole, run_search(Blurred{}, again, {}));
      }
    }
  }
}

// The bound on states stops the search while successors are inserted one by one; the rest of them is saved.
TEST_F(CheckpointTest, ASearchStoppedAgainAndAgainLosesNothing) {
  for (SearchOrder order : {SearchOrder::kBreadthFirst, SearchOrder::kRarest}) {
    SearchOptions o = saving(order, 1);
    const SearchResult whole = run_search(Blurred{}, o, {});
    o.bounds.states = 1;
    SearchResult r = run_search(Blurred{}, o, {});
    EXPECT_EQ(r.stopped, Stop::kStates);
    for (int runs = 0; r.stopped == Stop::kStates && runs < 100; ++runs) {
      const Result<LoadedCheckpoint> loaded = load_checkpoint(path_);
      ASSERT_TRUE(loaded) << loaded.error().message;
      EXPECT_EQ(r.states, o.bounds.states);
      o.bounds.states += 1777;
      o.threads = 1 + runs % 2;
      o.resume = &*loaded;
      r = run_search(Blurred{}, o, {});
    }
    expect_same(whole, r);
  }
}

TEST_F(CheckpointTest, OutOfMemoryIsResumedWithMore) {
  const Blurred large{.classes = uint64_t{1} << 40};
  SearchOptions o = saving(SearchOrder::kBreadthFirst, 2);
  o.bounds.depth = 12;
  SearchOptions plain = o;
  plain.checkpoint.reset();
  const SearchResult whole = run_search(large, plain, {});
  o.bounds.memory_bytes = size_t{15} << 20;
  const SearchResult part = run_search(large, o, {});
  ASSERT_EQ(part.stopped, Stop::kMemory);
  const Result<LoadedCheckpoint> loaded = load_checkpoint(path_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  o.bounds.memory_bytes = plain.bounds.memory_bytes;
  o.resume = &*loaded;
  expect_same(whole, run_search(large, o, {}));
}

TEST_F(CheckpointTest, SavesWhileItRunsWithoutChangingTheAnswer) {
  SearchOptions o = saving(SearchOrder::kMostRecovery, 2);
  const SearchResult once = run_search(Blurred{}, o, {});
  EXPECT_EQ(once.checkpoints_written, 1u) << "at the start";
  o.checkpoint->interval = std::chrono::milliseconds(0);
  const SearchResult often = run_search(Blurred{}, o, {});
  EXPECT_GT(often.checkpoints_written, 3u);
  expect_same(once, often);
  const Result<LoadedCheckpoint> loaded = load_checkpoint(path_);
  ASSERT_TRUE(loaded);
  o.resume = &*loaded;
  expect_same(once, run_search(Blurred{}, o, {}));
}

TEST_F(CheckpointTest, EveryDamageIsNoticed) {
  SearchOptions o = saving(SearchOrder::kBreadthFirst, 1);
  o.bounds.depth = 3;
  run_search(Blurred{}, o, {});
  const std::string good = content();
  ASSERT_TRUE(load_checkpoint(path_));
  for (size_t at = 0; at < good.size(); at += at < 256 ? 1 : 997) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    set_content(bad);
    const auto loaded = load_checkpoint(path_);
    ASSERT_FALSE(loaded) << "byte " << at;
    EXPECT_EQ(loaded.error().kind, ErrorKind::kBadInput);
  }
  for (size_t size = 0; size < good.size(); size += size < 256 ? 1 : 997) {
    set_content(good.substr(0, size));
    ASSERT_FALSE(load_checkpoint(path_)) << "cut to " << size;
  }
  set_content(good + "x");
  EXPECT_THAT(load_checkpoint(path_).error().message, HasSubstr("damaged or cut short"));
}

// A checkpoint with one word of a section changed and a checksum that fits.
std::string forged(std::string file, CheckpointSection which, size_t at, uint32_t word) {
  constexpr size_t kHeader = sizeof(CheckpointHeader), kHead = sizeof(CheckpointSectionHead),
                   kSum = sizeof(Digest);
  for (size_t section = kHeader;;) {
    uint32_t number = 0;
    uint64_t size = 0;
    std::memcpy(&number, file.data() + section, sizeof number);
    std::memcpy(&size, file.data() + section + 8, sizeof size);
    if (number == static_cast<uint32_t>(which)) {
      std::memcpy(file.data() + section + kHead + at, &word, sizeof word);
      break;
    }
    section += kHead + (size + 7) / 8 * 8;
  }
  const Digest sum = digest_of(file.data(), file.size() - kSum);
  std::memcpy(file.data() + file.size() - kSum, &sum, kSum);
  return file;
}

// A search follows as many choices to a node as its layer is deep. Where the two differed, it left the path
// or never ended.
TEST_F(CheckpointTest, NodesThatAreNotWhereTheAgendaSaysAreRefused) {
  for (SearchOrder order : {SearchOrder::kBreadthFirst, SearchOrder::kMostRecovery}) {
    SearchOptions o = saving(order, 1);
    o.bounds.states = 1000;
    run_search(Blurred{}, o, {});
    const std::string good = content();
    const bool layers = order == SearchOrder::kBreadthFirst;
    const CheckpointSection which = layers ? CheckpointSection::kAgenda : CheckpointSection::kDepths;
    for (uint32_t depth : {7u, 0u, 1000u, ~0u}) {
      set_content(forged(good, which, layers ? 0 : 1600, depth));
      const Result<LoadedCheckpoint> loaded = load_checkpoint(path_);
      ASSERT_TRUE(loaded) << loaded.error().message;
      SearchOptions again = o;
      again.bounds.states = 2000;
      again.resume = &*loaded;
      const SearchResult r = run_search(Blurred{}, again, {});
      EXPECT_EQ(r.stopped, Stop::kHarness);
      ASSERT_TRUE(r.trouble);
      EXPECT_THAT(r.trouble->message, HasSubstr("does not fit"));
    }
  }
}

TEST_F(CheckpointTest, SaysWhatIsWrong) {
  EXPECT_THAT(load_checkpoint(path_).error().message, HasSubstr("could not be read"));
  EXPECT_EQ(load_checkpoint(path_).error().kind, ErrorKind::kSystem);
  set_content("some other file, long enough to have a header of forty bytes or more");
  EXPECT_THAT(load_checkpoint(path_).error().message, HasSubstr("is not a checkpoint"));
  run_search(Blurred{}, saving(SearchOrder::kBreadthFirst, 1), {});
  std::string other = content();
  other[8] = 9;
  set_content(other);
  EXPECT_THAT(load_checkpoint(path_).error().message, HasSubstr("is of version 9, this program reads 2: "));
  other[8] = 1;
  set_content(other);
  EXPECT_THAT(load_checkpoint(path_).error().message, HasSubstr("is of version 1, this program reads 2: "));
  EXPECT_EQ(load_checkpoint(path_).error().kind, ErrorKind::kBadInput);
  other[8] = kCheckpointVersion;
  std::swap(other[12], other[15]);
  set_content(other);
  EXPECT_THAT(load_checkpoint(path_).error().message, HasSubstr("another byte order"));
}

TEST_F(CheckpointTest, ACheckpointOfAnotherSearchIsRefused) {
  SearchOptions o = saving(SearchOrder::kBreadthFirst, 1);
  run_search(Blurred{}, o, {});
  const Result<LoadedCheckpoint> loaded = load_checkpoint(path_);
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->matches(kIdentity));
  EXPECT_THAT(loaded->matches(Digest{1, 2}).error().message, HasSubstr("of another search"));
  o.checkpoint->identity = {1, 2};
  o.resume = &*loaded;
  SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  EXPECT_THAT(r.trouble->message, HasSubstr("of another search"));
  o = saving(SearchOrder::kRarest, 1);
  o.resume = &*loaded;
  r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
  EXPECT_THAT(r.trouble->message, HasSubstr("does not fit"));
}

TEST_F(CheckpointTest, APlaceThatCannotBeWrittenEndsTheSearchAtItsStart) {
  SearchOptions o = saving(SearchOrder::kBreadthFirst, 2);
  o.checkpoint->path = (folder_ / "no" / "such" / "folder").string();
  const SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  EXPECT_EQ(r.transitions, 0u);
  ASSERT_TRUE(r.trouble);
  EXPECT_EQ(r.trouble->kind, ErrorKind::kSystem);
  EXPECT_THAT(r.trouble->message, HasSubstr("could not be created"));
}

}  // namespace
}  // namespace sisyfs::checkpoint_test
