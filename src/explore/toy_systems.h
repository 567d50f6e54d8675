// Small systems for the tests of searches in generations.
#pragma once

#include <gtest/gtest.h>

#include "explore/search.h"

namespace sisyfs::toy {

// Numbers modulo `size`. Four in a row have one fingerprint, as states of one shape have, and what follows
// depends on which of them was kept: a search is only then the same each time if it keeps the same ones.
struct Coarse {
  using State = uint32_t;
  static constexpr uint32_t kChoices = 6;
  uint32_t size = 100003;
  uint32_t rare = 4999;  // one number in so many is a finding

  void initial(State& s) const { s = 1; }
  Digest fingerprint(const State& s) const {
    const uint32_t group = s / 4;
    return digest_of(&group, sizeof group);
  }
  State after(State s, uint32_t choice) const {
    return static_cast<State>((uint64_t{s} * (2 * choice + 1) + 7 * choice + 1) % size);
  }
  bool follow(const State& from, Choice choice, State& to) const {
    const auto number = static_cast<uint32_t>(choice);
    if (number >= kChoices) return false;
    to = after(from, number);
    return true;
  }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    for (uint32_t choice = 0; choice < kChoices; ++choice) {
      const State to = after(s, choice);
      sink.next() = to;
      sink.commit(Choice{choice}, outcome_of(to));
    }
  }
  Outcome outcome_of(State to) const {
    Outcome outcome;
    if (to % rare == 5) outcome.findings = uint32_t{1} << (to / rare % 5);
    if (to % 11 == 3) outcome.marks = uint32_t{1} << (to % 7);
    outcome.work = static_cast<uint16_t>(to % 13);
    return outcome;
  }
};

// Where a trace leads, and what its last step showed.
inline Outcome outcome_of_trace(const Coarse& system, const Trace& trace) {
  Coarse::State state = 0, next = 0;
  system.initial(state);
  for (Choice choice : trace) {
    EXPECT_TRUE(system.follow(state, choice, next));
    state = next;
  }
  return system.outcome_of(state);
}

// That two searches came to the same, in all but time and memory.
inline void expect_same(const SearchResult& a, const SearchResult& b) {
  EXPECT_EQ(a.verdict, b.verdict);
  EXPECT_EQ(a.stopped, b.stopped);
  EXPECT_EQ(a.states, b.states);
  EXPECT_EQ(a.transitions, b.transitions);
  EXPECT_EQ(a.unexpanded, b.unexpanded);
  EXPECT_EQ(a.depth, b.depth);
  EXPECT_EQ(a.exhausted, b.exhausted);
  EXPECT_EQ(a.findings, b.findings);
  EXPECT_EQ(a.marks, b.marks);
  EXPECT_EQ(a.times_found, b.times_found);
  EXPECT_EQ(a.visited, b.visited);
  EXPECT_EQ(a.merge_probability, b.merge_probability);
  EXPECT_EQ(a.traces, b.traces);
  for (uint32_t left = a.findings; left != 0; left &= left - 1) {
    const int kind = __builtin_ctz(left);
    EXPECT_EQ(a.least_depth[kind], b.least_depth[kind]);
  }
}

}  // namespace sisyfs::toy
