// HostPast: what is known of a mount or a call on the kernel of the host, which writes other bytes each time.
//
// A state is brought back by mounting and making the calls again. The kernel's memory then speaks of the
// bytes that were written now: checksums hold seeds and generations, inodes hold times. So these bytes take
// the place of those of the saved state. Its events are the same ones, with the same serial numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "disk/media.h"

namespace sisyfs {

struct HostPast {
  std::optional<MediaState> before;  // of a mount: the disk with its log
  uint64_t begin = 0, end = 0;       // the next serial number of the log
  std::vector<uint64_t> serials;     // of its events, as they were the first time
};

// A mount or call of the past, and how many events it had now. Those beyond the number of the first time
// share the last serial number.
struct HostRepeat {
  const HostPast* past;
  size_t events;
};

// Marks of a target on the host, as bits.
enum HostMark : uint32_t {
  kRepeatedLater = 1u << 0,
  kRepeatedOtherwise = 1u << 1,
};
std::span<const char* const> host_marks();  // what they mean

// The saved state with the bytes that were written now. `now` is the disk before the mount with the events of
// all these calls, of which the mount is the first.
MediaState rewritten(const MediaState& now, std::span<const HostRepeat> calls, const MediaState& saved);

}  // namespace sisyfs
