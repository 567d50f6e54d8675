// Searches whose workers run elsewhere: here on threads that are connected by sockets, as processes would be.
#include "explore/remote_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "explore/run.h"
#include "explore/same_result_for_test.h"
#include "explore/serve_search.h"
#include "explore/socket_link.h"
#include "explore/toy_systems.h"

namespace sisyfs::remote_worker_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// A worker on a thread. It is lost when it has sent so many messages.
class ThreadLink : public WorkerLink {
 public:
  using Body = std::function<void(WorkerLink&)>;
  ThreadLink(int here, int there, const Body& body, uint64_t most, Result<Obituary> why)
      : socket_(std::make_unique<SocketLink>(here)), left_(most), why_(std::move(why)) {
    thread_ = std::jthread([there, body] {
      SocketLink search(there);
      body(search);
    });
  }
  ~ThreadLink() override { socket_.reset(); }

  bool send(std::span<const std::byte> message) override { return socket_->send(message); }
  Receipt receive(std::vector<std::byte>& message, milliseconds patience) override {
    if (left_ == 0) return Receipt::kGone;
    const Receipt receipt = socket_->receive(message, patience);
    if (receipt == Receipt::kMessage) --left_;
    return receipt;
  }
  Result<Obituary> mourn() override { return why_; }

 private:
  std::unique_ptr<SocketLink> socket_;
  std::jthread thread_;
  uint64_t left_;
  Result<Obituary> why_;
};

// `lost_after`: messages after which a worker is lost; each replacement lives longer by that much.
StartWorker starts(ThreadLink::Body body, uint64_t lost_after = UINT64_MAX,
                   Result<Obituary> why = Obituary{}) {
  auto started = std::make_shared<std::atomic<uint64_t>>(0);
  return [=](unsigned) -> Result<std::unique_ptr<WorkerLink>> {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return system_error("no sockets");
    const uint64_t most = lost_after == UINT64_MAX ? lost_after : lost_after * ++*started;
    return std::unique_ptr<WorkerLink>(std::make_unique<ThreadLink>(ends[0], ends[1], body, most, why));
  };
}

template <class System>
ThreadLink::Body serves(const System& system, const WorkerReport& report = {}) {
  return [=](WorkerLink& link) {
    if (const auto begin = await_begin(link)) serve_search(system, *begin, link, report);
  };
}

SearchOptions with(SearchOrder order, unsigned threads, uint32_t depth = SearchBounds::kNoDepth) {
  SearchOptions o;
  o.order = order;
  o.threads = threads;
  o.bounds.depth = depth;
  return o;
}

TEST(RemoteWorkerTest, WorkersElsewhereGiveTheResultOfThreads) {
  for (const SearchOrder order :
       {SearchOrder::kBreadthFirst, SearchOrder::kMostRecovery, SearchOrder::kRarest}) {
    SearchOptions o = with(order, 1, 12);
    const SearchResult here = run_search(Blurred{}, o, {});
    EXPECT_GT(here.states, 10000u);
    for (o.threads = 1; o.threads <= 4; ++o.threads) {
      o.start_worker = starts(serves(Blurred{}));
      expect_same(here, run_search(Blurred{}, o, {}));
    }
  }
}

TEST(RemoteWorkerTest, WithoutDedupEveryPathIsWalked) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 1, 8);
  o.dedup = Dedup::kNone;
  const SearchResult here = run_search(Blurred{}, o, {});
  o.threads = 2;
  o.start_worker = starts(serves(Blurred{}));
  expect_same(here, run_search(Blurred{}, o, {}));
}

TEST(RemoteWorkerTest, AWorkerThatIsLostIsReplacedAndNothingIsCountedTwice) {
  SearchOptions o = with(SearchOrder::kRarest, 1, 12);
  const SearchResult here = run_search(Blurred{}, o, {});
  for (const uint64_t lost_after : {2, 3, 7, 20})
    for (o.threads = 1; o.threads <= 2; ++o.threads) {
      o.start_worker = starts(serves(Blurred{}), lost_after);
      expect_same(here, run_search(Blurred{}, o, {}));
    }
}

TEST(RemoteWorkerTest, AWorkerThatCannotBeReplacedEndsTheSearchWithAReason) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2, 12);
  o.start_worker = starts(serves(Blurred{}), 3, system_error("it died"));
  const SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  EXPECT_EQ(r.trouble->message, "it died");
  EXPECT_EQ(r.verdict, Verdict::kUnknown);
}

TEST(RemoteWorkerTest, WorkersThatDieOverAndOverEndTheSearch) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 1, 12);
  uint32_t started = 0;
  o.start_worker = [&](unsigned worker) {
    ++started;
    return starts(serves(Blurred{}), 1, Obituary{"it died again", false})(worker);
  };
  const SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  EXPECT_THAT(r.trouble->message, HasSubstr("over and over: it died again"));
  EXPECT_EQ(started, 4u);
}

TEST(RemoteWorkerTest, AWorkerMayRefuse) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2, 12);
  o.start_worker = starts([](WorkerLink& link) { link.send(message::encode(message::Refused{"no room"})); });
  EXPECT_EQ(run_search(Blurred{}, o, {}).trouble->message, "no room");
  o.start_worker = [](unsigned) -> Result<std::unique_ptr<WorkerLink>> {
    return system_error("no processes");
  };
  EXPECT_EQ(run_search(Blurred{}, o, {}).trouble->message, "no processes");
}

TEST(RemoteWorkerTest, AnotherInitialStateIsNoticed) {
  struct Other : Blurred {
    void initial(State& s) const { s = 2; }
  };
  SearchOptions o = with(SearchOrder::kBreadthFirst, 1, 12);
  o.start_worker = starts(serves(Other{}));
  EXPECT_THAT(run_search(Blurred{}, o, {}).trouble->message, HasSubstr("not deterministic"));
}

TEST(RemoteWorkerTest, AChoiceThatIsGoneIsNoticed) {
  std::atomic<uint64_t> expansions{0};
  SearchOptions o = with(SearchOrder::kBreadthFirst, 1, 12);
  Blurred forgetful;
  forgetful.expansions = &expansions;
  forgetful.lose_after = 50;
  o.start_worker = starts(serves(forgetful));
  const SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  EXPECT_THAT(r.trouble->message, HasSubstr("possible once and is not possible again"));
}

TEST(RemoteWorkerTest, SlowWorkersStopInTime) {
  const FollowableSlow slow{};
  SearchOptions o = with(SearchOrder::kBreadthFirst, 2);
  o.start_worker = starts(serves(slow));
  o.bounds.time = milliseconds(300);
  const SearchResult r = run_search(slow, o, {});
  EXPECT_EQ(r.stopped, Stop::kTime);
  EXPECT_GT(r.transitions, 10u) << "what was found before counts";
}

TEST(RemoteWorkerTest, AWorkerThatDoesNotStopIsGivenUp) {
  SearchOptions o = with(SearchOrder::kBreadthFirst, 1);
  std::atomic<bool> over{false};
  o.start_worker = starts([&](WorkerLink& link) {
    if (!await_begin(link)) return;
    uint64_t initial = 0;
    Blurred{}.initial(initial);
    link.send(message::encode(message::Ready{Blurred{}.fingerprint(initial)}));
    while (!over) std::this_thread::sleep_for(milliseconds(10));
  });
  o.bounds.time = milliseconds(100);
  // The thread cannot be killed, as a process can.
  const std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    over = true;
  });
  EXPECT_EQ(run_search(Blurred{}, o, {}).stopped, Stop::kTime);
}

TEST(RemoteWorkerTest, AccountsAddUp) {
  std::atomic<uint64_t> expansions{0};
  Blurred counted;
  counted.expansions = &expansions;
  WorkerReport report;
  report.counts = [&] {
    return CrashCounts{.left_out = 0, .sampled = UINT64_MAX, .crash_states = expansions.load()};
  };
  report.account = [] { return message::Account{EdgeCount{3, 9}, ""}; };
  // What lost workers had counted of the work that was done again does not count.
  SearchOptions o = with(SearchOrder::kBreadthFirst, 1, 8);
  for (const uint64_t lost_after : {UINT64_MAX, uint64_t{3}}) {
    o.start_worker = starts(serves(counted, report), lost_after);
    const SearchResult r = run_search(Blurred{}, o, {});
    EXPECT_EQ(r.crash_states, r.states - r.unexpanded);
    EXPECT_EQ(r.sampled, UINT64_MAX) << "that many or more";
    EXPECT_EQ(r.edges->reached, 3u);
  }
  report.account = [] { return message::Account{std::nullopt, "the clock was asked"}; };
  o.start_worker = starts(serves(counted, report));
  const SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  EXPECT_EQ(r.trouble->message, "the clock was asked");
}

SearchOptions walking(unsigned threads) {
  SearchOptions o = with(SearchOrder::kWalk, threads);
  o.walk = {.walks = 200, .length = 20, .seed = 7};
  return o;
}

void expect_same_walks(const SearchResult& here, const SearchResult& elsewhere) {
  EXPECT_EQ(here.states, elsewhere.states);
  EXPECT_EQ(here.transitions, elsewhere.transitions);
  EXPECT_EQ(here.depth, elsewhere.depth);
  EXPECT_EQ(here.marks, elsewhere.marks);
  EXPECT_EQ(here.visited, elsewhere.visited);
  EXPECT_EQ(here.findings, elsewhere.findings);
  EXPECT_EQ(here.times_found, elsewhere.times_found);
  EXPECT_EQ(here.least_depth, elsewhere.least_depth);
  EXPECT_EQ(here.stopped, elsewhere.stopped);
  ASSERT_EQ(here.traces.size(), elsewhere.traces.size());
  for (size_t i = 0; i < here.traces.size(); ++i) {
    EXPECT_EQ(here.traces[i].kind, elsewhere.traces[i].kind);
    EXPECT_EQ(here.traces[i].trace, elsewhere.traces[i].trace);
  }
}

// Story: random walks of plug-ins ran in one process, on one of the cores, and a call that ended the process
// ended them.
TEST(RemoteWorkerTest, WalksElsewhereAreThoseOfThreads) {
  const SearchResult here = run_search(Blurred{}, walking(1), {});
  EXPECT_EQ(here.traces.size(), 2u);
  for (unsigned threads = 1; threads <= 3; ++threads) {
    SearchOptions o = walking(threads);
    o.start_worker = starts(serves(Blurred{}));
    expect_same_walks(here, run_search(Blurred{}, o, {}));
  }
}

TEST(RemoteWorkerTest, AWalkerThatIsLostIsReplacedAndNothingIsCountedTwice) {
  const SearchResult here = run_search(Blurred{}, walking(1), {});
  for (const uint64_t lost_after : {2, 3, 7, 50})
    for (unsigned threads = 1; threads <= 2; ++threads) {
      SearchOptions o = walking(threads);
      o.start_worker = starts(serves(Blurred{}), lost_after);
      expect_same_walks(here, run_search(Blurred{}, o, {}));
    }
}

TEST(RemoteWorkerTest, WalkersThatCannotBeReplacedEndTheSearchWithAReason) {
  SearchOptions o = walking(2);
  o.start_worker = starts(serves(Blurred{}), 3, system_error("it died"));
  const SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.stopped, Stop::kHarness);
  EXPECT_EQ(r.trouble->message, "it died");
}

TEST(RemoteWorkerTest, SlowWalkersShowProgressAndStopInTime) {
  const FollowableSlow slow{};
  SearchOptions o = walking(2);
  o.walk.length = 1'000'000;
  o.start_worker = starts(serves(slow));
  o.bounds.time = milliseconds(400);
  uint64_t seen = 0;
  const SearchResult r =
      run_search(slow, o, [&](const Progress& p) { seen = std::max(seen, p.transitions); });
  EXPECT_EQ(r.stopped, Stop::kTime);
  EXPECT_GT(r.transitions, 10u) << "what was met before counts";
  EXPECT_GT(seen, 0u);
}

TEST(RemoteWorkerTest, AccountsOfWalksAddUp) {
  std::atomic<uint64_t> expansions{0};
  Blurred counted;
  counted.expansions = &expansions;
  WorkerReport report;
  report.counts = [&] { return CrashCounts{.left_out = 0, .sampled = 0, .crash_states = expansions.load()}; };
  report.account = [] { return message::Account{EdgeCount{3, 9}, ""}; };
  SearchOptions o = walking(1);
  o.start_worker = starts(serves(counted, report));
  const SearchResult r = run_search(Blurred{}, o, {});
  EXPECT_EQ(r.crash_states, 200u * 20);
  EXPECT_EQ(r.edges->reached, 3u);
  report.account = [] { return message::Account{std::nullopt, "the clock was asked"}; };
  o.start_worker = starts(serves(counted, report));
  EXPECT_EQ(run_search(Blurred{}, o, {}).trouble->message, "the clock was asked");
}

TEST(RemoteWorkerTest, ADepthFirstSearchHasNoWorkersElsewhere) {
  SearchOptions o = with(SearchOrder::kDepthFirst, 1, 4);
  o.start_worker = starts(serves(Blurred{}));
  EXPECT_EQ(run_search(Blurred{}, o, {}).stopped, Stop::kHarness);
}

}  // namespace
}  // namespace sisyfs::remote_worker_test
