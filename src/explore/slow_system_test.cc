// Searches of systems whose successors take milliseconds: they end soon when they are told to, progress
// moves, and a checkpoint that is written in the middle of a state is right.
#include <gtest/gtest.h>

#include <filesystem>

#include "explore/run.h"
#include "explore/same_result_for_test.h"
#include "explore/toy_systems.h"

namespace sisyfs::slow_system_test {
namespace {

using std::chrono::milliseconds;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Sets the flag after a while.
class Interrupter {
 public:
  explicit Interrupter(milliseconds after)
      : thread_([this, after] {
          std::this_thread::sleep_for(after);
          flag.store(true);
        }) {}
  std::atomic<bool> flag{false};

 private:
  std::jthread thread_;
};

SearchOptions with(SearchOrder order, unsigned threads) {
  SearchOptions o;
  o.order = order;
  o.threads = threads;
  o.watched = 0;
  return o;
}

// An expansion takes 0.3 s, and a search of these lasts for minutes.
constexpr double kSoon = 1.1;

TEST(SlowSystemTest, AnInterruptEndsASearchInTheMiddleOfAState) {
  const auto interrupted = [](const auto& system, SearchOrder order, unsigned threads) {
    SCOPED_TRACE(testing::Message() << "order " << static_cast<int>(order) << ", threads " << threads);
    const Interrupter interrupter(milliseconds(100));
    SearchOptions o = with(order, threads);
    o.interrupt = &interrupter.flag;
    SearchResult r;
    EXPECT_LT(seconds_of([&] { r = run_search(system, o, {}); }), kSoon);
    EXPECT_EQ(r.stopped, Stop::kInterrupted);
    EXPECT_EQ(r.verdict, Verdict::kUnknown);
    EXPECT_FALSE(r.exhausted);
    EXPECT_GT(r.transitions, 0u) << "successors of a state that was not finished count in the result";
    EXPECT_LT(r.transitions, 64u);
  };
  for (unsigned threads : {1u, 2u}) {
    interrupted(FollowableSlow{}, SearchOrder::kBreadthFirst, threads);
    interrupted(FollowableSlow{}, SearchOrder::kMostRecovery, threads);
    interrupted(Slow{}, SearchOrder::kRarest, threads);
    interrupted(Slow{}, SearchOrder::kBreadthFirst, threads);
    interrupted(Slow{}, SearchOrder::kDepthFirst, threads);
  }
  const Interrupter interrupter(milliseconds(100));
  SearchOptions o = with(SearchOrder::kWalk, 2);
  o.interrupt = &interrupter.flag;
  SearchResult r;
  EXPECT_LT(seconds_of([&] { r = run_search(Slow{}, o, {}); }), kSoon);
  EXPECT_EQ(r.stopped, Stop::kInterrupted);
}

TEST(SlowSystemTest, TheBoundOnTimeEndsASearchInTheMiddleOfAState) {
  for (SearchOrder order :
       {SearchOrder::kBreadthFirst, SearchOrder::kDepthFirst, SearchOrder::kRarest, SearchOrder::kWalk}) {
    SearchOptions o = with(order, 2);
    o.bounds.time = milliseconds(100);
    SearchResult r;
    EXPECT_LT(seconds_of([&] { r = run_search(FollowableSlow{}, o, {}); }), kSoon);
    EXPECT_EQ(r.stopped, Stop::kTime);
  }
}

// All successors of one state would take ten seconds.
TEST(SlowSystemTest, TheBoundOnStatesEndsASearchInTheMiddleOfAState) {
  FollowableSlow system;
  system.branching = 2000;
  for (unsigned threads : {1u, 2u}) {
    SearchOptions o = with(SearchOrder::kBreadthFirst, threads);
    o.bounds.states = 30;
    SearchResult r;
    EXPECT_LT(seconds_of([&] { r = run_search(system, o, {}); }), 3.0);
    EXPECT_EQ(r.stopped, Stop::kStates);
    EXPECT_EQ(r.states, 30u);
    EXPECT_EQ(r.verdict, Verdict::kUnknown);
  }
}

TEST(SlowSystemTest, ProgressMovesWhileAStateIsExpanded) {
  const auto shown = [](const auto& system, SearchOrder order) {
    std::vector<Progress> all;
    SearchOptions o = with(order, 1);
    o.bounds.time = milliseconds(1300);
    run_search(system, o, [&](const Progress& p) { all.push_back(p); });
    return all;
  };
  const auto grows = [](const std::vector<Progress>& all, const char* which) {
    ASSERT_GE(all.size(), 3u) << which;
    EXPECT_GT(all.front().transitions, 0u) << which;
    for (size_t i = 1; i < all.size(); ++i)
      EXPECT_GT(all[i].transitions, all[i - 1].transitions) << which << ", line " << i;
    EXPECT_GT(all.back().states, all.front().states) << which;
  };
  grows(shown(FollowableSlow{}, SearchOrder::kBreadthFirst), "by generations");
  grows(shown(Slow{}, SearchOrder::kBreadthFirst), "breadth-first");
  grows(shown(Slow{}, SearchOrder::kDepthFirst), "depth-first");
  grows(shown(Slow{}, SearchOrder::kWalk), "walks");
}

TEST(SlowSystemTest, ASearchForTracesIsInterruptedInTheMiddleOfAState) {
  const auto interrupted = [](const auto& system) {
    const Interrupter interrupter(milliseconds(700));
    SearchOptions o;
    o.interrupt = &interrupter.flag;
    FoundTraces found;
    unsigned lines = 0;
    const auto count = [&](const Progress& p) { lines += p.tracing && p.transitions != 0; };
    EXPECT_LT(seconds_of([&] { found = find_traces(system, o, FindingBits{1} << 50, count); }), 0.6 + kSoon);
    EXPECT_EQ(found.stopped, Stop::kInterrupted);
    EXPECT_TRUE(found.traces.empty());
    EXPECT_GE(lines, 1u);
  };
  interrupted(Slow{});
  interrupted(FollowableSlow{});
}

// The 64th bit is a kind of finding like any other, and a choice has 64 bits.
TEST(SlowSystemTest, FindingsAndChoicesHave64Bits) {
  FollowableSlow followed;
  followed.pause = {};
  Slow kept;
  kept.pause = {};
  const FindingBits both = FindingBits{1} | FindingBits{1} << 63;
  for (const FoundTraces& found : {find_traces(followed, {}, both), find_traces(kept, {}, both)}) {
    ASSERT_EQ(found.traces.size(), 2u);
    for (const FoundTrace& one : found.traces) {
      uint64_t state = 0, next = 0;
      followed.initial(state);
      for (const Choice choice : one.trace) {
        EXPECT_EQ(static_cast<uint64_t>(choice) & 0xffffffffff, 1u) << "the number is above the 40th bit";
        ASSERT_TRUE(followed.follow(state, choice, next));
        state = next;
      }
      EXPECT_NE(Slow::outcome_of(state).findings >> one.kind & 1, 0u);
    }
  }
}

class SlowCheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ =
        (std::filesystem::path(testing::TempDir()) / (std::string("sisyfs_slow_") + info->name())).string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  SearchOptions saving(SearchOrder order, unsigned threads) const {
    SearchOptions o;
    o.order = order;
    o.threads = threads;
    o.checkpoint = CheckpointOptions{path_, std::chrono::hours(1), Digest{5, 6}, "{}"};
    return o;
  }
  static FollowableSlow fast() {
    FollowableSlow system;
    system.pause = {};
    return system;
  }
  // Resumes what is in the file, with no pauses and no interrupt.
  SearchResult resumed(SearchOrder order, unsigned threads, const FollowableSlow& system = fast()) const {
    const Result<LoadedCheckpoint> loaded = load_checkpoint(path_);
    EXPECT_TRUE(loaded);
    SearchOptions o = saving(order, threads);
    o.resume = &*loaded;
    return run_search(system, o, {});
  }

  std::string path_;
};

// Nothing of the round in which the search was stopped is in the checkpoint, so nothing is counted twice or
// lost.
TEST_F(SlowCheckpointTest, ASearchStoppedInTheMiddleOfAStateIsResumedAsIfItHadNotBeen) {
  for (SearchOrder order : {SearchOrder::kBreadthFirst, SearchOrder::kMostRecovery, SearchOrder::kRarest}) {
    SearchOptions plain = saving(order, 1);
    plain.checkpoint.reset();
    const SearchResult whole = run_search(fast(), plain, {});
    EXPECT_TRUE(whole.exhausted);
    for (unsigned threads : {1u, 2u}) {
      for (uint64_t at : {1u, 30u, 65u, 1003u, 90001u, 150000u}) {
        std::atomic<uint64_t> built{0};
        std::atomic<bool> interrupt{false};
        FollowableSlow watched = fast();
        watched.built = &built;
        watched.interrupt = &interrupt;
        watched.interrupt_at = at;
        SearchOptions o = saving(order, threads);
        o.interrupt = &interrupt;
        const SearchResult part = run_search(watched, o, {});
        ASSERT_EQ(part.stopped, Stop::kInterrupted);
        EXPECT_GE(part.transitions, at) << "the result counts what was seen";
        expect_same(whole, resumed(order, 3 - threads));
      }
    }
  }
}

TEST_F(SlowCheckpointTest, SoIsASearchThatSleepsInEachSuccessor) {
  SearchOptions plain = saving(SearchOrder::kBreadthFirst, 1);
  plain.checkpoint.reset();
  const SearchResult whole = run_search(fast(), plain, {});
  for (unsigned threads : {1u, 2u}) {
    const Interrupter interrupter(milliseconds(800));
    SearchOptions o = saving(SearchOrder::kBreadthFirst, threads);
    o.interrupt = &interrupter.flag;
    const SearchResult part = run_search(FollowableSlow{}, o, {});
    EXPECT_EQ(part.stopped, Stop::kInterrupted);
    EXPECT_EQ(part.checkpoints_written, 2u) << "at the start and at the stop";
    expect_same(whole, resumed(SearchOrder::kBreadthFirst, 1));
  }
}

// The states before the one where the search continues are rebuilt first, which would take five seconds.
TEST_F(SlowCheckpointTest, AnInterruptEndsTheRebuildingOfAState) {
  FollowableSlow chain = fast();
  chain.branching = 1;
  chain.classes = uint64_t{1} << 40;
  SearchOptions o = saving(SearchOrder::kBreadthFirst, 1);
  o.bounds.states = 1000;
  EXPECT_EQ(run_search(chain, o, {}).stopped, Stop::kStates);
  chain.pause = milliseconds(5);
  const Interrupter interrupter(milliseconds(100));
  const Result<LoadedCheckpoint> loaded = load_checkpoint(path_);
  ASSERT_TRUE(loaded);
  o.bounds.states = 2000;
  o.resume = &*loaded;
  o.interrupt = &interrupter.flag;
  SearchResult r;
  EXPECT_LT(seconds_of([&] { r = run_search(chain, o, {}); }), kSoon);
  EXPECT_EQ(r.stopped, Stop::kInterrupted);
  EXPECT_FALSE(r.trouble) << "a stop is not taken for a choice that is missing";
  chain.pause = {};
  SearchOptions again = saving(SearchOrder::kBreadthFirst, 1);
  again.bounds.states = 1500;
  const Result<LoadedCheckpoint> after = load_checkpoint(path_);
  ASSERT_TRUE(after);
  again.resume = &*after;
  EXPECT_EQ(run_search(chain, again, {}).states, 1500u);
}

}  // namespace
}  // namespace sisyfs::slow_system_test
