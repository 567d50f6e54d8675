// CrashStates: the crash states of an epoch, one after the other, built eagerly.
//
// This is the reference enumerator: it leaves nothing to the recovery's reads. It yields all crash states
// if there are at most max_states of them; otherwise those at the edges, in which at most `edge` pieces
// were lost, or at most `edge` were kept. "Everything survived" comes first. Which states come, and in
// which order, depends on the epoch and the bound alone.
//
//   CrashStates states(epoch, {.max_states = 4096, .edge = 2});
//   while (CrashState* state = states.next()) judge(*state);
//   report(states.total(), states.cut_off());
//
// Why the edges: a file system that breaks usually does so because one write is missing, or because one
// came too early. Bugs that need more are found by the lazy enumerator, which has no such bound.
//
// A state is a vector of digits, one per chain. All states: the digits count the lost pieces and run
// like an odometer, the chain begun last turning fastest. Edges: for d = 0, 1 … edge all vectors of d
// lost pieces, then for d = 0, 1 … all of d kept pieces that were not among them; in each round vectors
// follow in lexicographic order, and a step re-deals only the digits right of the one that it raises.
// Nothing is allocated between two states.
#pragma once

#include <cstdint>
#include <vector>

#include "crash/crash_state.h"
#include "crash/epoch.h"
#include "crash/state_count.h"

namespace sisyfs {

struct EnumerationBound {
  uint64_t max_states = 4096;  // up to so many crash states all are yielded
  uint32_t edge = 2;           // beyond: those with at most so many pieces lost, or kept
};

class CrashStates {
 public:
  // Borrows the epoch, which must not change while this is in use.
  explicit CrashStates(const Epoch& epoch, const EnumerationBound& bound = {});

  // As if constructed anew, but keeps its memory.
  void restart(const Epoch& epoch, const EnumerationBound& bound = {});

  // The next state, or null after the last. Its kept() must not be changed by the caller.
  CrashState* next();

  // Known before the first call of next(), without building anything:
  const StateCount& total() const { return total_; }      // crash states of the epoch
  const StateCount& planned() const { return planned_; }  // those that next() yields
  StateCount cut_off() const { return total_ - planned_; }
  bool complete() const { return complete_; }

 private:
  enum class Round : uint8_t { kBefore, kAll, kLosing, kKeeping, kDone };

  bool turn_odometer();
  bool deal_again();
  bool begin_round(Round round, uint64_t dealt);
  void deal(size_t from, uint64_t amount);
  void set_digit(size_t chain, uint32_t digit);
  void plan_edges();

  CrashState state_;
  std::vector<uint32_t> digits_;  // by chain: lost pieces, or kept ones in the round kKeeping
  uint64_t pieces_ = 0;
  uint64_t edge_ = 0;
  uint64_t dealt_ = 0;  // the sum of digits_ in this round
  Round round_ = Round::kBefore;
  StateCount total_;
  StateCount planned_;
  bool complete_ = true;
};

}  // namespace sisyfs
