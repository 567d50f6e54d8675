// Media: all disks of one system under check, in memory, with one log.
//
// The whole state is one value: the image at the last durable point, the image that reads see, and the
// log from the one to the other. Saving and loading it is O(1), so an explorer may do it at every step:
//
//   Media media{Image(geometry)};
//   MediaState before = media.save();
//   run_op(media);
//   ... judge media.state() with crash/crash_points.h, which also returns the settled state to go on from ...
//   media.load(before);
//
// Most systems have one disk. As a Disk, a Media is its first disk. disk(n) gives the others:
//
//   Media mirror{Image({.block_size = 512, .block_count = BlockCount(128), .disks = 2})};
//   mirror.write(BlockAddress(5), bytes);          // block 5 of disk 0
//   mirror.disk(1).write(BlockAddress(5), bytes);  // block 5 of disk 1, which is block 69 of the image
//
// A target uses addresses on one disk. Images, logs, FirstReads and Decider use addresses in the address
// space of all disks (geometry.h).
//
// A Media does not decide what is durable: that depends on the device model, which crash/ knows. So a flush
// is only an entry of the log, and the log grows until a settled state is loaded. The history before that is
// not kept: keeping it in each of millions of states would cost more than replaying the one that failed.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "disk/disk.h"
#include "disk/first_reads.h"
#include "disk/image.h"
#include "disk/log.h"
#include "disk/scratch.h"

namespace sisyfs {

struct MediaState {
  Image durable;  // survives any power cut
  Image current;  // durable with all of the log applied: what reads see
  Log log;        // from durable to current
  // Writes before earlier power cuts that survived or were lost, undecided until a read: with a kPowerCut
  // boundary after the writes before each cut. The images do not show them. The first read of such a block
  // decides its content (see Decider), unless the log has written the block since.
  Log undecided;

  // Media on which everything is durable. The next event gets this serial number.
  explicit MediaState(Image image, uint64_t next_serial = 0)
      : durable(image), current(std::move(image)), log(next_serial) {}
  MediaState(Image durable_image, Image current_image, Log pending, Log undecided_writes = {})
      : durable(std::move(durable_image)),
        current(std::move(current_image)),
        log(std::move(pending)),
        undecided(std::move(undecided_writes)) {}

  // Gives both images memory of their own (Image::unshared()).
  void unshare() {
    const bool same = durable == current;
    durable = durable.unshared();
    current = same ? durable : current.unshared();
  }

  // Equal digests: the same durable content and the same events since.
  Digest digest() const {
    return digest_at(1, durable.digest()) + digest_at(2, log.digest()) + digest_at(3, undecided.digest());
  }
};

// Decides the content of blocks that a power cut left undecided.
class Decider {
 public:
  virtual ~Decider() = default;
  // If this block is undecided, decides its content. False: the content is that of the image.
  virtual bool decide(BlockAddress address, BlockRef* block) = 0;
};

class Media : public Disk {
 public:
  explicit Media(Image image) : Media(MediaState(std::move(image))) {}
  explicit Media(MediaState state)
      : state_(std::move(state)), one_disk_(state_.current.geometry().one_disk()) {}

  const MediaState& state() const { return state_; }
  MediaState save() const { return state_; }
  // Loads a state of media of the same shape.
  void load(MediaState state) {
    SISYFS_ASSERT(state.current.geometry() == state_.current.geometry(), "the state is of the same shape");
    state_ = std::move(state);
    in_scratch_ = remembers_ = false;
    keeps_log_ = true;
  }
  // Applies a log that was recorded from serial number 0 on to the current content, and takes it as the log.
  // Its events follow those before in serial numbers. The log so far is empty.
  void redo(const Log& log);

  // A disk by its number. Disk 0 is this object. The others live until this object is assigned to or dies.
  Disk& disk(uint32_t number = 0);

  // What discarded blocks read as from now on. Not part of the state.
  void set_discard(DiscardReads reads) { discard_reads_ = reads; }
  // From now on `reads` records first reads, and writes; null: no longer. On the first read of a block,
  // `undecided` decides its content, if it is not null.
  void watch(FirstReads* reads, Decider* undecided = nullptr) {
    reads_ = reads;
    undecided_ = undecided;
  }

  // From now on, until the next load, blocks are written to plain memory, where reads find them. The images
  // stay as they are. The log goes on with Keep::kLog; with Keep::kNothing a write costs only a copy.
  // Has no effect on raw flash.
  enum class Keep : uint8_t { kLog, kNothing };
  void begin_scratch(Keep keep);
  // has_changed(): whether the content differs from that at the last call of remember(). The answer depends
  // on the content before a write, so from remember() on a write counts as a read of the block.
  void remember();
  bool has_changed();

  // The nth access from now on fails, counted from 1 over all disks: it has no effect. 0: none fails.
  void fail_call(uint32_t nth) {
    fail_call_ = nth;
    call_failed_ = write_failed_ = false;
  }
  // Whether that access was made, and failed.
  bool call_failed() const { return call_failed_; }
  // Whether it was a write, an erase or a flush.
  bool write_failed() const { return write_failed_; }

  // As a Disk, this is disk 0. state().current.geometry() is the shape of all disks.
  const Geometry& geometry() const override { return one_disk_; }
  IoStatus read(BlockAddress first, std::span<std::byte> out) override { return read_on(0, first, out); }
  IoStatus write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags = {}) override {
    return write_on(0, first, bytes, flags);
  }
  IoStatus flush() override { return flush_on(0); }
  IoStatus discard(BlockAddress first, BlockCount count) override { return discard_on(0, first, count); }
  void note(const Boundary& boundary) override {
    if (keeps_log_) state_.log.add_boundary(boundary);
  }

 private:
  friend class MediaDisk;

  // The disks from 1 on, made when they are asked for. They point to their Media, so a copy makes its own.
  struct OtherDisks {
    OtherDisks() = default;
    OtherDisks(const OtherDisks&) {}
    OtherDisks& operator=(const OtherDisks&) {
      list.clear();
      return *this;
    }
    std::vector<std::unique_ptr<Disk>> list;
  };

  // Accesses to a disk, with addresses on it.
  IoStatus read_on(uint32_t disk, BlockAddress first, std::span<std::byte> out);
  IoStatus write_on(uint32_t disk, BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags);
  IoStatus flush_on(uint32_t disk);
  IoStatus discard_on(uint32_t disk, BlockAddress first, BlockCount count);

  // Turns an address on a disk into one of the address space of all disks.
  void add_base(uint32_t disk, BlockAddress& first) const {
    first.value += disk * one_disk_.block_count.value;
  }
  // Raw flash, with addresses in the address space of all disks.
  IoStatus program(uint32_t disk, BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags);
  IoStatus program_pages(uint32_t disk, BlockAddress first, std::span<const std::byte> bytes,
                         WriteFlags flags, bool seems_erased);
  IoStatus erase(uint32_t disk, BlockAddress first, BlockCount count);
  // Whether the unit of this page is bad. This reads its wear.
  bool is_bad_unit(BlockAddress page);
  void add_wear(BlockAddress first, BlockCount count);

  bool in_range(Access access, uint32_t disk, BlockAddress first, size_t bytes);
  IoStatus misuse(Access access, uint32_t disk, BlockAddress first, BlockCount count);
  bool fails() { return fail_call_ != 0 && --fail_call_ == 0 && (call_failed_ = true); }
  bool write_fails() { return fails() && (write_failed_ = true); }

  void note_read(BlockAddress address);
  // Outside of scratch: gives a block new content.
  void replace(BlockAddress address, BlockRef block);
  // Whether this read decides the content of an undecided block.
  bool decide(BlockAddress address, BlockRef* block);
  // Whether the predicate holds for all blocks. Each block that it looks at is read.
  bool all_are(bool (*predicate)(const Block*), BlockAddress first, uint64_t count);
  BlockRef discarded(BlockAddress address);
  void log_discard(uint32_t disk, BlockAddress first, BlockCount count);

  // In scratch: the bytes of a block, which is read if it is not there yet; and memory for new bytes.
  const std::byte* fetch(BlockAddress address);
  std::byte* overwrite(BlockAddress address);

  MediaState state_;
  Geometry one_disk_;
  OtherDisks others_;
  DiscardReads discard_reads_ = DiscardReads::kZeros;
  FirstReads* reads_ = nullptr;
  Decider* undecided_ = nullptr;
  uint32_t fail_call_ = 0;
  bool call_failed_ = false;
  bool write_failed_ = false;
  std::vector<BlockRef> blocks_;  // of the write in progress
  std::vector<const Event*> events_;

  bool in_scratch_ = false, keeps_log_ = true;
  Scratch scratch_;
  bool remembers_ = false;
  Digest remembered_;                  // outside of scratch: of the image at remember()
  std::vector<BlockAddress> changed_;  // in scratch: blocks written since remember()
  std::vector<std::byte> before_;      // and their content at remember()
};

}  // namespace sisyfs
