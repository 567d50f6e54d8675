#include "judge/worker_pool.h"

#include <atomic>
#include <memory>

namespace sisyfs {

WorkerPool::~WorkerPool() {
  for (std::atomic<Worker*>& slot : free_) delete slot.load(std::memory_order_relaxed);
}

namespace {

// Where this thread looks first.
size_t home() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

}  // namespace

namespace {

void add_to(std::atomic<uint64_t>& count, const StateCount& more) {
  if (more == StateCount()) return;
  constexpr uint64_t kMost = ~uint64_t{0};
  uint64_t known = count.load(std::memory_order_relaxed);
  uint64_t sum = 0;
  do {
    const StateCount exact = StateCount(known) + more;
    sum = exact < StateCount(kMost) ? known + more.low() : kMost;
  } while (!count.compare_exchange_weak(known, sum, std::memory_order_relaxed));
}

}  // namespace

void WorkerPool::add(const CutCounts& counts, uint64_t runs, uint64_t images) {
  add_to(left_out_, counts.left_out);
  add_to(sampled_, counts.sampled);
  add_to(stood_for_, counts.stood_for);
  add_to(runs_, runs);
  add_to(images_, images);
}

std::unique_ptr<Worker> WorkerPool::take() {
  for (size_t i = 0; i < kSlots; ++i) {
    std::atomic<Worker*>& slot = free_[(home() + i) % kSlots];
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    if (Worker* worker = slot.exchange(nullptr, std::memory_order_acquire))
      return std::unique_ptr<Worker>(worker);
  }
  return std::make_unique<Worker>(plan_);
}

void WorkerPool::give(std::unique_ptr<Worker> worker) {
  for (size_t i = 0; i < kSlots; ++i) {
    Worker* none = nullptr;
    if (!free_[(home() + i) % kSlots].compare_exchange_strong(none, worker.get(), std::memory_order_release))
      continue;
    (void)worker.release();
    return;
  }
}

}  // namespace sisyfs
