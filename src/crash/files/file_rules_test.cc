#include "crash/files/file_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "crash/files/all_file_states_for_test.h"
#include "crash/files/file_logs_for_test.h"
#include "crash/files/file_states.h"

namespace sisyfs::file_rules_test {
namespace {

using testing::Contains;
using testing::Not;
using testing::UnorderedElementsAre;

// What programs see after a power cut.
struct Seen {
  const FileLog& log;
  const FileStates& states;
  Versions versions;

  uint64_t value(const Slot& slot, uint64_t otherwise = 0) const {
    const SlotId* const id = log.find(slot);
    return id == nullptr ? otherwise : states.value(*id, versions[*id]);
  }
  FileId entry(const std::string& name, FileId directory = kRootFile) const {
    return static_cast<FileId>(value({SlotKind::kEntry, directory, 0, name}));
  }
  uint64_t size(FileId file) const { return value({SlotKind::kSize, file, 0, ""}); }
  uint64_t page(FileId file, uint64_t page) const { return value({SlotKind::kPage, file, page, ""}); }
  // "-": no such name. Else one of "empty", "zeros", "garbage", "data" for a file of at most one page.
  std::string content(const std::string& name) const {
    const FileId file = entry(name);
    if (file == kNoFile) return "-";
    if (size(file) == 0) return "empty";
    if (page(file, 0) == 0) return "zeros";
    return page(file, 0) == FileContents::kGarbagePage ? "garbage" : "data " + std::to_string(file);
  }
};

// The answers that a question gets in all states.
template <class Ask>
auto in_all(const ToyFiles& files, const char* rules, const Ask& ask) {
  const FileRules* const found = file_rules(rules);
  EXPECT_NE(found, nullptr) << rules;
  const auto events = static_cast<EventId>(files.log.events().size());
  const FileStates states(files.log, *found, events);
  std::set<decltype(ask(Seen{files.log, states, {}}))> out;
  std::mt19937 random(1);
  const PickedStates picked(files.log, states, random);
  for (const Versions& one : picked.reached()) out.insert(ask(Seen{files.log, states, one}));
  return out;
}
std::set<std::string> contents(const ToyFiles& files, const char* rules, const std::string& name) {
  return in_all(files, rules, [&](const Seen& seen) { return seen.content(name); });
}

std::vector<const char*> all_names() {
  std::vector<const char*> out;
  for (const FileRules& rules : all_file_rules()) out.push_back(rules.name.data());
  return out;
}

TEST(FileRulesTest, EachIsFoundByItsNameAndHasASummary) {
  EXPECT_EQ(all_file_rules().size(), 8U);
  for (const FileRules& rules : all_file_rules()) {
    EXPECT_EQ(file_rules(rules.name), &rules);
    EXPECT_FALSE(rules.summary.empty());
  }
  EXPECT_EQ(file_rules("ext5"), nullptr);
}

TEST(FileRulesTest, PosixKeepsAnyPartOfWhatWasNotFlushed) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.write(a, 0, 1, 100);
  EXPECT_THAT(contents(files, "posix", "a"),
              UnorderedElementsAre("-", "empty", "zeros", "data " + std::to_string(a)));
}

TEST(FileRulesTest, PosixFsyncOfAFileDoesNotCarryItsName) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.write(a, 0, 1, 100);
  files.fsync(a);
  EXPECT_THAT(contents(files, "posix", "a"), UnorderedElementsAre("-", "data " + std::to_string(a)));
}

TEST(FileRulesTest, EveryOtherFsyncOfAFileCarriesItsNameAndTheFoldersAboveIt) {
  for (const char* rules : all_names()) {
    if (std::string(rules) == "posix") continue;
    ToyFiles files;
    const FileId folder = files.make("folder", kRootFile, true);
    const FileId a = files.make("a", folder);
    files.write(a, 0, 1, 100);
    files.fsync(a);
    const auto whole = [&](const Seen& seen) {
      return seen.entry("folder") == folder && seen.entry("a", folder) == a && seen.page(a, 0) != 0;
    };
    EXPECT_THAT(in_all(files, rules, whole), UnorderedElementsAre(true)) << rules;
  }
}

TEST(FileRulesTest, FsyncOfADirectoryCarriesItsNames) {
  for (const char* rules : all_names()) {
    ToyFiles files;
    const FileId a = files.make("a");
    files.fsync(kRootFile);
    const auto named = [&](const Seen& seen) { return seen.entry("a") == a; };
    EXPECT_THAT(in_all(files, rules, named), UnorderedElementsAre(true)) << rules;
  }
}

TEST(FileRulesTest, FsyncOfADirectoryDoesNotCarryDataWhereThatIsNotOrdered) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.write(a, 0, 1, 100);
  files.fsync(kRootFile);
  for (const char* rules : {"posix", "ext4-ordered", "xfs", "btrfs", "f2fs"})
    EXPECT_THAT(contents(files, rules, "a"), Contains("empty")) << rules;
  for (const char* rules : {"in-order", "ext4-journal"})
    EXPECT_THAT(contents(files, rules, "a"), UnorderedElementsAre("data " + std::to_string(a))) << rules;
}

TEST(FileRulesTest, FdatasyncCarriesDataAndSizeAndNotTheMode) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.fsync(a);
  files.fsync(kRootFile);
  files.chmod(a, 0600);
  files.write(a, 0, 1, 100);
  files.fdatasync(a);
  EXPECT_THAT(contents(files, "posix", "a"), UnorderedElementsAre("data " + std::to_string(a)));
  const auto mode = [&](const Seen& seen) { return seen.value({SlotKind::kMode, a, 0, ""}); };
  EXPECT_THAT(in_all(files, "posix", mode), UnorderedElementsAre(0644, 0600));
}

TEST(FileRulesTest, RenameIsOneStep) {
  for (const char* rules : all_names()) {
    ToyFiles files;
    const FileId a = files.make("a");
    files.sync();
    files.rename("a", "b");
    const auto names = [&](const Seen& seen) { return (seen.entry("a") == a) + 2 * (seen.entry("b") == a); };
    EXPECT_THAT(in_all(files, rules, names), UnorderedElementsAre(1, 2)) << rules;
  }
}

TEST(FileRulesTest, ExchangeIsOneStep) {
  for (const char* rules : all_names()) {
    ToyFiles files;
    const FileId a = files.make("a"), b = files.make("b");
    files.sync();
    files.exchange("a", "b");
    const auto names = [](const Seen& seen) { return std::pair(seen.entry("a"), seen.entry("b")); };
    EXPECT_THAT(in_all(files, rules, names), UnorderedElementsAre(std::pair(a, b), std::pair(b, a))) << rules;
  }
}

// A file is replaced by one that was written and not flushed.
ToyFiles replaced() {
  ToyFiles files;
  files.write(files.make("a"), 0, 1, 100);
  files.sync();
  files.write(files.make("a.new"), 0, 1, 100);
  files.rename("a.new", "a");
  return files;
}

TEST(FileRulesTest, ReplaceByRenameMayLeaveAnEmptyFileWhereNoRuleForbidsIt) {
  for (const char* rules : {"posix", "ext4-writeback", "xfs", "btrfs", "f2fs"})
    EXPECT_THAT(contents(replaced(), rules, "a"), Contains("empty")) << rules;
}

TEST(FileRulesTest, ReplaceByRenameLeavesOldOrNewWhereTheDataGoesFirst) {
  for (const char* rules : {"ext4-ordered", "ext4-journal", "in-order"})
    EXPECT_THAT(contents(replaced(), rules, "a"), UnorderedElementsAre("data 2", "data 3")) << rules;
}

TEST(FileRulesTest, NewFileMayBeEmptyAlthoughItsNameIsThere) {
  ToyFiles files;
  files.write(files.make("a"), 0, 1, 100);
  for (const char* rules : {"ext4-ordered", "xfs", "btrfs"})
    EXPECT_THAT(contents(files, rules, "a"), UnorderedElementsAre("-", "empty", "data 2")) << rules;
}

TEST(FileRulesTest, SizeWithoutItsDataReadsAsGarbageOnlyUnderExt4Writeback) {
  ToyFiles files;
  files.write(files.make("a"), 0, 1, 100);
  EXPECT_THAT(contents(files, "ext4-writeback", "a"),
              UnorderedElementsAre("-", "empty", "garbage", "data 2"));
  EXPECT_THAT(contents(files, "f2fs", "a"), UnorderedElementsAre("-", "empty", "zeros", "data 2"));
  for (const char* rules : all_names()) {
    if (std::string(rules) == "ext4-writeback") continue;
    EXPECT_THAT(contents(files, rules, "a"), Not(Contains("garbage"))) << rules;
  }
}

TEST(FileRulesTest, LostOverwriteLeavesTheOldDataAndNoGarbage) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.write(a, 0, 1, 100);
  files.sync();
  const uint64_t old = files.log.versions(*files.log.find({SlotKind::kPage, a, 0, ""}))[1].value;
  files.write(a, 0, 1, 100);
  const uint64_t changed = files.log.versions(*files.log.find({SlotKind::kPage, a, 0, ""}))[2].value;
  const auto page = [&](const Seen& seen) { return seen.page(a, 0); };
  for (const char* rules : all_names())
    EXPECT_THAT(in_all(files, rules, page), UnorderedElementsAre(old, changed)) << rules;
}

TEST(FileRulesTest, HoleThatNobodyHasWrittenYetIsNoGarbage) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.truncate(a, 2 * kFilePageBytes);
  files.sync();
  const EventId before = files.write(a, 0, 1, 100);
  const FileRules& rules = *file_rules("ext4-writeback");
  const SlotId page = *files.log.find({SlotKind::kPage, a, 0, ""});
  EXPECT_EQ(FileStates(files.log, rules, before).value(page, 0), 0U);
  EXPECT_EQ(FileStates(files.log, rules, before + 1).value(page, 0), FileContents::kGarbagePage);
}

// A file is truncated to nothing, written again and closed; then another one is made.
ToyFiles overwritten(bool close) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.write(a, 0, 1, 100);
  files.sync();
  files.truncate(a, 0);
  files.write(a, 0, 1, 100);
  if (close) files.close(a);
  files.make("b");
  return files;
}

TEST(FileRulesTest, CloseAfterTruncationFlushesBeforeLaterMetadata) {
  const auto b_without_a = [](const Seen& seen) { return seen.entry("b") != kNoFile && seen.size(2) == 0; };
  for (const char* rules : {"ext4-ordered", "xfs"}) {
    EXPECT_THAT(in_all(overwritten(true), rules, b_without_a), UnorderedElementsAre(false)) << rules;
    EXPECT_THAT(in_all(overwritten(false), rules, b_without_a), UnorderedElementsAre(false, true)) << rules;
  }
  for (const char* rules : {"posix", "btrfs", "f2fs", "ext4-writeback"})
    EXPECT_THAT(in_all(overwritten(true), rules, b_without_a), UnorderedElementsAre(false, true)) << rules;
  // The truncation itself may be all that is left.
  EXPECT_THAT(contents(overwritten(true), "ext4-ordered", "a"), Contains("empty"));
}

TEST(FileRulesTest, CloseAfterTruncationCountsAlsoForMetadataThatIsFlushed) {
  ToyFiles files = overwritten(true);
  files.fsync(files.at(kRootFile, "b"));
  for (const char* rules : {"ext4-ordered", "xfs"})
    EXPECT_THAT(contents(files, rules, "a"), UnorderedElementsAre("data 2")) << rules;
  for (const char* rules : {"ext4-writeback", "btrfs", "f2fs"})
    EXPECT_THAT(contents(files, rules, "a"), Contains("empty")) << rules;
}

// Two files are renamed, and the second one is flushed.
std::set<std::pair<bool, bool>> renamed(const char* rules) {
  ToyFiles files;
  const FileId a = files.make("a"), b = files.make("b");
  files.sync();
  files.rename("a", "a2");
  files.rename("b", "b2");
  files.fsync(b);
  return in_all(files, rules,
                [&](const Seen& seen) { return std::pair(seen.entry("a2") == a, seen.entry("b2") == b); });
}

TEST(FileRulesTest, FsyncOfOneFileCarriesEarlierRenamesOfOthersOnlyThroughACommonJournal) {
  const std::pair both{true, true}, second{false, true}, first{true, false}, none{false, false};
  for (const char* rules : {"ext4-ordered", "ext4-writeback", "ext4-journal", "xfs", "in-order"})
    EXPECT_THAT(renamed(rules), UnorderedElementsAre(both)) << rules;
  for (const char* rules : {"btrfs", "f2fs"})
    EXPECT_THAT(renamed(rules), UnorderedElementsAre(both, second)) << rules;
  EXPECT_THAT(renamed("posix"), UnorderedElementsAre(both, first, second, none));
}

TEST(FileRulesTest, MetadataIsKeptInItsOrderEverywhereButUnderPosix) {
  for (const char* rules : all_names()) {
    ToyFiles files;
    files.make("a");
    files.make("b");
    const auto later_alone = [](const Seen& seen) {
      return seen.entry("b") != kNoFile && seen.entry("a") == kNoFile;
    };
    const bool is_free = std::string(rules) == "posix";
    EXPECT_EQ(in_all(files, rules, later_alone).contains(true), is_free) << rules;
  }
}

TEST(FileRulesTest, InOrderKeepsPrefixes) {
  ToyFiles files;
  const FileId a = files.make("a");          // 1
  files.write(a, 0, 2, 2 * kFilePageBytes);  // 3: two pages, then the size
  files.chmod(a, 0600);                      // 1
  files.rename("a", "b");                    // 1
  files.truncate(a, 0);                      // 1
  for (const char* rules : {"in-order", "ext4-journal"}) {
    const FileStates states(files.log, *file_rules(rules), 5);
    EXPECT_EQ(states.count(states.all()).low(), 8U) << rules;
    const auto mode_without_size = [&](const Seen& seen) {
      return seen.value({SlotKind::kMode, a, 0, ""}, 0644) == 0600 && seen.page(a, 1) == 0 &&
             seen.size(a) != 0;
    };
    EXPECT_THAT(in_all(files, rules, mode_without_size), UnorderedElementsAre(false)) << rules;
  }
}

TEST(FileRulesTest, SyncLeavesNothingOpen) {
  for (const char* rules : all_names()) {
    ToyFiles files = replaced();
    files.sync();
    const FileStates states(files.log, *file_rules(rules), static_cast<EventId>(files.log.events().size()));
    EXPECT_EQ(states.count(states.all()).low(), 1U) << rules;
    EXPECT_TRUE(states.open_slots().empty()) << rules;
  }
}

TEST(FileRulesTest, WriteThroughOSyncIsDurableWhenItReturns) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.fsync(a);
  files.fsync(kRootFile);
  files.write(a, 0, 1, 100, FilePromise::kAll);
  for (const char* rules : all_names())
    EXPECT_THAT(contents(files, rules, "a"), UnorderedElementsAre("data " + std::to_string(a))) << rules;
}

}  // namespace
}  // namespace sisyfs::file_rules_test
