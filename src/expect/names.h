// The contract `names`: names, types, links and attributes are those of now, or of the call in flight. Each
// file is as a whole one version from the window that keeps all promises about it.
#pragma once

#include <string>

#include "expect/contract.h"
#include "expect/history.h"

namespace sisyfs {

// Whether a power cut may leave `recovered`. If not, and `why` is not null, `*why` is set to the reason.
bool names_allows(const History& history, const ContractRules& rules, const Tree& recovered,
                  std::string* why);

}  // namespace sisyfs
