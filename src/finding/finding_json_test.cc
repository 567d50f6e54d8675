#include "finding/finding_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "finding/random_finding_for_test.h"
#include "finding/valid.h"

namespace sisyfs::finding_json_test {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kExample = R"({
  "schema": "sisyfs.finding/2",
  "version": "0.1.0",
  "target": "journal",
  "settings": ["revoke=off"],
  "others": [{"target": "f2fs", "settings": []}],
  "surroundings": {"kernel": "6.1"},
  "code": "R3",
  "name": "not-allowed",
  "severity": "critical",
  "says": "what came back is none of the trees that the contract allows",
  "steps": [
    {"id": 1, "op": "create /a"},
    {"id": 2, "op": "append /a 512", "fails": {"access": 3}},
    {"id": 3, "op": "fsync /a", "cuts": [
      {"after": 2, "lost": [{"step": 2, "nth": 1, "address": 17},
                            {"step": 3, "nth": 2, "disk": 1, "address": 18, "parts": [1, 2]}]},
      {"after": 1, "promises": 1, "lost": [
        {"step": 3, "cut": 1, "nth": 1, "address": 18446744073709551615}]}]},
    {"id": 5, "kind": "begin", "task": 1, "op": "create file0", "fails": {"allocation": 1}},
    {"id": 6, "kind": "advance", "task": 1},
    {"id": 9, "kind": "cut", "cuts": [{"after": 0, "lost": []}]}
  ]
})";

std::string message(const Result<Finding>& finding) { return finding ? "accepted" : finding.error().message; }

// The answer to the example after the value at a place was replaced or added, or removed ("remove").
std::string refusal(const std::string& pointer, const std::string& value) {
  Json json = Json::parse(kExample);
  if (value == "remove") {
    const Json::json_pointer at(pointer);
    Json& parent = json[at.parent_pointer()];
    if (parent.is_array())
      parent.erase(std::stoul(at.back()));
    else
      parent.erase(at.back());
  } else {
    json[Json::json_pointer(pointer)] = Json::parse(value);
  }
  return message(finding_from_json(json));
}

TEST(FindingJsonTest, EveryFieldIsReadAndWrittenAsItWas) {
  const Json json = Json::parse(kExample);
  const Result<Finding> finding = finding_from_json(json);
  ASSERT_TRUE(finding) << finding.error().message;
  EXPECT_EQ(to_json(*finding), json);
  EXPECT_EQ(finding->kind, FindingKind::kNotAllowed);
  EXPECT_EQ(finding->others, (decltype(finding->others){{"f2fs", {}}}));
  EXPECT_EQ(finding->surroundings.at("kernel"), "6.1");
  ASSERT_EQ(finding->steps.size(), 6u);
  EXPECT_EQ(finding->steps[1].failure, (InjectedFailure{InjectedFailure::Kind::kDiskAccess, 3}));
  EXPECT_EQ(finding->steps[3].failure, (InjectedFailure{InjectedFailure::Kind::kAllocation, 1}));
  EXPECT_EQ(finding->steps[2].cuts[0].lost[1], (LostEvent{{3, 0, 2, 1, 18}, {1, 2}}));
  EXPECT_EQ(finding->steps[2].cuts[1], (PowerCut{1, 1, {{{3, 1, 1, 0, UINT64_MAX}, {}}}}));
  EXPECT_EQ(finding->steps[3].kind, Step::Kind::kBegin);
  EXPECT_EQ(finding->steps[4].kind, Step::Kind::kAdvance);
  EXPECT_EQ(finding->steps[5].kind, Step::Kind::kPowerCut);
  EXPECT_EQ(finding->steps[5].id, 9u);
}

TEST(FindingJsonTest, RandomFindingsComeBack) {
  RandomFindings findings(1);
  for (int i = 0; i < 1000; ++i) {
    const Finding finding = findings.next();
    const Result<Finding> again = finding_from_json(to_json(finding));
    ASSERT_TRUE(again) << again.error().message << "\n" << text_of(to_json(finding));
    EXPECT_EQ(*again, finding) << text_of(to_json(finding));
    const Result<std::vector<Finding>> read = findings_in(text_of(to_json(finding)), {"sisyfs.run/2"});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->at(0), finding);
    EXPECT_EQ(*steps_from_json(to_json(finding.steps)), finding.steps);
  }
}

TEST(FindingJsonTest, DefaultsMayBeWritten) {
  EXPECT_EQ(refusal("/steps/0/kind", "\"op\""), "accepted");
  EXPECT_EQ(refusal("/steps/0/task", "0"), "accepted");
  EXPECT_EQ(refusal("/steps/0/cuts", "[]"), "accepted");
  EXPECT_EQ(refusal("/steps/2/cuts/0/promises", "0"), "accepted");
  EXPECT_EQ(refusal("/steps/2/cuts/0/lost/0/disk", "0"), "accepted");
  EXPECT_EQ(refusal("/steps/2/cuts/0/lost/0/cut", "0"), "accepted");
  for (const char* pointer : {"/version", "/name", "/severity", "/says", "/others", "/surroundings",
                              "/steps/2/cuts/0/lost", "/steps/4/task"})
    EXPECT_EQ(refusal(pointer, "remove"), "accepted") << pointer;
}

TEST(FindingJsonTest, AStepMayBeRemovedByHand) {
  for (const char* pointer : {"/steps/0", "/steps/1", "/steps/2", "/steps/5"})
    EXPECT_EQ(refusal(pointer, "remove"), "accepted") << pointer;
}

TEST(FindingJsonTest, KeysOfReportsAreIgnored) {
  for (const std::string_view key : report_keys())
    EXPECT_EQ(refusal("/" + std::string(key), R"([{"anything": [1.5, null]}])"), "accepted") << key;
  EXPECT_THAT(refusal("/steps/0/token", "1"), StartsWith("steps[0]: has the unknown key \"token\""));
}

TEST(FindingJsonTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(refusal("/target", "remove"), "the finding: has no 'target'; add it");
  EXPECT_EQ(refusal("/settings", "remove"), "the finding: has no 'settings'; add it");
  EXPECT_EQ(refusal("/code", "remove"), "the finding: has no 'code'; add it");
  EXPECT_EQ(refusal("/steps", "remove"), "the finding: has no 'steps'; add it");
  EXPECT_EQ(refusal("/others/0/target", "remove"), "others[0]: has no 'target'; add it");
  EXPECT_EQ(refusal("/steps/1/id", "remove"), "steps[1]: has no 'id'; add it");
  EXPECT_THAT(refusal("/steps/1/op", "remove"), StartsWith("steps[1]: has no op;"));
  EXPECT_EQ(refusal("/steps/2/cuts/0/after", "remove"), "steps[2].cuts[0]: has no 'after'; add it");
  for (const char* key : {"step", "nth", "address"})
    EXPECT_EQ(refusal(std::string("/steps/2/cuts/0/lost/1/") + key, "remove"),
              "steps[2].cuts[0].lost[1]: has no '" + std::string(key) + "'; add it");
}

TEST(FindingJsonTest, UnknownKeysAreNamed) {
  const std::vector<std::pair<std::string, std::string>> places = {
      {"", "the finding"},
      {"/others/0", "others[0]"},
      {"/steps/0", "steps[0]"},
      {"/steps/1/fails", "steps[1].fails"},
      {"/steps/2/cuts/1", "steps[2].cuts[1]"},
      {"/steps/2/cuts/0/lost/1", "steps[2].cuts[0].lost[1]"}};
  for (const auto& [pointer, place] : places)
    EXPECT_EQ(refusal(pointer + "/extra", "1"),
              place + ": has the unknown key \"extra\"; remove it or correct its name");
}

TEST(FindingJsonTest, WrongTypesAreNamedWithTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"/target", "target"},
      {"/settings/0", "settings[0]"},
      {"/version", "version"},
      {"/code", "code"},
      {"/says", "says"},
      {"/surroundings/kernel", "surroundings.kernel"},
      {"/steps/0/op", "steps[0].op"},
      {"/steps/3/kind", "steps[3].kind"},
      {"/others/0/target", "others[0].target"}};
  for (const auto& [pointer, place] : texts)
    for (const char* value : {"1", "null", "[]", "{}", "true"})
      EXPECT_THAT(refusal(pointer, value), StartsWith(place + ": is ")) << value;
  const std::vector<std::pair<std::string, std::string>> lists = {
      {"/settings", "settings"},
      {"/others", "others"},
      {"/steps", "steps"},
      {"/steps/2/cuts", "steps[2].cuts"},
      {"/steps/2/cuts/0/lost", "steps[2].cuts[0].lost"},
      {"/steps/2/cuts/0/lost/1/parts", "steps[2].cuts[0].lost[1].parts"}};
  for (const auto& [pointer, place] : lists)
    for (const char* value : {"1", "null", "{}", "\"x\""})
      EXPECT_THAT(refusal(pointer, value), StartsWith(place + ": is ")) << value;
  const std::vector<std::pair<std::string, std::string>> objects = {
      {"/surroundings", "surroundings"},
      {"/others/0", "others[0]"},
      {"/steps/0", "steps[0]"},
      {"/steps/1/fails", "steps[1].fails"},
      {"/steps/2/cuts/0", "steps[2].cuts[0]"},
      {"/steps/2/cuts/0/lost/0", "steps[2].cuts[0].lost[0]"}};
  for (const auto& [pointer, place] : objects)
    for (const char* value : {"1", "null", "[]", "\"x\""})
      EXPECT_THAT(refusal(pointer, value), StartsWith(place + ": is ")) << value;
}

TEST(FindingJsonTest, NumbersOutOfRangeAreNamedWithTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> numbers = {
      {"/steps/0/id", "steps[0].id"},
      {"/steps/3/task", "steps[3].task"},
      {"/steps/1/fails/access", "steps[1].fails.access"},
      {"/steps/2/cuts/0/after", "steps[2].cuts[0].after"},
      {"/steps/2/cuts/1/promises", "steps[2].cuts[1].promises"},
      {"/steps/2/cuts/0/lost/1/step", "steps[2].cuts[0].lost[1].step"},
      {"/steps/2/cuts/0/lost/1/cut", "steps[2].cuts[0].lost[1].cut"},
      {"/steps/2/cuts/0/lost/1/nth", "steps[2].cuts[0].lost[1].nth"},
      {"/steps/2/cuts/0/lost/1/disk", "steps[2].cuts[0].lost[1].disk"},
      {"/steps/2/cuts/0/lost/1/parts/1", "steps[2].cuts[0].lost[1].parts[1]"}};
  for (const auto& [pointer, place] : numbers)
    for (const char* value :
         {"-1", "4294967296", "1.0", "1e3", "\"1\"", "null", "true", "18446744073709551616"})
      EXPECT_THAT(refusal(pointer, value),
                  testing::AllOf(StartsWith(place + ": is "), HasSubstr("0 to 4294967295")))
          << value;
  for (const char* value : {"-1", "18446744073709551616", "0.5"})
    EXPECT_THAT(refusal("/steps/2/cuts/0/lost/0/address", value), HasSubstr("0 to 18446744073709551615"))
        << value;
}

TEST(FindingJsonTest, RulesAreKept) {
  EXPECT_THAT(refusal("/steps/1/id", "1"), StartsWith("steps[1]: has the id 1 after the id 1;"));
  EXPECT_THAT(refusal("/steps/2/id", "1"), StartsWith("steps[2]: has the id 1 after the id 2;"));
  EXPECT_THAT(refusal("/steps/0/id", "0"), StartsWith("steps[0]: has the id 0;"));
  EXPECT_THAT(refusal("/steps/2/cuts/0/lost/1/step", "4"),
              StartsWith("steps[2].cuts[0].lost[1]: names the step 4"));
  EXPECT_THAT(refusal("/steps/2/cuts/0/lost/1/parts", "[2, 1]"),
              StartsWith("steps[2].cuts[0].lost[1]: has parts"));
  EXPECT_THAT(refusal("/steps/2/cuts/0/lost/1/parts", "[]"),
              StartsWith("steps[2].cuts[0].lost[1].parts: is empty"));
  EXPECT_THAT(refusal("/steps/1/fails", "{}"),
              StartsWith("steps[1].fails: names 0 calls; name one, access or"));
  EXPECT_THAT(refusal("/steps/1/fails/allocation", "1"), StartsWith("steps[1].fails: names 2 calls;"));
  EXPECT_THAT(refusal("/steps/1/fails/access", "0"), StartsWith("steps[1].fails.access: is 0;"));
  EXPECT_THAT(refusal("/steps/0/kind", "\"crash\""),
              StartsWith("steps[0].kind: is \"crash\"; write one of op, begin, advance, cut"));
  EXPECT_THAT(refusal("/code", "\"Z9\""), StartsWith("code: is \"Z9\", which this program does not know;"));
  EXPECT_THAT(refusal("/code", "\"not-allowed\""), StartsWith("code: is \"not-allowed\","));
  EXPECT_THAT(refusal("/name", "\"dead-block\""),
              StartsWith("name: is \"dead-block\", but the code R3 is not-allowed;"));
  EXPECT_THAT(refusal("/settings", R"(["a=1", "a=2"])"), StartsWith("settings: option 'a' is given twice"));
}

TEST(FindingJsonTest, TooManyStepsAreRefusedBeforeTheyAreRead) {
  Json json = Json::parse(kExample);
  json["steps"] = Json(std::vector<int>(kMostSteps + 1));
  EXPECT_THAT(message(finding_from_json(json)),
              StartsWith("steps: has 1000001 entries, the limit is 1000000;"));
}

TEST(FindingJsonTest, OtherSchemasAreNamed) {
  EXPECT_EQ(
      refusal("/schema", "\"sisyfs.finding/1\""),
      "the finding has the schema sisyfs.finding/1, which named choices of one build; this program reads "
      "sisyfs.finding/2: run the check again");
  EXPECT_THAT(refusal("/schema", "\"sisyfs.finding/3\""), HasSubstr("the schema \"sisyfs.finding/3\""));
  EXPECT_THAT(refusal("/schema", "2"), HasSubstr("no \"schema\""));
  EXPECT_THAT(refusal("/schema", "remove"), HasSubstr("no \"schema\""));
  for (const char* value : {"null", "[]", "7", "\"x\"", "{}"})
    EXPECT_THAT(message(finding_from_json(Json::parse(value))), HasSubstr("no \"schema\"")) << value;
}

TEST(FindingJsonTest, FilesThatAreNotJsonAreRefused) {
  const auto said = [](std::string_view text) {
    const auto json = parse_json(text);
    return json ? std::string("accepted") : json.error().message;
  };
  EXPECT_EQ(said(kExample), "accepted");
  const std::string_view whole = kExample;
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_THAT(said(whole.substr(0, length)), HasSubstr("is not JSON, or was cut off"));
  EXPECT_THAT(said(R"({"a": 1, "b": {"a": 2, "c": {}, "a": 3}})"), HasSubstr("has the key \"a\" twice"));
  EXPECT_EQ(said(R"([{"a": 1}, {"a": 1, "b": {"a": 2}, "c": 3}])"), "accepted");
  EXPECT_THAT(said(std::string(1'000'000, '[')), HasSubstr("deeper than 100"));
  EXPECT_THAT(said(std::string(200, '[') + std::string(200, ']')), HasSubstr("deeper than 100"));
  std::string keys = "{";
  for (int i = 0; i < 2000; ++i) keys += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  EXPECT_THAT(said(keys + "}"), HasSubstr("more than 1000 keys"));
}

TEST(FindingJsonTest, ARunGivesAllItsFindings) {
  Json run{{"schema", "sisyfs.run/2"}, {"states", 7}, {"findings", Json::array()}};
  const auto said = [&] {
    const auto findings = findings_in(text_of(run), {"sisyfs.run/2"});
    return findings ? std::to_string(findings->size()) : findings.error().message;
  };
  EXPECT_THAT(said(), HasSubstr("found nothing"));
  run["findings"] = {Json::parse(kExample), Json::parse(kExample)};
  EXPECT_EQ(said(), "2");
  run["findings"][1]["steps"][0]["id"] = 0;
  EXPECT_THAT(said(), StartsWith("findings[1]: steps[0]: has the id 0;"));
  run["findings"] = 1;
  EXPECT_THAT(said(), HasSubstr("has no \"findings\""));
  run["schema"] = "sisyfs.run/1";
  EXPECT_THAT(said(), HasSubstr("\"sisyfs.run/1\""));
}

// Whatever is changed in a file, it is read as a finding that is written and read as the same, or refused.
TEST(FindingJsonTest, RandomChangesNeverDoHarm) {
  RandomFindings findings(3);
  size_t accepted = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = text_of(to_json(findings.next()));
    for (size_t changes = 1 + findings.below(3); changes > 0; --changes) {
      const size_t at = findings.below(text.size());
      constexpr std::string_view kBytes = "0123456789[]{},:\"-.eE \xff\x01";
      if (findings.below(3) == 0)
        text.erase(at, 1 + findings.below(20));
      else
        text[at] = kBytes[findings.below(kBytes.size())];
    }
    const auto read = findings_in(text, {"sisyfs.run/2"});
    (read ? accepted : refused) += 1;
    if (!read) {
      EXPECT_FALSE(read.error().message.empty());
      continue;
    }
    const auto again = finding_from_json(to_json(read->at(0)));
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(*again, read->at(0));
  }
  EXPECT_GT(accepted, 100u);
  EXPECT_GT(refused, 100u);
}

// JSON is UTF-8, paths are bytes.
TEST(FindingJsonTest, BytesThatAreNotUtf8DoNotStopTheWriting) {
  RandomFindings findings(4);
  Finding finding = findings.next();
  finding.setup.target = "./\xff.so";
  EXPECT_EQ(finding_from_json(to_json(finding))->setup.target, finding.setup.target);
  EXPECT_THAT(text_of(to_json(finding)), HasSubstr("./\xEF\xBF\xBD.so"));
}

}  // namespace
}  // namespace sisyfs::finding_json_test
