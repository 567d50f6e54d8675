#include "crash/files/file_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "crash/files/all_file_states_for_test.h"
#include "crash/files/file_logs_for_test.h"

namespace sisyfs::file_runs_test {
namespace {

constexpr uint32_t kAnyLosses = UINT32_MAX;

// Answers what a slot holds; kAckedSlot: the number of acknowledgements.
using Read = std::function<uint64_t(SlotId)>;

// A program that reads slots, and what it reads next depends on what it has read.
struct ToyProgram {
  uint64_t seed;
  size_t slots;

  uint32_t run(const Read& read) const {
    uint64_t now = seed;
    const auto mix = [&](uint64_t value) {
      now = (now ^ (value + 0x9E3779B97F4A7C15)) * 0xBF58476D1CE4E5B9;
      now ^= now >> 29;
    };
    for (int step = 0; step < 6; ++step) {
      const uint64_t next = (now >> 7) % (slots + 1);
      mix(read(next == slots ? kAckedSlot : static_cast<SlotId>(next)));
      if (now % 5 == 0) break;
    }
    return static_cast<uint32_t>(now % 7);
  }
};

// What runs on each single state give.
struct Eager {
  std::map<uint32_t, uint64_t> states;                       // by outcome
  std::set<std::vector<std::pair<SlotId, uint64_t>>> paths;  // what was read, in order, each slot once

  void add(const ToyProgram& program, const FileStates& states_of, const std::set<Versions>& all,
           uint64_t acked) {
    for (const Versions& one : all) {
      std::vector<std::pair<SlotId, uint64_t>> path;
      std::set<SlotId> seen;
      const uint32_t outcome = program.run([&](SlotId slot) {
        const uint64_t value = slot == kAckedSlot ? acked : states_of.value(slot, one[slot]);
        if (seen.insert(slot).second) path.emplace_back(slot, value);
        return value;
      });
      ++states[outcome];
      paths.insert(path);
    }
  }
};

// Runs what is missing until nothing is. How many states there are, by outcome.
std::map<uint32_t, uint64_t> lazily(FileRuns& runs, const ToyProgram& program, const FileStates& states,
                                    uint64_t acked, uint32_t losses, bool* more = nullptr) {
  for (;;) {
    std::map<uint32_t, uint64_t> out;
    std::vector<FileRuns::Missing> missing;
    const bool beyond = runs.walk(
        states, acked, losses,
        [&](const FileRuns::Met& met) {
          EXPECT_LE(met.losses.size(), losses);
          out[met.outcome] += states.count(met.ranges).low();
        },
        missing);
    if (more != nullptr) *more = beyond;
    if (missing.empty()) return out;
    for (const FileRuns::Missing& one : missing) {
      FilePicks picks(states, one);
      const uint32_t outcome =
          program.run([&](SlotId slot) { return slot == kAckedSlot ? picks.acked() : picks.value(slot); });
      runs.add(picks.reads(), outcome);
    }
  }
}

TEST(FileRunsTest, OutcomesAndWhatTheyStandForAreThoseOfAllStates) {
  size_t run = 0, judged = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const ToyFiles files = random_files(random, 2000, 40);
    const auto events = static_cast<EventId>(files.log.events().size());
    const ToyProgram program{seed, files.log.slots()};
    for (const FileRules& rules : all_file_rules()) {
      const FileStates states(files.log, rules, events);
      const std::set<Versions> all = AllFileStates(files.log, rules, events).states();
      Eager eager;
      eager.add(program, states, all, 3);
      FileRuns runs;
      bool more = true;
      EXPECT_EQ(lazily(runs, program, states, 3, kAnyLosses, &more), eager.states)
          << seed << " " << rules.name;
      EXPECT_FALSE(more);
      // One run for each way of reading, and none twice.
      EXPECT_EQ(runs.size(), eager.paths.size()) << seed << " " << rules.name;
      run += runs.size();
      judged += all.size();
      if (HasFailure()) return;
    }
  }
  EXPECT_LT(run * 4, judged) << "runs save too little to show anything";
}

TEST(FileRunsTest, RunsServeAllMomentsOfALog) {
  size_t single = 0, shared = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const ToyFiles files = random_files(random, 1000, 30);
    const FileRules& rules = all_file_rules()[seed % all_file_rules().size()];
    const auto events = static_cast<EventId>(files.log.events().size());
    const ToyProgram program{seed, files.log.slots()};
    FileRuns runs;
    Eager together;
    for (EventId moment = 0; moment <= events; ++moment) {
      const uint64_t acked = moment / 4;
      const FileStates states(files.log, rules, moment);
      const std::set<Versions> all = AllFileStates(files.log, rules, moment).states();
      Eager eager;
      eager.add(program, states, all, acked);
      together.add(program, states, all, acked);
      EXPECT_EQ(lazily(runs, program, states, acked, kAnyLosses), eager.states) << seed << " " << moment;
      single += eager.paths.size();
    }
    EXPECT_EQ(runs.size(), together.paths.size()) << seed;
    shared += runs.size();
    if (HasFailure()) return;
  }
  EXPECT_LT(shared * 2, single) << "moments share too few runs to show anything";
}

TEST(FileRunsTest, WithFewLossesTheOutcomesAreSomeOfAll) {
  size_t bounded = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const ToyFiles files = random_files(random, 2000, 40);
    const FileStates states(files.log, *file_rules("posix"), static_cast<EventId>(files.log.events().size()));
    const ToyProgram program{seed, files.log.slots()};
    FileRuns complete;
    const auto all = lazily(complete, program, states, 0, kAnyLosses);
    FileRuns runs;
    uint64_t before = 0;
    bool more = true;
    for (uint32_t losses = 0; more; ++losses) {
      uint64_t now = 0;
      for (const auto& [outcome, count] : lazily(runs, program, states, 0, losses, &more)) {
        EXPECT_LE(count, all.contains(outcome) ? all.at(outcome) : 0);
        now += count;
      }
      if (losses == 0) {
        EXPECT_EQ(runs.size(), 1U) << "without losses there is one state";
      }
      EXPECT_GT(now, before) << "one loss more, and nothing new";
      EXPECT_EQ(now == states.count(states.all()).low(), !more) << seed << " " << losses;
      before = now;
      bounded += more ? 1 : 0;
      if (HasFailure()) return;
    }
    EXPECT_EQ(runs.size(), complete.size());
  }
  EXPECT_GT(bounded, 100U) << "no bound cut anything off";
}

TEST(FileRunsTest, FirstRunSeesWhatIsNewest) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.write(a, 0, 1, 100);
  const FileStates states(files.log, *file_rules("posix"), 2);
  FilePicks picks(states, 0);
  EXPECT_EQ(picks.value(*files.log.find({SlotKind::kEntry, kRootFile, 0, "a"})), a);
  EXPECT_EQ(picks.value(*files.log.find({SlotKind::kSize, a, 0, ""})), 100U);
}

TEST(FileRunsTest, ValueIsPickedOnceAndThenStays) {
  ToyFiles files;
  const FileId a = files.make("a");
  files.write(a, 0, 1, 100);
  const SlotId size = *files.log.find({SlotKind::kSize, a, 0, ""});
  const FileStates states(files.log, *file_rules("posix"), 2);
  FilePicks picks(states, 5);
  EXPECT_EQ(picks.acked(), 5U);
  EXPECT_EQ(picks.value(size), picks.value(size));
  EXPECT_EQ(picks.acked(), 5U);
  ASSERT_EQ(picks.reads().size(), 2U);
  EXPECT_EQ(picks.reads()[0].slot, kAckedSlot);
  EXPECT_EQ(picks.reads()[1].slot, size);
}

TEST(FileRunsTest, RunThatReadsNothingStandsForAllStates) {
  ToyFiles files;
  files.write(files.make("a"), 0, 3, 3 * kFilePageBytes);
  const FileStates states(files.log, *file_rules("posix"), 2);
  FileRuns runs;
  runs.add({}, 7);
  std::vector<FileRuns::Missing> missing;
  size_t met = 0;
  const auto on_outcome = [&](const FileRuns::Met& one) {
    ++met;
    EXPECT_EQ(one.outcome, 7U);
    EXPECT_EQ(states.count(one.ranges), states.count(states.all()));
  };
  EXPECT_FALSE(runs.walk(states, 0, 0, on_outcome, missing));
  EXPECT_EQ(met, 1U);
  EXPECT_TRUE(missing.empty());
}

}  // namespace
}  // namespace sisyfs::file_runs_test
