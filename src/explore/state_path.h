// StatePath: the states along a path from the initial state, rebuilt by following choices.
//
//   StatePath<System> path(system, stop);
//   if (path.follow(1, choice)) expand(path.at(1));      // the state after `choice`
//
// A step keeps its memory when the path gets shorter.
#pragma once

#include <deque>
#include <utility>

#include "explore/system.h"

namespace sisyfs::detail {

// Picks one choice from all successors: replaces follow() for systems that do not have it.
template <class System>
struct PickSink : FullSink<System> {
  typename System::State& next() { return built; }
  void commit(Choice choice, Outcome) {
    if (choice != wanted || found) return;
    found = true;
    std::swap(built, chosen);
  }
  bool stopped() const { return found || stop.raised(); }
  StopSignal stop;
  Choice wanted{};
  bool found = false;
  typename System::State built, chosen;
};

template <class System>
class StatePath {
 public:
  using State = typename System::State;
  // `stop` makes follow() return early.
  StatePath(const System& system, StopSignal stop) : system_(system), stop_(stop), states_(1) {
    system_.initial(states_[0]);
    pick_.stop = stop;
  }

  // The state after `level` choices. Valid for all levels up to the last one that was followed.
  const State& at(uint32_t level) const { return states_[level]; }

  // Puts at `level` the state to which `choice` leads from the level before. False when there is no such
  // choice, or when `stop` was raised.
  bool follow(uint32_t level, Choice choice) {
    while (states_.size() <= level) states_.emplace_back();
    if (stop_.raised()) return false;
    const State& from = states_[level - 1];
    State& to = states_[level];
    if constexpr (FollowableSystem<System>) {
      return detail::follow(system_, from, choice, to, stop_);
    } else {
      pick_.wanted = choice;
      pick_.found = false;
      system_.expand(from, pick_);
      if (pick_.found) std::swap(to, pick_.chosen);
      return pick_.found;
    }
  }

 private:
  const System& system_;
  const StopSignal stop_;
  std::deque<State> states_;
  PickSink<System> pick_;
};

}  // namespace sisyfs::detail
