// LazyStates: the crash states of an epoch, told apart only as far as their blocks are read.
//
// Recovery runs on media on which everything in doubt is undecided. The first read of a block decides which
// of its versions survived, the newest first. A block that is never read is never decided. So one run stands
// for all crash states that agree on what was read, and the runs together stand for all crash states.
//
//   LazyStates states(epoch);
//   while (states.next()) {
//     media.load(MediaState(epoch.durable()));
//     media.watch(&reads, &states);              // reads decide
//     recover(media);
//     ... stands for states.stands_for() crash states ...
//   }
//
// Of each chain (epoch.h) the run knows how many pieces were kept at least and at most. A read of a block
// goes through its versions from the newest: was this one kept? If that is undecided it is a choice, "yes"
// first, which narrows the range of one chain. Later choices are made below it. next() takes the other side
// of the last choice that has one left, and forgets the choices below it. A deterministic reader, which reads
// the same as long as it sees the same, thus visits a binary tree whose leaves are the runs, without any
// record of its calls. Two identities hold, and next() asserts them:
//
// - Each choice splits the crash states in two. So the ranges of all runs are disjoint, and the numbers of
//   crash states that they stand for add up to count().
// - A run has read everything that it has decided: it came to each of its choices, in their order, with the
//   same read of the same block. So two runs part at a block that both read, when both had read the same
//   until then, and one of them reads a version there that the other has lost. No run exists because of a
//   block that no reader asked for.
//
// Two runs may still see the same content: a block may hold A, then B, then A again, and a reader of the last
// A cannot tell it from the first. These are two runs with disjoint crash states, because other pieces on the
// chain differ.
//
// No choice is made where all versions that may lie in a block are equal: no reader can tell the difference.
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

  // Begins the next run; false when there is none. In the first run everything that is read survived.
  bool next();

  // Decides the content of a block, if it is undecided. In a run, decide() or block() is called once per
  // block.
  bool decide(BlockAddress address, BlockRef* block) override;
  // The block at an address, decided if it was undecided; null is zero.
  const Block* block(BlockAddress address);
  // The content of a block that was read before in this run. Counts as no read and decides nothing. False:
  // the block is not in doubt.
  bool known_block(BlockAddress address, BlockRef* block) const;

  const Epoch& epoch() const { return *epoch_; }
  // The number of crash states that the current run stands for, as far as it has come.
  StateCount stands_for() const;
  // The kept range of each chain, as known by now.
  std::span<const Epoch::KeptRange> known() const { return known_; }
  // The kept range of each chain, as known after the first `reads` reads of the run.
  std::span<const Epoch::KeptRange> known_after(uint32_t reads);
  // Whether a choice was made in this run.
  bool decided() const { return !choices_.empty(); }
  // The reader has made so many reads so far; those that are left out were of blocks that are not in doubt.
  void skip_to(uint32_t reads) { reads_ = reads; }
  // The reader starts again from its first read, and will read the same.
  void rewind() { reads_ = 0, passed_ = 0, strayed_ = false; }
  // The number of choices of this run so far.
  size_t choices() const { return choices_.size(); }
  // Forgets the choices after the first `count`. The reader starts again.
  void forget(size_t count);

  // The number of runs begun.
  uint64_t runs() const { return runs_; }

 private:
  struct Choice {
    uint32_t chain = 0;
    Epoch::KeptRange before;
    uint32_t rank = 0;
    uint32_t read = 0;  // number of the read in the run, from 1
    uint32_t block_index = 0;
    bool kept = true;  // the first side
  };
  // What is known of the piece of a slot.
  enum class PieceState : uint8_t { kLost, kUndecided, kKept };

  PieceState state_of(const Epoch::Slot& slot) const;
  // Passes the choices that an earlier run made at this read.
  void pass_choices(uint32_t block_index);
  // The newest slot of a block that was not surely lost.
  uint32_t newest(uint32_t block_index) const;
  // Whether all versions that may lie in this slot's block, from the slot downwards, are equal.
  bool is_moot(uint32_t slot) const;
  const Block* content(uint32_t block_index, uint32_t slot) const;

  const Epoch* epoch_ = nullptr;
  std::vector<Epoch::KeptRange> known_;  // by chain
  std::vector<Choice> choices_;
  std::vector<Epoch::KeptRange> earlier_;
  uint32_t reads_ = 0;
  size_t passed_ = 0;     // choices that the reader of this run has come to
  bool strayed_ = false;  // it came to one that was made for another block, or to a new one before an old one
  uint64_t runs_ = 0;
  StateCount stood_for_;
};

}  // namespace sisyfs
