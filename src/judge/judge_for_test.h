// What tests of judges show to them: ends of ops and comebacks that are made up, and all kinds of findings.
#pragma once

#include <vector>

#include "judge/judge.h"
#include "machine/toy_target_for_test.h"

namespace sisyfs {

// A table of the whole catalogue.
inline const KindTable& all_kinds() {
  static const KindTable kKinds = [] {
    std::vector<FindingKind> kinds;
    for (const FindingInfo& entry : catalogue()) kinds.push_back(entry.kind);
    return KindTable(std::move(kinds));
  }();
  return kKinds;
}

// The end of an op that answered and left this.
struct MadeUpEnd : OpEnd {
  MadeUpEnd(const Episode& episode, const MediaState& media, ReadBack seen = {})
      : OpEnd({&shown, 1}, media), shown(&episode), back(seen) {}
  const ReadBack& read_back() const override {
    ++asked;
    return back;
  }
  Walk walk_again() const override { return again; }
  const Episode* shown;
  ReadBack back;
  Walk again;
  mutable int asked = 0;
};

// What a judge says to a recovery.
inline Opinion opinion_on(Judge& judge, const Recovery& recovery, Comeback back = {}) {
  const Recovery* const recoveries[] = {&recovery};
  back.recoveries = recoveries;
  Opinion opinion{&all_kinds()};
  judge.came_back(back, opinion);
  return opinion;
}

inline std::vector<FindingKind> kinds_in(const Opinion& opinion) { return all_kinds().in(opinion.findings); }

// A system that came back as it should.
inline Recovery sound_recovery(Tree tree = {}) {
  Recovery recovery;
  recovery.alive = recovery.sound = true;
  recovery.tree = std::move(tree);
  return recovery;
}

}  // namespace sisyfs
