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
  SISYFS_ASSERT(!strayed, "who has read the same so far reads the same next, and finds the same decided");
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

LazyStates::Fate LazyStates::fate(const Epoch::Slot& slot) const {
  const Epoch::Piece& piece = epoch_->pieces()[slot.piece];
  const Epoch::KeptRange& known = known_[piece.chain];
  return piece.rank < known.least ? Fate::kKept : piece.rank >= known.most ? Fate::kLost : Fate::kOpen;
}

const Block* LazyStates::content(uint32_t place, uint32_t slot) const {
  return slot != Epoch::kNone ? epoch_->slots()[slot].block.get()
                              : epoch_->durable().block(epoch_->places()[place].address);
}

bool LazyStates::is_moot(uint32_t slot) const {
  const Epoch::Slot& top = epoch_->slots()[slot];
  for (uint32_t s = top.below;; s = epoch_->slots()[s].below) {
    if (s == Epoch::kNone) return same_content(top.block.get(), content(top.place, s));
    const Fate below = fate(epoch_->slots()[s]);
    if (below == Fate::kLost) continue;
    if (!same_content(top.block.get(), epoch_->slots()[s].block.get())) return false;
    if (below == Fate::kKept || mutant(Mutant::kMootByNext)) return true;
  }
}

// Whoever looks for a known answer may stray, as it asks for what others have read. That is forgotten then; a
// run that strays is not as the one before it was.
void LazyStates::pass_choices(uint32_t place) {
  for (; passed_ < choices_.size() && choices_[passed_].read == reads_; ++passed_)
    strayed_ = strayed_ || choices_[passed_].place != place;
}

uint32_t LazyStates::newest(uint32_t place) const {
  uint32_t s = epoch_->places()[place].top;
  while (s != Epoch::kNone && fate(epoch_->slots()[s]) == Fate::kLost) s = epoch_->slots()[s].below;
  return s;
}

const Block* LazyStates::block(BlockAddress address) {
  ++reads_;
  const uint32_t place = epoch_->find_place(address);
  pass_choices(place);
  if (place == Epoch::kNone) return epoch_->durable().block(address);
  const uint32_t s = newest(place);
  if (s != Epoch::kNone && fate(epoch_->slots()[s]) == Fate::kOpen && !is_moot(s)) {
    strayed_ = strayed_ || passed_ != choices_.size();
    const Epoch::Piece& piece = epoch_->pieces()[epoch_->slots()[s].piece];
    choices_.push_back({piece.chain, known_[piece.chain], piece.rank, reads_, place, true});
    known_[piece.chain].least = piece.rank + 1;
    ++passed_;
  }
  return content(place, s);
}

bool LazyStates::known_block(BlockAddress address, BlockRef* block) const {
  const uint32_t place = epoch_->find_place(address);
  if (place == Epoch::kNone) return false;
  *block = BlockRef::share(content(place, newest(place)));
  return true;
}

bool LazyStates::decide(BlockAddress address, BlockRef* block) {
  if (epoch_->find_place(address) == Epoch::kNone) {
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
