// docs/formats/checkpoint.md and the code describe the same bytes.
#include "explore/checkpoint_layout.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace sisyfs::checkpoint_layout_test {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// The cells of each table of a document, without its head, by the heading above it.
std::map<std::string, Rows> tables_of(std::istream& document) {
  std::map<std::string, Rows> tables;
  std::string heading;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (!line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    std::istringstream in(line.substr(1));
    for (std::string cell; std::getline(in, cell, '|');) {
      const size_t first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
      cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
    tables[heading].push_back(cells);
  }
  for (auto& [name, rows] : tables) rows.erase(rows.begin(), rows.begin() + 2);
  return tables;
}

std::map<std::string, Rows> documented() {
  std::ifstream in(std::string(SISYFS_SOURCE_DIR) + "/docs/formats/checkpoint.md");
  EXPECT_TRUE(in);
  return tables_of(in);
}

struct Field {
  size_t offset, bytes;
  std::string name;
};

std::vector<std::string> texts_of(const std::vector<Field>& fields) {
  std::vector<std::string> texts;
  for (const Field& f : fields) texts.push_back(fmt::format("{} {} {}", f.offset, f.bytes, f.name));
  return texts;
}

std::vector<std::string> texts_of(const Rows& rows) {
  std::vector<std::string> texts;
  for (const auto& row : rows) texts.push_back(fmt::format("{} {} {}", row.at(0), row.at(1), row.at(2)));
  return texts;
}

#define FIELD(type, name) \
  Field { offsetof(type, name), sizeof(type::name), #name }

const std::map<std::string, std::vector<Field>> kLayouts = {
    {"Header",
     {FIELD(CheckpointHeader, magic), FIELD(CheckpointHeader, version), FIELD(CheckpointHeader, byte_order),
      FIELD(CheckpointHeader, identity)}},
    {"Section head",
     {FIELD(CheckpointSectionHead, number), FIELD(CheckpointSectionHead, zero),
      FIELD(CheckpointSectionHead, size)}},
    {"Summary",
     {FIELD(CheckpointSummary, order), FIELD(CheckpointSummary, dedup), FIELD(CheckpointSummary, zero),
      FIELD(CheckpointSummary, cursor), FIELD(CheckpointSummary, states),
      FIELD(CheckpointSummary, transitions), FIELD(CheckpointSummary, unexpanded),
      FIELD(CheckpointSummary, findings), FIELD(CheckpointSummary, depth), FIELD(CheckpointSummary, marks),
      FIELD(CheckpointSummary, times_found), FIELD(CheckpointSummary, least_depth),
      FIELD(CheckpointSummary, seconds), FIELD(CheckpointSummary, met), FIELD(CheckpointSummary, first_met)}},
    {"Transition",
     {FIELD(FirstTransition, depth), FIELD(FirstTransition, parent), FIELD(FirstTransition, choice)}},
    {"Node", {FIELD(Node, parent), FIELD(Node, choice)}},
    {"Successor",
     {FIELD(Offspring, print), FIELD(Offspring, choice), FIELD(Offspring, parent), FIELD(Offspring, marks),
      FIELD(Offspring, work), FIELD(Offspring, new_edges), FIELD(Offspring, zero)}},
};
const std::map<std::string, size_t> kSizes = {
    {"Header", sizeof(CheckpointHeader)},
    {"Section head", sizeof(CheckpointSectionHead)},
    {"Summary", sizeof(CheckpointSummary)},
    {"Transition", sizeof(FirstTransition)},
    {"Node", sizeof(Node)},
    {"Successor", sizeof(Offspring)},
};

TEST(CheckpointLayoutTest, TheDocumentedStructsAreThoseOfTheCode) {
  const auto tables = documented();
  for (const auto& [name, fields] : kLayouts) {
    ASSERT_TRUE(tables.contains(name)) << name;
    EXPECT_EQ(texts_of(tables.at(name)), texts_of(fields)) << name;
  }
}

// A struct of the code without a gap and with nothing behind the last field: a new member is noticed.
TEST(CheckpointLayoutTest, TheFieldsFillTheirStructs) {
  for (const auto& [name, fields] : kLayouts) {
    size_t at = 0;
    for (const Field& field : fields) {
      EXPECT_EQ(field.offset, at) << name << "." << field.name;
      at += field.bytes;
    }
    EXPECT_EQ(at, kSizes.at(name)) << name;
  }
}

TEST(CheckpointLayoutTest, TheDocumentedSectionsAndVersionAreThoseOfTheCode) {
  const auto tables = documented();
  const std::vector<std::pair<CheckpointSection, std::string>> sections = {
      {CheckpointSection::kEnd, "end"},         {CheckpointSection::kSetup, "setup"},
      {CheckpointSection::kSummary, "summary"}, {CheckpointSection::kNodes, "nodes"},
      {CheckpointSection::kDepths, "depths"},   {CheckpointSection::kVisited, "visited"},
      {CheckpointSection::kPending, "pending"}, {CheckpointSection::kAgenda, "agenda"},
  };
  ASSERT_EQ(tables.at("Sections").size(), sections.size());
  for (size_t i = 0; i < sections.size(); ++i) {
    EXPECT_EQ(tables.at("Sections")[i].at(0), std::to_string(static_cast<uint32_t>(sections[i].first)));
    EXPECT_EQ(tables.at("Sections")[i].at(1), sections[i].second);
  }
  const Rows& header = tables.at("Header");
  EXPECT_EQ(header.at(0).at(3), std::string(kCheckpointMagic, sizeof kCheckpointMagic));
  EXPECT_EQ(header.at(1).at(3), std::to_string(kCheckpointVersion));
  EXPECT_EQ(header.at(2).at(3), fmt::format("{:#010x}", kCheckpointByteOrder));
  EXPECT_EQ(tables.at("Versions").at(0).at(0), std::to_string(kCheckpointVersion));
}

TEST(CheckpointLayoutTest, ADocumentThatDiffersIsNoticed) {
  std::istringstream document(
      "## Node\n\n| offset | bytes | field | meaning |\n| --- | --- | --- | --- |\n"
      "| 0 | 4 | `parent` | |\n| 4 | 4 | `choice` | |\n");
  EXPECT_NE(texts_of(tables_of(document).at("Node")), texts_of(kLayouts.at("Node")));
}

}  // namespace
}  // namespace sisyfs::checkpoint_layout_test
