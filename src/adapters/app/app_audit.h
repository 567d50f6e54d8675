// Which flushes of a run are needed, which are superfluous, and which are missing.
//
// A flush that the program made is left out of the recording, or one that it did not make is put in, and the
// states are searched again. Nothing has to be recorded anew, and most outcomes are known already.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "adapters/app/app_check.h"

namespace sisyfs {

struct AuditedFlush {
  enum class Verdict : uint8_t { kNeeded, kSuperfluous, kIdle, kUnknown } verdict = Verdict::kUnknown;
  EventId event = 0;
  std::vector<AppFinding> without;  // of a needed one: what is found when it is left out
};

struct AppAudit {
  std::vector<AuditedFlush> flushes;
  bool stopped = false;
};

// `result`: of the search without changes, which found nothing.
Result<AppAudit> audit_flushes(AppCheck& check, const AppSearch& search);

// The smallest sets of flushes that remove all findings, that were tried: single ones if one is enough, or
// else one set that cannot be made smaller. Empty: there is none.
Result<std::vector<std::vector<FlushChanges::Added>>> missing_flushes(AppCheck& check,
                                                                      const AppSearch& search,
                                                                      const AppResult& result);

// Under which rules something is found. Each gets so much time.
struct RulesVerdict {
  const FileRules* rules = nullptr;
  bool found = false, exhausted = false;
};
Result<std::vector<RulesVerdict>> under_all_rules(AppCheck& check, const AppSearch& search,
                                                  std::chrono::milliseconds each);

}  // namespace sisyfs
