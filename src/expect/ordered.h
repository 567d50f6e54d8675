// The contract `ordered`: names, types, links and sizes of one tree of the window, data units of any.
#pragma once

#include <string>

#include "expect/contract.h"
#include "expect/history.h"

namespace sisyfs {

// Whether a power cut may leave `recovered`. If not and `why` is given, it gets the reason.
bool ordered_allows(const History& history, const ContractRules& rules, const Tree& recovered,
                    std::string* why);

}  // namespace sisyfs
