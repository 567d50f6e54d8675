// Random walks: for spaces that no search exhausts. They may find something, but they never prove anything.
//
// A walk starts at the initial state. In each step it judges all successors of its state (each counts as a
// transition), or with WalkOptions::swarm those of one op. It continues with one of them, chosen with equal
// probability unless WalkOptions::setbacks_rarer says otherwise. It ends after WalkOptions::length steps, or
// at a state without successors. Walk number i has a random generator of its own, seeded with the seed and i,
// so it is the same walk on any worker. Without a rule that stops at findings all results are the same for
// any number of threads. With such a rule, which walks were taken before the stop may differ.
//
//   options.order = SearchOrder::kWalk;
//   options.walk = {.walks = 10000, .length = 50, .seed = 7};
#pragma once

#include <algorithm>

#include "explore/dedup.h"
#include "explore/remote_walks.h"
#include "explore/team.h"
#include "explore/walker.h"

namespace sisyfs {

template <TransitionSystem System, class DedupPolicy>
class RandomWalk {
 public:
  using State = typename System::State;

  RandomWalk(const System& system, DedupPolicy& seen, Team& team)
      : system_(system), seen_(seen), team_(team), tallies_(team.size()), met_(team.size()) {
    State initial;
    system_.initial(initial);
    initial_ = system_.fingerprint(initial);
    seen_.insert(initial_, 0);
    tallies_[0].states = 1;
  }

  // The body of each worker's thread.
  void work(unsigned worker) {
    Watch watch{*this, worker, tallies_[worker], {}};
    if (team_.options().start_worker)
      walk_elsewhere(worker, watch);
    else
      walk_here(watch);
    tallies_[worker] = watch.tally;
    met_[worker] = std::move(watch.met);
    team_.report(worker, watch.tally);
    team_.rest();  // the growth of the visited set does not wait for a worker that is done
  }

  void conclude(SearchResult& result) {
    detail::WalksMet all;
    for (const Tally& tally : tallies_) tally.merge_into(result);
    for (const detail::WalksMet& met : met_) all.merge(met);
    result.traces = all.traces(team_.options().watched);
    elsewhere_.conclude(result);
  }

 private:
  // What becomes of the successors.
  struct Watch {
    void judged(uint64_t walk, const Trace& before, Choice choice, Outcome outcome, const Digest& print) {
      const auto depth = static_cast<uint32_t>(before.size() + 1);
      ++tally.transitions;
      tally.depth = std::max(tally.depth, depth);
      tally.note(outcome, depth);
      if (outcome.findings != 0) met.note(outcome.findings, walk, before, choice);
      count(print);
    }
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
    // A finding that ends the search does not break off a walk: walks under way are finished.
    bool cut() const { return all.team_.stopped() && all.team_.stop_reason() != Stop::kFinding; }
    bool stopped() const {
      all.team_.report(worker, tally);
      return cut();
    }
    void step_done() {
      all.team_.report(worker, tally);
      if (all.seen_.crowded(all.team_.states())) all.team_.request_pause();
      if (all.team_.pause_wanted()) all.team_.pause();
    }

    RandomWalk& all;
    const unsigned worker;
    Tally tally;
    detail::WalksMet met;
  };

  uint32_t length() const { return std::min(team_.options().walk.length, team_.options().bounds.depth); }
  // False when there are no more walks to take.
  bool claim(uint64_t& walk) {
    if (team_.stopped()) return false;
    walk = next_.fetch_add(1, std::memory_order_relaxed);
    return walk < team_.options().walk.walks;
  }

  void walk_here(Watch& watch) {
    detail::Walker<System, Watch> walker(system_, team_.options().walk, watch);
    for (uint64_t walk = 0; claim(walk);) {
      walker.walk(walk, length());
      team_.heed(team_.progress().findings);
    }
  }

  void walk_elsewhere(unsigned worker, Watch& watch) {
    RemoteWalks remote(elsewhere_, team_, worker, initial_, length());
    remote.take_all([&](uint64_t& walk) { return claim(walk); }, watch.tally, watch.met,
                    [&](const Digest& print) { watch.count(print); },
                    [&] {
                      watch.step_done();
                      team_.heed(team_.progress().findings);
                    });
  }

  const System& system_;
  DedupPolicy& seen_;
  Team& team_;
  Digest initial_;
  std::atomic<uint64_t> next_{0};
  std::vector<Tally> tallies_;
  std::vector<detail::WalksMet> met_;
  Elsewhere elsewhere_;
};

}  // namespace sisyfs
