// Random walks: for spaces that no search exhausts. They find, but they never prove.
//
// A walk starts at the initial state, looks at all successors of the state where it is (each is judged and
// counts as a transition), goes on with one of them, taken with equal chance, and ends after
// WalkOptions::length transitions or where there is no way on. Walk number i draws from a generator of its
// own, made of the seed and i: it is the same walk whoever takes it. Without a rule that stops at findings
// all results are the same for any number of threads; with one, which walks were still taken is not.
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

// xoshiro256**, seeded by splitmix64: small, good, and the same everywhere.
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
  void note(uint32_t kinds, uint64_t walk, const Trace& before, Choice last) {
    for (uint32_t left = kinds; left != 0; left &= left - 1) {
      const int kind = std::countr_zero(left);
      Met& met = met_[static_cast<size_t>(kind)];
      const std::tuple rank(before.size() + 1, walk);
      if ((known_ >> kind & 1) != 0 && std::tuple(met.trace.size(), met.walk) <= rank) continue;
      known_ |= uint32_t{1} << kind;
      met.walk = walk;
      met.trace = before;
      met.trace.push_back(last);
    }
  }
  void merge(const WalksMet& other) {
    for (uint32_t left = other.known_; left != 0; left &= left - 1) {
      const Met& met = other.met_[static_cast<size_t>(std::countr_zero(left))];
      note(left & -left, met.walk, Trace(met.trace.begin(), met.trace.end() - 1), met.trace.back());
    }
  }
  std::vector<FoundTrace> traces(uint32_t wanted) const {
    std::vector<FoundTrace> found;
    for (uint32_t left = known_ & wanted; left != 0; left &= left - 1) {
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
  uint32_t known_ = 0;
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
    Walker walker(*this);
    State here;
    Tally& tally = walker.tally;
    tally = tallies_[worker];
    const WalkOptions& options = team_.options().walk;
    const uint32_t length = std::min(options.length, team_.options().bounds.depth);
    while (!team_.stopping()) {
      walker.walk = next_.fetch_add(1, std::memory_order_relaxed);
      if (walker.walk >= options.walks) break;
      walker.random = WalkRandom(options.seed, walker.walk);
      walker.trace.clear();
      system_.initial(here);
      while (walker.trace.size() < length && !walker.cut()) {
        walker.successors = 0;
        system_.expand(here, walker);
        if (walker.successors == 0) break;
        std::swap(here, walker.taken);
        walker.trace.push_back(walker.choice);
        walker.pause_if_wanted(worker);
      }
      team_.heed(team_.progress().findings);
    }
    tallies_[worker] = tally;
    met_[worker] = std::move(walker.met);
    team_.report(worker, tally);
    team_.rest();  // nobody waits for a worker that is done
  }

  void conclude(SearchResult& result) const {
    detail::WalksMet all;
    for (const Tally& tally : tallies_) tally.merge_into(result);
    for (const detail::WalksMet& met : met_) all.merge(met);
    result.traces = all.traces(team_.options().watched);
  }

 private:
  // Judges all successors of a state, and takes one of them: the k-th replaces the one taken so far with
  // a chance of one in k.
  struct Walker : detail::FullSink<System> {
    explicit Walker(RandomWalk& owner) : all(owner) {}
    State& next() { return built; }
    void commit(Choice c, Outcome outcome) {
      const auto depth = static_cast<uint32_t>(trace.size() + 1);
      ++tally.transitions;
      tally.depth = std::max(tally.depth, depth);
      tally.note(outcome, depth);
      if (outcome.findings != 0) met.note(outcome.findings, walk, trace, c);
      count(system_print());
      if (random.below(++successors) != 0) return;
      std::swap(built, taken);
      choice = c;
    }
    Digest system_print() const { return all.system_.fingerprint(built); }
    void count(const Digest& print) {
      Seen seen = all.seen_.insert(print, 0);
      while (seen == Seen::kNoRoom && !all.team_.stopping()) {
        if (all.seen_.at_limit()) all.team_.stop(Stop::kMemory);
        all.team_.request_pause();
        all.team_.pause();
        seen = all.seen_.insert(print, 0);
      }
      tally.states += seen == Seen::kNew;
    }
    // A walk that found what was looked for ends as a whole one; other reasons to stop cut it.
    bool cut() const { return all.team_.stopping() && all.team_.stop_reason() != Stop::kFinding; }
    void pause_if_wanted(unsigned worker) {
      all.team_.report(worker, tally);
      if (all.seen_.crowded(all.team_.states())) all.team_.request_pause();
      if (all.team_.pause_wanted()) all.team_.pause();
    }

    RandomWalk& all;
    Tally tally;
    detail::WalksMet met;
    WalkRandom random{0, 0};
    uint64_t walk = 0;
    Trace trace;
    uint64_t successors = 0;
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
