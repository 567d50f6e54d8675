// Recoveries that are known again against recoveries that are carried out each time, on the toy target.
// tests/remembered_recoveries_test.cc does the same with models.
#include "machine/remembering_recoverer.h"

#include <gtest/gtest.h>

#include <random>

#include "crash/crash_points.h"
#include "crash/crash_states.h"
#include "machine/toy_target_for_test.h"
#include "workload/workload.h"

namespace sisyfs::remembering_recoverer_test {
namespace {

struct Counts {
  unsigned states = 0, broken = 0;
  uint64_t runs = 0;
};

void expect_same(const Recovery& known, const Recovery& right) {
  EXPECT_EQ(known.sound, right.sound);
  EXPECT_EQ(known.marks, right.marks);
  EXPECT_EQ(known.faults, right.faults);
  EXPECT_EQ(known.work, right.work);
  EXPECT_EQ(known.alive, right.alive);
  EXPECT_EQ(known.mount_failed, right.mount_failed);
  EXPECT_EQ(known.walk_failed, right.walk_failed);
  EXPECT_EQ(known.unusable, right.unusable);
  EXPECT_EQ(known.check.found, right.check.found);
  EXPECT_EQ(known.check.repaired, right.check.repaired);
  EXPECT_EQ(known.check.left, right.check.left);
  if (!known.alive || !right.alive) return;
  EXPECT_EQ(known.tree, right.tree);
  EXPECT_EQ(known.memory.digest(), right.memory.digest());
  EXPECT_EQ(known.log.digest(), right.log.digest());
}

// Random ops, with all crash states on the way.
Counts compare(const ToyMistakes& mistakes, unsigned memo_bits, bool lazy) {
  DiskSetup setup = toy_setup(mistakes);
  setup.memo_bits = memo_bits;
  const ToyRig rig(setup);
  const auto running = rig.setup.kind.make(), target = rig.setup.kind.make(), again = rig.setup.kind.make();
  Media disk(rig.blank);
  EXPECT_EQ(running->format(disk), 0);
  EXPECT_EQ(running->mount(disk), 0);
  disk.load(MediaState(disk.state().current));
  RememberingRecoverer remembers(rig.setup, rig.bounds, rig.rules, *target, rig.blank);
  Recoverer plain(rig.setup, rig.bounds, rig.rules, *again, rig.blank);
  Result<Workload> workload = Workload::make(rig.bounds);
  std::mt19937 random(1);
  std::vector<Candidate> ops;
  Counts counts;
  const auto count = [&](const Recovery& known, const Recovery& right) {
    expect_same(known, right);
    ++counts.states;
    counts.broken += !right.sound;
  };
  for (unsigned step = 0; step < 40; ++step) {
    workload->from(running->walk().tree, &ops);
    (void)running->apply(ops[random() % ops.size()].op);
    CrashPoints points(rig.setup.cuts.device, disk.state());
    while (const CrashPoint* point = points.next()) {
      if (lazy) {
        LazyStates states(point->epoch), plain_states(point->epoch);
        while (states.next()) {
          EXPECT_TRUE(plain_states.next());
          count(remembers.recover(states), plain.recover(plain_states));
        }
        EXPECT_FALSE(plain_states.next());
      } else {
        CrashStates states(point->epoch);
        while (CrashState* state = states.next()) count(remembers.recover(*state), plain.recover(*state));
      }
    }
    disk.load(points.settled());
  }
  counts.runs = remembers.runs();
  EXPECT_EQ(plain.runs(), counts.states);
  return counts;
}

TEST(RememberingRecovererTest, AnswersAsIfItForgot) {
  for (const bool lazy : {false, true}) {
    for (const unsigned bits : {0u, 2u, 8u}) {
      const Counts right = compare({.hint = true}, bits, lazy);
      EXPECT_EQ(right.broken, 0u);
      EXPECT_GT(right.states, 80u);
      for (const ToyMistakes& mistakes :
           {ToyMistakes{.no_mount = true}, ToyMistakes{.bad_walk = true}, ToyMistakes{.no_unmount = true},
            ToyMistakes{.hint = true, .has_check = true},
            ToyMistakes{.hint = true, .has_check = true, .problem = ToyProblem::kUnnamed, .repairs = false}})
        EXPECT_GT(compare(mistakes, bits, lazy).broken, 0u) << lazy << bits;
    }
  }
}

TEST(RememberingRecovererTest, CarriesOutFewRecoveries) {
  for (const bool lazy : {false, true}) {
    const Counts counts = compare({.hint = true}, 8, lazy);
    EXPECT_LT(counts.runs, counts.states / 3) << lazy;
  }
}

}  // namespace
}  // namespace sisyfs::remembering_recoverer_test
