// BrokenPromise: the first promise that a recovered tree breaks, and what came back instead.
//
// A report of a tree that is not allowed also names the call that promised otherwise. Calls are identified by
// number (Expectation::calls()), because this room does not know ops.
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
  uint32_t call = 0;      // number of the call that made it; 0: it was durable when the system was mounted
  std::string promised;   // "what /a holds (512 bytes)"
  std::string came_back;  // "/a has 0 bytes"
};

// The first promise broken by a tree that the contract does not allow. Nothing if no single promise is
// broken: each part of the tree is allowed by itself, but not together with the others.
std::optional<BrokenPromise> first_broken_promise(Contract contract, const History& history,
                                                  const ContractRules& rules, const Tree& recovered);

}  // namespace sisyfs
