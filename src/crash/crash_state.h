// CrashState: the content that a power cut may leave, as a cursor over the crash states of an epoch.
//
// A crash state is identified by the number of pieces kept of each chain. Moving from one to the next touches
// only the pieces that differ, and keeps the digest of the image up to date. The image itself is built
// when it is asked for, so a recovery that is known by its digest costs no image.
//
//   CrashState state(epoch);          // everything survived
//   state.keep(chain, 0);             // … except the pieces of this chain
//   if (!known(state.digest())) recover(state.image());
//
// For each block in doubt the cursor knows the kept slot issued last (or none: the durable content).
// The digest is that of the durable image plus the differences that these make.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/digest.h"
#include "crash/epoch.h"
#include "disk/image.h"

namespace sisyfs {

// How much of a write survived a power cut: none, some or all of its pieces.
enum class Survival : uint8_t { kLost, kTorn, kKept };

class CrashState {
 public:
  // Everything survived. Borrows the epoch, which must not change while this is in use.
  explicit CrashState(const Epoch& epoch);
  // As if constructed anew, but keeps its memory.
  void restart(const Epoch& epoch);

  // The number of pieces kept of each chain, by which this state is identified within its epoch.
  std::span<const uint32_t> kept() const { return kept_; }
  // Keeps the first `pieces` pieces of a chain, at most its length.
  void keep(uint32_t chain, uint32_t pieces);

  const Epoch& epoch() const { return *epoch_; }
  uint64_t lost_pieces() const { return lost_; }
  bool piece_kept(uint32_t piece) const { return piece_kept_[piece] != 0; }
  // The survival of a write, by its index in Epoch::writes(). A later write may lie over one that survived.
  Survival survival(uint32_t write) const;

  // The digest of the image, without building it.
  const Digest& digest() const { return digest_; }
  // A block of the image, without building it; null if it is zero. Valid until the epoch changes.
  const Block* block(BlockAddress address) const {
    const uint32_t b = epoch_->find_block(address);
    if (b == Epoch::kNone || top_[b] == Epoch::kNone) return epoch_->durable().block(address);
    return epoch_->slots()[top_[b]].block.get();
  }
  // The image. The reference is valid until the next call; a copy is O(1).
  const Image& image();

 private:
  void set_top(uint32_t block_index, uint32_t slot);

  const Epoch* epoch_;
  std::vector<uint32_t> kept_;       // by chain
  std::vector<uint32_t> next_;       // by chain: the first piece that is not kept, or kNone
  std::vector<uint8_t> piece_kept_;  // by piece
  std::vector<uint32_t> top_;        // by block: the winning slot, or kNone
  uint64_t lost_ = 0;
  Digest digest_;
  Image image_;                  // as of built_
  std::vector<uint32_t> built_;  // by block: the slot that image_ holds
};

}  // namespace sisyfs
