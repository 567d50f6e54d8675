// Which promise was broken: the first one, with what it said and what came back instead.
//
// A tree that is not allowed is only half of a finding. The other half is who had promised otherwise, so that
// the reader knows which call to look at. Calls are told by their numbers (Expectation::calls()), because
// this room knows no ops; whoever tells the story has the ops.
//
//   if (const auto broken = e.broken_promise(recovered)) {
//     // "op 3 'fsync /a' promised that /a is there; after the power cut /a is absent"
//     tell(op_of(broken->call), broken->promised, broken->came_back);
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "expect/contract.h"
#include "expect/history.h"

namespace sisyfs {

struct BrokenPromise {
  uint32_t call = 0;      // which call made it; 0: nobody, it was there when the system was mounted
  std::string promised;   // "what /a holds (512 bytes)"
  std::string came_back;  // "/a has 0 bytes"
};

// Of a tree that the contract does not allow. Nothing where no single promise speaks of what is wrong: a mix
// of times in which each part by itself could have come back.
std::optional<BrokenPromise> first_broken_promise(Contract contract, const History& history,
                                                  const ContractRules& rules, const Tree& recovered);

}  // namespace sisyfs
