// WorkerPool: workers that are not in use. A thread usually gets the one that it used before.
//
//   const WorkerPool::Lease worker(pool);
//   worker->begin(state);
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "judge/worker.h"

namespace sisyfs {

class WorkerPool {
 public:
  explicit WorkerPool(CheckPlan plan) : plan_(std::move(plan)) {}
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  class Lease {
   public:
    explicit Lease(WorkerPool& pool) : pool_(pool), worker_(pool.take()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give(std::move(worker_)); }
    Worker* operator->() const { return worker_.get(); }
    Worker& operator*() const { return *worker_; }

   private:
    WorkerPool& pool_;
    std::unique_ptr<Worker> worker_;
  };

  const CheckPlan& plan() const { return plan_; }

  // Crash states of all expansions so far; counts stick at their largest value.
  uint64_t left_out() const { return left_out_.load(std::memory_order_relaxed); }
  uint64_t sampled() const { return sampled_.load(std::memory_order_relaxed); }
  uint64_t stood_for() const { return stood_for_.load(std::memory_order_relaxed); }
  uint64_t runs() const { return runs_.load(std::memory_order_relaxed); }
  uint64_t images() const { return images_.load(std::memory_order_relaxed); }
  void add(const CutCounts& counts, uint64_t runs, uint64_t images);
  // The kinds of op that were performed since the last call.
  OpSet take_performed() { return OpSet::of_bits(performed_.exchange(0, std::memory_order_relaxed)); }
  OpSet performed() const { return OpSet::of_bits(performed_.load(std::memory_order_relaxed)); }
  void add_performed(OpSet ops) {
    const uint64_t known = performed_.load(std::memory_order_relaxed);
    if ((ops.bits() & ~known) != 0) performed_.fetch_or(ops.bits(), std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kSlots = 64;
  std::unique_ptr<Worker> take();
  void give(std::unique_ptr<Worker> worker);

  const CheckPlan plan_;
  std::array<std::atomic<Worker*>, kSlots> free_{};
  std::atomic<uint64_t> left_out_{0}, sampled_{0}, stood_for_{0}, runs_{0}, images_{0};
  std::atomic<uint64_t> performed_{0};
};

}  // namespace sisyfs
