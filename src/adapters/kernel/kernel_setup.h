// KernelSetup: what all instances of one kernel target share: the file system, the kernel, the disk as it is
// after mkfs.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "adapters/guest/guest.h"
#include "adapters/guest/host_machine.h"
#include "adapters/kernel/file_systems.h"
#include "base/result.h"
#include "disk/image.h"

namespace sisyfs {

// What a test lets go wrong.
struct Planted {
  guest::Plant what;
  std::string where;  // the beginning of the call: "fsync", "mount"
};

class KernelSetup {
 public:
  FileSystem fs;
  GuestKernel kernel;
  std::optional<HostKernel> host;  // or the kernel of the host
  std::vector<std::string> mkfs;   // the command, without the image
  std::string mount;               // options
  uint32_t mount_flags = 0;        // MS_ flags
  Geometry disk;
  uint32_t processes = 1;  // that make the calls
  std::optional<Planted> planted;
  std::string preen;      // the words of fs.preen, if they were given
  std::string unwatched;  // why the accesses of repair tools are not seen, in a sentence; empty: they are

  // The disk with a new file system, on one that held `blank` before. Made once. `settle` gets what mkfs has
  // made.
  Result<Image> formatted(const Image& blank, const std::function<Result<Image>(const Image&)>& settle);
  // Whether it is the disk that formatted() gave last.
  bool is_new(const Image& image) const;

  // Boots a guest, or starts on the host, on another core each time.
  Result<std::unique_ptr<KernelMachine>> boot() const;

  // Why what was found cannot be relied on.
  void set_trouble(std::string text);
  std::optional<std::string> trouble() const;
  void set_release(const std::string& release);
  std::string release() const;

 private:
  std::mutex formatting_;  // held while a file system is made, which uses all else
  mutable std::mutex mutex_;
  std::optional<Image> blank_, formatted_;
  std::optional<std::string> trouble_;
  std::string release_;
};

}  // namespace sisyfs
