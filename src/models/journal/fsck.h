// The offline check of the journal model, in the passes of e2fsck: inodes and blocks, directories,
// connectivity, link counts, bitmaps.
//
// Repair first replays the journal, unless the superblock says that it is clean; the fast repair ends there.
// A check that may not write checks the disk as it would be after the replay. Every number on the disk is
// compared with its range before use, and no directory is entered twice, so the check ends on any disk.
//
//   Fsck(config).run(disk, FsckMode::kRepair, &report);
//
// Repair keeps what can be reached from the root through valid inodes and entries, and frees the rest; there
// is no lost+found. A disk without valid superblocks or a root directory cannot be repaired: the report says
// EIO.
#pragma once

#include <span>

#include "models/journal/core.h"
#include "target/target.h"

namespace sisyfs::journal {

// Positions in kProblems.
enum ProblemNumber : uint16_t {
  kDeadBlock,
  kLostBlock,
  kBlockNowhere,
  kDoubleBlock,
  kUnusedInode,
  kUnreached,
  kLostInode,
  kBadEntry,
  kSecondName,
  kBadInode,
  kWrongLinks,
  kWrongParent,
  kNamedOrphan,
};
extern const std::span<const ProblemKind> kProblems;

class Fsck : private Core {
 public:
  explicit Fsck(const Config& config) : Core(config) {}
  using Core::take_marks;

  void run(Disk& disk, FsckMode mode, RepairReport* report);

 private:
  void check();
  void load_inodes();
  void say(ProblemNumber problem, std::array<int64_t, 4> context);
  bool is_good(const Inode& inode) const;
  // Whether the pointer is valid; marks the block as used.
  bool claim(Ino ino, unsigned block, Address address);
  void claim_blocks(Ino ino);
  void unclaim_blocks(Ino ino);
  void visit(Ino directory);
  bool visit_entry(Ino directory, const DirectoryBlock& block, unsigned entry, unsigned index);
  bool name_is_new(Ino directory, const Entry& entry, unsigned index);
  bool has_bad_entry(Ino directory);
  void empty_directory(Ino directory);
  void check_connected();
  void check_links();
  void check_maps();
  void write_back();
  bool mends() const { return mode_ == FsckMode::kRepair; }

  FsckMode mode_ = FsckMode::kCheck;
  RepairReport* report_ = nullptr;
  std::array<Inode, kMaxInodes> inodes_;
  std::array<uint8_t, kMaxInodes> names_;           // entries that lead to an inode
  std::array<uint8_t, kMaxInodes> subdirectories_;  // of a directory
  uint64_t used_ = 0;                               // data blocks that a pointer refers to
  InoSet changed_ = 0;                              // inodes to write
  bool maps_changed_ = false;
};

}  // namespace sisyfs::journal
