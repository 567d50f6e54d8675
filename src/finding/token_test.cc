#include "finding/token.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/digest.h"
#include "finding/finding_json.h"
#include "finding/pack.h"
#include "finding/random_finding_for_test.h"
#include "finding/token_layout.h"
#include "finding/valid.h"

namespace sisyfs::token_test {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;
using testing::StartsWith;

// As docs/formats/token.md defines it.
std::string with_checksum(const std::string& body) {
  return body + fmt::format(":{:04x}", digest_of(body.data(), body.size()).lo & 0xFFFF);
}

// A token whose steps are these bytes.
std::string token_of(const std::string& bytes) { return with_checksum("s2:link::M3:" + base64url(bytes)); }

std::string message(const Result<Finding>& finding) { return finding ? "accepted" : finding.error().message; }

Step op(uint32_t id, std::string text) {
  Step step;
  step.id = id;
  step.op = std::move(text);
  return step;
}

void expect_comes_back(const Finding& finding) {
  const std::string token = make_token(finding);
  const Result<Finding> again = parse_token(token);
  ASSERT_TRUE(again) << token << ": " << again.error().message;
  EXPECT_TRUE(*again == finding) << token;
}

// Four ops, two power cuts, twenty lost events; `stride` blocks between the addresses of two events.
Finding twenty_lost(uint64_t stride) {
  Finding finding;
  finding.kind = FindingKind::kNotAllowed;
  finding.setup = {"journal", {"revoke=off", "files=2"}};
  finding.steps = {op(1, "create /a"), op(2, "append /a 512"), op(3, "rename /a /b"), op(4, "fsync /b")};
  EventName event{.step = 2, .cut = 0, .nth = 0, .disk = 0, .address = 100};
  PowerCut first{.after = 3, .promises = 0, .lost = {}}, second{.after = 2, .promises = 1, .lost = {}};
  for (uint32_t i = 0; i < 20; ++i) {
    if (i == 10) event = {.step = 4, .cut = 0, .nth = 0, .disk = 0, .address = 200};
    event.nth += i % 3 == 0 ? 2 : 1;
    event.address += i * i * stride % 61;
    (i < 10 ? first : second).lost.push_back({event, {}});
  }
  finding.steps[1].cuts = {first};
  finding.steps[3].cuts = {second};
  return finding;
}

TEST(FindingTokenTest, RandomFindingsComeBack) {
  RandomFindings findings(1);
  for (int i = 0; i < 3000; ++i) {
    const Finding finding = findings.next();
    const std::string token = make_token(finding);
    const Result<Finding> again = parse_token(token);
    ASSERT_TRUE(again) << again.error().message << "\n" << text_of(to_json(finding));
    EXPECT_EQ(*again, finding) << text_of(to_json(finding)) << text_of(to_json(*again));
    EXPECT_EQ(make_token(*again), token);
    EXPECT_EQ(token.find_first_of(" '\"\\$&|;<>()*?[]{}!#~`\n\t"), std::string::npos) << token;
  }
}

TEST(FindingTokenTest, IsShortEnoughToPaste) {
  for (const uint64_t stride : {1, 2, 3, 5, 7}) {
    const std::string token = make_token(twenty_lost(stride));
    EXPECT_LT(token.size(), 120u) << token;
    expect_comes_back(twenty_lost(stride));
  }
}

TEST(FindingTokenTest, RunsOfLostEventsTakeNoRoom) {
  Finding finding;
  finding.setup.target = "journal";
  finding.steps = {op(1, "sync")};
  finding.steps[0].cuts.emplace_back();
  const size_t before = make_token(finding).size();
  for (uint32_t i = 0; i < 10'000; ++i)
    finding.steps[0].cuts[0].lost.push_back({{1, 0, i + 1, 0, 1000 + uint64_t{i} * 8}, {0, 2}});
  EXPECT_LT(make_token(finding).size(), before + 24);
  expect_comes_back(finding);
}

TEST(FindingTokenTest, RepeatedStepsTakeNoRoom) {
  Finding finding;
  finding.setup.target = "journal";
  for (uint32_t i = 0; i < 100'000; ++i)
    finding.steps.push_back(op(i + 1, i % 2 == 0 ? "append /a 512" : "fsync /a"));
  EXPECT_LT(make_token(finding).size(), 60u);
  expect_comes_back(finding);
}

// Paths of plug-ins hold anything.
TEST(FindingTokenTest, TargetsAndSettingsMayHoldAnything) {
  for (const char* path :
       {"./libmyfs.so", "./a b:c/x.so", "/tmp/100%/lib,1.so", "./%41.so", "./tail%4", "\xff\xfe"}) {
    Finding finding;
    finding.setup = {path, {"files=1", "mount=a,b:c%20"}};
    const std::string token = make_token(finding);
    EXPECT_EQ(token.find(' '), std::string::npos) << token;
    const Result<Finding> again = parse_token(token);
    ASSERT_TRUE(again) << token;
    EXPECT_EQ(*again, finding) << token;
  }
}

TEST(FindingTokenTest, EveryTruncationIsNoticed) {
  const std::string token = make_token(twenty_lost(1));
  for (size_t length = 0; length < token.size(); ++length) {
    const auto parsed = parse_token(std::string_view(token).substr(0, length));
    ASSERT_FALSE(parsed) << token.substr(0, length);
    EXPECT_EQ(parsed.error().kind, ErrorKind::kBadInput);
  }
}

TEST(FindingTokenTest, EveryChangedCharacterIsNoticed) {
  const std::string token = make_token(twenty_lost(1));
  for (size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(parse_token(changed)) << changed;
  }
}

TEST(FindingTokenTest, OtherVersionsAreNamed) {
  EXPECT_EQ(
      message(parse_token("s1:link:order=naive,cache=off:M3:0.16x2.34.0.34:5e1c")),
      "the token is of version s1, which named choices of one build; this program replays s2: run the check "
      "again");
  EXPECT_EQ(message(parse_token("s1")),
            message(parse_token("s1:link:order=naive,cache=off:M3:0.16x2.34.0.34:5e1c")));
  EXPECT_EQ(message(parse_token("s9:whatever")),
            "the token is of version s9, this program replays s2: use the sisyfs that printed it");
  EXPECT_LT(message(parse_token("s" + std::string(100'000, '1') + ":")).size(), 200u);
}

TEST(FindingTokenTest, WhatIsNotATokenIsNamed) {
  for (const char* text : {"", "s", "s:", "x2:a", "run.json", "S2:a", "s2x:a", "s 2:"})
    EXPECT_THAT(message(parse_token(text)),
                HasSubstr("is neither a file nor a token (a token starts with s2:)"))
        << text;
  EXPECT_LT(message(parse_token(std::string(100'000, 'x'))).size(), 200u);
}

TEST(FindingTokenTest, EachMalformedPartIsNamed) {
  const std::string steps = base64url("\0\0\x02"s);
  const auto said = [](const std::string& body) { return message(parse_token(with_checksum(body))); };
  EXPECT_EQ(said("s2:link::M3:" + steps), "accepted");
  EXPECT_THAT(said("s2:link:M3:" + steps), StartsWith("the token has 5 of 6 parts"));
  EXPECT_THAT(said("s2:link::M3:" + steps + ":"), StartsWith("the token has 7 of 6 parts"));
  EXPECT_THAT(message(parse_token("s2:link::M3:" + steps + ":0000")), HasSubstr("checksum does not fit"));
  EXPECT_THAT(said("s2:link::Z3:" + steps), HasSubstr("the finding 'Z3', which this program does not know"));
  EXPECT_THAT(said("s2:link::double-pointer:" + steps), HasSubstr("the finding 'double-pointer'"));
  EXPECT_THAT(said("s2:::M3:" + steps), HasSubstr("target: is empty"));
  for (const char* target : {"a b", "a%", "a%4", "a%4G", "a%4A", "a$b", "a,b"})
    EXPECT_THAT(said(fmt::format("s2:{}::M3:{}", target, steps)), HasSubstr("not escaped")) << target;
  for (const char* settings : {"a", "a=1,", ",", "=1"})
    EXPECT_THAT(said(fmt::format("s2:link:{}:M3:{}", settings, steps)), HasSubstr("name=value")) << settings;
  EXPECT_THAT(said("s2:link:a=1,a=2:M3:" + steps), HasSubstr("given twice"));
  for (const char* text : {"A", "AA=", "AB", "A.A", "A+A"})
    EXPECT_THAT(said(std::string("s2:link::M3:") + text), HasSubstr("base64url")) << text;
  EXPECT_THAT(said("s2:link::M3:"), HasSubstr("has no steps"));
  EXPECT_EQ(said("s2:link::M3:AA"), "accepted");
}

// Each with a right checksum: what a later program, or somebody with bad intentions, may write.
TEST(FindingTokenTest, EachMalformedStepIsNamed) {
  const auto said = [](const std::string& bytes) { return message(parse_token(token_of(bytes))); };
  EXPECT_THAT(said("\x04"s), HasSubstr("the header 0x04"));
  EXPECT_THAT(said("\x01\x02"s), HasSubstr("cannot be unpacked"));
  EXPECT_THAT(said("\0\x32\0"s), HasSubstr("the op code 50, which this program does not know"));
  EXPECT_THAT(said("\0\x40"s), HasSubstr("a step of kind 64, which this program does not know"));
  EXPECT_THAT(said("\0\x7f"s), HasSubstr("where its steps end"));
  EXPECT_THAT(said("\2\x0f"s), HasSubstr("where its steps end"));
  EXPECT_THAT(said("\2\x7f\0\0x"s), HasSubstr("goes on behind its end"));
  EXPECT_THAT(said("\2\x7f\0\2\x03"s
                   "a\x03"s
                   "b\x20\x22"s),
              HasSubstr("fact of the surroundings twice"));
  EXPECT_THAT(said("\2\x7f\xe9\x07"s), HasSubstr("too many targets"));
  for (const std::string& early :
       {"\0\0"s, "\0\x08\x02"s, "\0\x84"s, "\0\x81\x0f"s, "\0\x81\x0f\x04\x01"s, "\2\x7f"s,
        "\0\0\x05"s
        "a"s,
        "\0\x08\x02\x80"s})
    EXPECT_THAT(said(early), HasSubstr("ends in the middle")) << base64url(early);
  EXPECT_THAT(said("\0\x08\x02\x80\0\x0f"s), HasSubstr("malformed number"));
  EXPECT_THAT(said("\0\0\x20"s), HasSubstr("names a string that it does not have"));
  EXPECT_THAT(said("\0\x84\x06\x0f"s), HasSubstr("fails a call that this program does not know"));
  EXPECT_THAT(said("\0\x88\x80\x80\x80\x80\x10\x0f"s), HasSubstr("32 bits"));
  EXPECT_THAT(said("\0\x90\xff\xff\xff\xff\x0f\x0f"s), HasSubstr("has the id 0"));
  EXPECT_THAT(said("\0\x83\xff\xff\xff\xff\xff\x0f"s), HasSubstr("too many power cuts"));
  EXPECT_THAT(said("\0\x81\x0f\xfe\xff\xff\xff\x0f\x01"s), HasSubstr("too many lost events"));
  EXPECT_THAT(said("\0\x81\x0f\x04\x01\xc0\x05\x02"s), HasSubstr("run that is longer"));
  EXPECT_THAT(said("\0\x81\x0f\x02\x01\xa0\xff\xff\xff\x7f"s), HasSubstr("too many parts"));
  EXPECT_THAT(said("\0\x81\x0f\x02\x01\xa0\x02\xff\xff\xff\xff\x0f\0"s), HasSubstr("part beyond 32 bits"));
  EXPECT_THAT(said("\0\x81\x0f\x02\x01\x81\x02"s), HasSubstr("steps[0].cuts[0].lost[0]: names the step 2"));
  EXPECT_THAT(said("\0\x80\x3e"s), HasSubstr("steps[0]: has no op"));
}

// A few bytes that unpack to as much as they can.
TEST(FindingTokenTest, ShortTokensCannotMakeTheProgramAllocateMuch) {
  const auto said = [](const std::string& plain) {
    return message(parse_token(token_of("\x01"s + pack(plain))));
  };
  EXPECT_EQ(said(std::string(1000, '\x0f')), "accepted");
  EXPECT_THAT(said(std::string(kMostSteps + 1, '\x0f')), HasSubstr("more than 1000000 steps"));
  EXPECT_THAT(said(std::string(token_layout::kMostUnpacked + 1, '\x0f')), HasSubstr("cannot be unpacked"));
  std::string text = "\x3f";
  append_number(text, 2 * 100'000 + 1);
  text += std::string(100'000, 'a');
  for (int i = 0; i < 1000; ++i) text += "\x3f\x20";
  EXPECT_THAT(said(text), HasSubstr("bytes of text"));
  std::string parts = "\x81\x0f\x90\x4e\x01\xe0\xe8\x07";  // 5,000 lost events with 1,000 parts each
  parts += std::string(1000, '\0') + "\x80\x27\x02";
  EXPECT_THAT(said(parts), HasSubstr("too many parts"));
}

// Random changes with a checksum that fits give a finding that is written and read as the same, or an error.
TEST(FindingTokenTest, RandomChangesNeverDoHarm) {
  RandomFindings findings(5);
  size_t accepted = 0, refused = 0;
  const auto check = [&](const std::string& token) {
    const Result<Finding> read = parse_token(token);
    (read ? accepted : refused) += 1;
    if (!read) {
      EXPECT_FALSE(read.error().message.empty());
      return;
    }
    EXPECT_TRUE(validate(*read)) << token;
    const Result<Finding> again = parse_token(make_token(*read));
    ASSERT_TRUE(again) << token << ": " << again.error().message;
    EXPECT_EQ(*again, *read) << token;
  };
  for (int round = 0; round < 20'000; ++round) {
    const std::string token = make_token(findings.next());
    std::string body = token.substr(0, token.rfind(':'));
    const size_t steps = body.rfind(':') + 1;
    if (round % 2 == 0) {  // its characters
      for (size_t changes = 1 + findings.below(3); changes > 0; --changes)
        body[findings.below(body.size())] = static_cast<char>(' ' + findings.below(95));
    } else {  // the bytes of its steps
      std::string bytes = *from_base64url(body.substr(steps));
      for (size_t changes = 1 + findings.below(3); changes > 0 && !bytes.empty(); --changes) {
        const size_t at = findings.below(bytes.size());
        if (findings.below(4) == 0)
          bytes.erase(at, 1 + findings.below(4));
        else if (findings.below(4) == 0)
          bytes.insert(at, 1, static_cast<char>(findings.number()));
        else
          bytes[at] = static_cast<char>(findings.number());
      }
      body = body.substr(0, steps) + base64url(bytes);
    }
    check(with_checksum(body));
  }
  for (int round = 0; round < 50'000; ++round) {
    std::string bytes(1, static_cast<char>(findings.below(4)));
    for (size_t i = findings.below(24); i > 0; --i)
      bytes += static_cast<char>(findings.below(3) == 0 ? findings.below(256)
                                                        : findings.below(4) * 64 + findings.below(3));
    check(token_of(bytes));
  }
  EXPECT_GT(accepted, 3000u);
  EXPECT_GT(refused, 3000u);
}

// A token never changes its meaning: see the first lines of the corpus.
TEST(FindingTokenTest, OldTokensSayWhatTheyAlwaysSaid) {
  std::ifstream corpus(SISYFS_SOURCE_DIR "/tests/tokens/corpus.txt");
  size_t tokens = 0;
  for (std::string line; std::getline(corpus, line);) {
    if (line.empty() || line[0] == '#') continue;
    ++tokens;
    const size_t first = line.find('\t'), second = line.find('\t', first + 1);
    ASSERT_NE(second, std::string::npos) << line;
    const std::string token = line.substr(0, first);
    const Result<Finding> finding = parse_token(token);
    ASSERT_TRUE(finding) << token << ": " << finding.error().message;
    EXPECT_EQ(to_json(finding->steps).dump(), line.substr(first + 1, second - first - 1)) << token;
    nlohmann::ordered_json rest = to_json(*finding);
    for (const char* key : {"schema", "version", "name", "severity", "says", "steps"}) rest.erase(key);
    EXPECT_EQ(rest.dump(), line.substr(second + 1)) << token;
  }
  EXPECT_GE(tokens, 25u);
}

}  // namespace
}  // namespace sisyfs::token_test
