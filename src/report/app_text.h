// What a search of an application found, as text.
#pragma once

#include <string>

#include "adapters/app/app_check.h"

namespace sisyfs {

// "lost-acknowledgement (A2, critical)" and a sentence.
struct AppKindInfo {
  const char* code;
  const char* name;
  const char* sentence;
};
const AppKindInfo& info(AppFinding::Kind kind);

// The calls that matter, with what is lost, and what the check says.
std::string app_story(const AppRecording& recording, const AppFinding& finding);
// "lost: the data of a, which `write a 0+10` wrote".
std::string loss_text(const AppRecording& recording, const AppFinding& finding, const FileLoss& loss);

}  // namespace sisyfs
