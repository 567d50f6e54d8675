// DiskSystem: the one adapter. It makes a transition system of any target, with a disk or without.
//
// A state is a mounted target between two ops: its memory, its disk with what is in doubt there, and the
// expectation. Without a disk the power never goes, and what follows about power cuts is void. Its successors
// are the ends of the workload's ops, and for every power cut during an op the system as it came back, so
// that a path may hold any number of crashes. On the way each op is held against the reference tree (O1, O2,
// D1) and each recovery against the contract (R1 to R5, and the problems that the target's own check knows by
// a name of the catalogue). docs/design/adapter.md has the reasons.
//
// A path ends where the expectation is broken: nobody can say what is right afterwards. After any other
// finding it goes on, because damage that was only noticed becomes harm later.
//
//   DiskSetup setup;
//   setup.kind = my_kind();             // target/target_kind.h
//   Result<DiskSystem> system = DiskSystem::make(setup);
//   SearchResult result = run_search(*system, options, nullptr);
#pragma once

#include <algorithm>
#include <memory>

#include "base/result.h"
#include "explore/swarm.h"
#include "judge/worker_pool.h"

namespace sisyfs {

class DiskSystem {
 public:
  using State = DiskSystemState;

  // Formats and mounts. Bad input where that fails, or bounds and device do not fit the target. `further`
  // makes judges beyond those that every check has.
  static Result<DiskSystem> make(DiskSetup setup, MakeJudges further = {});

  // Each time in memory of its own: each worker begins here, and all its states share content with it.
  void initial(State& to) const {
    to = initial_;
    to.disk.unshare();
  }
  Digest fingerprint(const State& state) const { return state.print; }
  // Whether the power goes, or an access fails: random walks may take such choices more seldom.
  static bool is_setback(Choice choice) { return DiskMove::of(choice).position != 0; }

  template <class Sink>
  void expand(const State& from, Sink& sink) const {
    expand(from, sink, keeps_states<Sink> ? Parts::kAll : Parts::kPrint);
  }
  template <class Sink>
  void expand(const State& from, Sink& sink, Parts parts) const {
    if (from.over) return;
    const WorkerPool::Lease worker(*workers_);
    worker->begin(from, StopSignal::of(sink));
    const uint64_t runs = worker->machine().recoverer().runs(),
                   images = worker->machine().recoverer().images();
    const auto ops =
        static_cast<uint32_t>(std::min<size_t>(worker->ops().size(), worker->plan().setup.limits.ops));
    uint32_t op = 0, end = ops;
    if constexpr (requires { sink.picks(); })
      if (sink.picks() && ops != 0) {
        op = sink.pick(ops, [&](uint32_t i) { return group_of(worker->ops()[i]); });
        end = op + 1;
      }
    for (; op < end && !worker->stopped(); ++op) {
      worker->run(op);
      do {
        worker->put_end(sink.next(), parts);
        sink.commit(worker->end_move().choice(), worker->outcome());
        while (worker->next_crash()) {
          worker->put_crash(sink.next(), parts);
          sink.commit(worker->crash_move().choice(), worker->crash_outcome());
        }
      } while (!worker->stopped() && worker->run_again());
    }
    workers_->add_performed(worker->machine().take_performed());
    workers_->add(worker->machine().cuts().counts(), worker->machine().recoverer().runs() - runs,
                  worker->machine().recoverer().images() - images);
  }

  // Executes one choice; see explore/system.h. False if `from` has no such choice, or `stop` was raised.
  bool follow(const State& from, Choice choice, State& to, StopSignal stop = {}) const {
    return WorkerPool::Lease(*workers_)->follow(from, DiskMove::of(choice), to, stop);
  }

  WorkerPool& workers() const { return *workers_; }

 private:
  // The kind of an op for random walks: calls that must fail are kinds of their own, by path or by handle.
  static uint32_t group_of(const Candidate& candidate) {
    constexpr auto kByPath = static_cast<uint32_t>(OpKind::kRemovexattr) + 1;
    // The numbers of the first kinds stay when a kind is added, and so do the walks over them.
    constexpr auto kFirst = static_cast<uint32_t>(OpKind::kChmod) + 1, kOthers = kFirst + kByPath;
    static_assert(kOthers + 2 * (kOpKinds - kFirst) <= Swarm::kGroups);
    const auto kind = static_cast<uint32_t>(candidate.op.kind);
    const bool fails = candidate.error != 0;
    if (kind >= kFirst) return kOthers + 2 * (kind - kFirst) + (fails ? 1 : 0);
    return fails ? kFirst + static_cast<uint32_t>(by_path(candidate.op.kind)) % kByPath : kind;
  }

  DiskSystem(std::unique_ptr<WorkerPool> workers, State initial)
      : workers_(std::move(workers)), initial_(std::move(initial)) {}

  std::unique_ptr<WorkerPool> workers_;
  State initial_;
};

// The same system, whose states are known again by their shape or tree.
class ShapedDiskSystem {
 public:
  using State = DiskSystemState;

  // Borrows the system.
  ShapedDiskSystem(const DiskSystem& system, uint32_t ops, PrintKind prints = PrintKind::kShape)
      : system_(system), ops_(ops), by_tree_(prints == PrintKind::kTree) {}

  void initial(State& to) const { system_.initial(to); }
  Digest fingerprint(const State& state) const {
    return by_tree_ ? tree_print(state, ops_) : shape_print(state, ops_);
  }
  template <class Sink>
  void expand(const State& from, Sink& sink) const {
    system_.expand(from, sink, keeps_states<Sink> ? Parts::kAll : by_tree_ ? Parts::kTree : Parts::kShape);
  }
  bool follow(const State& from, Choice choice, State& to, StopSignal stop = {}) const {
    return system_.follow(from, choice, to, stop);
  }

 private:
  const DiskSystem& system_;
  uint32_t ops_;
  bool by_tree_;
};

}  // namespace sisyfs
