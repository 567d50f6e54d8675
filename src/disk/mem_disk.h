// MemDisk: a disk in memory that remembers what was done to it.
//
// Its whole state is one value: the image at the last durable point, the image that reads see, and the
// log from the one to the other. Saving and loading it is O(1), so an explorer may do it at every step:
//
//   MemDisk disk{Image(geometry)};
//   DiskState before = disk.save();
//   run_op(disk);
//   ... judge disk.state() with crash/looks.h, which also returns the settled state to go on from ...
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

namespace sisyfs {

struct DiskState {
  Image durable;  // survives any power cut, as far as the log does not say more
  Image current;  // durable with all of the log applied: what reads see
  Log log;        // from durable to current

  // A disk on which everything is durable.
  explicit DiskState(Image image) : durable(image), current(std::move(image)) {}
  DiskState(Image durable_image, Image current_image, Log pending)
      : durable(std::move(durable_image)), current(std::move(current_image)), log(std::move(pending)) {}

  // Equal digests: the same durable content and the same events since.
  Digest digest() const { return digest_at(1, durable.digest()) + digest_at(2, log.digest()); }
};

class MemDisk : public Disk {
 public:
  explicit MemDisk(Image image) : state_(std::move(image)) {}
  explicit MemDisk(DiskState state) : state_(std::move(state)) {}

  const DiskState& state() const { return state_; }
  DiskState save() const { return state_; }
  void load(DiskState state) { state_ = std::move(state); }
  // Does again what a log of this disk says, on what it holds now.
  void redo(const Log& log);
  // What discarded blocks read as from now on. No part of the state.
  void set_discard(DiscardReads reads) { discard_reads_ = reads; }
  // Tells `reads` what is read and written from now on; null: no longer.
  void watch(FirstReads* reads) { reads_ = reads; }

  const Geometry& geometry() const override { return state_.current.geometry(); }
  IoStatus read(BlockAddress first, std::span<std::byte> out) override;
  IoStatus write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags = {}) override;
  IoStatus flush() override;
  IoStatus discard(BlockAddress first, BlockCount count) override;
  void mark(const Mark& mark) override { state_.log.add_mark(mark); }

 private:
  bool in_range(Access access, BlockAddress first, size_t bytes);
  IoStatus misuse(Access access, BlockAddress first, BlockCount count);
  // Whether all blocks are so. What depends on a block is a read of it.
  bool all_are(bool (*so)(const Block*), BlockAddress first, uint64_t count);
  BlockRef discarded(BlockAddress address);

  DiskState state_;
  DiscardReads discard_reads_ = DiscardReads::kZeros;
  FirstReads* reads_ = nullptr;
  std::vector<BlockRef> scratch_;  // the blocks of the write at hand
  std::vector<const Event*> events_;
};

}  // namespace sisyfs
