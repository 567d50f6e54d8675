// FailingMedia: media on which one chosen read or write fails with an I/O error and has no effect.
//
//   FailingMedia failing(disk.save(), {.write = 3});  // the third write fails, all others work
#pragma once

#include <cstdint>
#include <utility>

#include "disk/media.h"

namespace sisyfs {

// Numbers are counted from 1; 0: none fails.
struct FailingAccess {
  uint64_t read = 0;
  uint64_t write = 0;
};

class FailingMedia : public Media {
 public:
  FailingMedia(MediaState state, const FailingAccess& fails) : Media(std::move(state)), fails_(fails) {}

  // Counts from the beginning again.
  void restart() { reads_ = writes_ = 0; }

  IoStatus read(BlockAddress first, std::span<std::byte> out) override {
    return ++reads_ == fails_.read ? IoStatus::kIoError : Media::read(first, out);
  }
  IoStatus write(BlockAddress first, std::span<const std::byte> bytes, WriteFlags flags = {}) override {
    return ++writes_ == fails_.write ? IoStatus::kIoError : Media::write(first, bytes, flags);
  }

 private:
  FailingAccess fails_;
  uint64_t reads_ = 0, writes_ = 0;
};

}  // namespace sisyfs
