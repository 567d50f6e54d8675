#include "machine/usable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/toy_target_for_test.h"

namespace sisyfs::usable_test {
namespace {

using testing::HasSubstr;

// What is wrong with a toy that was mounted with these files; empty if it can be used. `hint`: block 4.
std::string why_unusable(const ToyMistakes& mistakes, uint8_t files, uint8_t hint = 0,
                         TrialNotes* noted = nullptr) {
  const ToyRig rig(toy_setup(mistakes));
  ToyTarget target(mistakes);
  Media media(rig.blank);
  EXPECT_EQ(target.format(media), 0);
  const auto put = [&](uint64_t block, uint8_t value) {
    const std::byte bytes[ToyTarget::kBlockSize] = {static_cast<std::byte>(value)};
    EXPECT_EQ(media.write(BlockAddress(block), bytes), IoStatus::kOk);
  };
  put(1, files & ToyTarget::kA);
  put(2, files & ToyTarget::kB);
  put(4, hint);
  EXPECT_EQ(target.mount(media), 0);
  const MediaState before = media.save();
  const Snapshot memory = target.save();
  TrialNotes notes;
  const bool usable = is_usable(rig.setup.kind, target, media, rig.bounds, ToyTarget::tree_of(files), &notes);
  EXPECT_EQ(usable, notes.why.empty());
  // The same without a reason.
  media.load(before);
  target.load(memory, media);
  EXPECT_EQ(is_usable(rig.setup.kind, target, media, rig.bounds, ToyTarget::tree_of(files), nullptr), usable);
  if (noted != nullptr) *noted = notes;
  return notes.why;
}

// The op that a toy with these files refuses for lack of space; empty if there is none.
std::string refused(const ToyMistakes& mistakes, uint8_t files) {
  const ToyRig rig(toy_setup(mistakes));
  ToyTarget target(mistakes);
  Media media(rig.blank);
  EXPECT_EQ(target.format(media), 0);
  EXPECT_EQ(target.mount(media), 0);
  const std::optional<Op> op =
      refused_for_space(rig.setup.kind, target, media, rig.bounds, ToyTarget::tree_of(files));
  return op ? to_text(*op) : "";
}

TEST(UsableTest, AnOpThatIsRefusedForLackOfSpaceIsNamed) {
  EXPECT_EQ(refused({}, 0), "");
  EXPECT_EQ(refused({.full = true}, 0), "create /a");
  EXPECT_EQ(refused({.full = true}, ToyTarget::kA), "create /b");
  EXPECT_EQ(refused({.full = true}, 3), "") << "no name is free";
  EXPECT_EQ(refused({.wrong_effect = true, .hides_error = true}, 0), "");
}

TEST(UsableTest, ARightSystemCanBeUsed) {
  for (const uint8_t files : {0, 1, 2, 3}) {
    EXPECT_EQ(why_unusable({}, files), "") << int{files};
    EXPECT_EQ(why_unusable({.hint = true, .has_check = true}, files), "") << int{files};
  }
}

TEST(UsableTest, AnOpThatAnswersWrongIsNamed) {
  EXPECT_EQ(why_unusable({.wrong_errno = true}, 1), "'unlink /a' answers EPERM, expected 0");
}

TEST(UsableTest, AnUnmountThatFailsIsNamed) {
  EXPECT_THAT(why_unusable({.no_unmount = true}, 2), HasSubstr("unmount answers EBUSY"));
  EXPECT_EQ(why_unusable({.no_unmount = true}, 1), "");
}

TEST(UsableTest, AProblemOfItsOwnCheckIsNamed) {
  EXPECT_THAT(why_unusable({.has_check = true}, 0, 1), HasSubstr("its check finds: M2 lost-block: block 4"));
  EXPECT_EQ(why_unusable({}, 0, 1), "") << "it has no check";
}

// Story: a report said that the trial had failed, and neither which calls came before nor what they wrote.
TEST(UsableTest, TheCallsUpToTheOneThatFailsAreNotedWithTheirWrites) {
  TrialNotes notes;
  EXPECT_NE(why_unusable({.wrong_errno = true}, 1, 0, &notes), "");
  ASSERT_EQ(notes.calls.size(), 2u);
  EXPECT_EQ(notes.calls[0].call, "create /b");
  EXPECT_EQ(notes.calls[0].answer, "0");
  EXPECT_EQ(notes.calls[1].call, "unlink /a");
  EXPECT_EQ(notes.calls[1].answer, "EPERM");
  std::vector<const Event*> events;
  notes.log.events(events);
  ASSERT_EQ(notes.calls[0].end, events.size()) << "the second call wrote nothing";
  EXPECT_EQ(events.at(notes.calls[0].end - 1)->first, BlockAddress(2));
  EXPECT_EQ(notes.calls[0].disk.block(BlockAddress(2)), nullptr) << "the disk before the call";
  EXPECT_NE(notes.calls[1].disk.block(BlockAddress(2)), nullptr);
}

TEST(UsableTest, TheWholeTrialIsNoted) {
  TrialNotes notes;
  EXPECT_EQ(why_unusable({.has_check = true}, 0, 0, &notes), "");
  std::vector<std::string> calls;
  for (const TrialNotes::Call& call : notes.calls) calls.push_back(call.call + ": " + call.answer);
  EXPECT_EQ(calls, (std::vector<std::string>{"create /a: 0", "unlink /a: 0", "create /a: 0", "unlink /a: 0",
                                             "unmount: 0", "its check: finds nothing", "mount: 0"}));
}

TEST(UsableTest, AWrongEffectShowsInALaterAnswer) {
  EXPECT_THAT(why_unusable({.wrong_effect = true}, 1), HasSubstr("'unlink /a' answers ENOENT, expected 0"));
}

}  // namespace
}  // namespace sisyfs::usable_test
