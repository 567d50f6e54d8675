// Repair: the tools that check and repair a file system, run on the host on a copy of the disk in memory.
#pragma once

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

class Repair {
 public:
  // What a repair changed is written to the disk, by rising address, and flushed.
  void run(const FileSystem& fs, Media& media, FsckMode mode, RepairReport* report);
  std::string text(const Problem& problem) const;
  // Why the tool could not be run at all.
  const std::string& trouble() const { return trouble_; }

 private:
  void tell(RepairReport* report, uint16_t kind, bool repaired, std::string text);
  bool copy_in(Media& media);
  bool copy_back(Media& media);
  // Whether the tool that only looks has nothing to say.
  bool is_clean(const FileSystem& fs);

  std::optional<MemoryFile> file_;
  std::vector<std::byte> before_;
  std::vector<std::string> texts_;
  std::string trouble_;
};

}  // namespace sisyfs
