// RawCycles: what a guest can do at most: cycles of restoring the disk, mounting it, making a file, syncing
// and unmounting, without a search. What a search does is held against it ('sisyfs bench kernel').
//
//   Result<std::unique_ptr<RawCycles>> raw = RawCycles::make(setup);
//   Result<double> rate = (*raw)->per_second(200);
#pragma once

#include <memory>

#include "adapters/kernel/kernel_setup.h"

namespace sisyfs {

class RawCycles {
 public:
  // Boots a guest for it. A file system was made before (KernelSetup::formatted).
  static Result<std::unique_ptr<RawCycles>> make(KernelSetup& setup);
  ~RawCycles();
  RawCycles(const RawCycles&) = delete;
  RawCycles& operator=(const RawCycles&) = delete;

  // Does so many cycles; how many were done in a second.
  Result<double> per_second(uint32_t count);

 private:
  class MemoryDisk;
  explicit RawCycles(const KernelSetup& setup);
  Status cycle();

  const KernelSetup& setup_;
  std::unique_ptr<MemoryDisk> disk_;
  std::unique_ptr<KernelMachine> guest_;  // asks the disk
};

}  // namespace sisyfs
