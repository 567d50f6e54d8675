// Mutants: deliberate faults of the checker itself, to see that its tests would notice.
//
// In every normal build mutant() is a constant false and costs nothing. A build with -DSISYFS_MUTANTS=ON
// asks the environment once (SISYFS_MUTANT=name), so that one test program holds them all; `./test mutants`
// runs each against the tests that should kill it (tests/mutants.list).
//
//   if (mutant(Mutant::kForgetSync)) return;
#pragma once

#include <cstdint>

namespace sisyfs {

enum class Mutant : uint8_t {
  kNone,
  // expect: what is right
  kForgetSync,           // sync promises nothing
  kForgetFsync,          // fsync promises nothing
  kAcceptAncestors,      // a whole tree of before the last promise is accepted
  kRefuseHalfDone,       // what the op in flight leads to is not allowed
  kIgnoreData,           // ordered: data is not compared
  kIgnoreSizes,          // ordered: sizes are not compared
  kIgnoreMissing,        // fsync: what was promised may be gone
  kIgnoreMoved,          // fsync of a directory does not speak for what is moved out of it later
  kStrictFdatasync,      // fdatasync promises all that fsync does
  kDigestWithoutWindow,  // the digest of an expectation knows only the tree now
  kHalfRename,           // fsync: a rename may happen in one of its two names alone
  kOldEntries,           // fsync of a directory does not bind its names
  kAnySize,              // fsync and fdatasync do not bind the size
  kSyncWholeFile,        // a write with O_SYNC promises all that the file holds
  kLastPromiseCounts,    // a promise of an object takes the place of all its earlier ones
  // crash: what a power cut may leave
  kLastChainSafe,        // the last chain of writes never loses anything
  kNeverReorder,         // writes are kept in order, whatever the device does
  kSkipAfterPromise,     // no crash point right after a promise
  kSkipBeforeFlush,      // no crash point before a flush
  kOpEndSettles,         // what is pending at the end of an op is durable
  kFuaSettlesAll,        // a write through the cache takes all others along
  kStaleCrashDigest,     // crash states with different blocks have one digest
  kSampleAgain,          // a crash state may be drawn twice
  kKeepGuesses,          // what a look-up asked for stays decided, though nobody read it
  kMootByNext,           // contents are taken for equal if the two newest are
  kKeptOnly,             // lazily, what was read first was never lost
  kKnowAll,              // what the trial of a recovered system read stays decided behind the cut
  kThaw,                 // what is in doubt at a power cut is in doubt like anything after it
  kFlushSettlesOpen,     // a flush settles what an earlier power cut left undecided
  kNarrowKeepsLost,      // what was read to be lost is undecided again after the cut
  kOneLayer,             // what several power cuts left undecided is logged as if it were one cut
  kDigestWithoutLayers,  // the digest of an epoch does not know on which side of a cut a write is
  kFlushAllDisks,        // a flush of one disk settles the others too
  kOneChainForDisks,     // a device that keeps order keeps it from disk to disk
  kRenumber,             // a settled log numbers its writes anew
  // explore: what was seen before
  kShortTags,              // fingerprints are cut to 16 bits in the table
  kGrowLosesStates,        // the table forgets some states when it grows
  kBoundIsOneLess,         // the depth bound is one too small
  kInterruptedIsComplete,  // a search that was stopped says that it was through
  kLastWayFound,           // the way to a finding is the last that was met
  // judge: what is a finding
  kPrintWithoutMemory,  // states with the same disk are one, whatever is in memory
  kNeverUsed,           // what was recovered is not used
  kCompareErrnoOnly,    // answers are compared by their errno
  kForgiveRepaired,     // what the check could repair is no finding
  kReadsByPlace,        // a recovery is known again by the blocks that it read, not by their content
  kTrustEntry,          // a recovery is taken for that of an image although its place was used again
  kForgetCheckReads,    // what a known check read does not count as read by the recovery
  kForgetTrialReads,    // what the trial of a recovery read does not count as read by it
  kSkipFirstChange,     // no power cut right after recovery first changes what it read
  kOneNestedPoint,      // of each recovery only one moment is cut
  kCloseNested,         // a power cut in recovery settles what the first one left open
  kFailedWrites,        // a write to the disk that fails is done all the same
  kScratchUnread,       // on a disk in scratch, what was in doubt is as the image says
  kForgetChange,        // on a disk in scratch, only the first block that changed counts
  kFailFirstOnly,       // only the first disk access of an op can fail
  kRefusalUndone,       // an op that the disk failed is surely not done
  kDeafToWords,         // that the target says to be stable is not heeded within the op
  // workload: what is tried
  kNoReplacingRename,  // a rename never replaces anything
  kOnlyInRoot,         // nothing is created below the root
  kSameVersionAgain,   // an overwrite writes what is there
  kAppendOnly,         // the writes at an offset are left out
  // report: how it is told again
  kRunsAreOne,  // a token has the choice of a run once
  kTrustToken,  // the checksum of a token is not looked at
};

#ifdef SISYFS_MUTANTS
// The mutant of this process, by the environment. Names are those above without the k.
Mutant chosen_mutant();
inline bool mutant(Mutant which) { return chosen_mutant() == which; }
#else
constexpr bool mutant(Mutant) { return false; }
#endif

}  // namespace sisyfs
