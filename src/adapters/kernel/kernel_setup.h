// KernelSetup: what all instances of one kernel target share: the file system, the kernel, the disk as it is
// after mkfs.
#pragma once

#include <atomic>
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

// What all instances of a target have done.
struct KernelWork {
  std::atomic<uint64_t> mounts{0};
  std::atomic<uint64_t> brought_back{0};  // states, each by a mount and its calls
  std::atomic<uint64_t> boot_us{0};       // time until guests were ready
};

// How repair tools are run.
struct RepairSetup {
  std::string preen;      // the words of FileSystem::preen, if they were given
  std::string unwatched;  // why the accesses of tools are not seen, in a sentence; empty: they are
};

// An image of the user that the search begins with. No path: there is none.
struct UserStart {
  std::string path;
  std::vector<std::byte> content;
};

// What tests and benches know of the guests that were booted: their processes, and the core of the last one.
struct BootedGuests {
  std::vector<pid_t> processes;
  int last_core = -1;
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
  RepairSetup repair;
  KernelWork work;
  UserStart start;

  // The disk with a new file system, on one that held `blank` before. Made once. `settle` gets what mkfs has
  // made. With an image of the user it is that one.
  Result<Image> formatted(const Image& blank, const std::function<Result<Image>(const Image&)>& settle);
  // Whether it is the disk that formatted() gave last.
  bool is_new(const Image& image) const;

  // The disk that formatted() gave last.
  std::optional<Image> new_disk() const;

  // Boots a guest, on the core that `kernel` names or on another one each time; or starts on the host.
  Result<std::unique_ptr<KernelMachine>> boot();
  BootedGuests guests() const;

  // Why the search cannot begin: the image of the user, or the kernel, does not fit.
  void refuse_start(const std::string& why);
  std::optional<std::string> refused_start() const;
  // Why what was found cannot be relied on.
  void set_trouble(std::string text);
  std::optional<std::string> trouble() const;
  void set_release(const std::string& release);
  std::string release() const;

 private:
  // The disk as mkfs or the user made it.
  Result<Image> made(const Image& blank) const;

  std::mutex formatting_;  // held while a file system is made, which uses all else
  mutable std::mutex mutex_;
  std::optional<Image> blank_, formatted_;
  std::optional<std::string> trouble_, refused_;
  std::string release_;
  BootedGuests guests_;
};

}  // namespace sisyfs
