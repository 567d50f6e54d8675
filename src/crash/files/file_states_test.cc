#include "crash/files/file_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "crash/files/all_file_states_for_test.h"
#include "crash/files/file_logs_for_test.h"

namespace sisyfs::file_states_test {
namespace {

void expect_as_reference(const FileLog& log, const FileRules& rules, EventId events,
                         const FlushChanges& changes, std::mt19937& random) {
  const AllFileStates all(log, rules, events, changes);
  const FileStates states(log, rules, events, changes);
  const PickedStates picker(log, states, random);
  const std::set<Versions> reached(picker.reached().begin(), picker.reached().end());
  EXPECT_EQ(reached.size(), picker.reached().size());
  EXPECT_EQ(reached, all.states());
  EXPECT_EQ(states.count(states.all()).low(), all.states().size());
  ASSERT_FALSE(testing::Test::HasFailure()) << rules.name << ", " << events << " events of:\n"
                                            << text_of(log);
}

TEST(FileStatesTest, StatesOfRandomLogsAreThoseOfTheReference) {
  size_t many = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const ToyFiles files = random_files(random, 2000, 60);
    const auto all = static_cast<EventId>(files.log.events().size());
    for (const FileRules& rules : all_file_rules()) {
      SCOPED_TRACE(seed);
      expect_as_reference(files.log, rules, all, {}, random);
      expect_as_reference(files.log, rules, static_cast<EventId>(random() % (all + 1)), {}, random);
      expect_as_reference(files.log, rules, all, random_changes(files.log, random), random);
      if (HasFatalFailure()) return;
    }
    many += AllFileStates(files.log, *file_rules("posix"), all).states().size() > 20 ? 1 : 0;
  }
  EXPECT_GT(many, 100U) << "the logs leave too little open to show anything";
}

TEST(FileStatesTest, CountFollowsPicks) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const ToyFiles files = random_files(random, 3000, 40);
    const FileRules& rules = all_file_rules()[seed % all_file_rules().size()];
    const auto events = static_cast<EventId>(files.log.events().size());
    const FileStates states(files.log, rules, events);
    std::set<Versions> left = AllFileStates(files.log, rules, events).states();
    FileStates::Ranges ranges = states.all();
    for (int i = 0; i < 3; ++i) {
      const auto slot = static_cast<SlotId>(random() % files.log.slots());
      const uint32_t low = states.low(ranges, slot), high = states.high(ranges, slot);
      const uint32_t version = low + static_cast<uint32_t>(random() % (high - low + 1));
      states.pick(ranges, slot, version);
      std::erase_if(left, [&](const Versions& one) { return one[slot] != version; });
      EXPECT_EQ(states.count(ranges).low(), left.size()) << seed << " " << rules.name;
    }
  }
}

TEST(FileStatesTest, OpenSlotsAreThoseThatDifferBetweenStates) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const ToyFiles files = random_files(random, 3000, 40);
    const FileRules& rules = all_file_rules()[seed % all_file_rules().size()];
    const auto events = static_cast<EventId>(files.log.events().size());
    const FileStates states(files.log, rules, events);
    const std::set<Versions> all = AllFileStates(files.log, rules, events).states();
    std::vector<SlotId> open;
    for (SlotId slot = 0; slot < files.log.slots(); ++slot)
      if (std::any_of(all.begin(), all.end(), [&](auto& one) { return one[slot] != (*all.begin())[slot]; }))
        open.push_back(slot);
    EXPECT_EQ(states.open_slots(), open) << seed << " " << rules.name;
  }
}

TEST(FileStatesTest, NewestIsTheLastVersionBeforeTheMoment) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.write(a, 0, 1, 4096);
  const EventId second = files.write(a, 0, 1, 4096);
  const SlotId page = *files.log.find({SlotKind::kPage, a, 0, ""});
  const FileRules& posix = *file_rules("posix");
  EXPECT_EQ(FileStates(files.log, posix, 0).newest(page), 0U);
  EXPECT_EQ(FileStates(files.log, posix, second).newest(page), 1U);
  EXPECT_EQ(FileStates(files.log, posix, second + 1).newest(page), 2U);
}

TEST(FileStatesTest, StatesOfManyIndependentPagesAreCountedAsAProduct) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.write(a, 0, 100, 4096 * 100);
  const FileStates states(files.log, *file_rules("posix"), 2);
  StateCount expected = 1;
  for (int slot = 0; slot < 102; ++slot) expected *= 2;  // the name, the size, the pages
  EXPECT_EQ(states.count(states.all()), expected);
}

TEST(FileStatesTest, SizeWithManyPagesIsCounted) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.write(a, 0, 100, 4096 * 100);
  const FileStates states(files.log, *file_rules("xfs"), 2);
  StateCount pages = 1;
  for (int page = 0; page < 100; ++page) pages *= 2;
  // Without the size any of the pages; with it all of them. The name is free.
  EXPECT_EQ(states.count(states.all()), (pages + StateCount(1)) * StateCount(2));
}

}  // namespace
}  // namespace sisyfs::file_states_test
