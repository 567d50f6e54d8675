// LazyStates: the crash states of an epoch, told apart only as far as somebody reads them.
//
// Recovery runs on a disk on which everything in doubt is undecided. When a block is read, it is decided
// which of its contents survived, the newest first; what nobody reads is never decided. So one run stands for
// all the crash states that agree on what was read, and the runs together for all there are.
//
//   LazyStates states(epoch);
//   while (states.next()) {
//     disk.load(MediaState(epoch.durable()));
//     disk.watch(&reads, &states);              // reads decide
//     recover(disk);
//     ... stands for states.stands_for() crash states ...
//   }
//
// Of each chain (epoch.h) it is known how many pieces were kept at least and at most. To read a block is to
// go down its contents from the newest: was this one kept? Where that is open it is a choice, "yes" first,
// which narrows the range of one chain; later choices are made below it. next() takes the other side of the
// last choice that has one left, and forgets those below. A reader that reads the same as long as it sees the
// same, as every deterministic one does, thus goes through a binary tree whose leaves are the runs, without
// being told what to do again. Two identities hold, and next() asserts them:
//
// - Each choice splits the crash states in two. So the ranges of all runs are disjoint, and what they stand
//   for adds up to count().
// - Whatever a run has decided, it has read: it came by each of its choices, in their order, with the same
//   read of the same block. So two runs part at a block that both read, when both had read the same until
//   then, and one reads a version there that the other has lost. No run is there for the sake of a block that
//   nobody asked for.
//
// Two runs may still see the same: a block may hold A, then B, then A again, and a reader of the last A
// cannot tell it from the first. They are two runs, with disjoint crash states, because what lies elsewhere
// on the chain tells.
//
// No choice is made where all that may lie there is equal: nobody can tell the difference.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crash/epoch.h"
#include "crash/state_count.h"
#include "disk/media.h"

namespace sisyfs {

class LazyStates : public Decider {
 public:
  // Borrows the epoch, which must not change while this is in use.
  explicit LazyStates(const Epoch& epoch) { restart(epoch); }
  // As if constructed anew, but keeps its memory.
  void restart(const Epoch& epoch);

  // Begins the next run; false when there is none. The first is the one in which everything that is read
  // survived.
  bool next();

  // Decides, if it is open, what a block holds. This and block() are told each block once in a run.
  bool decide(BlockAddress address, BlockRef* block) override;
  // The block at an address, decided if need be; null is zero.
  const Block* block(BlockAddress address);
  // The same for a block that was read before in this run; counts as no read and decides nothing.
  bool known_block(BlockAddress address, BlockRef* block) const;

  const Epoch& epoch() const { return *epoch_; }
  // How many crash states the run at hand stands for, as far as it has come.
  StateCount stands_for() const;
  // What is known of each chain by now.
  std::span<const Epoch::KeptRange> known() const { return known_; }
  // What was known of each chain after the first so many reads of the run.
  std::span<const Epoch::KeptRange> known_after(uint32_t reads);
  // Some choice was made in this run.
  bool decided() const { return !choices_.empty(); }
  // The reader starts again from its first read, and will read the same.
  void rewind() { reads_ = 0, passed_ = 0, strayed_ = false; }
  // Choices of this run so far. Those after the first `count` are forgotten, and the reader starts again.
  size_t choices() const { return choices_.size(); }
  void forget(size_t count);

  // Runs begun.
  uint64_t runs() const { return runs_; }

 private:
  struct Choice {
    uint32_t chain = 0;
    Epoch::KeptRange before;
    uint32_t rank = 0;
    uint32_t read = 0;  // of the run, from 1
    uint32_t place = 0;
    bool kept = true;  // the first side
  };
  enum class Fate : uint8_t { kLost, kOpen, kKept };

  Fate fate(const Epoch::Slot& slot) const;
  // The reader comes by the choices that an earlier run made with this read.
  void pass_choices(uint32_t place);
  // The newest slot of a place that was not surely lost.
  uint32_t newest(uint32_t place) const;
  // Whether all that may lie at this slot's block, from it downwards, is equal.
  bool is_moot(uint32_t slot) const;
  const Block* content(uint32_t place, uint32_t slot) const;

  const Epoch* epoch_ = nullptr;
  std::vector<Epoch::KeptRange> known_;  // by chain
  std::vector<Choice> choices_;
  std::vector<Epoch::KeptRange> earlier_;
  uint32_t reads_ = 0;
  size_t passed_ = 0;     // choices that the reader of this run has come by
  bool strayed_ = false;  // it came by one that was made elsewhere, or by a new one before the old
  uint64_t runs_ = 0;
  StateCount stood_for_;
};

}  // namespace sisyfs
