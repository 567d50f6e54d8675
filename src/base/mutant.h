// Mutants: deliberate faults in the checker, to see that its tests notice them.
//
// In a normal build mutant() is a constant false and costs nothing. A build with -DSISYFS_MUTANTS=ON reads
// the environment variable SISYFS_MUTANT once, so one test program contains all mutants. `./test mutants`
// runs the tests that must fail under each mutant (tests/mutants.list).
//
//   if (mutant(Mutant::kForgetSync)) return;
#pragma once

#include <cstdint>

namespace sisyfs {

enum class Mutant : uint8_t {
  kNone,
  // expect: which trees are allowed
  kForgetSync,           // sync promises nothing
  kForgetFsync,          // fsync promises nothing
  kAcceptAncestors,      // a whole tree from before the last promise is accepted
  kRefuseHalfDone,       // the result of the op in flight is not allowed
  kIgnoreData,           // ordered: data is not compared
  kIgnoreSizes,          // ordered: sizes are not compared
  kIgnoreMissing,        // fsync: a promised object may be missing
  kIgnoreMoved,          // fsync of a directory does not cover entries that are moved out of it later
  kStrictFdatasync,      // fdatasync promises as much as fsync
  kDigestWithoutWindow,  // the digest of an expectation covers only the current tree
  kHalfRename,           // fsync: a rename may happen in only one of its two names
  kOldEntries,           // fsync of a directory does not promise its names
  kAnySize,              // fsync and fdatasync do not promise the size
  kSyncWholeFile,        // a write with O_SYNC promises the whole file
  kLastPromiseCounts,    // a promise replaces all earlier promises of the same object
  kUnboundNames,         // a promised name may be free although it was in use ever since
  kNoDoubts,             // a promise also covers what a failure of the device may have taken before it
  kOldNames,             // names: a name may be from an older tree of the window
  kForgetDurableCalls,   // a call that is durable when it returns promises nothing
  kForgetNameless,       // what is written to a deleted open file never comes back under its old name
  kExchangeIsNoStep,     // an exchange of equal files is no step of the window
  kCommitPromises,       // a commit that nobody asked for promises what sync does
  // crash: what a power cut may leave
  kLastChainSafe,        // the last chain of writes never loses anything
  kNeverReorder,         // writes are kept in order on every device
  kSkipAfterPromise,     // no crash point right after a promise
  kSkipBeforeFlush,      // no crash point before a flush
  kOpEndSettles,         // pending writes are durable at the end of an op
  kFuaSettlesAll,        // a write through the cache makes all others durable
  kStaleCrashDigest,     // crash states with different blocks have the same digest
  kSampleAgain,          // a crash state may be sampled twice
  kKeepGuesses,          // a block that only a table look-up asked for stays decided
  kMootByNext,           // contents count as equal if the two newest versions are equal
  kKeptOnly,             // lazy: the first read of a block never finds its write lost
  kKnowAll,              // blocks read by the trial of a recovered system stay decided after the cut
  kThaw,                 // writes undecided at a power cut are treated like writes after it
  kFlushSettlesOpen,     // a flush settles writes that an earlier power cut left undecided
  kNarrowKeepsLost,      // a write that was read as lost is undecided again after the cut
  kOneLayer,             // undecided writes of several power cuts are logged as those of one
  kDigestWithoutLayers,  // the digest of an epoch ignores on which side of a cut a write is
  kFlushAllDisks,        // a flush of one disk settles the others too
  kOneChainForDisks,     // a device that keeps order keeps it from disk to disk
  kRenumber,             // a settled log numbers its writes anew
  // explore: which states are known
  kShortTags,              // fingerprints in the table are cut to 16 bits
  kGrowLosesStates,        // the table forgets some states when it grows
  kBoundIsOneLess,         // the depth bound is one too small
  kInterruptedIsComplete,  // an interrupted search reports that it is complete
  kLastWayFound,           // the trace of a finding is the last one that was met
  // judge: what is a finding
  kPrintWithoutMemory,  // fingerprints of states ignore the target's memory
  kNeverUsed,           // a recovered system is not used
  kCompareErrnoOnly,    // answers are compared by their errno only
  kForgiveRepaired,     // a problem that the check repaired is no finding
  kReadsByPlace,        // a recovery is found again by the addresses it read, not by their content
  kDecisionsByImage,    // lazy runs on equal images are known again whatever is in doubt
  kTrustEntry,          // a cached recovery is used although its slot was reused for another image
  kForgetCheckReads,    // reads of a cached check do not count as reads of the recovery
  kForgetTrialReads,    // reads of the trial of a recovery do not count as reads of the recovery
  kSkipFirstChange,     // no power cut right after recovery first changes a block that it read
  kOneNestedPoint,      // only one crash point of each recovery is tried
  kCloseNested,         // a power cut in recovery settles what the first one left undecided
  kFailedWrites,        // a failed write reaches the disk
  kScratchUnread,       // on a scratch disk, undecided blocks read as the image has them
  kForgetChange,        // on a scratch disk, only the first changed block counts
  kFailFirstOnly,       // only the first disk access of an op can fail
  kRefusalUndone,       // an op that failed because of the disk counts as not done
  kDeafToWords,         // a target's statement that it is stable is ignored within the op
  // workload: which ops are tried
  kNoReplacingRename,  // a rename never replaces anything
  kOnlyInRoot,         // nothing is created below the root
  kSameVersionAgain,   // an overwrite writes the same bytes again
  kAppendOnly,         // writes at an offset are left out
  // report: how a finding is written and read
  kRunsAreOne,  // a token contains a repeated choice only once
  kTrustToken,  // the checksum of a token is not verified
};

#ifdef SISYFS_MUTANTS
// The mutant that SISYFS_MUTANT names; names are those above without the k.
Mutant chosen_mutant();
inline bool mutant(Mutant which) { return chosen_mutant() == which; }
#else
constexpr bool mutant(Mutant) { return false; }
#endif

}  // namespace sisyfs
