#include "bench/costs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "explore/run.h"
#include "judge/disk_system.h"

namespace sisyfs {
namespace {

// Ticks: cheap, and each compared only with others of the same run.
uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

enum Part : size_t { kOps, kSnapshots, kRecoveries, kWalks, kTrials, kRedone, kParts };

// Written by the one worker of the search, read when it is over.
struct Ledger {
  struct Line {
    uint64_t ticks = 0, calls = 0;
  };
  std::array<Line, kParts> lines;
  uint64_t ops = 0, recoveries = 0;
  bool redoing = false;
};

// Times a call from its construction to its end.
class Timing {
 public:
  Timing(Ledger& ledger, Part part) : line_(ledger.lines[ledger.redoing ? kRedone : part]), began_(ticks()) {}
  Timing(const Timing&) = delete;
  Timing& operator=(const Timing&) = delete;
  ~Timing() {
    line_.ticks += ticks() - began_;
    ++line_.calls;
  }

 private:
  Ledger::Line& line_;
  uint64_t began_;
};

// A target that times its calls. What a call is for follows from their order: load() begins an op and
// power_cut() a recovery, save() ends either; whatever comes then is the judge's doing, until the next one
// begins.
class TimedTarget : public Target, public SavesMemory, public ChecksOffline {
 public:
  TimedTarget(std::unique_ptr<Target> inner, Ledger& ledger)
      : inner_(std::move(inner)),
        saves_(inner_->saves_memory()),
        checks_(inner_->checks_offline()),
        ledger_(ledger) {}

  SavesMemory* saves_memory() override { return saves_ == nullptr ? nullptr : this; }
  ChecksOffline* checks_offline() override { return checks_ == nullptr ? nullptr : this; }
  NamesBlocks* names_blocks() override { return inner_->names_blocks(); }
  FailsAllocations* fails_allocations() override { return inner_->fails_allocations(); }
  HasFaults* has_faults() override { return inner_->has_faults(); }
  ReachesMarks* reaches_marks() override { return inner_->reaches_marks(); }
  CoversCode* covers_code() override { return inner_->covers_code(); }

  int format(Media& disk) override { return inner_->format(disk); }
  int mount(Media& disk) override {
    const Timing timing(ledger_, part_);
    return inner_->mount(disk);
  }
  int unmount() override {
    count_op();
    const Timing timing(ledger_, part_);
    return inner_->unmount();
  }
  void power_cut() override {
    part_ = kRecoveries;
    if (!ledger_.redoing) ++ledger_.recoveries;
    const Timing timing(ledger_, part_);
    inner_->power_cut();
  }
  OpResult apply(const Op& op) override {
    count_op();
    const Timing timing(ledger_, part_);
    return inner_->apply(op);
  }
  Walk walk() override {
    const Timing timing(ledger_, kWalks);
    return inner_->walk();
  }
  void fsck(Media& disk, FsckMode mode, RepairReport* report) override {
    const Timing timing(ledger_, part_);
    checks_->fsck(disk, mode, report);
  }
  std::string problem_text(const Problem& problem) const override { return checks_->problem_text(problem); }
  Snapshot save() const override {
    const Timing timing(ledger_, kSnapshots);
    part_ = kTrials;
    return saves_->save();
  }
  void load(const Snapshot& snapshot, Media& disk) override {
    part_ = kOps;
    const Timing timing(ledger_, kSnapshots);
    saves_->load(snapshot, disk);
  }

 private:
  void count_op() {
    if (part_ == kOps && !ledger_.redoing) ++ledger_.ops;
  }

  std::unique_ptr<Target> inner_;
  SavesMemory* saves_;     // of inner_, or null
  ChecksOffline* checks_;  // of inner_, or null
  Ledger& ledger_;
  mutable Part part_ = kOps;
};

// Dedup by shape, and it is known what is only done again.
class TimedSystem {
 public:
  using State = DiskSystemState;
  TimedSystem(const DiskSystem& system, uint32_t shape_ops, Ledger& ledger)
      : shaped_(system, shape_ops), ledger_(ledger) {}

  void initial(State& to) const { shaped_.initial(to); }
  Digest fingerprint(const State& state) const { return shaped_.fingerprint(state); }
  template <class Sink>
  void expand(const State& from, Sink& sink) const {
    shaped_.expand(from, sink);
  }
  bool follow(const State& from, Choice choice, State& to) const {
    ledger_.redoing = true;
    const bool followed = shaped_.follow(from, choice, to);
    ledger_.redoing = false;
    return followed;
  }

 private:
  ShapedDiskSystem shaped_;
  Ledger& ledger_;
};

// What timing a call costs: as much of it as the ledger sees, and all of it.
struct TimerCost {
  double seen, whole;
};

TimerCost timer_cost() {
  TimerCost cost{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  for (int round = 0; round < 50; ++round) {
    constexpr int kCalls = 1000;
    Ledger ledger;
    const uint64_t began = ticks();
    for (int i = 0; i < kCalls; ++i) const Timing timing(ledger, kOps);
    const auto whole = static_cast<double>(ticks() - began);
    cost.whole = std::min(cost.whole, whole / kCalls);
    cost.seen = std::min(cost.seen, static_cast<double>(ledger.lines[kOps].ticks) / kCalls);
  }
  return cost;
}

}  // namespace

Result<Costs> measure_costs(DiskSetup setup, uint32_t shape_ops, uint32_t depth) {
  Ledger ledger;
  setup.kind.make = [make = setup.kind.make, &ledger] {
    return std::make_unique<TimedTarget>(make(), ledger);
  };
  const Result<DiskSystem> system = DiskSystem::make(std::move(setup));
  if (!system) return system.error();
  SearchOptions search;
  search.bounds.depth = depth;
  search.digest_visited = false;
  const TimerCost timer = timer_cost();
  ledger = {};
  const uint64_t began = ticks();
  const SearchResult result = run_search(TimedSystem(*system, shape_ops, ledger), search, {});
  Costs costs;
  costs.run = static_cast<double>(ticks() - began);
  double* const parts[kParts] = {&costs.ops,   &costs.snapshots, &costs.recoveries,
                                 &costs.walks, &costs.trials,    &costs.redone};
  for (size_t part = 0; part < kParts; ++part) {
    const auto calls = static_cast<double>(ledger.lines[part].calls);
    *parts[part] = std::max(0.0, static_cast<double>(ledger.lines[part].ticks) - calls * timer.seen);
    costs.run -= calls * timer.whole;
  }
  costs.transitions = result.transitions;
  costs.ops_done = ledger.ops;
  costs.recoveries_done = ledger.recoveries;
  return costs;
}

double copy_and_hash_ns(size_t bytes) {
  std::vector<std::byte> from(bytes, std::byte{1}), to(bytes);
  std::vector<double> samples(1001);
  Digest sum;
  for (double& sample : samples) {
    constexpr int kCopies = 20;
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < kCopies; ++i) {
      // Each copy is another one, so that none can be left out.
      from[static_cast<size_t>(sum.lo % bytes)] ^= std::byte{1};
      std::memcpy(to.data(), from.data(), bytes);
      sum += digest_of(to);
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - began;
    sample = spent.count() / kCopies;
  }
  std::nth_element(samples.begin(), samples.begin() + 500, samples.end());
  return samples[500];
}

}  // namespace sisyfs
