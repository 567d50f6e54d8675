// Checks every row of the table in docs/contracts.md against the checker.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "expect/expectation.h"
#include "tree/tree_text.h"
#include "workload/op.h"
#include "workload/write_parts.h"

namespace sisyfs::contract_table_test {
namespace {

std::string trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(' ');
  if (from == std::string_view::npos) return "";
  return std::string(text.substr(from, text.find_last_not_of(' ') - from + 1));
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, at);) parts.push_back(trimmed(part));
  return parts;
}

// What stands between backticks.
std::vector<std::string> in_backticks(std::string_view cell) {
  std::vector<std::string> out;
  const std::vector<std::string> parts = split(cell, '`');
  for (size_t i = 1; i < parts.size(); i += 2) out.push_back(parts[i]);
  return out;
}

struct Row {
  size_t line = 0;
  std::vector<std::string> contracts, rules;
  std::string history;
  std::vector<std::string> allowed, forbidden;
};

std::vector<Row> table() {
  std::ifstream in(std::string(SISYFS_SOURCE_DIR) + "/docs/contracts.md");
  std::vector<Row> rows;
  bool inside = false;
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("| contract | rules |")) {
      inside = true;
    } else if (inside && line.starts_with("| ") && !line.starts_with("| ---")) {
      const std::vector<std::string> cells = split(line, '|');
      // A last column, where there is one, gives the reason.
      if (cells.size() < 6 || cells.size() > 7 || in_backticks(cells[3]).size() != 1) {
        ADD_FAILURE() << "docs/contracts.md:" << number << ": malformed row";
        continue;
      }
      rows.push_back({number, split(cells[1], ','), split(cells[2], ','), in_backticks(cells[3])[0],
                      in_backticks(cells[4]), in_backticks(cells[5])});
    } else if (inside && !line.starts_with("|")) {
      inside = false;
    }
  }
  return rows;
}

// Rules of the contract, that every call promises all that was done until it returns, and that a power cut
// may split a write.
struct Rules : ContractRules {
  bool sync_mount = false;
  bool split_writes = false;
  bool retries_sync = false;
  OpSet durable;  // these calls are durable when they return
};

Rules rules_of(const Row& row) {
  Rules rules;
  for (const std::string& word : row.rules) {
    if (word == "fsync_names") {
      rules.fsync_names = true;
    } else if (word == "rename_both") {
      rules.rename_both = true;
    } else if (word == "stale_data") {
      rules.stale_data = true;
    } else if (word == "sync_mount") {
      rules.sync_mount = true;
    } else if (word == "split_writes") {
      rules.split_writes = true;
    } else if (word == "retries_sync") {
      rules.retries_sync = true;
    } else if (word.starts_with("durable ")) {
      for (uint8_t k = 0; k < kOpKinds; ++k)
        if (word.substr(8) == op_name(OpKind{k})) rules.durable = rules.durable | OpSet(OpKind{k});
    } else if (word.starts_with("unit ")) {
      rules.data_unit = static_cast<uint32_t>(std::stoul(word.substr(5)));
    } else {
      EXPECT_EQ(word, "") << "docs/contracts.md:" << row.line << ": unknown rule";
    }
  }
  return rules;
}

Op op_of(const std::string& text) {
  const Result<Op> op = parse_op(text);
  EXPECT_TRUE(op) << text << ": " << (op ? "" : op.error().message);
  return op ? *op : Op{};
}

Tree tree_of(const std::string& calls) {
  Tree tree;
  if (calls == "nothing") return tree;
  for (const std::string& call : split(calls, ';')) EXPECT_EQ(apply(op_of(call), tree).error, 0) << calls;
  return tree;
}

Expectation after(Contract contract, const Row& row) {
  const Rules rules = rules_of(row);
  Expectation e(contract, Tree(), rules);
  for (std::string call : split(row.history, ';')) {
    const bool in_flight = call.starts_with("(");
    if (in_flight) call = call.substr(1, call.size() - 2);
    const size_t fails = call.find(" -> EIO");
    if (fails != std::string::npos) {
      const Op op = op_of(call.substr(0, fails));
      const OpKind kind = by_path(op.kind);
      const bool single = kind == OpKind::kFsync || kind == OpKind::kFdatasync;
      if (!rules.retries_sync) single ? e.fail_device(op.path) : e.fail_device();
      continue;
    }
    const Op op = op_of(call);
    Tree tree = e.now();
    const size_t began = e.older().size();
    EXPECT_EQ(apply(op, tree).error, 0) << row.history;
    if (rules.split_writes)
      each_part(op, e.now(), rules.data_unit, [&](Tree part) { e.reach_part(std::move(part)); });
    e.begin_op(tree);
    if (in_flight) break;
    e.end_op(0);
    if (op.kind == OpKind::kSync || op.kind == OpKind::kSyncfs || rules.sync_mount) e.promise_all();
    if (op.kind == OpKind::kRemount) e.is_read_back(e.now());
    if (rules.durable.has(op.kind)) e.promise_changes(began);
    if (by_path(op.kind) == OpKind::kFsync) e.promise_file(op.path);
    if (by_path(op.kind) == OpKind::kFdatasync || op.kind == OpKind::kMsync) e.promise_data(op.path);
    if (op.kind == OpKind::kWriteSync) e.promise_write(op.path, op.offset, op.length);
  }
  return e;
}

TEST(ContractTableTest, EveryRowOfTheDocumentHolds) {
  const std::vector<Row> rows = table();
  ASSERT_GE(rows.size(), 220u);
  for (const Row& row : rows) {
    for (const std::string& name : row.contracts) {
      SCOPED_TRACE("docs/contracts.md:" + std::to_string(row.line) + ": " + name + ": " + row.history);
      const Result<Contract> contract = parse_contract(name);
      ASSERT_TRUE(contract);
      const Expectation e = after(*contract, row);
      EXPECT_FALSE(row.allowed.empty());
      for (const std::string& outcome : row.allowed) {
        EXPECT_EQ(e.why_not(tree_of(outcome)), "") << outcome;
        EXPECT_TRUE(e.crash_allowed(tree_of(outcome))) << outcome;
      }
      for (const std::string& outcome : row.forbidden) {
        EXPECT_FALSE(e.crash_allowed(tree_of(outcome))) << outcome;
        EXPECT_NE(e.why_not(tree_of(outcome)), "") << outcome;
      }
    }
  }
}

// A contract of which the table has only one answer would be met by a checker that always gives it. What
// `structure` forbids is no tree; docs/contracts.md shows it in the table of systems.
TEST(ContractTableTest, EveryContractHasBothAnswers) {
  std::map<std::string, std::pair<size_t, size_t>> answers;
  for (const Row& row : table()) {
    for (const std::string& name : row.contracts) {
      answers[name].first += row.allowed.size();
      answers[name].second += row.forbidden.size();
    }
  }
  EXPECT_EQ(answers.size(), 5u);
  for (const auto& [name, count] : answers) {
    EXPECT_GE(count.first, name == "structure" ? 2u : 15u) << name;
    EXPECT_GE(count.second, name == "structure" ? 0u : 15u) << name;
  }
}

Tree tree_after(Expectation& e, const char* line) {
  Tree tree = e.now();
  EXPECT_EQ(apply(*parse_op(line), tree).error, 0) << line;
  e.begin_op(tree);
  e.end_op(0);
  return tree;
}

// Story: a rename was refused because a read failed, and fsync of the directory that it led to succeeded. A
// power cut lost the file, of which nothing was promised, and that was told as half a rename.
TEST(RefusedRenameTest, FsyncOfTheNewDirectoryPromisesNothingOfTheOldName) {
  for (const bool promised : {false, true}) {
    Expectation e(Contract::kFsync, Tree(), ContractRules{.data_unit = 512});
    (void)tree_after(e, "mkdir /d");
    e.promise_all();
    const Tree without = e.now();
    const Tree before = tree_after(e, "create /b");
    if (promised) e.promise_all();
    Tree renamed = before;
    ASSERT_EQ(apply(*parse_op("rename /b /d/a"), renamed).error, 0);
    e.begin_op(renamed);
    e.end_op(0, &before);
    EXPECT_TRUE(e.crash_allowed(before));
    EXPECT_TRUE(e.crash_allowed(renamed));
    e.promise_file("/d");
    EXPECT_TRUE(e.crash_allowed(before));
    EXPECT_FALSE(e.crash_allowed(renamed)) << "the new name was not there when fsync returned";
    EXPECT_EQ(e.crash_allowed(without), !promised);
    Tree both = renamed;
    ASSERT_EQ(apply(*parse_op("link /d/a /b"), both).error, 0);
    EXPECT_FALSE(e.crash_allowed(both));
  }
}

// Story: truncate to 511 bytes, a write of two, and fdatasync, which promises neither the smaller size nor
// what is behind it. The larger size came back with the old byte behind the new data, and that was told as
// old data.
TEST(TruncatedUnitTest, FdatasyncPromisesNothingBehindTheEnd) {
  Expectation e(Contract::kFsync, Tree(), ContractRules{.data_unit = 512});
  (void)tree_after(e, "create /a");
  const Tree longer = tree_after(e, "write /a 511 512");
  e.promise_all();
  (void)tree_after(e, "truncate /a 511");
  (void)tree_after(e, "write /a 0 2");
  e.promise_data("/a");
  Tree back = longer;
  EXPECT_FALSE(e.crash_allowed(back)) << "the two bytes are promised";
  ASSERT_EQ(apply(*parse_op("write /a 0 2"), back).error, 0);
  EXPECT_TRUE(e.crash_allowed(back));
  ASSERT_EQ(apply(*parse_op("write /a 0 2 v1"), back).error, 0);
  EXPECT_FALSE(e.crash_allowed(back));
}

// The window keeps what an open file without a name held, although the names are the same.
TEST(NamelessFileTest, ItsVersionsAreStepsOfTheWindow) {
  for (const Contract contract : {Contract::kAtomic, Contract::kOrdered, Contract::kFsync}) {
    Expectation e(contract, Tree(), ContractRules{.data_unit = 512});
    for (const char* line : {"create /a", "write /a 0 512", "open /a @1"}) tree_after(e, line);
    e.promise_all();
    tree_after(e, "unlink /a");
    const size_t before = e.older().size();
    const Digest first = e.digest();
    tree_after(e, "write @1 0 512 v1");
    tree_after(e, "write @1 0 512 v2");
    EXPECT_EQ(e.older().size(), contract == Contract::kAtomic ? before : before + 2);
    EXPECT_NE(e.digest(), first);
    Tree back;
    for (const char* line : {"create /a", "open /a @1", "write @1 0 512 v1"})
      ASSERT_EQ(apply(*parse_op(line), back).error, 0);
    EXPECT_EQ(e.crash_allowed(back), contract != Contract::kAtomic);
    e.promise_file("@1");
    EXPECT_TRUE(e.crash_allowed(Tree())) << "nothing is promised of it";
    e.fail_device("@1");
    EXPECT_TRUE(e.is_in_doubt()) << "nobody knows what else was to be written";
    tree_after(e, "close @1");
    EXPECT_EQ(e.now().open_count(), 0u);
  }
}

}  // namespace
}  // namespace sisyfs::contract_table_test
