#include "judge/worker_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "machine/toy_target_for_test.h"

namespace sisyfs::worker_pool_test {
namespace {

// A plan that counts the targets that were made.
CheckPlan counting_plan(std::atomic<int>& made) {
  DiskSetup setup = toy_setup();
  setup.kind.make = [&made] {
    ++made;
    return std::make_unique<ToyTarget>(ToyMistakes{});
  };
  return *CheckPlan::make(std::move(setup));
}

TEST(WorkerPoolTest, AWorkerThatWasGivenBackIsUsedAgain) {
  std::atomic<int> made{0};
  WorkerPool pool(counting_plan(made));
  EXPECT_EQ(made, 0) << "a worker is made when it is needed";
  Worker* first = nullptr;
  {
    const WorkerPool::Lease lease(pool);
    first = &*lease;
  }
  const WorkerPool::Lease again(pool);
  EXPECT_EQ(&*again, first);
  EXPECT_EQ(made, 1);
}

TEST(WorkerPoolTest, NoTwoLeasesHaveOneWorker) {
  std::atomic<int> made{0};
  WorkerPool pool(counting_plan(made));
  const WorkerPool::Lease one(pool), two(pool);
  EXPECT_NE(&*one, &*two);
  EXPECT_EQ(made, 2);
}

TEST(WorkerPoolTest, ThreadsNeverShareAWorker) {
  std::atomic<int> made{0}, shared{0};
  WorkerPool pool(counting_plan(made));
  std::array<std::atomic<Worker*>, 4> in_use{};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < in_use.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 200; ++round) {
        const WorkerPool::Lease lease(pool);
        in_use[t] = &*lease;
        for (size_t other = 0; other < in_use.size(); ++other)
          if (other != t && in_use[other] == &*lease) ++shared;
        in_use[t] = nullptr;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared, 0);
  EXPECT_LE(made, 4);
}

// The pool has 64 places for workers that are not in use.
TEST(WorkerPoolTest, MoreWorkersThanPlacesAreFine) {
  std::atomic<int> made{0};
  WorkerPool pool(counting_plan(made));
  {
    std::vector<std::unique_ptr<WorkerPool::Lease>> leases;
    for (int i = 0; i < 70; ++i) leases.push_back(std::make_unique<WorkerPool::Lease>(pool));
  }
  EXPECT_EQ(made, 70);
  const WorkerPool::Lease again(pool);
  EXPECT_EQ(made, 70);
}

TEST(WorkerPoolTest, CountsAddUpAndStickAtTheirLargestValue) {
  std::atomic<int> made{0};
  WorkerPool pool(counting_plan(made));
  CutCounts counts;
  counts.stood_for = 3;
  counts.left_out = 5;
  counts.sampled = 7;
  pool.add(counts, 11, 13);
  pool.add(counts, 0, 0);
  EXPECT_EQ(pool.stood_for(), 6u);
  EXPECT_EQ(pool.left_out(), 10u);
  EXPECT_EQ(pool.sampled(), 14u);
  EXPECT_EQ(pool.runs(), 11u);
  EXPECT_EQ(pool.images(), 13u);
  counts.left_out = StateCount(UINT64_MAX) + StateCount(9);
  pool.add(counts, 0, 0);
  EXPECT_EQ(pool.left_out(), UINT64_MAX);
  pool.add(counts, 0, 0);
  EXPECT_EQ(pool.left_out(), UINT64_MAX);
}

}  // namespace
}  // namespace sisyfs::worker_pool_test
