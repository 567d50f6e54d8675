// Approved texts of stories, one for each kind of line.
#include "report/story_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sisyfs::story_text_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A story that is made step by step.
struct Told : ToldFinding {
  explicit Told(FindingKind kind = FindingKind::kNotAllowed) {
    finding.kind = kind;
    finding.setup.target = "toy";
  }

  StoryStep& op(const std::string& op, const std::string& text) {
    Step step;
    step.id = static_cast<uint32_t>(finding.steps.size()) + 1;
    step.op = op;
    finding.steps.push_back(step);
    return add(StoryStep::Kind::kOp, op, text);
  }
  StoryStep& cut(const std::string& text) { return add(StoryStep::Kind::kCrash, "", text); }
  StoryStep& add(StoryStep::Kind kind, const std::string& op, const std::string& text) {
    StoryStep step;
    step.kind = kind;
    step.step = finding.steps.back().id;
    step.op = op;
    step.text = text;
    story.steps.push_back(step);
    return story.steps.back();
  }
  // A write of the last op.
  WriteRecord& write(uint64_t address, WriteStatus status = WriteStatus::kPersisted) {
    WriteRecord write;
    write.number = static_cast<uint32_t>(story.writes.size()) + 1;
    write.address = address;
    write.content = "00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff ...";
    write.is_bytes = true;
    write.op = story.steps.back().op;
    write.status = status;
    story.steps.back().writes.push_back(write.number);
    story.writes.push_back(write);
    return story.writes.back();
  }
  std::string text(const TextStyle& style = {}) const {
    const std::string all = tell(*this, style);
    return all.substr(0, all.find("\n  Replay"));
  }
};

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Story: the power cut was a step of its own, which --depth did not count, and each write was listed twice.
TEST(StoryTextTest, APowerCutBelongsToItsStepAndEachWriteIsListedOnce) {
  Told told;
  told.op("create /a", "answers 0");
  told.write(7).label = "inode 2";
  told.op("fsync /a", "does not return");
  WriteRecord& lost = told.write(7, WriteStatus::kLost);
  lost.over = 1;
  lost.label = "inode 2";
  lost.is_bytes = false;
  lost.content = "file of 0 bytes";
  told.write(8).fua = true;
  StoryStep& cut = told.cut("the power goes in the middle of 'fsync /a'");
  cut.lost = {2};
  cut.observed.push_back({FindingKind::kNotAllowed, "file /a: missing"});
  cut.expected.emplace_back("what the contract 'fsync' allows");
  EXPECT_EQ(told.text(),
            R"(FOUND not-allowed (R3, critical): what came back is none of the trees that the contract allows
  toy: 2 steps, 1 power cut, 3 writes

    1  create /a: answers 0
         write 1 persisted: block 7, inode 2: 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff ...
    2  fsync /a: does not return
         write 2 LOST: block 7, inode 2: file of 0 bytes [over write 1 of 'create /a']
         write 3 persisted (FUA): block 8: 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff ...
       POWER CUT  the power goes in the middle of 'fsync /a'; lost: write 2
         recovery finds not-allowed (R3): file /a: missing
         expected: what the contract 'fsync' allows
)");
}

TEST(StoryTextTest, HarmlessRunsOfWritesAreOneLine) {
  Told told;
  told.op("sync", "answers 0");
  for (const uint64_t block : {4, 5, 6, 9}) told.write(block);
  told.write(20, WriteStatus::kTorn);
  told.write(21);
  told.write(22);
  told.cut("the power goes in the middle of 'sync'; write 5 was torn: of blocks 20 to 20 it kept none");
  EXPECT_THAT(told.text(), AllOf(HasSubstr("\n         writes 1 to 4 persisted: blocks 4-6, 9\n"),
                                 HasSubstr("\n         write 5 TORN: block 20: 00 11"),
                                 HasSubstr("\n         write 6 persisted: block 21: 00")));
  EXPECT_THAT(told.text({.verbose = true}),
              AllOf(HasSubstr("write 1 persisted: block 4: 00"), HasSubstr("write 4 persisted: block 9: 00"),
                    Not(HasSubstr("writes 1 to"))));
}

TEST(StoryTextTest, WhatIsSpokenOfAndWhatALostWriteLiesOverHaveLinesOfTheirOwn) {
  Told told;
  told.op("sync", "answers 0");
  for (uint64_t block = 0; block < 9; ++block) told.write(block);
  told.story.writes[3].is_named = true;
  told.op("sync", "does not return");
  WriteRecord& lost = told.write(8, WriteStatus::kLost);
  lost.over = 9;
  EXPECT_THAT(
      told.text(),
      AllOf(HasSubstr("writes 1 to 3 persisted: blocks 0-2\n"), HasSubstr("write 4 persisted: block 3: 00"),
            HasSubstr("writes 5 to 8 persisted: blocks 4-7\n"), HasSubstr("write 9 persisted: block 8: 00")));
}

TEST(StoryTextTest, LabelsOfARunAreToldWhereThereIsRoom) {
  Told told;
  told.op("sync", "answers 0");
  told.write(4).label = "bitmap";
  told.write(5).label = "inode table";
  told.write(9);
  EXPECT_THAT(told.text(), HasSubstr("writes 1 to 3 persisted: blocks 4 (bitmap), 5 (inode table), 9\n"));
  EXPECT_THAT(told.text({.width = 60}), HasSubstr("writes 1 to 3 persisted: blocks 4-5, 9\n"));
  EXPECT_THAT(told.text({.width = 46}), HasSubstr("writes 1 to 3 persisted: 3 blocks\n"));
}

TEST(StoryTextTest, BytesAreCutToTheLineAndWordsAreNot) {
  Told told;
  told.op("sync", "answers 0");
  told.write(4);
  WriteRecord& words = told.write(5);
  words.is_bytes = false;
  words.content = "inode 2 in 1: a file of 100 bytes, with 1 block";
  EXPECT_THAT(
      told.text({.width = 60}),
      AllOf(HasSubstr("write 1 persisted: block 4: 00 11 22 33 44 55 ...\n"),
            HasSubstr("write 2 persisted: block 5: inode 2 in 1: a file of\n             100 bytes")));
}

// Ten steps, each with many writes, of which the last loses most.
TEST(StoryTextTest, AStoryOfTenStepsFitsOnAScreen) {
  Told told;
  for (unsigned i = 0; i < 10; ++i) {
    told.op("write /a 0 512", "answers 512");
    for (uint64_t w = 0; w < 8; ++w) told.write(w * w, i == 9 ? WriteStatus::kLost : WriteStatus::kPersisted);
  }
  StoryStep& cut = told.cut("the power goes after 'write /a 0 512'");
  for (unsigned i = 0; i < 8; ++i) cut.observed.push_back({FindingKind::kLostBlock, "a block is free"});
  const std::string text = told.text();
  EXPECT_LE(lines_of(text), 40u) << text;
  EXPECT_THAT(text, HasSubstr("writes 73 to 80 LOST: blocks 0-1, 4, 9, 16, 25, 36, 49\n"));
  EXPECT_GT(lines_of(told.text({.verbose = true})), 80u);
}

TEST(StoryTextTest, WhatIsSeenSeveralTimesIsToldOnce) {
  Told told;
  told.op("sync", "does not return");
  StoryStep& cut = told.cut("the power goes in the middle of 'sync'");
  for (unsigned i = 0; i < 5; ++i) cut.observed.push_back({FindingKind::kLostBlock, "a block is free"});
  cut.observed.push_back({FindingKind::kDeadBlock, "a block is free"});
  const std::string text = told.text();
  EXPECT_EQ(text.find("(M2): a block is free"), text.rfind("(M2): a block is free")) << text;
  EXPECT_THAT(text, HasSubstr("(M1): a block is free"));
}

// Story: a trial of use that failed was told by its last answer alone.
TEST(StoryTextTest, TheCallsOfAFailedTrialAreTold) {
  Told told(FindingKind::kNotUsable);
  told.op("create /a", "does not return");
  StoryStep& cut = told.cut("the power goes in the middle of 'create /a'");
  cut.observed.push_back({FindingKind::kNotUsable, "'append /b 512' answers EIO, expected 512"});
  WriteRecord write;
  write.number = 1;
  write.address = 12;
  write.status = WriteStatus::kPersisted;
  write.content = "7";
  cut.trial = {{"create /b", "0", {write}}, {"append /b 512", "EIO"}};
  EXPECT_THAT(told.text(),
              HasSubstr("\n         in use: create /b: 0 (writes block 12); append /b 512: EIO\n"));
  EXPECT_THAT(told.text({.verbose = true}),
              HasSubstr("           in use, create /b: 0\n           write 1 persisted: block 12: 7\n"));
  cut.trial.back().answer = "";
  EXPECT_THAT(told.text(), HasSubstr("append /b 512: does not return\n"));
}

TEST(StoryTextTest, WhereACallDiedIsTold) {
  Told told(FindingKind::kTargetHung);
  StoryStep& step = told.op("append /a 64", "does not return");
  step.observed.push_back({FindingKind::kTargetHung,
                           "append /a 64: it does not return",
                           {"spin in libtoy.so", "toy_write (toy.c:9) in libtoy.so"}});
  EXPECT_THAT(told.text(), HasSubstr("         found target-hung (T2): append /a 64: it does not return\n"
                                     "             at spin in libtoy.so\n"
                                     "             at toy_write (toy.c:9) in libtoy.so\n"));
  step.observed[0].text = "append /a 64: SIGSEGV at spin in libtoy.so";
  EXPECT_THAT(told.text(), HasSubstr("SIGSEGV at spin in libtoy.so\n             at toy_write")) << "once";
}

// Each transition of a model in steps is a step, the power cut among them.
TEST(StoryTextTest, AModelInStepsHasAPowerCutOfItsOwn) {
  Told told;
  told.op("create file0", "takes free disk block 0 in memory").kind = StoryStep::Kind::kBegin;
  told.op("create file0", "writes").kind = StoryStep::Kind::kWrite;
  told.write(0).content = "file0 absent";
  told.op("", "");
  told.story.steps.pop_back();
  told.cut("the power goes in the middle of create file0");
  EXPECT_THAT(told.text(), AllOf(HasSubstr("toy: 3 steps, 1 op, 1 power cut, 1 write\n"),
                                 HasSubstr("    2    write 1 of create file0 persisted: block 0, "),
                                 HasSubstr("\n    3  POWER CUT  the power goes")));
}

TEST(StoryTextTest, HowOftenAFindingWasConfirmedIsSaid) {
  Told told;
  told.op("create /a", "does not return");
  EXPECT_EQ(tell(told, {}).find("onfirmed"), std::string::npos) << "it was not tried";
  told.confirmed = Confirmed{.times = 3, .of = 3};
  EXPECT_THAT(tell(told, {}), HasSubstr("\n  Confirmed 3 of 3\n"));
  told.confirmed = Confirmed{.times = 1, .of = 3, .differs = "nothing"};
  const std::string text = tell(told, {});
  EXPECT_THAT(text, HasSubstr("\n  Confirmed 1 of 3 times only: "));
  EXPECT_THAT(text, HasSubstr("In a replay without the finding:"));
  EXPECT_THAT(text, HasSubstr("nothing\n"));
}

// Story: a power cut after which the check and a call failed was told as two stories.
TEST(StoryTextTest, FindingsWithTheSameStepsAreOneStory) {
  Told one(FindingKind::kNotClean), two(FindingKind::kNotUsable), other(FindingKind::kNotWalkable);
  one.op("create /a", "does not return");
  two.op("create /a", "does not return");
  other.op("sync", "does not return");
  const std::vector<ToldFinding> all = {one, other, two};
  const std::string text = tell_all(all, {});
  EXPECT_THAT(text, HasSubstr("FOUND not-clean (R4, critical): the system's own check is not clean after "
                              "recovery\nFOUND not-usable (R5, critical): the recovered system cannot be "
                              "used\n  toy: 1 step\n\n    1  create /a: does not return\n\n  Replay "
                              "not-clean: ./sisyfs replay s2:toy::R4:"));
  EXPECT_THAT(text, AllOf(HasSubstr("\n  Replay not-usable: ./sisyfs replay s2:toy::R5:"),
                          HasSubstr("\n  Replay: ./sisyfs replay s2:toy::R2:")));
  EXPECT_EQ(text.find("create /a"), text.rfind("create /a")) << text;
}

}  // namespace
}  // namespace sisyfs::story_text_test
