// docs/formats/token.md and docs/formats/finding.md say what the code does: their tables and examples are
// read here.
#include "finding/token_layout.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "finding/finding_json.h"
#include "finding/pack.h"
#include "finding/token.h"
#include "finding/token_bytes.h"
#include "workload/op.h"

namespace sisyfs::token_layout_test {
namespace {

using Json = nlohmann::ordered_json;
namespace layout = token_layout;

using Cells = std::vector<std::string>;

std::vector<std::string> lines_of(const std::string& document) {
  std::ifstream in(SISYFS_SOURCE_DIR "/docs/formats/" + document);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The lines from below a heading to the next one.
std::vector<std::string> section(const std::string& document, const std::string& heading) {
  std::vector<std::string> found;
  bool within = false;
  for (const std::string& line : lines_of(document)) {
    if (line.starts_with("#"))
      within = line == heading;
    else if (within)
      found.push_back(line);
  }
  EXPECT_FALSE(found.empty()) << document << " has no section '" << heading << "'";
  return found;
}

// The rows of the table in a section, cell by cell, without its head. Backquotes are left out.
std::vector<Cells> table(const std::string& document, const std::string& heading) {
  std::vector<Cells> rows;
  for (const std::string& line : section(document, heading)) {
    if (!line.starts_with("|")) continue;
    Cells cells;
    std::istringstream in(line.substr(1));
    for (std::string cell; std::getline(in, cell, '|');) {
      std::erase(cell, '`');
      const size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
      cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
    rows.push_back(cells);
  }
  EXPECT_GT(rows.size(), 2u) << document << ": " << heading;
  if (rows.size() > 2) rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

// The first JSON block of a section.
Json json_in(const std::string& document, const std::string& heading) {
  std::string text;
  bool within = false;
  for (const std::string& line : section(document, heading)) {
    if (within && line == "```") break;
    if (within) text += line + "\n";
    if (line == "```json") within = true;
  }
  const Result<Json> json = parse_json(text);
  EXPECT_TRUE(json) << document << ": " << heading;
  return json ? *json : Json();
}

template <class Rows>
void expect_documented(const std::string& heading, const Rows& rows, bool hexadecimal) {
  SCOPED_TRACE(heading);
  const std::vector<Cells> documented = table("token.md", heading);
  ASSERT_EQ(documented.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(documented[i][0],
              hexadecimal ? fmt::format("0x{:02X}", rows[i].value) : fmt::format("{}", rows[i].value));
    EXPECT_EQ(documented[i][1], rows[i].name);
  }
}

TEST(TokenLayoutTest, DocumentedTablesAreThoseOfTheCode) {
  expect_documented("### Header", layout::kHeaderFlags, true);
  expect_documented("### A step", layout::kStepBytes, true);
  expect_documented("### Head", layout::kHeadBits, true);
  expect_documented("### Kinds of steps", layout::kKinds, false);
  expect_documented("### Calls that fail", layout::kFailures, false);
  expect_documented("### A lost event, short form", layout::kShortBits, true);
  expect_documented("### A lost event, long form", layout::kLongBits, true);
}

TEST(TokenLayoutTest, DocumentedOpCodesAreThoseOfTheCode) {
  const std::vector<Cells> documented = table("token.md", "### Op codes");
  ASSERT_EQ(documented.size(), layout::kOpForms.size());
  for (size_t i = 0; i < documented.size(); ++i) {
    const layout::OpForm& form = layout::kOpForms[i];
    EXPECT_EQ(form.code, i);
    EXPECT_EQ(documented[i], (Cells{std::to_string(i), std::string(form.name), std::string(form.words)}));
  }
  const std::vector<Cells> strings = table("token.md", "### Strings");
  ASSERT_EQ(strings.size(), layout::kStrings.size());
  for (size_t i = 0; i < strings.size(); ++i)
    EXPECT_EQ(strings[i], (Cells{std::to_string(i), std::string(layout::kStrings[i])}));
}

TEST(TokenLayoutTest, KindsHaveTheNumbersOfTheirTypes) {
  Finding finding;
  finding.setup.target = "link";
  for (uint32_t kind = 0; kind < layout::kKinds.size(); ++kind) {
    finding.steps.emplace_back();
    finding.steps[kind].id = kind + 1;
    finding.steps[kind].kind = static_cast<Step::Kind>(kind);
    if (kind < 2) finding.steps[kind].op = "sync";
  }
  const Json json = to_json(finding.steps);
  for (size_t i = 1; i < layout::kKinds.size(); ++i) EXPECT_EQ(json[i]["kind"], layout::kKinds[i].name);
  for (size_t i = 0; i < layout::kFailures.size(); ++i) {
    finding.steps[0].failure = {static_cast<InjectedFailure::Kind>(i + 1), 1};
    EXPECT_TRUE(to_json(finding.steps)[0]["fails"].contains(layout::kFailures[i].name));
  }
}

// A new kind of op gets a code, or its tokens are longer than they need to be.
TEST(TokenLayoutTest, EveryOpOfAWorkloadHasACode) {
  for (size_t kind = 0; kind < kOpKinds; ++kind)
    for (const uint8_t version : {0, 1}) {
      const Op op{static_cast<OpKind>(kind), version, 0, 512, 1024, Path("/a"), Path("/b")};
      Finding finding;
      finding.steps.emplace_back();
      finding.steps[0].id = 1;
      finding.steps[0].op = to_text(op);
      const std::string bytes = token_bytes(finding);
      EXPECT_LT(static_cast<unsigned char>(bytes[1]), layout::kOpForms.size()) << to_text(op);
      EXPECT_LE(bytes.size(), 8u) << to_text(op);
    }
}

TEST(TokenLayoutTest, DocumentedExampleSaysWhatStandsBesideIt) {
  std::string token;
  for (const std::string& line : section("token.md", "## Example"))
    if (line.starts_with("    s2:")) token = line.substr(4);
  const Result<Finding> finding = parse_token(token);
  ASSERT_TRUE(finding) << token << ": " << finding.error().message;
  EXPECT_EQ(to_json(finding->steps), json_in("token.md", "## Example"));
  EXPECT_EQ(make_token(*finding), token);

  std::string by_hand;
  for (const Cells& row : table("token.md", "## Example")) {
    std::istringstream bytes(row[0]);
    for (std::string byte; bytes >> byte;) by_hand += static_cast<char>(std::stoi(byte, nullptr, 16));
  }
  EXPECT_EQ(base64url(by_hand), base64url(token_bytes(*finding)));
}

TEST(TokenLayoutTest, DocumentedLengthsAreRight) {
  for (const Cells& row : table("token.md", "## Lengths")) {
    const Result<Finding> finding = parse_token(row[1]);
    ASSERT_TRUE(finding) << row[1] << ": " << finding.error().message;
    EXPECT_EQ(make_token(*finding), row[1]);
    EXPECT_EQ(std::to_string(row[1].size()), row[2]) << row[0];
  }
}

std::set<std::string> documented_keys(const std::string& heading) {
  std::set<std::string> keys;
  for (const Cells& row : table("finding.md", heading)) keys.insert(row[0]);
  return keys;
}

void add_keys(const Json& object, std::set<std::string>& keys) {
  for (const auto& [key, value] : object.items()) keys.insert(key);
}

TEST(TokenLayoutTest, DocumentedKeysAreThoseOfTheExampleAndOfTheReader) {
  const Json example = json_in("finding.md", "## Example");
  const Result<Finding> finding = finding_from_json(example);
  ASSERT_TRUE(finding) << finding.error().message;
  std::set<std::string> all, steps, cuts, lost;
  add_keys(example, all);
  for (const Json& step : example["steps"]) {
    add_keys(step, steps);
    if (!step.contains("cuts")) continue;
    for (const Json& cut : step["cuts"]) {
      add_keys(cut, cuts);
      for (const Json& event : cut["lost"]) add_keys(event, lost);
    }
  }
  EXPECT_EQ(documented_keys("## Fields"), all);
  EXPECT_EQ(documented_keys("### A step"), steps);
  EXPECT_EQ(documented_keys("### A power cut"), cuts);
  EXPECT_EQ(documented_keys("### A lost event"), lost);
  EXPECT_EQ(documented_keys("### What reports add"),
            std::set<std::string>(report_keys().begin(), report_keys().end()));
  Json written = to_json(*finding);
  written["version"] = example["version"];
  EXPECT_EQ(written, example);
}

}  // namespace
}  // namespace sisyfs::token_layout_test
