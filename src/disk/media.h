// Media: a disk in memory that remembers what was done to it.
//
// Its whole state is one value: the image at the last durable point, the image that reads see, and the
// log from the one to the other. Saving and loading it is O(1), so an explorer may do it at every step:
//
//   Media disk{Image(geometry)};
//   MediaState before = disk.save();
//   run_op(disk);
//   ... judge disk.state() with crash/crash_points.h, which also returns the settled state to go on from ...
//   disk.load(before);
//
// The disk does not itself decide what is durable: that depends on the device model, which crash/ knows.
// So a flush is only an entry of the log, and the log grows until someone loads a settled state.
// A report that wants every write since the start replays the trace under a TraceDisk; keeping the
// history in each of millions of states would cost more than replaying the one that failed.
#pragma once

#include <vector>

#include "disk/disk.h"
#include "disk/first_reads.h"
#include "disk/image.h"
#include "disk/log.h"
#include "disk/scratch.h"

namespace sisyfs {

struct MediaState {
  Image durable;  // survives any power cut, as far as the logs do not say more
  Image current;  // durable with all of the log applied: what reads see
  Log log;        // from durable to current
  // Writes of which earlier power cuts kept some, nobody knows which, with a mark where each cut came.
  // Nothing in the images shows them; who reads such a block decides (see Decider), unless the log covers
  // it.
  Log undecided;

  // A disk on which everything is durable.
  explicit MediaState(Image image) : durable(image), current(std::move(image)) {}
  MediaState(Image durable_image, Image current_image, Log pending, Log undecided_writes = {})
      : durable(std::move(durable_image)),
        current(std::move(current_image)),
        log(std::move(pending)),
        undecided(std::move(undecided_writes)) {}

  // Equal digests: the same durable content and the same events since.
  Digest digest() const {
    return digest_at(1, durable.digest()) + digest_at(2, log.digest()) + digest_at(3, undecided.digest());
  }
};

// Who knows what blocks hold that a power cut left open.
class Decider {
 public:
  virtual ~Decider() = default;
  // If this block is open, decides what it holds. False: it is what the image says.
  virtual bool decide(BlockAddress address, BlockRef* block) = 0;
};

class Media : public Disk {
 public:
  explicit Media(Image image) : state_(std::move(image)) {}
  explicit Media(MediaState state) : state_(std::move(state)) {}

  const MediaState& state() const { return state_; }
  MediaState save() const { return state_; }
  void load(MediaState state) {
    state_ = std::move(state);
    in_scratch_ = remembers_ = false;
    keeps_log_ = true;
  }
  // Does again what a log of this disk says, on what it holds now.
  void redo(const Log& log);
  // What discarded blocks read as from now on. No part of the state.
  void set_discard(DiscardReads reads) { discard_reads_ = reads; }
  // Tells `reads` what is read and written from now on; null: no longer. What is read of a block for the
  // first time is as `undecided` says, if there is one.
  void watch(FirstReads* reads, Decider* undecided = nullptr) {
    reads_ = reads;
    undecided_ = undecided;
  }

  // From now on, until the next load, blocks are written to plain memory, where reads find them, and the
  // image that reads saw so far stays as it is. The log goes on, or not even that: then a write costs a copy.
  // Has no effect on raw flash.
  enum class Keep : uint8_t { kLog, kNothing };
  void begin_scratch(Keep keep);
  // Whether the disk holds anything else than when this was called last. The answer depends on what was
  // there, so from here on whoever writes a block has read it.
  void remember();
  bool has_changed();

  // The nth access from now on, counted from 1, fails: it has no effect. 0: none does.
  void fail_call(uint32_t nth) {
    fail_call_ = nth;
    call_failed_ = false;
  }
  // Whether it came to that.
  bool call_failed() const { return call_failed_; }

  const Geometry& geometry() const override { return state_.current.geometry(); }
  IoStatus read(BlockAddress first, std::span<std::byte> out) override;
  IoStatus write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags = {}) override;
  IoStatus flush() override;
  IoStatus discard(BlockAddress first, BlockCount count) override;
  void note(const Boundary& boundary) override {
    if (keeps_log_) state_.log.add_boundary(boundary);
  }

 private:
  bool in_range(Access access, BlockAddress first, size_t bytes);
  void note_read(BlockAddress address);
  // Out of scratch: a new content.
  void replace(BlockAddress address, BlockRef block);
  // Whether this read decides what an open block holds.
  bool decide(BlockAddress address, BlockRef* block);
  bool fails() { return fail_call_ != 0 && --fail_call_ == 0 && (call_failed_ = true); }
  IoStatus misuse(Access access, BlockAddress first, BlockCount count);
  // Whether all blocks are so. What depends on a block is a read of it.
  bool all_are(bool (*so)(const Block*), BlockAddress first, uint64_t count);
  BlockRef discarded(BlockAddress address);

  // In scratch: the bytes of a block, which is read if it is not there yet; and a place for new ones.
  const std::byte* fetch(BlockAddress address);
  std::byte* overwrite(BlockAddress address);

  MediaState state_;
  DiscardReads discard_reads_ = DiscardReads::kZeros;
  FirstReads* reads_ = nullptr;
  Decider* undecided_ = nullptr;
  uint32_t fail_call_ = 0;
  bool call_failed_ = false;
  std::vector<BlockRef> blocks_;  // of the write at hand
  std::vector<const Event*> events_;

  bool in_scratch_ = false, keeps_log_ = true;
  Scratch scratch_;
  bool remembers_ = false;
  Digest remembered_;                  // out of scratch
  std::vector<BlockAddress> changed_;  // in scratch: written since
  std::vector<std::byte> before_;      // and what they held
};

}  // namespace sisyfs
