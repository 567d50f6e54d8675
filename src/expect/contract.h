// Contract: what a system promises to keep over a power cut, and the few things that targets differ in.
//
// docs/contracts.md explains each contract with histories and what may come back after them; that table
// is also the test.
//
//   Result<Contract> contract = parse_contract("fsync");
//   Expectation e(*contract, tree, {.data_unit = 4096, .fsync_names = true});
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace sisyfs {

// All contracts also demand that the system mounts, that it can be walked, and that its own check is
// clean, which others judge.
enum class Contract : uint8_t {
  kAtomic,     // the tree is one that it was in the window, or that the call in flight leads to
  kStructure,  // any tree
  kOrdered,    // names, types, links and sizes are of one such tree; each data unit of any of them
  kFsync,      // each object by itself, as it was in the window and not before what was promised of it
};

// "atomic", "structure", "ordered", "fsync".
const char* contract_name(Contract contract);
// The opposite; an error lists the names.
Result<Contract> parse_contract(std::string_view name);

struct ContractRules {
  uint32_t data_unit = 512;  // bytes of a file that persist together; ordered and fsync look at it
  bool fsync_names = false;  // fsync of a file or directory promises its name too, not only what it holds
  bool rename_both = false;  // a power cut may leave the old and the new name of a rename
};

}  // namespace sisyfs
