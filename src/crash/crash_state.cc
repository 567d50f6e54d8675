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
  built_.assign(epoch.blocks().size(), Epoch::kNone);
  kept_.clear();
  top_.clear();
  lost_ = 0;
  digest_ = epoch.durable().digest();
  image_ = epoch.durable();
  for (const Epoch::Chain& chain : epoch.chains()) kept_.push_back(chain.length);
  for (const Epoch::BlockVersions& block : epoch.blocks()) {
    top_.push_back(block.top);
    digest_ += epoch.slots()[block.top].contribution - block.durable_contribution;
  }
}

void CrashState::set_top(uint32_t b, uint32_t slot) {
  const Epoch::BlockVersions& at = epoch_->blocks()[b];
  const auto contributed = [&](uint32_t s) {
    return s == Epoch::kNone ? at.durable_contribution : epoch_->slots()[s].contribution;
  };
  if (!mutant(Mutant::kStaleCrashDigest)) digest_ += contributed(slot) - contributed(top_[b]);
  top_[b] = slot;
}

void CrashState::keep(uint32_t chain, uint32_t pieces) {
  const Epoch::Chain& on = epoch_->chains()[chain];
  SISYFS_ASSERT(pieces <= on.length, "the chain has that many pieces");
  // Pieces are dropped from the end of the prefix …
  for (; kept_[chain] > pieces; kept_[chain]--, lost_++) {
    const uint32_t p = next_[chain] == Epoch::kNone ? on.last : epoch_->pieces()[next_[chain]].previous;
    piece_kept_[p] = 0;
    next_[chain] = p;
    const Epoch::Piece& piece = epoch_->pieces()[p];
    for (uint32_t s = piece.first_slot; s < piece.first_slot + piece.slot_count; s++) {
      const uint32_t b = epoch_->slots()[s].block_index;
      if (top_[b] != s) continue;  // a kept one lies over it
      uint32_t below = epoch_->slots()[s].below;
      while (below != Epoch::kNone && !piece_kept_[epoch_->slots()[below].piece])
        below = epoch_->slots()[below].below;
      set_top(b, below);
    }
  }
  // … or added at its end.
  for (; kept_[chain] < pieces; kept_[chain]++, lost_--) {
    const uint32_t p = next_[chain];
    const Epoch::Piece& piece = epoch_->pieces()[p];
    piece_kept_[p] = 1;
    next_[chain] = piece.next;
    for (uint32_t s = piece.first_slot; s < piece.first_slot + piece.slot_count; s++) {
      const uint32_t b = epoch_->slots()[s].block_index;
      if (top_[b] == Epoch::kNone || top_[b] < s) set_top(b, s);  // slots are numbered as issued
    }
  }
}

Survival CrashState::survival(uint32_t write) const {
  // Pieces are ordered by their write.
  const auto pieces = epoch_->pieces();
  auto piece =
      std::partition_point(pieces.begin(), pieces.end(), [&](const auto& p) { return p.write < write; });
  bool lost = false, kept = false;
  for (; piece != pieces.end() && piece->write == write; ++piece) {
    (piece_kept_[piece - pieces.begin()] ? kept : lost) = true;
  }
  return !lost ? Survival::kKept : kept ? Survival::kTorn : Survival::kLost;
}

const Image& CrashState::image() {
  for (uint32_t b = 0; b < top_.size(); b++) {
    if (built_[b] == top_[b]) continue;
    const BlockAddress address = epoch_->blocks()[b].address;
    const uint32_t slot = built_[b] = top_[b];
    image_.set(address, slot == Epoch::kNone ? BlockRef::share(epoch_->durable().block(address))
                                             : epoch_->slots()[slot].block);
  }
  return image_;
}

}  // namespace sisyfs
