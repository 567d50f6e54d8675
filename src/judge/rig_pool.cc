#include <atomic>
#include <memory>

#include "judge/disk_rig.h"

namespace sisyfs {

RigPool::~RigPool() {
  for (std::atomic<DiskRig*>& slot : free_) delete slot.load(std::memory_order_relaxed);
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

void RigPool::add(const CutCounts& counts, uint64_t runs, uint64_t images) {
  add_to(left_out_, counts.left_out);
  add_to(sampled_, counts.sampled);
  add_to(stood_for_, counts.stood_for);
  add_to(runs_, runs);
  add_to(images_, images);
}

std::unique_ptr<DiskRig> RigPool::take() {
  for (size_t i = 0; i < kSlots; ++i) {
    std::atomic<DiskRig*>& slot = free_[(home() + i) % kSlots];
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    if (DiskRig* rig = slot.exchange(nullptr, std::memory_order_acquire))
      return std::unique_ptr<DiskRig>(rig);
  }
  return std::make_unique<DiskRig>(setup_, bounds_, blank_);
}

void RigPool::give(std::unique_ptr<DiskRig> rig) {
  for (size_t i = 0; i < kSlots; ++i) {
    DiskRig* none = nullptr;
    if (!free_[(home() + i) % kSlots].compare_exchange_strong(none, rig.get(), std::memory_order_release))
      continue;
    (void)rig.release();
    return;
  }
}

}  // namespace sisyfs
