// What a search of an application found, as text.
#pragma once

#include <string>
#include <vector>

#include "adapters/app/app_audit.h"
#include "adapters/app/app_check.h"

namespace sisyfs {

// A kind of finding: its code never changes.
struct AppKindInfo {
  const char* code;
  const char* name;
  const char* sentence;
};
const AppKindInfo& info(AppFinding::Kind kind);

// The calls that matter, with what is lost, and what the check says.
std::string app_story(const AppRecording& recording, const AppFinding& finding);
// "the data of a at 4096 (write a 4096+10, and 2 later calls)".
std::string loss_text(const AppRecording& recording, const AppFinding& finding, const FileLoss& loss);
// The calls whose versions of the thing are lost, from the first to the last.
std::vector<EventId> lost_calls(const AppRecording& recording, const AppFinding& finding,
                                const FileLoss& loss);

// "needed", "superfluous", "nothing to do", "unknown".
const char* verdict_text(AuditedFlush::Verdict verdict);

}  // namespace sisyfs
