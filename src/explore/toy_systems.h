// Small systems for tests of the explorer.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "explore/system.h"

namespace sisyfs {

// A system with a coarse fingerprint: one fingerprint stands for many states with different successors, so
// the result of a search depends on which of them it kept. A state is a number; each choice hashes it again.
struct Blurred {
  using State = uint64_t;
  uint64_t classes = 20000;  // fingerprints
  uint32_t branching = 3;
  std::atomic<uint64_t>* expansions = nullptr;  // counts expansions, to interrupt a search at a chosen one
  std::atomic<bool>* interrupt = nullptr;
  uint64_t interrupt_at = 0;
  uint64_t lose_after = ~uint64_t{0};  // expansions after which follow() fails

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
    return {.findings = static_cast<FindingBits>(s % 1999 == 3) | static_cast<FindingBits>(s % 4001 == 7)
                                                                      << 45,
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

// A system whose successors take a while, with choices and kinds of findings beyond 32 bits. It polls the
// sink between two successors, as the interface asks.
struct Slow {
  using State = uint64_t;
  uint64_t classes = 3000;  // fingerprints
  uint32_t branching = 64;  // successors of each state
  std::chrono::microseconds pause{5000};
  std::atomic<uint64_t>* built = nullptr;  // counts successors, to interrupt a search at a chosen one
  std::atomic<bool>* interrupt = nullptr;
  uint64_t interrupt_at = 0;

  void initial(State& s) const { s = 1; }
  Digest fingerprint(const State& s) const {
    const uint64_t coarse = s % classes;
    return digest_of(&coarse, sizeof coarse);
  }
  static Choice choice_of(uint32_t number) { return Choice{uint64_t{number} << 40 | 1}; }
  static State step(State from, uint32_t number) { return Blurred::step(from, number); }
  static Outcome outcome_of(State s) {
    return {.findings = static_cast<FindingBits>(s % 97 == 3) | static_cast<FindingBits>(s % 211 == 7) << 63,
            .marks = s % 11 == 0 ? uint32_t{1} << s % 31 : 0,
            .work = static_cast<uint16_t>(s % 400)};
  }
  void wait() const {
    if (pause.count() != 0) std::this_thread::sleep_for(pause);
  }
  template <class Sink>
  void expand(const State& s, Sink& sink) const {
    for (uint32_t number = 0; number < branching && !sink_stopped(sink); ++number) {
      wait();
      const State to = step(s, number);
      sink.next() = to;
      sink.commit(choice_of(number), outcome_of(to));
      if (built != nullptr && built->fetch_add(1) + 1 == interrupt_at) interrupt->store(true);
    }
  }
};

// The same with follow(). It takes as long as the choices up to the wanted one.
struct FollowableSlow : Slow {
  bool follow(const State& from, Choice choice, State& to, StopSignal stop = {}) const {
    for (uint32_t number = 0; number < branching && !stop.raised(); ++number) {
      wait();
      to = step(from, number);
      if (choice_of(number) == choice) return true;
    }
    return false;
  }
};

}  // namespace sisyfs
