#include "base/mutant.h"

#include <array>
#include <cstdlib>
#include <string_view>

namespace sisyfs {
namespace {

// In the order of Mutant, from 1 on.
[[maybe_unused]] constexpr auto kNames = std::to_array<std::string_view>({
    "ForgetSync",
    "ForgetFsync",
    "AcceptAncestors",
    "RefuseHalfDone",
    "IgnoreData",
    "IgnoreSizes",
    "IgnoreMissing",
    "IgnoreMoved",
    "StrictFdatasync",
    "DigestWithoutWindow",
    "HalfRename",
    "OldEntries",
    "AnySize",
    "SyncWholeFile",
    "LastPromiseCounts",
    "UnboundNames",
    "NoDoubts",
    "OldNames",
    "ForgetDurableCalls",
    "ForgetNameless",
    "ExchangeIsNoStep",
    "CommitPromises",
    "LastChainSafe",
    "NeverReorder",
    "SkipAfterPromise",
    "SkipBeforeFlush",
    "OpEndSettles",
    "FuaSettlesAll",
    "StaleCrashDigest",
    "SampleAgain",
    "KeepGuesses",
    "MootByNext",
    "KeptOnly",
    "KnowAll",
    "Thaw",
    "FlushSettlesOpen",
    "NarrowKeepsLost",
    "OneLayer",
    "DigestWithoutLayers",
    "FlushAllDisks",
    "OneChainForDisks",
    "Renumber",
    "ShortTags",
    "GrowLosesStates",
    "BoundIsOneLess",
    "InterruptedIsComplete",
    "LastWayFound",
    "PrintWithoutMemory",
    "NeverUsed",
    "CompareErrnoOnly",
    "ForgiveRepaired",
    "ReadsByPlace",
    "DecisionsByImage",
    "TrustEntry",
    "ForgetCheckReads",
    "ForgetTrialReads",
    "SkipFirstChange",
    "OneNestedPoint",
    "CloseNested",
    "FailedWrites",
    "ScratchUnread",
    "ForgetChange",
    "FailFirstOnly",
    "RefusalUndone",
    "DeafToWords",
    "NoReplacingRename",
    "OnlyInRoot",
    "SameVersionAgain",
    "AppendOnly",
    "RunsAreOne",
    "TrustToken",
});
static_assert(kNames.size() == static_cast<size_t>(Mutant::kTrustToken), "each mutant has a name");

}  // namespace

#ifdef SISYFS_MUTANTS
// Called on hot paths, so the answer is cached. An unknown name gives no mutant; mutant_test.cc notices that.
Mutant chosen_mutant() {
  static const Mutant chosen = [] {
    const char* const said = std::getenv("SISYFS_MUTANT");
    for (size_t i = 0; said != nullptr && i < kNames.size(); ++i)
      if (kNames[i] == said) return static_cast<Mutant>(i + 1);
    return Mutant::kNone;
  }();
  return chosen;
}

#endif

}  // namespace sisyfs
