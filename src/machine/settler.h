// Settler: what is durable of a disk moves out of its log, and disks that cannot be told apart are known
// again.
#pragma once

#include <vector>

#include "crash/crash_points.h"
#include "machine/setup.h"

namespace sisyfs {

class Settler {
 public:
  Settler(const DeviceModel& device, const Image& blank);

  // The same disk with all that is durable in its durable image, and a log of nothing but what is in doubt.
  MediaState settle(const MediaState& state);
  // Equal for disks of which every power cut leaves the same, and which read the same. Only of settled disks.
  Digest print_of(const MediaState& settled);

 private:
  const DeviceModel device_;
  Epoch epoch_;
  CrashPoints points_;
  std::vector<const Event*> events_;
};

}  // namespace sisyfs
