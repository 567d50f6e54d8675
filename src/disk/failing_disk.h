// FailingDisk: a decorator that fails chosen calls.
//
//   FailingDisk failing(disk, {.fail_write = 3});  // the third write returns kIoError, others work
//
// What may fail: reads, writes, flushes and discards, each by its ordinal. A failed call never reaches
// the disk below: a failed write changes nothing, after a failed flush nothing is known to be durable.
#pragma once

#include <cstdint>

#include "disk/disk.h"

namespace sisyfs {

struct FaultPlan {
  uint64_t fail_read = 0;     // ordinal of the read that fails, from 1; 0: none
  uint64_t fail_write = 0;    // ordinal of the write that fails, from 1; 0: none
  uint64_t fail_flush = 0;    // ordinal of the flush that fails, from 1; 0: none
  uint64_t fail_discard = 0;  // ordinal of the discard that fails, from 1; 0: none
  bool broken_after = false;  // the calls of that kind after it fail as well; false: it fails once
};

// How many calls of each kind were made, failed ones included. A value, to be kept with a snapshot.
struct CallCounts {
  uint64_t reads = 0;
  uint64_t writes = 0;
  uint64_t flushes = 0;
  uint64_t discards = 0;

  friend bool operator==(const CallCounts&, const CallCounts&) = default;
};

class FailingDisk : public Disk {
 public:
  // Borrows `below`, which outlives this.
  FailingDisk(Disk& below, const FaultPlan& plan) : below_(below), plan_(plan) {}

  const CallCounts& save() const { return counts_; }
  void load(const CallCounts& counts) { counts_ = counts; }

  const Geometry& geometry() const override { return below_.geometry(); }
  IoStatus read(BlockAddress first, std::span<std::byte> out) override {
    return fails(++counts_.reads, plan_.fail_read) ? IoStatus::kIoError : below_.read(first, out);
  }
  IoStatus write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags = {}) override {
    return fails(++counts_.writes, plan_.fail_write) ? IoStatus::kIoError : below_.write(first, bytes, flags);
  }
  IoStatus flush() override {
    return fails(++counts_.flushes, plan_.fail_flush) ? IoStatus::kIoError : below_.flush();
  }
  IoStatus discard(BlockAddress first, BlockCount count) override {
    return fails(++counts_.discards, plan_.fail_discard) ? IoStatus::kIoError : below_.discard(first, count);
  }
  void note(const Boundary& boundary) override { below_.note(boundary); }

 private:
  bool fails(uint64_t ordinal, uint64_t planned) const {
    return planned != 0 && (ordinal == planned || (plan_.broken_after && ordinal > planned));
  }

  Disk& below_;
  FaultPlan plan_;
  CallCounts counts_;
};

}  // namespace sisyfs
