// The offline check of the F2FS model: properties 5.6 to 5.10 of the thesis, by its algorithm 5.
//
// It checks the newest complete checkpoint and ignores what was written after it: a mount starts from the
// checkpoint, which must be consistent by itself. Every number on the disk is compared with its range before
// use, and no node is visited twice, so the check ends on any disk.
//
//   Fsck(config).run(disk, FsckMode::kRepair, &report);
//
// Repair keeps what can be reached from the root through sound nodes and entries, drops every other pointer,
// rebuilds the tables from that, and writes a checkpoint. Files that were synced after the old checkpoint are
// lost then. A disk without a complete checkpoint cannot be repaired: the report says EIO.
#pragma once

#include <bitset>

#include "models/f2fs/core.h"
#include "target/target.h"

namespace sisyfs::f2fs {

// Positions in kProblems.
enum ProblemNumber : uint16_t {
  kDeadBlock,
  kWrongCount,
  kLostBlock,
  kBlockNowhere,
  kLogInUse,
  kDoubleData,
  kDoubleNode,
  kDeadNode,
  kSharedNode,
  kNodeNowhere,
  kNodeNotValid,
  kNoSuchNode,
  kBadEntry,
  kBadInode,
  kBadSummary,
  kRootNowhere,
  kNoRoot,
  kNoRootEntries,
};
extern const std::span<const ProblemKind> kProblems;

class Fsck : private Core {
 public:
  explicit Fsck(const Config& config) : Core(config) {}

  void run(Disk& disk, FsckMode mode, RepairReport* report);

 private:
  static constexpr unsigned kMainBlocks = kMaxSegments * kSegmentBlocks;

  // One pass over everything. The first pass reports and the second repairs; both make the same decisions.
  void walk();
  bool visit_node(Nid nid, Nid ino, unsigned offset, NodeKind kind, bool directory, Node* out);
  bool visit_data(Nid ino, unsigned block, Address address, Summary owner);
  void visit_pointers(Nid holder, const Node& node, Nid ino, unsigned limit);
  bool visit_inode(Nid ino, Nid parent, std::string_view name, bool directory);
  void visit_entries(Nid directory, unsigned* subdirectories);
  bool visit_entry(Nid directory, const DentryBlock& block, unsigned entry, unsigned* subdirectories);

  void check_tables();
  void check_counts();
  void check_summaries();
  void repair();
  void say(ProblemNumber problem, std::array<int64_t, 4> context);
  unsigned main_index(Address a) const {
    return layout_.segment_of(a) * kSegmentBlocks + layout_.offset_of(a);
  }
  bool is_valid(Address a) const {
    return (memory_.valid[layout_.segment_of(a)] >> layout_.offset_of(a) & 1) != 0;
  }

  RepairReport* report_ = nullptr;
  bool mending_ = false;
  bool will_mend_ = false;
  std::bitset<kMainBlocks> seen_;
  std::array<Summary, kMainBlocks> owners_{};
  NidSet seen_nids_ = 0;
};

}  // namespace sisyfs::f2fs
