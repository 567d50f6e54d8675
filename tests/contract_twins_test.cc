// Twins for each contract, searched completely: a system with a bug that this contract finds and weaker ones
// miss, and a system that meets this contract but not the next stronger one. The expected results are read
// from the table in docs/contracts.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "toy_fs.h"

namespace sisyfs::contract_twins_test {
namespace {

using toy::Claim;
using toy::Habits;
using toy::When;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, '|');) {
    const size_t from = cell.find_first_not_of(' ');
    cells.push_back(from == std::string::npos ? ""
                                              : cell.substr(from, cell.find_last_not_of(' ') - from + 1));
  }
  return cells;
}

// The table that begins with this cell, its head first.
std::vector<std::vector<std::string>> table(const std::string& first_cell) {
  std::ifstream in(std::string(SISYFS_SOURCE_DIR) + "/docs/contracts.md");
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (rows.empty() ? !line.starts_with("| " + first_cell + " |") : !line.starts_with("|")) {
      if (rows.empty()) continue;
      break;
    }
    if (!line.starts_with("| ---")) rows.push_back(cells_of(line));
  }
  return rows;
}

const OpSet kOfNames(OpKind::kCreate, OpKind::kUnlink, OpKind::kRename);

const std::map<std::string, Habits>& systems() {
  static const std::map<std::string, Habits> all = {
      {"write-through", {.when = When::kThrough}},
      {"log", {}},
      {"torn data", {.torn_data = true}},
      {"any order", {.any_order = true}},
      {"one object", {.when = When::kAsked}},
      {"names at once", {.when = When::kAsked, .at_once = kOfNames}},
      {"late unlink", {.when = When::kAsked, .at_once = kOfNames - OpSet(OpKind::kUnlink)}},
      {"torn files", {.when = When::kAsked, .torn_data = true, .at_once = kOfNames}},
      {"deaf fsync",
       {.forgets_dirs = true, .forgets = OpSet(OpKind::kFsync, OpKind::kFdatasync, OpKind::kWriteSync)}},
      {"stale data", {.torn_data = true, .stale_data = true}},
      {"starts anew", {.comes_back_empty = true}},
      {"late inode", {.late_inode = true}},
  };
  return all;
}

Claim claim_of(const std::string& column) {
  if (column == "sync mount") return {.contract = Contract::kAtomic, .sync_mount = true};
  const Result<Contract> contract = parse_contract(column);
  EXPECT_TRUE(contract) << column;
  return {.contract = contract ? *contract : Contract::kAtomic};
}

DiskSetup setup_for(const Habits& habits, const Claim& claim) {
  DiskSetup setup;
  setup.kind = toy::kind_of(habits, claim);
  setup.bounds.ops = OpSet(OpKind::kCreate, OpKind::kUnlink, OpKind::kRename, OpKind::kWrite, OpKind::kFsync,
                           OpKind::kFdatasync, OpKind::kWriteSync, OpKind::kSync);
  setup.bounds.max_files = 2;
  setup.bounds.names = {"a", "b"};
  setup.bounds.write_sizes = {2};
  setup.bounds.max_file_size = 2;
  setup.max_system_ops = 2;
  return setup;
}

SearchResult search(DiskSetup setup, uint32_t depth) {
  const auto check = make_disk_check(std::move(setup));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.bounds.depth = depth;
  return catalogued_search(**check, options);
}

TEST(ContractTwinsTest, TheDocumentKnowsTheSameSystems) {
  const auto rows = table("system");
  ASSERT_EQ(rows.size(), systems().size() + 1);
  for (size_t r = 1; r < rows.size(); ++r) EXPECT_EQ(systems().count(rows[r][1]), 1u) << rows[r][1];
}

class TwinTest : public testing::TestWithParam<std::pair<const std::string, Habits>> {};

TEST_P(TwinTest, IsFoundUnderTheClaimsThatTheDocumentSays) {
  const auto& [name, habits] = GetParam();
  const auto rows = table("system");
  ASSERT_FALSE(rows.empty());
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& cells) { return cells[1] == name; });
  ASSERT_NE(row, rows.end());
  ASSERT_EQ(row->size(), rows[0].size());
  for (size_t c = 3; c < row->size(); ++c) {
    SCOPED_TRACE(name + " under " + rows[0][c]);
    const SearchResult result = search(setup_for(habits, claim_of(rows[0][c])), name == "one object" ? 5 : 4);
    EXPECT_EQ(result.findings != 0 ? "found" : "accepted", (*row)[c]) << result.findings;
    EXPECT_EQ(result.left_out, 0u);
    // What `structure` is about is found by all; the rest is a matter of the contract and of nothing else.
    const FindingBits wrong = bit(habits.late_inode ? FindingKind::kNotWalkable : FindingKind::kNotAllowed);
    if (result.findings != 0) {
      EXPECT_NE(result.findings & wrong, 0u);
    }
    if (!habits.late_inode) {
      EXPECT_EQ(result.findings & ~wrong, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ContractTwinsTest, TwinTest, testing::ValuesIn(systems()), [](const auto& info) {
  std::string name = info.param.first;
  std::replace_if(
      name.begin(), name.end(), [](char ch) { return ch == ' ' || ch == '-'; }, '_');
  return name;
});

// A loss, the ops among which it is looked for, and what the report has to say.
struct Loss {
  const char* name;
  Habits habits;
  Claim claim;
  OpSet ops;
  const char* told;
};

std::ostream& operator<<(std::ostream& out, const Loss& loss) { return out << loss.name; }

const OpSet kMake(OpKind::kCreate, OpKind::kWrite);
const Claim kKeepsNames{.fsync_names = true};

const Claim kHasLinux{.more = kLinuxOps};

const Loss kLosses[] = {
    {"AnFsyncedFile",
     {.when = When::kAsked, .forgets = OpSet(OpKind::kFsync)},
     kKeepsNames,
     kMake | OpSet(OpKind::kFsync),
     "what 'fsync /a' (step 2) promised, that /a is there; after the power cut /a is absent"},
    {"WhatAnFsyncedFileHolds",
     {.when = When::kAsked, .forgets = OpSet(OpKind::kFsync)},
     {},
     kMake | OpSet(OpKind::kFsync, OpKind::kSync),
     "what 'fsync /a' (step 4) promised, what /a holds (4 bytes); after the power cut /a has other bytes "
     "from "
     "byte 0 on"},
    {"AnFsyncedRename",
     {.when = When::kAsked, .forgets_renames = true},
     kKeepsNames,
     OpSet(OpKind::kCreate, OpKind::kRename, OpKind::kFsync),
     "what 'fsync /b' (step 3) promised, that /b is there; after the power cut /b is absent, and /a is "
     "there"},
    {"ASyncedDirectory",
     {.when = When::kAsked, .forgets_dirs = true},
     {},
     OpSet(OpKind::kCreate, OpKind::kFsync),
     "what 'fsync /' (step 2) promised, the names in /; after the power cut /a is absent"},
    {"AWriteWithOSync",
     {.when = When::kAsked, .forgets = OpSet(OpKind::kWriteSync)},
     {},
     OpSet(OpKind::kCreate, OpKind::kWrite, OpKind::kWriteSync, OpKind::kSync),
     "what 'write_sync /a 0 4' (step 3) promised, bytes 0..3 of /a; after the power cut /a has 0 bytes"},
    {"AFileWrittenWithOSync",
     {.when = When::kAsked, .forgets = OpSet(OpKind::kWriteSync)},
     kKeepsNames,
     OpSet(OpKind::kCreate, OpKind::kWrite, OpKind::kWriteSync, OpKind::kSync),
     "what 'write_sync /a 0 4' (step 2) promised, that /a is there; after the power cut /a is absent"},
    {"DataAfterFdatasync",
     {.when = When::kAsked, .forgets = OpSet(OpKind::kFdatasync)},
     kKeepsNames,
     kMake | OpSet(OpKind::kFsync, OpKind::kFdatasync),
     "what 'fdatasync /a' (step 4) promised, the data of /a (4 bytes); after the power cut /a has other "
     "bytes from byte 0 on"},
    {"ASync",
     {.when = When::kAsked, .forgets = OpSet(OpKind::kSync)},
     {.contract = Contract::kAtomic},
     kMake | OpSet(OpKind::kSync),
     "what 'sync' (step 2) promised, /a (0 bytes); after the power cut /a is absent"},
    {"AnOpOfASyncMount",
     {.when = When::kAtOnce},
     {.contract = Contract::kAtomic, .sync_mount = true},
     kMake,
     "what 'create /a' (step 1) promised, /a (0 bytes); after the power cut /a is absent"},
    {"DataAfterMsync",
     {.when = When::kAsked, .forgets = OpSet(OpKind::kMsync)},
     kHasLinux,
     kMake | OpSet(OpKind::kWriteMapped, OpKind::kMsync, OpKind::kSync),
     "what 'msync /a' (step 4) promised, the data of /a (4 bytes); after the power cut /a has 0 bytes"},
    {"ASyncfs",
     {.when = When::kAsked, .forgets = OpSet(OpKind::kSyncfs)},
     {.contract = Contract::kAtomic, .more = kLinuxOps},
     kMake | OpSet(OpKind::kSyncfs),
     "what 'syncfs' (step 2) promised, /a (0 bytes); after the power cut /a is absent"},
    {"APunchedHole",
     {.when = When::kAsked, .keeps_punched = true},
     kHasLinux,
     kMake | OpSet(OpKind::kPunchHole, OpKind::kSync),
     "what 'sync' (step 4) promised, /a (4 bytes); after the power cut /a has other bytes from byte 0 on"},
    {"OneOfTwoExchangedFiles",
     {.half_exchange = true},
     {.more = kLinuxOps},
     OpSet(OpKind::kCreate, OpKind::kExchange, OpKind::kSync),
     "what the contract 'fsync' allows"},
    {"AReservedRange",
     {.when = When::kAsked, .stale_data = true},
     kHasLinux,
     OpSet(OpKind::kCreate, OpKind::kFallocate, OpKind::kSync),
     "what the contract 'fsync' allows"},
};

class LossTest : public testing::TestWithParam<Loss> {};

DiskSetup setup_for(const Loss& loss, const Habits& habits) {
  DiskSetup setup = setup_for(habits, loss.claim);
  setup.bounds.ops = loss.ops;
  setup.bounds.write_sizes = {1};
  return setup;
}

TEST_P(LossTest, IsFoundAndToldByName) {
  const auto check = make_disk_check(setup_for(GetParam(), GetParam().habits));
  ASSERT_TRUE(check);
  const auto found = (*check)->find_traces({}, (*check)->kinds().bit(FindingKind::kNotAllowed)).traces;
  ASSERT_EQ(found.size(), 1u);
  const Result<Story> story = (*check)->tell(found[0].trace);
  ASSERT_TRUE(story);
  EXPECT_EQ(catalogue_bits(story->findings), bit(FindingKind::kNotAllowed));
  EXPECT_EQ(story->steps.back().expected.back(), GetParam().told);
}

// The same system, which forgets nothing.
TEST_P(LossTest, IsNotFoundWhereNothingIsForgotten) {
  Habits right;
  right.when = GetParam().claim.sync_mount ? When::kThrough : When::kAsked;
  const SearchResult result = search(setup_for(GetParam(), right), 5);
  EXPECT_EQ(result.findings, 0u);
}

DiskSetup setup_of_linux_calls(const Habits& habits, const Claim& claim, OpSet ops) {
  DiskSetup setup = setup_for(habits, claim);
  setup.bounds.ops = OpSet(OpKind::kCreate, OpKind::kWrite) | ops;
  setup.bounds.write_sizes = {1};
  return setup;
}

// Systems that keep what they promise and no more: no variant of a write, a rename or a sync promises more
// than is written down.
TEST(LinuxCallsTest, ARightSystemIsAccepted) {
  for (const OpSet ops :
       {kRangeOps | OpSet(OpKind::kFsync),
        OpSet(OpKind::kExchange, OpKind::kRenameNew) | OpSet(OpKind::kFsync, OpKind::kSyncfs),
        OpSet(OpKind::kWriteDirect, OpKind::kWriteMapped, OpKind::kMsync, OpKind::kSync)}) {
    for (const bool asked : {false, true}) {
      const Claim claim{.contract = asked ? Contract::kFsync : Contract::kAtomic, .more = kLinuxOps};
      const Habits habits{.when = asked ? When::kAsked : When::kAtOnce};
      EXPECT_EQ(search(setup_of_linux_calls(habits, claim, ops), 5).findings, 0u) << asked;
    }
  }
}

// Whether it writes something back, all of it or nothing: a commit is the system's own affair. What is
// written back does not count as promised, and what is asked for afterwards still does.
TEST(LinuxCallsTest, ACommitPromisesNothing) {
  const OpSet ops(OpKind::kCommit, OpKind::kSync);
  for (const Contract contract : {Contract::kAtomic, Contract::kFsync}) {
    const Claim claim{.contract = contract, .more = kLinuxOps};
    const Habits deaf{.forgets = OpSet(OpKind::kCommit)}, deaf_to_sync{.forgets = OpSet(OpKind::kSync)};
    EXPECT_EQ(search(setup_of_linux_calls({}, claim, ops), 5).findings, 0u);
    EXPECT_EQ(search(setup_of_linux_calls(deaf, claim, ops), 5).findings, 0u);
    EXPECT_EQ(search(setup_of_linux_calls(deaf_to_sync, claim, ops), 5).findings,
              bit(FindingKind::kNotAllowed));
  }
}

// Under each contract but `structure`.
TEST(LinuxCallsTest, HalfAnExchangeIsFound) {
  const OpSet ops(OpKind::kExchange, OpKind::kSync);
  for (const Contract contract : {Contract::kAtomic, Contract::kOrdered, Contract::kFsync}) {
    const Claim claim{.contract = contract, .more = kLinuxOps};
    EXPECT_EQ(search(setup_of_linux_calls({.half_exchange = true}, claim, ops), 4).findings,
              bit(FindingKind::kNotAllowed));
    EXPECT_EQ(search(setup_of_linux_calls({}, claim, ops), 4).findings, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(ContractTwinsTest, LossTest, testing::ValuesIn(kLosses),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sisyfs::contract_twins_test
