// What the checker shares with its two processes on the host (host_machine.h): the agent, and the one that
// serves the disk. Plain data: three programs are built with this header.
//
// Each of the two has a lane of its own, with requests and answers as in wire.h. A lane belongs to one side
// at a time. Who gives a lane to the checker rings the bell, at which the checker waits for both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "adapters/guest/wire.h"

namespace sisyfs::guest {

struct Lane {
  std::atomic<Turn> turn;  // kHost: the checker's
  std::atomic<uint32_t> bytes;
  alignas(kPageBytes) std::byte data[kBufferBytes];
};

struct HostChannel {
  std::atomic<uint32_t> bell;
  uint64_t disk_bytes;
  // One more than the number of the loop device that the agent has added; 0: none yet.
  std::atomic<uint32_t> loop;
  std::atomic<bool> fuse_begun;  // the kernel has spoken to the one that serves the disk
  std::atomic<bool> unserved;    // the checker did not answer; from then on requests fail
  char trouble[256];             // why the agent gave up
  Lane commands, disk;
};

// Descriptors of the two processes.
inline constexpr int kHostProgramFd = 59, kHostChannelFd = 60, kFuseFd = 61;

// The kernel waits so long for a checker that does not answer, and then gets errors.
inline constexpr int kMostUnserved = 60;  // seconds

}  // namespace sisyfs::guest
