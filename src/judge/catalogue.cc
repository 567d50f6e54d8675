#include "judge/catalogue.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace sisyfs {
namespace {

constexpr std::array kCatalogue = {
    FindingInfo{FindingKind::kDeadBlock, "M1", "dead-block", Severity::kRepairable,
                "a block is allocated and belongs to no file"},
    FindingInfo{FindingKind::kLostBlock, "M2", "lost-block", Severity::kCritical,
                "a file has a block that is not allocated"},
    FindingInfo{FindingKind::kDoublePointer, "M3", "double-pointer", Severity::kCritical,
                "two pointers lead to one block"},
    FindingInfo{FindingKind::kContentError, "M4", "content-error", Severity::kCritical,
                "a file does not hold what was written to it"},
    FindingInfo{FindingKind::kWrongErrno, "O1", "wrong-errno", Severity::kCritical,
                "an op returned something else than the reference"},
    FindingInfo{FindingKind::kWrongEffect, "O2", "wrong-effect", Severity::kCritical,
                "the tree after an op is not the one that the reference has"},
    FindingInfo{FindingKind::kNotMountable, "R1", "not-mountable", Severity::kCritical,
                "the system does not come back after a power cut"},
    FindingInfo{FindingKind::kNotWalkable, "R2", "not-walkable", Severity::kCritical,
                "the recovered tree cannot be read to its end"},
    FindingInfo{FindingKind::kNotAllowed, "R3", "not-allowed", Severity::kCritical,
                "what came back is none of the trees that the contract allows"},
    FindingInfo{FindingKind::kNotClean, "R4", "not-clean", Severity::kCritical,
                "the system's own check is not clean after recovery"},
    FindingInfo{FindingKind::kNotUsable, "R5", "not-usable", Severity::kCritical,
                "the recovered system cannot be used"},
    FindingInfo{FindingKind::kOutOfRange, "D1", "out-of-range", Severity::kCritical,
                "the system reads or writes beyond the disk"},
    FindingInfo{FindingKind::kDeadNode, "M5", "dead-node", Severity::kRepairable,
                "a node is allocated and belongs to no file"},
    FindingInfo{FindingKind::kSharedNode, "M6", "shared-node", Severity::kCritical,
                "a node belongs to two files"},
    FindingInfo{FindingKind::kLostNode, "M7", "lost-node", Severity::kCritical,
                "a file has a node that is not there or not allocated"},
    FindingInfo{FindingKind::kBadEntry, "M8", "bad-entry", Severity::kCritical,
                "a directory entry or an inode has impossible content"},
    FindingInfo{FindingKind::kBadSummary, "M9", "bad-summary", Severity::kRepairable,
                "a block is said to belong to somebody else than its owner"},
    FindingInfo{FindingKind::kLostRoot, "M10", "lost-root", Severity::kCritical,
                "the root directory is lost, and with it every file"},
    FindingInfo{FindingKind::kNotRepeatable, "R6", "not-repeatable", Severity::kCritical,
                "a power cut in recovery changes what comes back"},
    FindingInfo{FindingKind::kFailedChange, "O3", "failed-change", Severity::kCritical,
                "an op failed with the disk, or for want of memory, and has changed something all the same"},
    FindingInfo{
        FindingKind::kHiddenError, "O4", "hidden-error", Severity::kCritical,
        "the disk or an allocation failed an op, which gave another answer than that error and was wrong"},
    FindingInfo{FindingKind::kTwoOutcomes, "R7", "two-outcomes", Severity::kCritical,
                "two ways of recovery bring back different things: the mount alone and the check with it, or "
                "two modes "
                "of the check"},
    FindingInfo{FindingKind::kFlashMisuse, "D2", "flash-misuse", Severity::kCritical,
                "the system programs a flash page that is not erased (on NOR: bits to 1 that are 0), or "
                "erases a part of "
                "a unit"},
    FindingInfo{FindingKind::kTargetDied, "T1", "target-died", Severity::kCritical,
                "the system's code died: a signal, a failed assertion, an exit"},
    FindingInfo{FindingKind::kTargetHung, "T2", "target-hung", Severity::kCritical,
                "a call into the system does not return"},
    FindingInfo{FindingKind::kMemoryLeak, "T3", "memory-leak", Severity::kCritical,
                "memory is still allocated after unmount"},
    FindingInfo{FindingKind::kHeapMisuse, "T4", "heap-misuse", Severity::kCritical,
                "a block of memory is freed twice, or written beyond its end"},
    FindingInfo{FindingKind::kRunawayMemory, "T5", "runaway-memory", Severity::kCritical,
                "the system wants more memory than it may have"},
    FindingInfo{FindingKind::kComplaint, "T6", "complaint", Severity::kCritical,
                "the kernel says that something is wrong with itself, or with a disk that never failed"},
};

static_assert(kCatalogue.size() == kFindingKinds);

}  // namespace

std::span<const FindingInfo> catalogue() { return kCatalogue; }

const FindingInfo& info(FindingKind kind) {
  const FindingInfo& entry = kCatalogue[static_cast<size_t>(kind)];
  SISYFS_ASSERT(entry.kind == kind, "the catalogue is in the order of its numbers");
  return entry;
}

std::string names_of(std::span<const FindingKind> kinds) {
  std::string names;
  for (const FindingKind kind : kinds) {
    if (!names.empty()) names += ", ";
    names += info(kind).name;
  }
  return names;
}

std::string codes_of(std::span<const FindingKind> kinds) {
  std::string codes;
  for (const FindingKind kind : kinds) {
    if (!codes.empty()) codes += " ";
    codes += info(kind).code;
  }
  return codes;
}

std::optional<FindingInfo> find_kind(std::string_view code_or_name) {
  const auto at = std::find_if(kCatalogue.begin(), kCatalogue.end(), [&](const FindingInfo& entry) {
    return entry.code == code_or_name || entry.name == code_or_name;
  });
  if (at == kCatalogue.end()) return std::nullopt;
  return *at;
}

}  // namespace sisyfs
