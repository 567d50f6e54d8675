// Contract: what a system promises to keep when the power is cut.
//
// docs/contracts.md explains each contract by examples: a sequence of calls, and the trees that may come back
// after it. A test checks every row of that table.
//
//   Result<Contract> contract = parse_contract("fsync");
//   Expectation e(*contract, tree, {.data_unit = 4096, .fsync_names = true});
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace sisyfs {

// The window is the sequence of trees from the last promise that covers everything to now, followed by the
// result of the call in flight. All contracts also demand that the system mounts, can be walked, and passes
// its own check; that is judged elsewhere.
enum class Contract : uint8_t {
  kAtomic,     // the recovered tree is one tree of the window
  kStructure,  // any tree
  kOrdered,  // names, types, links and sizes are from one tree of the window, each data unit from any of them
  kFsync,    // each object separately: a version from the window that keeps all promises about the object
  kNames,    // names, types, links and attributes are those of now; each file is one whole version from the
             // window that keeps all promises about it
  // Narrow contracts, each of one service (expect/narrow.h):
  kPromised,  // what was promised, and not touched since, is there as it was
  kWhole,     // a file that had its name all the time has its whole content of some time of the window
  kFresh,     // each byte of a file is one that the file had there, or zero
};

inline bool is_narrow(Contract contract) { return contract >= Contract::kPromised; }

// "atomic", "structure", "ordered", "fsync", "names", "promised", "whole", "fresh".
const char* contract_name(Contract contract);
// The inverse of contract_name(). The error lists the names.
Result<Contract> parse_contract(std::string_view name);

struct ContractRules {
  uint32_t data_unit = 512;  // bytes of a file that persist together; used by ordered and fsync
  bool fsync_names = false;  // fsync of a file or directory also promises its name, not only its content
  bool rename_both = false;  // a power cut may leave the old and the new name of a rename
  // A power cut may leave any bytes in a data unit that was written for the first time in the window: what
  // was on the disk before. Used by ordered and fsync.
  bool stale_data = false;
  // The window has every tree that there was. Otherwise, as of a recording, others may lie between two of
  // them, and a power cut may leave names that no tree of the window has. Used by promised.
  bool sees_all = true;
};

}  // namespace sisyfs
