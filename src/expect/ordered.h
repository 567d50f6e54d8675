// The contract `ordered`: names, types, links and sizes come from one tree of the window, data units from
// any.
#pragma once

#include <string>

#include "expect/contract.h"
#include "expect/history.h"

namespace sisyfs {

// Whether a power cut may leave `recovered`. If not, and `why` is not null, `*why` is set to the reason.
bool ordered_allows(const History& history, const ContractRules& rules, const Tree& recovered,
                    std::string* why);

}  // namespace sisyfs
