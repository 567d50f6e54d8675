// TraceDisk: a decorator that tells an observer about every call, after it was answered.
//
// For reports: replay a trace with a TraceDisk on top and list what the target did and was told.
//
//   TraceDisk traced(disk, [&](const DiskCall& call) { calls.push_back(describe(call)); });
#pragma once

#include <functional>
#include <utility>

#include "disk/disk.h"

namespace sisyfs {

struct DiskCall {
  enum class Kind { kRead, kWrite, kFlush, kDiscard, kBoundary };

  Kind kind = Kind::kFlush;
  IoStatus status = IoStatus::kOk;
  BlockAddress first = {};  // read, write, discard
  BlockCount count = {};    // discard
  // read, write: what was read or written; the caller's memory, so it is dead once the call returns
  std::span<const std::byte> bytes = {};
  WriteFlags flags = {};   // write
  Boundary boundary = {};  // mark
};

class TraceDisk : public Disk {
 public:
  using Observer = std::function<void(const DiskCall&)>;

  // Borrows `below`, which outlives this.
  TraceDisk(Disk& below, Observer observer) : below_(below), observer_(std::move(observer)) {}

  const Geometry& geometry() const override { return below_.geometry(); }
  IoStatus read(BlockAddress first, std::span<std::byte> out) override {
    const IoStatus status = below_.read(first, out);
    return tell({.kind = DiskCall::Kind::kRead, .status = status, .first = first, .bytes = out});
  }
  IoStatus write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags = {}) override {
    const IoStatus status = below_.write(first, bytes, flags);
    return tell(
        {.kind = DiskCall::Kind::kWrite, .status = status, .first = first, .bytes = bytes, .flags = flags});
  }
  IoStatus flush() override { return tell({.kind = DiskCall::Kind::kFlush, .status = below_.flush()}); }
  IoStatus discard(BlockAddress first, BlockCount count) override {
    const IoStatus status = below_.discard(first, count);
    return tell({.kind = DiskCall::Kind::kDiscard, .status = status, .first = first, .count = count});
  }
  void note(const Boundary& boundary) override {
    below_.note(boundary);
    tell({.kind = DiskCall::Kind::kBoundary, .boundary = mark});
  }

 private:
  IoStatus tell(const DiskCall& call) {
    observer_(call);
    return call.status;
  }

  Disk& below_;
  Observer observer_;
};

}  // namespace sisyfs
