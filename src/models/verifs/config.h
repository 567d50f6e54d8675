// The configuration of a VeriFS model: its version, its size, and switches whose wrong values are the four
// bugs that MCFS found in VeriFS.
//
//   verifs::Config config;
//   config.version = verifs::Version::kSecond;
//   config.hole_zero = false;   // a write beyond the end leaves old bytes in the hole
#pragma once

#include <cstdint>

namespace sisyfs::verifs {

inline constexpr unsigned kMaxInodes = 15;   // the root included
inline constexpr unsigned kBufferSize = 64;  // bytes of a file at most
inline constexpr unsigned kBufferStep = 4;   // buffers grow by this many bytes
inline constexpr unsigned kNameLength = 7;
inline constexpr unsigned kXattrs = 4;     // extended attributes, of all files together
inline constexpr unsigned kXattrSize = 7;  // bytes of the value of one

enum class Version : uint8_t {
  kFirst,   // files and directories
  kSecond,  // and rename, links of both kinds, extended attributes, and a limit to all data
};

// When a write beyond the end of a file updates its size.
enum class SizeUpdate : uint8_t {
  kAlways,
  kOnGrowth,  // only if the buffer had to grow: wrong
};

// The cached names after a restore.
enum class NameCache : uint8_t {
  kFresh,  // they are dropped
  kStale,  // they are kept: wrong
};

struct Config {
  Version version = Version::kFirst;
  unsigned inodes = kMaxInodes;
  unsigned bytes = 0;  // in the buffers of all files and links; 0: no limit

  bool truncate_clear = true;  // off: a truncate that grows a file does not clear what it adds; wrong
  bool hole_zero = true;       // off: a write beyond the end does not clear what it skips; wrong
  SizeUpdate size_update = SizeUpdate::kAlways;
  NameCache name_cache = NameCache::kFresh;
  bool xattr_free =
      true;  // off: attributes stay when their file is deleted, and a later file with its inode has them
};

}  // namespace sisyfs::verifs
