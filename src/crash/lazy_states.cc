#include "crash/lazy_states.h"

#include "base/assert.h"
#include "base/mutant.h"

namespace sisyfs {

void LazyStates::restart(const Epoch& epoch) {
  epoch_ = &epoch;
  known_.clear();
  for (const Epoch::Chain& chain : epoch.chains()) known_.push_back({0, chain.length});
  choices_.clear();
  rewind();
  runs_ = 0;
  stood_for_ = 0;
}

bool LazyStates::next() {
  const size_t passed = passed_;
  const bool strayed = strayed_;
  rewind();
  if (runs_++ == 0) return true;
  SISYFS_ASSERT(!strayed,
                "a reader that has read the same so far reads the same next, and finds the same choices");
  SISYFS_ASSERT(passed == choices_.size(), "no two runs are indistinguishable: what is decided was read");
  stood_for_ += stands_for();
  while (!choices_.empty()) {
    Choice& last = choices_.back();
    known_[last.chain] = last.before;
    if (last.kept && !mutant(Mutant::kKeptOnly)) {
      last.kept = false;
      known_[last.chain].most = last.rank;
      return true;
    }
    choices_.pop_back();
  }
  SISYFS_ASSERT(stood_for_ == epoch_->count() || stood_for_.saturated(),
                "the runs stood for every crash state once");
  return false;
}

LazyStates::PieceState LazyStates::state_of(const Epoch::Slot& slot) const {
  const Epoch::Piece& piece = epoch_->pieces()[slot.piece];
  const Epoch::KeptRange& known = known_[piece.chain];
  return piece.rank < known.least   ? PieceState::kKept
         : piece.rank >= known.most ? PieceState::kLost
                                    : PieceState::kUndecided;
}

const Block* LazyStates::content(uint32_t block_index, uint32_t slot) const {
  return slot != Epoch::kNone ? epoch_->slots()[slot].block.get()
                              : epoch_->durable().block(epoch_->blocks()[block_index].address);
}

bool LazyStates::is_moot(uint32_t slot) const {
  const Epoch::Slot& top = epoch_->slots()[slot];
  for (uint32_t s = top.below;; s = epoch_->slots()[s].below) {
    if (s == Epoch::kNone) return same_content(top.block.get(), content(top.block_index, s));
    const PieceState below = state_of(epoch_->slots()[s]);
    if (below == PieceState::kLost) continue;
    if (!same_content(top.block.get(), epoch_->slots()[s].block.get())) return false;
    if (below == PieceState::kKept || mutant(Mutant::kMootByNext)) return true;
  }
}

// A look-up of a known recovery asks for blocks that other recoveries have read, so it may stray from the
// choices of this run. Then forget() must follow. A run that strays is not deterministic.
void LazyStates::pass_choices(uint32_t block_index) {
  for (; passed_ < choices_.size() && choices_[passed_].read == reads_; ++passed_)
    strayed_ = strayed_ || choices_[passed_].block_index != block_index;
}

uint32_t LazyStates::newest(uint32_t block_index) const {
  uint32_t s = epoch_->blocks()[block_index].top;
  while (s != Epoch::kNone && state_of(epoch_->slots()[s]) == PieceState::kLost) s = epoch_->slots()[s].below;
  return s;
}

const Block* LazyStates::block(BlockAddress address) {
  ++reads_;
  const uint32_t block_index = epoch_->find_block(address);
  pass_choices(block_index);
  if (block_index == Epoch::kNone) return epoch_->durable().block(address);
  const uint32_t s = newest(block_index);
  if (s != Epoch::kNone && state_of(epoch_->slots()[s]) == PieceState::kUndecided && !is_moot(s)) {
    strayed_ = strayed_ || passed_ != choices_.size();
    const Epoch::Piece& piece = epoch_->pieces()[epoch_->slots()[s].piece];
    choices_.push_back({piece.chain, known_[piece.chain], piece.rank, reads_, block_index, true});
    known_[piece.chain].least = piece.rank + 1;
    ++passed_;
  }
  return content(block_index, s);
}

bool LazyStates::known_block(BlockAddress address, BlockRef* block) const {
  const uint32_t block_index = epoch_->find_block(address);
  if (block_index == Epoch::kNone) return false;
  *block = BlockRef::share(content(block_index, newest(block_index)));
  return true;
}

bool LazyStates::decide(BlockAddress address, BlockRef* block) {
  if (epoch_->find_block(address) == Epoch::kNone) {
    ++reads_;
    pass_choices(Epoch::kNone);
    return false;
  }
  *block = BlockRef::share(this->block(address));
  return true;
}

void LazyStates::forget(size_t count) {
  if (mutant(Mutant::kKeepGuesses)) count = choices_.size();
  for (; choices_.size() > count; choices_.pop_back()) known_[choices_.back().chain] = choices_.back().before;
  rewind();
}

std::span<const Epoch::KeptRange> LazyStates::known_after(uint32_t reads) {
  earlier_ = known_;
  if (mutant(Mutant::kKnowAll)) return earlier_;
  for (size_t c = choices_.size(); c-- > 0 && choices_[c].read > reads;)
    earlier_[choices_[c].chain] = choices_[c].before;
  return earlier_;
}

StateCount LazyStates::stands_for() const {
  StateCount count = 1;
  for (const Epoch::KeptRange& known : known_) count *= StateCount(uint64_t{known.most} - known.least + 1);
  return count;
}

}  // namespace sisyfs
