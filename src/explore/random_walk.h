// Random walks: for spaces that no search exhausts. They may find something, but they never prove anything.
//
// A walk starts at the initial state. In each step it judges all successors of its state (each counts as a
// transition) and continues with one of them, chosen with equal probability unless
// WalkOptions::setbacks_rarer says otherwise. It ends after WalkOptions::length steps, or at a state without
// successors. Walk number i has a random generator of its own, seeded with the seed and i, so it is the same
// walk on any worker. Without a rule that stops at findings all results are the same for any number of
// threads. With such a rule, which walks were taken before the stop may differ.
//
//   options.order = SearchOrder::kWalk;
//   options.walk = {.walks = 10000, .length = 50, .seed = 7};
#pragma once

#include <algorithm>
#include <bit>
#include <tuple>

#include "explore/dedup.h"
#include "explore/team.h"

namespace sisyfs {

// xoshiro256**, seeded by splitmix64: small, good, and the same on every platform.
class WalkRandom {
 public:
  WalkRandom(uint64_t seed, uint64_t walk) {
    uint64_t mixed = mix(seed) ^ walk;
    for (uint64_t& word : words_) word = mix(mixed += 0x9e3779b97f4a7c15u);
  }
  uint64_t next() {
    const uint64_t result = std::rotl(words_[1] * 5, 7) * 9, shifted = words_[1] << 17;
    words_[2] ^= words_[0];
    words_[3] ^= words_[1];
    words_[1] ^= words_[2];
    words_[0] ^= words_[3];
    words_[2] ^= shifted;
    words_[3] = std::rotl(words_[3], 45);
    return result;
  }
  // A number below `n`. Its bias is n / 2^64.
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<Uint128>(next()) * n) >> 64); }

 private:
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::array<uint64_t, 4> words_;
};

namespace detail {

// The best walk to each kind of finding: least depth, then least number.
class WalksMet {
 public:
  void note(FindingBits kinds, uint64_t walk, const Trace& before, Choice last) {
    for (FindingBits left = kinds; left != 0; left &= left - 1) {
      const int kind = std::countr_zero(left);
      Met& met = met_[static_cast<size_t>(kind)];
      const std::tuple rank(before.size() + 1, walk);
      if ((known_ >> kind & 1) != 0 && std::tuple(met.trace.size(), met.walk) <= rank) continue;
      known_ |= FindingBits{1} << kind;
      met.walk = walk;
      met.trace = before;
      met.trace.push_back(last);
    }
  }
  void merge(const WalksMet& other) {
    for (FindingBits left = other.known_; left != 0; left &= left - 1) {
      const Met& met = other.met_[static_cast<size_t>(std::countr_zero(left))];
      note(left & -left, met.walk, Trace(met.trace.begin(), met.trace.end() - 1), met.trace.back());
    }
  }
  std::vector<FoundTrace> traces(FindingBits wanted) const {
    std::vector<FoundTrace> found;
    for (FindingBits left = known_ & wanted; left != 0; left &= left - 1) {
      const auto kind = static_cast<uint32_t>(std::countr_zero(left));
      found.push_back({kind, met_[kind].trace});
    }
    std::stable_sort(found.begin(), found.end(), [](const FoundTrace& a, const FoundTrace& b) {
      return a.trace.size() < b.trace.size();
    });
    return found;
  }

 private:
  struct Met {
    uint64_t walk = 0;
    Trace trace;
  };
  FindingBits known_ = 0;
  std::array<Met, SearchResult::kKinds> met_;
};

}  // namespace detail

template <TransitionSystem System, class DedupPolicy>
class RandomWalk {
 public:
  using State = typename System::State;

  RandomWalk(const System& system, DedupPolicy& seen, Team& team)
      : system_(system), seen_(seen), team_(team), tallies_(team.size()), met_(team.size()) {
    State initial;
    system_.initial(initial);
    seen_.insert(system_.fingerprint(initial), 0);
    tallies_[0].states = 1;
  }

  void work(unsigned worker) {
    Walker walker(*this, worker);
    State here;
    Tally& tally = walker.tally;
    tally = tallies_[worker];
    const WalkOptions& options = team_.options().walk;
    const uint32_t length = std::min(options.length, team_.options().bounds.depth);
    while (!team_.stopped()) {
      walker.walk = next_.fetch_add(1, std::memory_order_relaxed);
      if (walker.walk >= options.walks) break;
      walker.random = WalkRandom(options.seed, walker.walk);
      walker.trace.clear();
      system_.initial(here);
      while (walker.trace.size() < length && !walker.cut()) {
        walker.weights = 0;
        system_.expand(here, walker);
        if (walker.weights == 0) break;
        std::swap(here, walker.taken);
        walker.trace.push_back(walker.choice);
        walker.pause_if_wanted();
      }
      team_.heed(team_.progress().findings);
    }
    tallies_[worker] = tally;
    met_[worker] = std::move(walker.met);
    team_.report(worker, tally);
    team_.rest();  // the growth of the visited set does not wait for a worker that is done
  }

  void conclude(SearchResult& result) const {
    detail::WalksMet all;
    for (const Tally& tally : tallies_) tally.merge_into(result);
    for (const detail::WalksMet& met : met_) all.merge(met);
    result.traces = all.traces(team_.options().watched);
  }

 private:
  // Judges all successors of a state, and takes one of them: each replaces the one taken so far with the
  // probability of its share of the weights so far.
  struct Walker : detail::FullSink<System> {
    Walker(RandomWalk& owner, unsigned number) : all(owner), worker(number) {}
    State& next() { return built; }
    void commit(Choice c, Outcome outcome) {
      const auto depth = static_cast<uint32_t>(trace.size() + 1);
      ++tally.transitions;
      tally.depth = std::max(tally.depth, depth);
      tally.note(outcome, depth);
      if (outcome.findings != 0) met.note(outcome.findings, walk, trace, c);
      count(system_print());
      const uint64_t weight = weight_of(c);
      weights += weight;
      if (random.below(weights) >= weight) return;
      std::swap(built, taken);
      choice = c;
    }
    uint64_t weight_of([[maybe_unused]] Choice c) const {
      const uint64_t usual = all.team_.options().walk.setbacks_rarer;
      if constexpr (requires { System::is_setback(c); })
        if (System::is_setback(c)) return 1;
      return usual;
    }
    Digest system_print() const { return all.system_.fingerprint(built); }
    void count(const Digest& print) {
      Seen seen = all.seen_.insert(print, 0);
      while (seen == Seen::kNoRoom && !all.team_.stopped()) {
        if (all.seen_.at_limit()) all.team_.stop(Stop::kMemory);
        all.team_.request_pause();
        all.team_.pause();
        seen = all.seen_.insert(print, 0);
      }
      tally.states += seen == Seen::kNew;
    }
    // Whether to break off this walk. A finding that ends the search does not: walks under way are finished.
    bool cut() const { return all.team_.stopped() && all.team_.stop_reason() != Stop::kFinding; }
    // Only systems with slow successors ask, so this is also where their counts are reported.
    bool stopped() const {
      all.team_.report(worker, tally);
      return cut();
    }
    void pause_if_wanted() {
      all.team_.report(worker, tally);
      if (all.seen_.crowded(all.team_.states())) all.team_.request_pause();
      if (all.team_.pause_wanted()) all.team_.pause();
    }

    RandomWalk& all;
    const unsigned worker;
    Tally tally;
    detail::WalksMet met;
    WalkRandom random{0, 0};
    uint64_t walk = 0;
    Trace trace;
    uint64_t weights = 0;  // of the successors so far
    State built, taken;
    Choice choice{};
  };

  const System& system_;
  DedupPolicy& seen_;
  Team& team_;
  std::atomic<uint64_t> next_{0};
  std::vector<Tally> tallies_;
  std::vector<detail::WalksMet> met_;
};

}  // namespace sisyfs
