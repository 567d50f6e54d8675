// Rendezvous: where the workers of a search wait for each other between two layers.
//
// Layers end within microseconds of each other on all workers, while going to sleep and being woken takes
// tens of them. So a worker that waits looks a while before it sleeps. It counts as standing still (see
// Team) only once it sleeps, and it goes to sleep at once when the others want to stand still.
#pragma once

#include <atomic>
#include <cstdint>

#include "explore/team.h"

namespace sisyfs {

class Rendezvous {
 public:
  explicit Rendezvous(Team& team) : team_(team) {}

  // Returns once all workers have called it. The last one to arrive runs `then` before anyone returns.
  template <class Then>
  void meet(Then then) {
    const uint32_t meeting = meeting_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == team_.size()) {
      then();
      arrived_.store(0, std::memory_order_relaxed);
      meeting_.store(meeting + 1, std::memory_order_release);
      meeting_.notify_all();
      return;
    }
    for (uint32_t i = 0; i < kPoints && !team_.pause_wanted(); ++i) {
      if (meeting_.load(std::memory_order_acquire) != meeting) return;
      relax();
    }
    team_.rest();
    meeting_.wait(meeting, std::memory_order_acquire);
    team_.resume();
  }

 private:
  static constexpr uint32_t kPoints = 2048;  // some tens of microseconds

  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  Team& team_;
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> meeting_{0};
};

}  // namespace sisyfs
