// DecisionMemo: recoveries of lazy crash states, known again by what was decided.
//
// A ReadMemo knows a recovery by all blocks that it has read. On a large flash a mount reads thousands of
// pages, and a table of bounded size holds the paths of few such recoveries. But two runs on equal durable
// images, with the same blocks in doubt, differ in nothing but the content of these blocks. So here a run is
// known by the durable image, by which blocks are in doubt, and by what those of them held that were read: a
// few look-ups, however much was read.
//
//   if (const auto* known = memo.find(run)) return known->answer;
//   run.forget(choices);                               // what the look-up has decided
//   ... recover, and put the answer into a ReadMemo ...
//   memo.put(run, reads.addresses(), entry);
#pragma once

#include <cstdint>
#include <span>

#include "crash/lazy_states.h"
#include "machine/memo.h"
#include "machine/read_memo.h"
#include "machine/recovery.h"

namespace sisyfs {

class DecisionMemo {
 public:
  using Entry = ReadMemo<Recovery>::Entry;

  // Up to 2^bits reads of blocks in doubt.
  explicit DecisionMemo(unsigned bits) : steps_(bits) {}

  // The answer of an equal run, or null. Blocks are read, and so decided, as that run has read them. If there
  // is no answer, more may be decided than this run will read.
  const Entry* find(LazyStates& run);
  // The run has read these blocks, in this order, and its answer is in this place.
  void put(const LazyStates& run, std::span<const BlockAddress> reads, const Entry& entry);

 private:
  // The next read of a block in doubt, or the answer.
  struct Step {
    BlockAddress address;
    uint32_t read = 0;             // its number in the run, from 1
    const Entry* entry = nullptr;  // not null: the answer
    Digest key;                    // of the entry, as long as it holds this answer
  };

  Memo<Step> steps_;  // by durable image, blocks in doubt, and what was read so far
};

}  // namespace sisyfs
