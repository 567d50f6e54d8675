// FiSC's five perspectives (6.3): each planted bug is reported for the most reliable device that shows it.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "models/f2fs/check.h"
#include "models/journal/check.h"

namespace sisyfs::perspectives_test {
namespace {

using Settings = std::vector<std::string>;

uint32_t findings_of(DiskSetup setup, uint32_t depth) {
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check) << check.error().message;
  SearchOptions options;
  options.bounds.depth = depth;
  return catalogued_search(**check, options).findings;
}

// The first perspective that has a finding, or "none".
template <class SetupFor>
std::string simplest(SetupFor setup_for, uint32_t depth) {
  for (const DevicePreset& perspective : DeviceModel::perspectives())
    if (findings_of(setup_for(std::string(perspective.name)), depth) != 0)
      return std::string(perspective.name);
  return "none";
}

DiskSetup setup_of(bool f2fs, Settings settings, const std::string& device) {
  settings.push_back("device=" + device);
  for (const char* small : {"files=1", "dirs=1", "depth=1", "write=1", "crash=subsets"})
    settings.emplace_back(small);
  const Result<Options> options =
      Options::parse(f2fs ? f2fs::option_specs() : journal::option_specs(), settings);
  EXPECT_TRUE(options);
  Result<DiskSetup> setup = f2fs ? f2fs::setup_of(*options) : journal::setup_of(*options);
  EXPECT_TRUE(setup);
  return *std::move(setup);
}

struct Planted {
  bool f2fs;
  Settings settings;
  uint32_t depth;
  const char* simplest;

  friend void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.settings[0]; }
};

// A record of three blocks, written at once, and what makes recovery take it for whole.
enum class Whole { kAll, kFirst, kEnds };

// Each op writes such a record, and recovery reads it: a mixture that it takes for whole cannot be mounted.
class ThreeBlocks : public Target, public SavesMemory {
 public:
  explicit ThreeBlocks(Whole whole) : whole_(whole) {}
  SavesMemory* saves_memory() override { return this; }
  int format(Media&) override { return 0; }
  int mount(Media& disk) override {
    disk_ = &disk;
    files_ = 0;
    std::array<std::byte, 48> record{};
    if (disk.read(BlockAddress(0), record) != IoStatus::kOk) return EIO;
    const std::byte a = record[0], b = record[16], c = record[32];
    const bool taken = whole_ == Whole::kAll ? a == b && b == c : whole_ == Whole::kFirst || a == c;
    return taken && !(a == b && b == c) ? EIO : 0;
  }
  int unmount() override { return 0; }
  void power_cut() override { files_ = 0; }
  OpResult apply(const Op& op) override {
    const std::array<std::byte, 48> record = [&] {
      std::array<std::byte, 48> bytes{};
      bytes.fill(static_cast<std::byte>(files_ + 1));
      return bytes;
    }();
    EXPECT_EQ(disk_->write(BlockAddress(0), record), IoStatus::kOk);
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

 private:
  Whole whole_;
  Disk* disk_ = nullptr;
  uint8_t files_ = 0;
  std::array<Path, 2> names_{Path("/a"), Path("/b")};
};

std::string simplest_of_three_blocks(Whole whole) {
  return simplest(
      [=](const std::string& device) {
        DiskSetup setup;
        setup.kind.ops = OpSet(OpKind::kCreate);
        setup.kind.claims.contract = Contract::kStructure;
        setup.kind.disks = {.block_size = 16, .block_count = BlockCount(3)};
        setup.kind.make = [=] { return std::make_unique<ThreeBlocks>(whole); };
        setup.bounds.names = {"a", "b"};
        setup.bounds.max_files = 1;
        setup.recovery.usability = false;
        setup.cuts.device = DeviceModel::preset(device)->fitted_to(setup.kind.disks);
        return setup;
      },
      1);
}

TEST(PerspectivesTest, ARecordThatIsWrittenAtOnceMayTear) {
  EXPECT_EQ(simplest_of_three_blocks(Whole::kAll), "none");
  EXPECT_EQ(simplest_of_three_blocks(Whole::kFirst), "torn") << "its beginning was taken for all of it";
  EXPECT_EQ(simplest_of_three_blocks(Whole::kEnds), "scattered") << "its two ends were taken for all of it";
}

class PlantedInPerspectiveTest : public testing::TestWithParam<Planted> {};

TEST_P(PlantedInPerspectiveTest, IsToldInTheSimplest) {
  const Planted& planted = GetParam();
  EXPECT_EQ(
      simplest([&](const std::string& device) { return setup_of(planted.f2fs, planted.settings, device); },
               planted.depth),
      planted.simplest)
      << planted.settings[0];
}

// Two right models, and what is wrong with the others.
INSTANTIATE_TEST_SUITE_P(
    Models, PlantedInPerspectiveTest,
    testing::Values(
        Planted{false, {"mode=ordered", "nesting=1"}, 3, "none"},
        Planted{true, {"reuse=checkpoint"}, 2, "none"},
        // The device keeps order, and something is forgotten, or comes too early.
        Planted{false, {"commit_barrier=no-after"}, 3, "ordered"},
        Planted{false, {"commit_barrier=none"}, 3, "ordered"},
        Planted{false, {"clean_flag=early"}, 3, "ordered"}, Planted{false, {"fsync_size=off"}, 3, "ordered"},
        Planted{false, {"fsync_parent=off"}, 3, "ordered"}, Planted{false, {"sync_bitmap=off"}, 3, "ordered"},
        Planted{true, {"cp_order=footer-first"}, 3, "ordered"},
        Planted{true, {"cp_order=tables-last"}, 2, "ordered"},
        Planted{true, {"rollforward=off"}, 2, "ordered"},
        // One flush is missing.
        Planted{false, {"commit_barrier=no-before"}, 3, "disk"}, Planted{false, {"record=ends"}, 3, "disk"},
        Planted{false, {"fsck_flush=off", "nesting=1"}, 3, "disk"},
        Planted{false, {"replay_flush=off", "fsck=off", "nesting=1"}, 3, "disk"},
        Planted{true, {"cp_flush=off"}, 2, "disk"}));

}  // namespace
}  // namespace sisyfs::perspectives_test
