// The twins of the contracts, through the adapter and the search: for each contract a bug that the weaker
// ones miss and it finds, and a system that just meets it and that the next stronger one finds. The table of
// docs/contracts.md says which system is found under which claim; it is read here.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "judge/disk_system.h"
#include "toy_fs.h"

namespace sisyfs {
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

const std::map<std::string, Habits>& systems() {
  static const std::map<std::string, Habits> all = {
      {"write-through", {.when = When::kThrough}},
      {"log", {}},
      {"torn data", {.torn_data = true}},
      {"any order", {.any_order = true}},
      {"one object", {.when = When::kAsked}},
      {"deaf fsync", {.forgets_dirs = true, .forgets = OpSet(OpKind::kFsync, OpKind::kFdatasync)}},
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
  setup.make_target = [=] { return std::make_unique<toy::ToyFs>(habits, claim); };
  setup.bounds.ops = OpSet(OpKind::kCreate, OpKind::kUnlink, OpKind::kRename, OpKind::kLink, OpKind::kWrite,
                           OpKind::kTruncate, OpKind::kFsync, OpKind::kFdatasync, OpKind::kSync);
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
  return (*check)->search(options, {});
}

TEST(ContractTwinsTest, EachSystemIsFoundUnderTheClaimsThatTheDocumentSays) {
  const auto rows = table("system");
  ASSERT_EQ(rows.size(), systems().size() + 1);
  const std::vector<std::string>& head = rows[0];
  for (size_t r = 1; r < rows.size(); ++r) {
    ASSERT_EQ(rows[r].size(), head.size());
    const auto system = systems().find(rows[r][1]);
    ASSERT_NE(system, systems().end()) << rows[r][1];
    for (size_t c = 3; c < head.size(); ++c) {
      SCOPED_TRACE(rows[r][1] + " under " + head[c]);
      const SearchResult result =
          search(setup_for(system->second, claim_of(head[c])), system->first == "one object" ? 5 : 4);
      const bool found = result.findings != 0;
      EXPECT_TRUE(rows[r][c] == "found" || rows[r][c] == "accepted") << rows[r][c];
      EXPECT_EQ(found ? "found" : "accepted", rows[r][c]) << result.findings;
      EXPECT_EQ(result.left_out, 0u);
    }
  }
}

}  // namespace
}  // namespace sisyfs
