#include "judge/access_judge.h"

namespace sisyfs {
namespace {

constexpr Fault kFaults[] = {kDied, kHung, kLeaked, kHeapMisused, kTooMuchMemory, kComplained};

}  // namespace

FindingKind finding_of(Fault fault) {
  switch (fault) {
    case kDied:
      return FindingKind::kTargetDied;
    case kHung:
      return FindingKind::kTargetHung;
    case kLeaked:
      return FindingKind::kMemoryLeak;
    case kHeapMisused:
      return FindingKind::kHeapMisuse;
    case kComplained:
      return FindingKind::kComplaint;
    case kTooMuchMemory:
      break;
  }
  return FindingKind::kRunawayMemory;
}

void add_faults(uint32_t faults, Opinion& opinion) {
  if (faults == 0) return;
  for (const Fault fault : kFaults)
    if ((faults & fault) != 0) opinion.found(finding_of(fault));
}

std::vector<FindingKind> AccessJudge::may_find() const {
  std::vector<FindingKind> kinds;
  for (const Fault fault : kFaults)
    if ((kind_.faults & fault) != 0) kinds.push_back(finding_of(fault));
  if (kind_.has_disk()) kinds.push_back(FindingKind::kOutOfRange);
  if (kind_.has_disk() && kind_.disks.is_flash()) kinds.push_back(FindingKind::kFlashMisuse);
  return kinds;
}

// The path goes on after an access that had no effect, and after a leak; a dead target ends it.
void AccessJudge::op_ended(const OpEnd& end, Opinion& opinion) {
  const Episode& episode = *end.episodes[0];
  add_faults(episode.faults, opinion);
  if (episode.is_dead()) opinion.over = true;
  if (end.disk.log.strays() != 0) opinion.found(FindingKind::kOutOfRange);
  if (end.disk.log.misuses() != 0) opinion.found(FindingKind::kFlashMisuse);
}

void AccessJudge::came_back(const Comeback& back, Opinion& opinion) {
  const Recovery& recovery = *back.recoveries[0];
  add_faults(recovery.faults, opinion);
  if (recovery.out_of_range) opinion.found(FindingKind::kOutOfRange);
  if (recovery.flash_misused) opinion.found(FindingKind::kFlashMisuse);
}

}  // namespace sisyfs
