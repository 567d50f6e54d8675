// Small systems for the tests of searches that keep no states.
#pragma once

#include <atomic>

#include "explore/system.h"

namespace sisyfs {

// A system whose fingerprint is coarse: it stands for many states with different futures, so what a search
// sees depends on which of them it kept. A state is one number; each choice scrambles it anew.
struct Blurred {
  using State = uint64_t;
  uint64_t classes = 20000;  // fingerprints
  uint32_t branching = 3;
  std::atomic<uint64_t>* expansions = nullptr;  // counted, to interrupt a search at a chosen point
  std::atomic<bool>* interrupt = nullptr;
  uint64_t interrupt_at = 0;
  uint64_t lose_after = ~uint64_t{0};  // expansions after which a choice is not there any more

  void initial(State& s) const { s = 1; }
  Digest fingerprint(const State& s) const {
    const uint64_t blurred = s % classes;
    return digest_of(&blurred, sizeof blurred);
  }
  static State step(State from, uint32_t choice) {
    return mul_fold(from + choice + 1, 0x9e3779b97f4a7c15u) ^ from >> 7;
  }
  bool follow(const State& from, Choice choice, State& to) const {
    if (expansions != nullptr && expansions->load() > lose_after) return false;
    if (static_cast<uint32_t>(choice) >= branching) return false;
    to = step(from, static_cast<uint32_t>(choice));
    return true;
  }
  Outcome outcome_of(State s) const {
    return {.findings = static_cast<uint32_t>(s % 1999 == 3) | static_cast<uint32_t>(s % 4001 == 7) << 5,
            .marks = s % 11 == 0 ? uint32_t{1} << s % 31 : 0,
            .work = static_cast<uint16_t>(s % 400)};
  }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    if (expansions != nullptr && expansions->fetch_add(1) + 1 == interrupt_at) interrupt->store(true);
    for (uint32_t choice = 0; choice < branching; ++choice) {
      const State to = step(s, choice);
      sink.next() = to;
      sink.commit(Choice{choice}, outcome_of(to));
    }
  }
};

}  // namespace sisyfs
