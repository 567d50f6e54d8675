// A toy file system whose repair is a program: power cuts in it, accesses of it that fail, and the two ways
// in which such a program may forget to flush.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "adapters/kernel/repair.h"
#include "adapters/kernel/tool.h"
#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "machine/marks.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs::repair_tool_cuts_test {
namespace {

constexpr const char* kDiskTool = SISYFS_PLUGIN_DIR "/disk_tool";

enum class Mends : uint8_t {
  kRight,          // what the log says, a flush, then the log is emptied, and a flush
  kForgetsFlush,   // without the flush between the two
  kNeverFlushes,   // likewise, and without the one at the end
  kClearsAtFirst,  // the log is emptied before what it says is written; without power cuts that is as good
};

// A toy whose rename in flight is finished by a tool, which works on block 3, the log, and 1 and 2.
class MendedToy : public ToyTarget {
 public:
  explicit MendedToy(Mends mends) : ToyTarget({.has_check = true}), mends_(mends) {}

  int mount(Media& media) override {
    // As a helper of mount does, which looks at the log.
    if (run(media, FsckMode::kCheck, "read:48:16") != 0) return EIO;
    return ToyTarget::mount(media);
  }

  void fsck(Media& media, FsckMode mode, RepairReport* report) override {
    std::byte log[kBlockSize] = {};
    if (media.read(BlockAddress(3), log) != IoStatus::kOk) {
      report->error = EIO;
      return;
    }
    if (log[0] == std::byte{0}) return;
    const auto files = static_cast<unsigned>(log[0]) & 3;
    if (mode == FsckMode::kCheck)
      report->add(2, false, {3});
    else if (run(media, mode, script(files)) != 0)
      report->error = EIO;
    else
      report->add(2, true, {3});
  }

 private:
  std::string script(unsigned files) const {
    const std::string write = std::string((files & kA) != 0 ? "pwrite:16:16:x" : "punch:16:16") + " " +
                              ((files & kB) != 0 ? "pwrite:32:16:x" : "punch:32:16") + " ";
    const std::string clear = "punch:48:16 ";
    switch (mends_) {
      case Mends::kRight:
        return write + "fsync " + clear + "fsync";
      case Mends::kForgetsFlush:
        return write + clear + "fsync";
      case Mends::kNeverFlushes:
        return write + clear;
      case Mends::kClearsAtFirst:
        return clear + "fsync " + write + "fsync";
    }
    return {};
  }
  int run(Media& media, FsckMode mode, const std::string& script) {
    if (watched_ == nullptr) watched_ = *WatchedDisk::make(media.geometry());
    watched_->attach(media);
    std::vector<std::string> words = words_of(std::string(kDiskTool) + " " + script);
    words.emplace_back(kToolImage);
    const Result<ToolRun> ran = watched_->run(words, mode, std::chrono::seconds(20));
    return ran && ran->ended && ran->exit == 0 && !watched_->failed() ? 0 : EIO;
  }

  const Mends mends_;
  std::unique_ptr<WatchedDisk> watched_;
};

SearchResult search(Mends mends, uint32_t nesting, bool lazy = false, uint32_t failures = 0) {
  DiskSetup setup = toy_setup({.has_check = true});
  setup.kind.make = [mends] { return std::make_unique<MendedToy>(mends); };
  setup.cuts.nesting = nesting;
  setup.cuts.lazy = lazy;
  setup.failures.most = failures;
  setup.failures.memory = false;
  if (failures != 0) setup.bounds.ops = setup.bounds.ops | OpSet(OpKind::kRemount);
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = 2;  // create /a, rename /a /b
  options.threads = 2;
  return catalogued_search(**check, options);
}

class RepairToolCuts : public testing::Test {
 protected:
  void SetUp() override {
    const Status can = can_watch_tools();
    if (!can) GTEST_SKIP() << can.error().message;
  }
};

TEST_F(RepairToolCuts, ARightToolMayBeInterrupted) {
  for (const bool lazy : {false, true}) {
    for (const uint32_t nesting : {0u, 1u}) {
      const SearchResult result = search(Mends::kRight, nesting, lazy);
      EXPECT_EQ(result.findings, 0u) << "nesting " << nesting << (lazy ? " lazy" : "");
      EXPECT_EQ(result.verdict, Verdict::kPass);
      EXPECT_NE(result.marks & kFsckRepaired, 0u);
    }
  }
}

TEST_F(RepairToolCuts, AFlushThatTheToolForgetsIsFoundByAPowerCutInIt) {
  for (const bool lazy : {false, true}) {
    for (const Mends mends : {Mends::kForgetsFlush, Mends::kNeverFlushes, Mends::kClearsAtFirst}) {
      EXPECT_EQ(search(mends, 0, lazy).findings, 0u) << "without a power cut in it, all is well";
      const uint64_t found = search(mends, 1, lazy).findings;
      EXPECT_NE(found & bit(FindingKind::kNotAllowed), 0u) << static_cast<int>(mends) << lazy;
      EXPECT_NE(found & bit(FindingKind::kNotRepeatable), 0u) << static_cast<int>(mends) << lazy;
    }
  }
}

// The tool gets the error of the disk, and what mounts by it answers with it.
TEST_F(RepairToolCuts, AnAccessOfTheToolMayFail) {
  const SearchResult result = search(Mends::kRight, 0, false, 1);
  EXPECT_EQ(result.findings, 0u);
  EXPECT_NE(result.marks & kAccessFailed, 0u);
}

}  // namespace
}  // namespace sisyfs::repair_tool_cuts_test
