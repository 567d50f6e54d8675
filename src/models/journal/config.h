// The configuration of the journal model: its size, its mode, and switches whose wrong values are planted
// bugs.
//
//   journal::Config config;
//   config.revoke = false;   // replay writes an old directory block over the file that has the block now
#pragma once

#include <cstdint>

namespace sisyfs::journal {

inline constexpr unsigned kMaxDataBlocks = 64, kMaxInodes = 16, kMaxJournal = 32;
inline constexpr unsigned kLeastDataBlocks = 2, kLeastInodes = 3, kLeastJournal = 14;

// What goes into the journal, as the mount option of ext3 has it.
enum class Mode : uint8_t {
  kOrdered,    // metadata; data is on the disk before the metadata that leads to it
  kWriteback,  // metadata; data is written at any time
  kData,       // everything
};

// How replay knows that a record of the journal is complete.
enum class Record : uint8_t {
  kBarrier,  // its commit block, which follows a flush
  kTagged,   // a check in its descriptors for each block: no flush is needed
  kEnds,     // the sequence number in its first and its last block, and no flush: wrong
};

// The flushes around the commit block.
enum class CommitBarrier : uint8_t { kBoth, kNoBefore, kNoAfter, kNone };

// How the system recovers after a power cut.
enum class Recovery : uint8_t {
  kFull,   // fsck replays the journal and checks everything; then the mount
  kFast,   // fsck replays the journal and checks nothing else; then the mount
  kMount,  // the mount replays the journal
};

struct Config {
  unsigned blocks = 48;   // of the data area
  unsigned inodes = 16;   // inode 0 is none, inode 1 the root
  unsigned journal = 24;  // blocks, its superblock included
  Mode mode = Mode::kOrdered;
  bool sync_mount = false;  // every op is durable when it returns
  Recovery recovery = Recovery::kFull;
  // An open file may lose its last name and lives on as an orphan. The reference refuses that, and so does
  // the target; only the core knows it.
  bool orphans = false;

  Record record = Record::kBarrier;
  CommitBarrier commit_barrier = CommitBarrier::kBoth;
  bool replay_flush = true;  // off: mount clears the journal before what it replayed is durable
  struct {
    bool flushes = true;     // off: fsck clears the journal before what it replayed is durable
    bool drops = false;      // on: fsck empties a directory for one bad entry
    bool writes_map = true;  // off: fsck does not write the maps that it has right in its memory
  } fsck;
  bool early_clean = false;  // on: unmount marks the system clean before it is
  bool abort_leak = false;   // on: an op that fails leaves its entry in the directory
  bool store_error = false;  // on: an errno becomes the inode number of an entry
  struct {
    bool parent = true;  // off: fsync of a file does not commit directories
    bool size = true;    // off: fsync commits the inode with the size that it had before
  } fsync;
  bool reuse_checked = true;   // off: replay takes a file for the directory whose inode it has now
  bool sync_bitmap = true;     // off: sync does not write the maps
  bool osync_metadata = true;  // off: a synchronous write commits no metadata
  bool revoke = true;          // off: replay ignores revoke records
  bool lookup_error = true;    // off: a block of a directory that cannot be read has no entries
};

}  // namespace sisyfs::journal
