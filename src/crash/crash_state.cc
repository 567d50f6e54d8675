#include "crash/crash_state.h"

#include <algorithm>

#include "base/assert.h"
#include "base/mutant.h"

namespace sisyfs {

CrashState::CrashState(const Epoch& epoch) : epoch_(&epoch), image_(epoch.durable()) { restart(epoch); }

void CrashState::restart(const Epoch& epoch) {
  epoch_ = &epoch;
  next_.assign(epoch.chains().size(), Epoch::kNone);
  piece_kept_.assign(epoch.pieces().size(), 1);
  built_.assign(epoch.places().size(), Epoch::kNone);
  kept_.clear();
  top_.clear();
  lost_ = 0;
  digest_ = epoch.durable().digest();
  image_ = epoch.durable();
  for (const Epoch::Chain& chain : epoch.chains()) kept_.push_back(chain.length);
  for (const Epoch::Place& place : epoch.places()) {
    top_.push_back(place.top);
    digest_ += epoch.slots()[place.top].contribution - place.durable_contribution;
  }
}

void CrashState::set_top(uint32_t place, uint32_t slot) {
  const Epoch::Place& at = epoch_->places()[place];
  const auto contributed = [&](uint32_t s) {
    return s == Epoch::kNone ? at.durable_contribution : epoch_->slots()[s].contribution;
  };
  if (!mutant(Mutant::kStaleCrashDigest)) digest_ += contributed(slot) - contributed(top_[place]);
  top_[place] = slot;
}

void CrashState::keep(uint32_t chain, uint32_t pieces) {
  const Epoch::Chain& on = epoch_->chains()[chain];
  SISYFS_ASSERT(pieces <= on.length, "a chain has so many pieces");
  // Pieces are let go from the end of the prefix …
  for (; kept_[chain] > pieces; kept_[chain]--, lost_++) {
    const uint32_t p = next_[chain] == Epoch::kNone ? on.last : epoch_->pieces()[next_[chain]].previous;
    piece_kept_[p] = 0;
    next_[chain] = p;
    const Epoch::Piece& piece = epoch_->pieces()[p];
    for (uint32_t s = piece.first_slot; s < piece.first_slot + piece.slot_count; s++) {
      const uint32_t place = epoch_->slots()[s].place;
      if (top_[place] != s) continue;  // it lay below a kept one
      uint32_t below = epoch_->slots()[s].below;
      while (below != Epoch::kNone && !piece_kept_[epoch_->slots()[below].piece])
        below = epoch_->slots()[below].below;
      set_top(place, below);
    }
  }
  // … and taken back behind it.
  for (; kept_[chain] < pieces; kept_[chain]++, lost_--) {
    const uint32_t p = next_[chain];
    const Epoch::Piece& piece = epoch_->pieces()[p];
    piece_kept_[p] = 1;
    next_[chain] = piece.next;
    for (uint32_t s = piece.first_slot; s < piece.first_slot + piece.slot_count; s++) {
      const uint32_t place = epoch_->slots()[s].place;
      if (top_[place] == Epoch::kNone || top_[place] < s) set_top(place, s);  // slots are numbered as issued
    }
  }
}

WriteFate CrashState::fate(uint32_t write) const {
  // Pieces are ordered by their write.
  const auto pieces = epoch_->pieces();
  auto piece =
      std::partition_point(pieces.begin(), pieces.end(), [&](const auto& p) { return p.write < write; });
  bool lost = false, kept = false;
  for (; piece != pieces.end() && piece->write == write; ++piece) {
    (piece_kept_[piece - pieces.begin()] ? kept : lost) = true;
  }
  return !lost ? WriteFate::kKept : kept ? WriteFate::kTorn : WriteFate::kLost;
}

const Image& CrashState::image() {
  for (uint32_t place = 0; place < top_.size(); place++) {
    if (built_[place] == top_[place]) continue;
    const BlockAddress address = epoch_->places()[place].address;
    const uint32_t slot = built_[place] = top_[place];
    image_.set(address, slot == Epoch::kNone ? BlockRef::share(epoch_->durable().block(address))
                                             : epoch_->slots()[slot].block);
  }
  return image_;
}

}  // namespace sisyfs
