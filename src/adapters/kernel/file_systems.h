// What is known of each file system of the kernel before one is mounted: how it is made, mounted and
// repaired, and what it promises.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expect/contract.h"
#include "workload/op.h"

namespace sisyfs {

// What is unusual about a file system, as bits.
enum Quirk : uint32_t {
  kPlainDirectoryLinks = 1u << 0,  // the link count of a directory says nothing
  kNoModes = 1u << 1,              // files have no permission bits of their own
  kNoFileLinks = 1u << 2,          // the link count of a file says nothing
  kUnfilledBytes = 1u << 3,        // it writes kernel memory that it has not filled
  kRepairDecides = 1u << 4,        // its repair leaves a clean disk alone, and its check does not see the log
  kHidesLostFound = 1u << 5,       // it has a directory lost+found, which is not told of
  // A mount writes very much that says nothing. The device flushes its cache once after each mount, so that
  // these writes are in doubt during the mount and not during all that follows.
  kSettles = 1u << 6,
  kStaleData = 1u << 7,     // a power cut may leave any bytes where a file was written for the first time
  kRenamesTwice = 1u << 8,  // a rename is a link and an unlink: a power cut between them leaves both names
};

// A file system below another one.
struct LowerFileSystem {
  std::string_view type = {}, mount = {};  // as in FileSystem
};

// What few of them have.
struct Rarities {
  // Instead of mkfs, where there is none: writes an empty file system over the disk.
  void (*make)(std::span<std::byte> disk) = nullptr;
  // Instead of fsck: what a mount after a power cut needs. False: there is no file system.
  bool (*mend)(std::span<std::byte> disk) = nullptr;
  // Bytes of an erase unit: it lies on raw flash, which only a kernel of the user has. 0: on a disk.
  uint32_t erase_unit = 0;
  // What mount takes instead of the first disk; empty: that disk.
  std::string_view device = {};
  // It lies over this one, which is the one on the disk. No type: it is on the disk itself.
  LowerFileSystem below = {};
};

struct FileSystem {
  std::string_view name;          // of the target
  std::string_view summary;       // one line
  std::string_view type;          // as mount calls it
  std::string_view package = {};  // with its tools
  std::string_view mkfs = {};     // the words of its command, without the image; empty: see `rare`
  std::string_view fsck = {};     // so of the tool that repairs; empty: there is none
  std::string_view check = {};    // and of the one that only looks; empty: there is none
  std::string_view preen = {};    // and of its cautious mode; empty: it has none
  std::string_view mount;         // options
  // Further ones on the host, whose clock runs, and where several disks are the same.
  std::string_view host_mount = {};
  uint32_t block = 4096;   // bytes of a block of the disk
  uint64_t kibibytes = 0;  // of the disk
  std::vector<std::string> modules = {};
  Rarities rare = {};

  Contract contract = Contract::kFsync;
  bool fsync_names = false;
  bool mount_recovers = true;
  OpSet without = {};  // ops that it does not have
  uint32_t quirks = 0;
  uint32_t max_name = 255;
};

std::span<const FileSystem> file_systems();
const FileSystem* file_system(std::string_view name);

// The words of a command.
std::vector<std::string> words_of(std::string_view text, char separator = ' ');

}  // namespace sisyfs
