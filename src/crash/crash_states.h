// CrashStates: the crash states of an epoch, one after the other, built eagerly.
//
// This is the reference enumerator: it does not depend on what recovery reads. It yields all crash states
// if there are at most max_states of them. Otherwise it yields those at the edges, in which at most `edge`
// pieces were lost or at most `edge` were kept, and then `samples` of the others. The state in which
// everything survived comes first. The states and their order depend only on the epoch and the bound.
//
//   CrashStates states(epoch, {.max_states = 4096, .edge = 2, .samples = 7});
//   while (CrashState* state = states.next()) judge(*state);
//   report(states.total(), states.cut_off());
//
// Why the edges: a file system that breaks usually does so because one write is missing, or because one
// came too early. Why the samples: in a long run they may find bugs that the edges never show (FiSC takes 7),
// but they prove nothing. The lazy enumerator (lazy_states.h) has no such bound.
//
// A sample loses each piece with the same probability, which is drawn first, so the number of lost pieces is
// spread evenly. All random numbers are hashes of the seed, the digest of the epoch and the content of the
// piece. So epochs with equal digests have the same samples, even if their writes were issued in another
// order.
//
// A state is a vector of digits, one per chain. To yield all states, the digits count the lost pieces and run
// like an odometer, in which the chain begun last turns fastest. To yield the edges: for d = 0, 1 … edge all
// vectors with d lost pieces, then for d = 0, 1 … all vectors with d kept pieces that were not among them. In
// each round vectors follow in lexicographic order, and a step changes only the digits from the one that it
// raises to the right. Samples lie between the edges, and none comes twice.
// Nothing is allocated between two states.
#pragma once

#include <cstdint>
#include <vector>

#include "base/digest.h"
#include "base/digest_set.h"
#include "crash/crash_state.h"
#include "crash/epoch.h"
#include "crash/state_count.h"

namespace sisyfs {

struct EnumerationBound {
  uint64_t max_states = 4096;  // all crash states are yielded if there are at most this many
  uint32_t edge = 2;           // otherwise those with at most this many pieces lost, or kept
  uint32_t samples = 7;        // and this many of the others; 0: none
  uint64_t seed = 0;           // of the samples
  bool newest_only = false;    // only the state in which everything survived, whatever the others say
};

class CrashStates {
 public:
  // Borrows the epoch, which must not change while this is in use.
  explicit CrashStates(const Epoch& epoch, const EnumerationBound& bound = {});

  // As if constructed anew, but keeps its memory.
  void restart(const Epoch& epoch, const EnumerationBound& bound = {});

  // The next state, or null after the last. Its kept() must not be changed by the caller.
  CrashState* next();
  // Whether the current state is a sample.
  bool is_sample() const { return round_ == Round::kSampling; }

  // Known before the first call of next(), without building anything:
  const StateCount& total() const { return total_; }      // crash states of the epoch
  const StateCount& planned() const { return planned_; }  // those that next() yields
  uint64_t samples() const { return samples_; }           // how many of these are samples
  StateCount cut_off() const { return total_ - planned_; }
  bool complete() const { return all_ || (planned_ == total_ && !total_.saturated()); }

 private:
  enum class Round : uint8_t { kBefore, kAll, kLosing, kKeeping, kSampling, kDone };

  bool turn_odometer();
  bool deal_again();
  bool begin_round(Round round, uint64_t dealt);
  void deal(size_t from, uint64_t amount);
  void set_digit(size_t chain, uint32_t digit);
  StateCount count_edges() const;
  bool begin_sampling();
  bool draw();
  void draw_once();
  bool is_new_sample();

  CrashState state_;
  std::vector<uint32_t> digits_;  // by chain: lost pieces, or kept ones in the round kKeeping
  uint64_t pieces_ = 0;
  uint64_t edge_ = 0;
  uint64_t dealt_ = 0;  // the sum of digits_ in this round
  Round round_ = Round::kBefore;
  StateCount total_;
  StateCount planned_;
  bool all_ = true;  // by the odometer
  bool newest_only_ = false;

  uint64_t seed_ = 0;
  uint64_t samples_ = 0, sampled_ = 0;
  uint64_t draws_ = 0;              // including those that were rejected
  Digest epoch_digest_;             // with the seed
  std::vector<Digest> piece_keys_;  // by piece
  DigestSet drawn_;
};

}  // namespace sisyfs
