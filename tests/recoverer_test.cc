// Recoveries that are known again against recoveries that are carried out each time, on a model with
// mistakes.
#include "judge/recoverer.h"

#include <gtest/gtest.h>

#include <random>

#include "crash/crash_states.h"
#include "crash/looks.h"
#include "models/f2fs_check.h"
#include "target/options.h"

namespace sisyfs {
namespace {

struct Counts {
  unsigned states = 0, found = 0, dead = 0, repaired = 0;
};

// Random ops on a mounted target; every crash state on the way is recovered by one that remembers and by one
// that does not.
Counts compare(const std::vector<std::string>& settings, unsigned seed) {
  const Result<Options> options = Options::parse(f2fs::option_specs(), settings);
  EXPECT_TRUE(options);
  const Result<DiskSetup> setup = f2fs::setup_of(*options);
  EXPECT_TRUE(setup);
  const auto running = setup->make_target(), target = setup->make_target(), again = setup->make_target();
  const Traits& traits = running->traits();
  const Bounds bounds = bounds_for(traits, setup->bounds);
  const Image blank(Geometry{traits.block_size, BlockCount(traits.block_count)});
  MemDisk disk(blank);
  EXPECT_EQ(running->format(disk), 0);
  EXPECT_EQ(running->mount(disk), 0);
  disk.load(DiskState(disk.state().current));
  Recoverer remembers(*setup, bounds, *target, blank);
  Result<Workload> workload = Workload::make(bounds);
  std::mt19937 random(seed);
  std::vector<Candidate> ops;
  Counts counts;
  for (unsigned step = 0; step < 14; ++step) {
    workload->from(running->walk().tree, &ops);
    const Op& op = ops[random() % ops.size()].op;
    if (op.kind == OpKind::kRemount) continue;
    (void)running->apply(op);
    Looks looks(setup->device, disk.state());
    while (const Look* look = looks.next()) {
      CrashStates states(look->epoch, setup->enumeration);
      for (unsigned i = 0; i < 40; ++i) {
        CrashState* state = states.next();
        if (state == nullptr) break;
        DiskSetup forgetful = *setup;
        forgetful.memo_bits = 0;
        Recoverer forgets(forgetful, bounds, *again, blank);
        const Recovery& known = remembers.recover(*state);
        const Recovery& right = forgets.recover(*state);
        ++counts.states;
        counts.found += right.findings != 0;
        counts.dead += !right.alive;
        counts.repaired += (right.marks & kFsckRepaired) != 0;
        EXPECT_EQ(known.findings, right.findings);
        EXPECT_EQ(known.marks, right.marks);
        EXPECT_EQ(known.work, right.work);
        EXPECT_EQ(known.alive, right.alive);
        if (!known.alive || !right.alive) continue;
        EXPECT_EQ(known.tree.digest(), right.tree.digest());
        EXPECT_EQ(known.memory.digest(), right.memory.digest());
        EXPECT_EQ(known.log.digest(), right.log.digest());
      }
    }
    disk.load(looks.settled());
  }
  return counts;
}

TEST(RecovererTest, WhatIsKnownAgainIsWhatWouldHaveCome) {
  Counts all;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const Counts counts = compare({"crash=subsets", "cp_flush=off"}, seed);
    all.states += counts.states, all.found += counts.found, all.dead += counts.dead;
    all.repaired += counts.repaired;
  }
  EXPECT_GT(all.states, 500u);
  EXPECT_GT(all.found, 0u) << "else it says little";
  EXPECT_LT(all.found, all.states);
}

TEST(RecovererTest, WhatIsKnownAgainIsRightWhereNothingIsWrong) {
  const Counts counts = compare({"preset=small"}, 3);
  EXPECT_GT(counts.states, 20u);
  EXPECT_EQ(counts.found, 0u);
}

}  // namespace
}  // namespace sisyfs
