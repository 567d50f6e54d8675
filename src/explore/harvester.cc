#include "explore/harvester.h"

#include <bit>

namespace sisyfs {

void Yield::add(const Yield& other) {
  const Tally& from = other.tally;
  tally.transitions += from.transitions;
  tally.marks |= from.marks;
  tally.findings |= from.findings;
  for (int kind = 0; kind < SearchResult::kKinds; ++kind) {
    tally.times_found[kind] += from.times_found[kind];
    if (other.first[kind].before(first[kind])) first[kind] = other.first[kind];
    tally.least_depth[kind] = first[kind].depth;
  }
  for (size_t i = 0; i < marks_seen.size(); ++i) marks_seen[i] += other.marks_seen[i];
}

bool Harvester::wait_for_room() {
  while (!candidates_.has_place(writer_)) {
    if (candidates_.at_limit()) {
      team_.stop(Stop::kMemory);
      full_ = true;
      return false;
    }
    team_.request_pause();
    team_.pause();
  }
  return true;
}

void Harvester::note(const Event& event) {
  yield_.tally.note(event.outcome, depth_);
  for (uint32_t left = event.outcome.findings; left != 0; left &= left - 1) {
    const Found found{depth_, node_, event.sequence, event.choice};
    Found& first = yield_.first[std::countr_zero(left)];
    if (found.before(first)) first = found;
  }
  if (order_ != SearchOrder::kRarest) return;
  for (uint32_t left = event.outcome.marks; left != 0; left &= left - 1)
    ++yield_.marks_seen[std::countr_zero(left)];
}

}  // namespace sisyfs
