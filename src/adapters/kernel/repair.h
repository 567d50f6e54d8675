// Repair: the tools that check and repair a file system, run on the host on the disk under check.
//
// The disk sees each read, write and flush of a tool in its order (repair/watched_tool.h), so that a power
// cut in a repair leaves what it can leave, and a block that the tool does not read is not read. Where the
// system does not allow that, a tool works on a copy of the whole disk, and what it changed is written back
// by rising address and flushed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "adapters/kernel/file_systems.h"
#include "adapters/kernel/tool.h"
#include "disk/media.h"
#include "target/target.h"

namespace sisyfs {

// What such a tool may report. The texts are its own.
std::span<const ProblemKind> repair_problems();

// The image that a tool sees of a disk.
class WatchedDisk {
 public:
  static Result<std::unique_ptr<WatchedDisk>> make(const Geometry& geometry);
  WatchedDisk(const WatchedDisk&) = delete;
  WatchedDisk& operator=(const WatchedDisk&) = delete;
  ~WatchedDisk();

  // The disk of the next runs, which has changed since the last ones.
  void attach(Disk& disk);
  Result<ToolRun> run(const std::vector<std::string>& words, FsckMode mode,
                      std::chrono::milliseconds deadline);
  // Whether the disk answered an access of the last run with an error.
  bool failed() const { return failed_; }

 private:
  WatchedDisk() = default;
  int answer(IoStatus status);

  Disk* disk_ = nullptr;
  watched_image image_{};
  bool failed_ = false;
};

class Repair {
 public:
  explicit Repair(bool watched) : watched_(watched) {}
  void run(const FileSystem& fs, Media& media, FsckMode mode, RepairReport* report);
  std::string text(const Problem& problem) const;
  // Why the tool could not be run at all.
  const std::string& trouble() const { return trouble_; }

 private:
  void tell(RepairReport* report, uint16_t kind, bool repaired, std::string text);
  bool begin(Media& media);
  bool copy_in(Media& media);
  bool copy_back(Media& media);
  Result<ToolRun> run_tool_on(std::string_view command, FsckMode mode);
  // Whether the tool that only looks has nothing to say.
  bool is_clean(const FileSystem& fs);

  const bool watched_;
  std::unique_ptr<WatchedDisk> disk_;  // watched
  std::optional<MemoryFile> file_;     // not watched
  std::vector<std::byte> before_;
  std::vector<std::string> texts_;
  std::string trouble_;
};

}  // namespace sisyfs
