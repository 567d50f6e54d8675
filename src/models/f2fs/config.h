// The configuration of the F2FS model: its size, and switches whose wrong values are planted bugs.
//
//   f2fs::Config config = f2fs::Config::small();
//   config.reuse = f2fs::Reuse::kLifo;   // loses the root directory: thesis 5.3.2
#pragma once

#include <cstdint>

namespace sisyfs::f2fs {

inline constexpr unsigned kMaxSegments = 64, kMaxNids = 16, kMaxDentryBlocks = 6;
inline constexpr unsigned kMinBlockSize = 80, kMaxBlockSize = 512;

// When a segment without valid blocks may be written again.
enum class Reuse : uint8_t {
  kCheckpoint,  // after the next checkpoint
  kLifo,        // at once, the one freed last first: wrong
  kFifo,        // at once, the one freed first first: wrong
};

// The order in which a checkpoint is written.
enum class CheckpointOrder : uint8_t {
  kRight,        // tables, header, body, footer
  kFooterFirst,  // tables, header, footer, body: wrong
  kTablesLast,   // header, body, footer, tables: wrong
};

struct Config {
  unsigned block_size = 148;   // bytes
  unsigned segments = 60;      // of the main area, four blocks each
  unsigned nids = 16;          // nid 0 is none, nid 1 the root
  unsigned dentry_blocks = 4;  // of a directory at most
  unsigned user_blocks = 0;    // that files and nodes may use; 0: as many as leave enough for cleaning

  Reuse reuse = Reuse::kCheckpoint;
  bool bitmaps = true;  // off: one copy of SIT and NAT, updated in place; wrong
  CheckpointOrder order = CheckpointOrder::kRight;
  bool checkpoint_flush = true;  // off: no flush before the footer; wrong
  bool eager_dirs = false;       // directories go to the logs with each op, and not with the checkpoint
  bool rollforward = true;       // off: recovery ignores what was synced after the checkpoint; wrong

  // Few segments and nodes, one dentry block: a few ops fill it.
  static Config small();
  // The blocks that a user may fill.
  unsigned capacity() const;
};

// Segments that an op leaves free, so that deleting and cleaning are always possible.
inline constexpr unsigned kReservedSegments = 4;
// The least number that holds the logs, the reserve and what one op writes.
inline constexpr unsigned kLeastSegments = 14;

}  // namespace sisyfs::f2fs
