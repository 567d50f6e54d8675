// ToyTarget: a file system with two empty files, /a and /b, on a disk of five small blocks. For tests of the
// machine, the judges and the findings. It is right unless it is told to make a mistake.
//
//   DiskSetup setup = toy_setup();                           // a right one
//   DiskSetup wrong = toy_setup({.no_flush = true});         // one that loses what sync promised
//
// The disk:
//
//   block 0   a magic number
//   block 1   1 if /a is there        block 2   1 if /b is there
//   block 3   the files after a rename in flight, plus 4; 0 if there is none. Mount finishes such a rename.
//   block 4   a hint that no recovery needs; see ToyMistakes::hint
//
// An op flushes what earlier ops wrote and leaves its last write in the cache; sync flushes.
#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "disk/media.h"
#include "machine/recovery.h"
#include "machine/setup.h"
#include "target/target.h"

namespace sisyfs {

enum class ToyProblem : uint8_t { kNamed, kUnnamed, kHarmless };
inline constexpr ProblemKind kToyProblems[] = {
    {"M2", "lost-block", Severity::kCritical, "block {0} holds a hint", 0},
    {"X1", "odd-hint", Severity::kCritical, "the hint in block {0} is odd"},
    {"X2", "old-hint", Severity::kRepairable, "the hint in block {0} is old"},
};
inline constexpr const char* kToyMarks[] = {"mount finished a rename"};

// The cautious mode of the offline check. One that drops /b makes a mistake; one that repairs nothing says
// so.
enum class ToyPreen : uint8_t { kRight, kDropsB, kRefuses };

struct ToyMistakes {
  bool wrong_errno = false;   // unlink answers EPERM
  bool wrong_effect = false;  // create of /b removes /a
  bool hides_error = false;   // create answers 0 where a write fails, and does nothing
  bool no_flush = false;      // nothing is ever flushed
  bool no_mount = false;      // a disk with /b alone does not mount
  bool bad_walk = false;      // nor can such a disk be walked after a mount
  bool no_unmount = false;    // nor unmounted
  bool early_clear = false;   // mount forgets a rename in flight before it has finished it
  bool strays = false;        // create reads beyond the disk
  uint32_t fault = 0;         // create has this fault
  bool mount_dies = false;    // mount of a disk with /b alone dies
  // Habits, not mistakes: create and unlink set the hint and clear it again; create reads the hint first.
  bool hint = false;
  bool reads_hint = false;
  bool full = false;         // there is no space for a new file
  bool lazy_format = false;  // format does not flush
  // The offline check, if there is one, reports a hint as this problem, and whether it removes the hint.
  bool has_check = false;
  ToyProblem problem = ToyProblem::kNamed;
  bool repairs = true;
  bool repair_drops_b = false;  // a mistake: a repair takes /b with it
  ToyPreen preen = ToyPreen::kRight;
};

class ToyTarget : public Target,
                  public SavesMemory,
                  public ChecksOffline,
                  public NamesBlocks,
                  public FailsAllocations,
                  public HasFaults,
                  public ReachesMarks {
 public:
  static constexpr uint32_t kBlockSize = 16;
  static constexpr uint64_t kBlocks = 5;
  static constexpr uint8_t kA = 1, kB = 2;

  explicit ToyTarget(const ToyMistakes& mistakes) : mistakes_(mistakes) {}

  SavesMemory* saves_memory() override { return this; }
  ChecksOffline* checks_offline() override { return this; }
  NamesBlocks* names_blocks() override { return this; }
  FailsAllocations* fails_allocations() override { return this; }
  HasFaults* has_faults() override { return this; }
  ReachesMarks* reaches_marks() override { return this; }

  int format(Media& media) override {
    disk_ = &media;
    if (!put(0, kMagic)) return EIO;
    return mistakes_.lazy_format || media.flush() == IoStatus::kOk ? 0 : EIO;
  }

  int mount(Media& media) override {
    disk_ = &media;
    memory_ = {};
    uint8_t magic = 0, a = 0, b = 0, intent = 0;
    if (!get(0, magic) || !get(3, intent) || magic != kMagic) return EIO;
    if (intent != 0 && !finish(intent & 3)) return EIO;
    if (!get(1, a) || !get(2, b)) return EIO;
    memory_.files = static_cast<uint8_t>((a != 0 ? kA : 0) | (b != 0 ? kB : 0));
    memory_.b_alone = memory_.files == kB;
    if (memory_.b_alone && mistakes_.mount_dies) faults_ |= kDied;
    return memory_.b_alone && mistakes_.no_mount ? EIO : 0;
  }

  int unmount() override {
    const bool busy = memory_.b_alone && mistakes_.no_unmount;
    const bool flushed = flush();
    memory_ = {};
    return busy ? EBUSY : flushed ? 0 : EIO;
  }
  void power_cut() override { memory_ = {}; }

  OpResult apply(const Op& op) override {
    if (op.kind == OpKind::kSync) return OpResult::of(flush() ? 0 : EIO);
    if (op.kind == OpKind::kUnlink && mistakes_.wrong_errno) return OpResult::of(EPERM);
    Tree tree = tree_of(memory_.files);
    const OpResult result = sisyfs::apply(op, tree);
    if (result.error != 0) return result;
    if (op.kind == OpKind::kCreate) faults_ |= mistakes_.fault;
    if (fail_allocation_ == 1) {
      allocation_failed_ = true;
      return OpResult::of(ENOMEM);
    }
    uint8_t ignored = 0;
    if (op.kind == OpKind::kCreate && mistakes_.strays) (void)get(kBlocks, ignored);
    if (op.kind == OpKind::kCreate && mistakes_.reads_hint && !get(4, ignored)) return OpResult::of(EIO);
    if (op.kind == OpKind::kCreate && mistakes_.full) return OpResult::of(ENOSPC);
    uint8_t files = files_of(tree);
    if (files == 3 && op.kind == OpKind::kCreate && mistakes_.wrong_effect) files = kB;
    const bool hides = op.kind == OpKind::kCreate && mistakes_.hides_error;
    if (!change(files)) return OpResult::of(hides ? 0 : EIO);
    memory_.files = files;
    return result;
  }

  Walk walk() override {
    const int error = memory_.b_alone && mistakes_.bad_walk ? EIO : 0;
    return {error, Path("/b"), tree_of(memory_.files)};
  }

  Snapshot save() const override { return Snapshot(memory_); }
  void load(const Snapshot& snapshot, Media& media) override {
    disk_ = &media;
    memory_ = snapshot.empty() ? Memory() : snapshot.as<Memory>();
  }

  void fsck(Media& media, FsckMode mode, RepairReport* report) override {
    disk_ = &media;
    uint8_t hint = 0;
    if (!get(4, hint)) report->error = EIO;
    if (hint == 0) return;
    const bool preens = mode == FsckMode::kPreen;
    const bool repairs = mode == FsckMode::kRepair || (preens && mistakes_.preen != ToyPreen::kRefuses);
    const bool repaired = repairs && mistakes_.repairs && put(4, 0) && flush();
    if (repaired && (mistakes_.repair_drops_b || (preens && mistakes_.preen == ToyPreen::kDropsB)))
      (void)(put(2, 0) && flush());
    report->add(static_cast<uint16_t>(mistakes_.problem), repaired, {4});
  }

  std::string name_block(uint64_t address, Media&) const override {
    constexpr const char* kNames[kBlocks] = {"magic", "file a", "file b", "rename", "hint"};
    return address < kBlocks ? kNames[address] : "";
  }
  std::string describe_write(uint64_t address, std::span<const std::byte> bytes) const override {
    return address == 4 ? "" : std::to_string(static_cast<unsigned>(bytes[0]));
  }

  // Each op but sync allocates once.
  void fail_allocation(uint32_t number) override { fail_allocation_ = number, allocation_failed_ = false; }
  bool allocation_failed() const override { return allocation_failed_; }
  uint32_t take_faults() override {
    if (faults_ != 0) fault_text_ = "the toy has a fault";
    return std::exchange(faults_, 0);
  }
  std::string fault_text() const override { return fault_text_; }
  uint32_t take_marks() override { return std::exchange(marks_, 0); }

  // The tree with these files.
  static Tree tree_of(uint8_t files) {
    Tree tree;
    if ((files & kA) != 0) tree.make(kRootNode, "a", FileType::kFile);
    if ((files & kB) != 0) tree.make(kRootNode, "b", FileType::kFile);
    return tree;
  }

 private:
  static constexpr uint8_t kMagic = 0x54;
  struct Memory {
    uint8_t files = 0;
    uint8_t b_alone = 0;  // the last mount found /b and no /a
  };

  static uint8_t files_of(const Tree& tree) {
    return static_cast<uint8_t>((tree.child(kRootNode, "a") != kNoNode ? kA : 0) |
                                (tree.child(kRootNode, "b") != kNoNode ? kB : 0));
  }

  bool get(uint64_t block, uint8_t& value) {
    std::byte bytes[kBlockSize] = {};
    if (disk_->read(BlockAddress(block), bytes) != IoStatus::kOk) return false;
    value = static_cast<uint8_t>(bytes[0]);
    return true;
  }
  bool put(uint64_t block, uint8_t value) {
    const std::byte bytes[kBlockSize] = {static_cast<std::byte>(value)};
    return disk_->write(BlockAddress(block), bytes) == IoStatus::kOk;
  }
  bool flush() { return mistakes_.no_flush || disk_->flush() == IoStatus::kOk; }
  bool put_files(uint8_t files) { return put(1, files & kA) && put(2, files & kB); }

  // Brings the disk from the files in memory to these. If it fails, the old files stay.
  bool change(uint8_t files) {
    const auto changed = static_cast<uint8_t>(files ^ memory_.files);
    if (changed == 0) return true;
    if (changed == 3) return rename(files);
    const uint64_t block = changed == kA ? 1 : 2;
    if (!flush()) return false;
    if (mistakes_.hint && (!put(4, 1) || !flush())) return put(4, 0) && false;
    const bool done = put(block, files & changed);
    if (mistakes_.hint && !put(4, 0))
      return done && put(block, memory_.files & changed) && put(4, 0) && false;
    return done;
  }

  bool rename(uint8_t files) {
    if (!flush()) return false;
    const bool done = put(3, files | 4) && flush() && put_files(files) && flush() && put(3, 0);
    if (!done) (void)(put_files(memory_.files) && flush() && put(3, 0));
    return done;
  }

  // After a power cut.
  bool finish(uint8_t files) {
    marks_ |= 1;
    if (mistakes_.early_clear) return put(3, 0) && flush() && put_files(files) && flush();
    return put_files(files) && flush() && put(3, 0) && flush();
  }

  ToyMistakes mistakes_;
  Memory memory_;
  Disk* disk_ = nullptr;
  uint32_t fail_allocation_ = 0;
  bool allocation_failed_ = false;
  uint32_t faults_ = 0;
  std::string fault_text_;
  uint32_t marks_ = 0;
};

inline TargetKind toy_kind(const ToyMistakes& mistakes = {}) {
  TargetKind kind;
  kind.ops = OpSet(OpKind::kCreate, OpKind::kUnlink, OpKind::kRename, OpKind::kSync, OpKind::kRemount);
  kind.disks = {.block_size = ToyTarget::kBlockSize, .block_count = BlockCount(ToyTarget::kBlocks)};
  kind.limits.fixed_names = {"a", "b"};
  kind.words = {kToyProblems, kToyMarks};
  kind.has_fsck = mistakes.has_check;
  kind.faults = mistakes.fault | (mistakes.mount_dies ? uint32_t{kDied} : 0);
  kind.make = [mistakes] { return std::make_unique<ToyTarget>(mistakes); };
  return kind;
}

// Every order of the writes between two flushes is possible. Without remounts.
inline DiskSetup toy_setup(const ToyMistakes& mistakes = {}) {
  DiskSetup setup;
  setup.kind = toy_kind(mistakes);
  setup.bounds.ops = OpSet(OpKind::kCreate, OpKind::kUnlink, OpKind::kRename, OpKind::kSync);
  setup.bounds.max_files = 2;
  return setup;
}

// What a machine needs besides its setup.
struct ToyRig {
  explicit ToyRig(DiskSetup s = toy_setup())
      : setup(std::move(s)), bounds(bounds_for(setup.kind, setup.bounds)), blank(setup.kind.disks) {
    rules.named = 1;
    rules.critical = 3;
    rules.report_repaired = setup.recovery.report_repaired;
  }
  DiskSetup setup;
  Bounds bounds;
  CheckRules rules;
  Image blank;
};

}  // namespace sisyfs
