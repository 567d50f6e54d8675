// CrashState: one disk that a power cut may leave, as a cursor over the crash states of an epoch.
//
// A crash state is named by how many pieces of each chain were kept. Moving from one to the next touches
// only the pieces that differ, and keeps the digest of the image up to date; the image itself is built
// when it is asked for, so that a recovery known from its digest costs no image.
//
//   CrashState state(epoch);          // everything survived
//   state.keep(chain, 0);             // … except what is on this chain
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

// What became of a write.
enum class WriteFate : uint8_t { kLost, kTorn, kKept };

class CrashState {
 public:
  // Everything survived. Borrows the epoch, which must not change while this is in use.
  explicit CrashState(const Epoch& epoch);
  // As if constructed anew, but keeps its memory.
  void restart(const Epoch& epoch);

  // The number of pieces kept of each chain: the name of this state within its epoch.
  std::span<const uint32_t> kept() const { return kept_; }
  // Keeps the first `pieces` pieces of a chain, at most its length.
  void keep(uint32_t chain, uint32_t pieces);

  const Epoch& epoch() const { return *epoch_; }
  uint64_t lost_pieces() const { return lost_; }
  bool piece_kept(uint32_t piece) const { return piece_kept_[piece] != 0; }
  // KeptRange means that the device wrote it; a later write may lie over it.
  WriteFate fate(uint32_t write) const;

  // The digest of the image, without building it.
  const Digest& digest() const { return digest_; }
  // A block of the image, without building it; null if it is zero. Lives as long as the epoch keeps still.
  const Block* block(BlockAddress address) const {
    const uint32_t place = epoch_->find_place(address);
    if (place == Epoch::kNone || top_[place] == Epoch::kNone) return epoch_->durable().block(address);
    return epoch_->slots()[top_[place]].block.get();
  }
  // The image. The reference lives until the next call; a copy is O(1).
  const Image& image();

 private:
  void set_top(uint32_t place, uint32_t slot);

  const Epoch* epoch_;
  std::vector<uint32_t> kept_;       // by chain
  std::vector<uint32_t> next_;       // by chain: the first piece that is not kept, or kNone
  std::vector<uint8_t> piece_kept_;  // by piece
  std::vector<uint32_t> top_;        // by place: the winning slot, or kNone
  uint64_t lost_ = 0;
  Digest digest_;
  Image image_;                  // as of built_
  std::vector<uint32_t> built_;  // by place: the slot that image_ holds
};

}  // namespace sisyfs
