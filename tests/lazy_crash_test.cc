// Compares lazy with eager crash states, on correct models and on models with bugs.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "judge/disk_system.h"
#include "models/f2fs/check.h"
#include "models/flash/check.h"
#include "models/journal/check.h"
#include "models/mapping/check.h"

namespace sisyfs::lazy_crash_test {
namespace {

using Settings = std::vector<std::string>;

DiskSetup setup_of(const std::string& target, const Settings& settings) {
  const bool mapping = target == "link" || target == "index";
  const auto specs = mapping             ? mapping::option_specs()
                     : target == "f2fs"  ? f2fs::option_specs()
                     : target == "flash" ? flash::option_specs()
                                         : journal::option_specs();
  const Result<Options> options = Options::parse(specs, settings);
  EXPECT_TRUE(options);
  if (mapping)
    return mapping::disk_setup_of(target == "link" ? mapping::Model::kLink : mapping::Model::kIndex,
                                  *options);
  Result<DiskSetup> setup = target == "f2fs"    ? f2fs::setup_of(*options)
                            : target == "flash" ? flash::setup_of(*options)
                                                : journal::setup_of(*options);
  EXPECT_TRUE(setup);
  return *std::move(setup);
}

// What power cuts bring about on all paths of so many steps: what is found, and what comes back.
struct Outcomes {
  std::set<std::pair<FindingBits, Digest>> all;
  FindingBits findings = 0;
  uint64_t crash_states = 0, recoveries = 0, images = 0, left_out = 0, states = 0;
};

struct Gather {
  const DiskSystem& system;
  Outcomes& out;
  std::set<Digest>& seen;
  std::vector<DiskSystemState>& next_states;
  DiskSystemState scratch;

  DiskSystemState& next() { return scratch; }
  void commit(Choice choice, const Outcome& outcome) {
    const FindingBits findings = catalogue_bits(system.workers().plan().kinds.in(outcome.findings));
    out.findings |= findings;
    (void)choice;
    const Digest tree = scratch.over ? Digest{} : scratch.expectation.now().digest();
    out.all.emplace(findings, tree);
    if (!scratch.over && seen.insert(scratch.print).second) next_states.push_back(scratch);
  }
};

Outcomes outcomes(const std::string& target, Settings settings, const std::string& crash, uint32_t depth) {
  settings.push_back("crash=" + crash);
  DiskSetup setup = setup_of(target, settings);
  setup.cuts.enumeration.max_states = UINT64_MAX;
  const Result<DiskSystem> system = DiskSystem::make(std::move(setup));
  EXPECT_TRUE(system);
  Outcomes out;
  std::set<Digest> seen;
  std::vector<DiskSystemState> now(1), later;
  system->initial(now[0]);
  for (uint32_t step = 0; step < depth; ++step) {
    later.clear();
    for (const DiskSystemState& state : now) {
      Gather sink{*system, out, seen, later, {}};
      system->expand(state, sink);
    }
    now.swap(later);
  }
  out.states = seen.size();
  out.crash_states = system->workers().stood_for();
  out.recoveries = system->workers().runs();
  out.images = system->workers().images();
  out.left_out = system->workers().left_out();
  return out;
}

struct Case {
  std::string target;
  Settings settings;
  uint32_t depth;

  friend void PrintTo(const Case& c, std::ostream* out) {
    *out << c.target;
    for (const std::string& setting : c.settings) *out << ' ' << setting;
  }
};

std::vector<Case> cases() {
  const Settings tiny = {"via=disk", "files=2", "blocks=3"};
  const auto with = [](Settings a, const Settings& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  std::vector<Case> all;
  for (const char* target : {"link", "index"}) {
    for (const char* order : {"order=naive", "order=pointed"})
      for (const char* cache : {"cache=off", "cache=flush"})
        all.push_back({target, with(tiny, {order, cache}), 4});
  }
  const Settings small = {"files=1", "dirs=1", "depth=1", "write=1"};
  for (const char* setting : {"mode=ordered",
                              "mode=writeback",
                              "mode=data",
                              "record=ends",
                              "record=tagged",
                              "commit_barrier=no-before",
                              "commit_barrier=no-after",
                              "commit_barrier=none",
                              "clean_flag=early",
                              "fsck_map=forget",
                              "fsync_parent=off",
                              "fsync_size=off",
                              "sync_bitmap=off",
                              "revoke=off",
                              "reuse_type=confused",
                              "replay_flush=off",
                              "fsck_flush=off",
                              "abort_leak=on",
                              "fsck_dir=drop",
                              "error_ino=stored"})
    all.push_back({"journal", with(small, {setting}), 3});
  all.push_back({"journal", with(small, {"osync=data", "sync_writes=on"}), 3});
  all.push_back({"journal", with(small, {"lookup_error=absent", "failures=1"}), 2});
  for (const char* setting :
       {"reuse=checkpoint", "reuse=lifo", "reuse=fifo", "bitmaps=off", "cp_order=footer-first",
        "cp_order=tables-last", "cp_flush=off", "rollforward=off"})
    all.push_back({"f2fs", with(small, {setting}), 2});
  // Raw flash; small units, so that each third op cleans.
  const Settings narrow = {"units=2", "inodes=1", "files=1"};
  for (const Settings& setting :
       {Settings{}, Settings{"checksum=off"}, Settings{"erased=first"}, Settings{"flash=nor"},
        Settings{"flash=nor", "checksum=off", "program=4"}, Settings{"flash=nor", "torn_bits=on"},
        Settings{"flash=nor", "commit=mark", "torn_bits=on"}, Settings{"flash=nor", "commit=mark-first"},
        Settings{"erase_cycles=2"}, Settings{"erase_cycles=2", "bad_unit=program-error"},
        Settings{"erase_cycles=2", "bad_unit=program-noop"}, Settings{"flash=nor", "erase_cycles=2"},
        Settings{"refused=ignore-erase", "erase_cycles=2"}})
    all.push_back({"flash", with(narrow, setting), 4});
  all.push_back({"flash", {"bad_units=1"}, 3});
  return all;
}

class LazyCrash : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Models, LazyCrash, testing::ValuesIn(cases()));

TEST_P(LazyCrash, FindsWhatEveryCrashStateByItselfFinds) {
  const char* each = GetParam().target == "flash" ? "flash" : "subsets";
  const Outcomes eager = outcomes(GetParam().target, GetParam().settings, each, GetParam().depth);
  const Outcomes lazy = outcomes(GetParam().target, GetParam().settings, "lazy", GetParam().depth);
  ASSERT_EQ(eager.left_out, 0u) << "the bound lets the eager one see everything";
  EXPECT_EQ(lazy.left_out, 0u);
  EXPECT_EQ(lazy.findings, eager.findings);
  EXPECT_EQ(lazy.all, eager.all) << "the same findings with the same trees";
  // A page of raw flash may come back to a content in the course of an erase, so some lazy runs see the same.
  EXPECT_TRUE(lazy.recoveries <= eager.images || GetParam().target == "flash");
}

// Performs an op by its words, to its end.
void perform(const DiskSystem& system, DiskSystemState& state, const std::string& words) {
  WorkerPool::Lease rig(system.workers());
  rig->begin(state);
  for (uint32_t op = 0; op < rig->ops().size(); ++op) {
    if (to_text(rig->ops()[op].op) != words) continue;
    DiskSystemState next;
    ASSERT_TRUE(rig->follow(state, DiskMove{.op = op}, next));
    state = next;
    return;
  }
  FAIL() << "no op " << words;
}

// Three long writes that no flush follows: more than sixty blocks in doubt at once.
TEST(LazyCrash, SixtyBlocksInDoubtAreExhausted) {
  const Result<DiskSystem> system =
      DiskSystem::make(setup_of("f2fs", {"write=22", "files=3", "dirs=0", "one_write=off", "crash=lazy"}));
  ASSERT_TRUE(system);
  DiskSystemState state;
  system->initial(state);
  for (const char* name : {"a", "b", "c"}) perform(*system, state, std::string("create /") + name);
  for (const char* name : {"a", "b", "c"}) perform(*system, state, std::string("append /") + name + " 3256");
  Outcomes out;
  std::set<Digest> seen;
  std::vector<DiskSystemState> later;
  Gather sink{*system, out, seen, later, {}};
  system->expand(state, sink);
  EXPECT_EQ(out.findings, 0u);
  EXPECT_EQ(system->workers().left_out(), 0u);
  EXPECT_GE(system->workers().stood_for(), uint64_t{1} << 60);
  EXPECT_LT(system->workers().runs(), 5000u);
}

// A system that keeps the names of up to two files in memory, and on its disk one byte in each of three
// blocks.
class FewBytes : public Target, public SavesMemory {
 public:
  SavesMemory* saves_memory() override { return this; }
  int unmount() override { return 0; }
  void power_cut() override { files_ = 0; }
  OpResult apply(const Op& op) override {
    change();
    names_[files_++] = op.path;
    return {};
  }
  Walk walk() override {
    Walk walk;
    for (uint8_t f = 0; f < files_; ++f)
      walk.tree.make(kRootNode, names_[f].text().substr(1), FileType::kFile);
    return walk;
  }
  Snapshot save() const override { return Snapshot(files_, Digest{1, files_}); }
  void load(const Snapshot& snapshot, Media& disk) override {
    disk_ = &disk;
    files_ = snapshot.empty() ? 0 : snapshot.as<uint8_t>();
    names_ = {Path("/a"), Path("/b")};
  }

 protected:
  // What an op does to the disk.
  virtual void change() = 0;
  uint8_t get(uint64_t block) {
    std::byte bytes[16];
    EXPECT_EQ(disk_->read(BlockAddress(block), bytes), IoStatus::kOk);
    return static_cast<uint8_t>(bytes[0]);
  }
  void put(uint64_t block, uint8_t value) {
    const std::byte bytes[16] = {static_cast<std::byte>(value)};
    EXPECT_EQ(disk_->write(BlockAddress(block), bytes), IoStatus::kOk);
  }

  Disk* disk_ = nullptr;
  uint8_t files_ = 0;
  std::array<Path, 2> names_{Path("/a"), Path("/b")};
};

SearchResult search_few_bytes(std::function<std::unique_ptr<Target>()> make, bool lazy, uint32_t depth,
                              uint32_t nesting) {
  DiskSetup setup;
  setup.kind.ops = OpSet(OpKind::kCreate);
  setup.kind.claims.contract = Contract::kStructure;
  setup.kind.disks = {.block_size = 16, .block_count = BlockCount(3)};
  setup.kind.make = std::move(make);
  setup.bounds.names = {"a", "b"};
  setup.bounds.max_files = 2;
  setup.recovery.usability = false;
  setup.cuts.lazy = lazy;
  setup.cuts.nesting = nesting;
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = depth;
  return catalogued_search(**check, options);
}

// Does not look at a block before its third mount, and then chokes on one of its contents: what the first
// recovery left open must still be open for the second.
class LooksLater : public FewBytes {
 public:
  static constexpr uint8_t kOld = 7, kNew = 9;
  explicit LooksLater(uint8_t chokes_on) : chokes_on_(chokes_on) {}
  int format(Media& disk) override {
    disk_ = &disk;
    put(1, kOld);
    return 0;
  }
  int mount(Media& disk) override {
    disk_ = &disk;
    files_ = 0;
    const uint8_t mounts = get(0);
    if (mounts >= 2 && get(2) == kNew && get(1) == chokes_on_) return EIO;
    put(0, static_cast<uint8_t>(mounts + 1));
    return disk.flush() == IoStatus::kOk ? 0 : EIO;
  }

 private:
  // Before the first power cut the block is written, and no flush follows. Later something is, to be cut.
  void change() override {
    if (get(0) >= 2) return put(0, get(0));
    put(2, kNew);
    (void)disk_->flush();
    put(1, kNew);
  }

  uint8_t chokes_on_;
};

TEST(LazyCrash, WhatTheFirstRecoveryDidNotReadIsOpenForTheSecond) {
  for (const uint8_t chokes_on : {LooksLater::kOld, LooksLater::kNew}) {
    for (const bool lazy : {false, true}) {
      const auto make = [=] { return std::make_unique<LooksLater>(chokes_on); };
      const SearchResult result = search_few_bytes(make, lazy, 3, 0);
      EXPECT_EQ(result.findings, bit(FindingKind::kNotMountable)) << int{chokes_on} << ' ' << lazy;
      EXPECT_EQ(result.least_depth[static_cast<size_t>(FindingKind::kNotMountable)], 2u);
    }
  }
}

TEST(NestedCrash, WhatTheFirstRecoveryDidNotReadIsOpenAfterAPowerCutInIt) {
  for (const uint8_t chokes_on : {LooksLater::kOld, LooksLater::kNew}) {
    for (const bool lazy : {false, true}) {
      const auto make = [=] { return std::make_unique<LooksLater>(chokes_on); };
      EXPECT_EQ(search_few_bytes(make, lazy, 1, 0).findings, 0u);
      EXPECT_EQ(search_few_bytes(make, lazy, 1, 1).findings, bit(FindingKind::kNotMountable))
          << int{chokes_on} << ' ' << lazy;
    }
  }
}

// Recovers in steps, each of them flushed, and cannot go on from one of them.
class RecoversInSteps : public FewBytes {
 public:
  explicit RecoversInSteps(uint8_t chokes_on) : chokes_on_(chokes_on) {}
  int format(Media&) override { return 0; }
  int mount(Media& disk) override {
    disk_ = &disk;
    files_ = 0;
    uint8_t step = get(0);
    if (step == chokes_on_) return EIO;
    for (; step != 0; put(0, step)) {
      if (disk.flush() != IoStatus::kOk) return EIO;
      step = static_cast<uint8_t>((step + 1) % kSteps);
    }
    return disk.flush() == IoStatus::kOk ? 0 : EIO;
  }
  static constexpr uint8_t kSteps = 5;

 private:
  void change() override { put(0, 1); }
  uint8_t chokes_on_;
};

TEST(NestedCrash, EveryMomentOfRecoveryIsCut) {
  for (uint8_t chokes_on = 2; chokes_on < RecoversInSteps::kSteps; ++chokes_on) {
    for (const bool lazy : {false, true}) {
      const auto make = [=] { return std::make_unique<RecoversInSteps>(chokes_on); };
      EXPECT_EQ(search_few_bytes(make, lazy, 1, 0).findings, 0u);
      EXPECT_EQ(search_few_bytes(make, lazy, 1, 1).findings, bit(FindingKind::kNotMountable))
          << int{chokes_on} << ' ' << lazy;
    }
  }
}

// FiSC's bugs in recovery: the journal is cleared before what was replayed is durable.
TEST(NestedCrash, ReplayThatForgetsToFlushNeedsAPowerCutInRecovery) {
  for (const Settings& wrong : {Settings{"replay_flush=off", "fsck=off"}, Settings{"fsck_flush=off"}}) {
    for (const char* nesting : {"nesting=0", "nesting=1"}) {
      Settings settings = wrong;
      settings.insert(settings.end(), {"files=1", "dirs=1", "depth=1", "write=1", nesting});
      const bool nested = std::string(nesting) == "nesting=1";
      const FindingBits findings = outcomes("journal", settings, "lazy", 3).findings;
      EXPECT_EQ((findings & bit(FindingKind::kNotRepeatable)) != 0, nested) << wrong[0] << ' ' << nesting;
      EXPECT_EQ((findings & bit(FindingKind::kNotAllowed)) != 0, nested) << wrong[0] << ' ' << nesting;
    }
  }
}

TEST(NestedCrash, TheRightModelsSurviveItInEachMode) {
  for (const char* mode : {"mode=ordered", "mode=writeback", "mode=data"}) {
    for (const char* fsck : {"fsck=full", "fsck=fast", "fsck=off"}) {
      const Outcomes out = outcomes(
          "journal", {mode, fsck, "nesting=2", "files=1", "dirs=1", "depth=1", "write=1"}, "lazy", 3);
      EXPECT_EQ(out.findings, 0u) << mode << ' ' << fsck;
      EXPECT_EQ(out.left_out, 0u);
    }
  }
}

// FiSC, 6.1: where recovery has changed nothing that it read, it does the same again.
TEST(NestedCrash, WhatIsPassedOverFindsNothing) {
  uint64_t with_rule = 0, without = 0;
  for (const char* wrong : {"replay_flush=on", "replay_flush=off", "fsck_flush=off", "commit_barrier=none"}) {
    for (const char* crash : {"lazy", "prefixes"}) {
      const Settings settings = {wrong, "nesting=1", "files=1", "dirs=1", "depth=1", "write=1"};
      Settings all = settings;
      all.push_back("all_nested=on");
      const Outcomes pruned = outcomes("journal", settings, crash, 3);
      const Outcomes full = outcomes("journal", all, crash, 3);
      EXPECT_EQ(pruned.findings, full.findings) << wrong << ' ' << crash;
      EXPECT_EQ(pruned.all, full.all) << wrong << ' ' << crash;
      with_rule += pruned.crash_states;
      without += full.crash_states;
    }
  }
  EXPECT_LT(with_rule, without);
}

}  // namespace
}  // namespace sisyfs::lazy_crash_test
