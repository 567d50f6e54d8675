#include "expect/contract.h"

#include <fmt/format.h>

namespace sisyfs {

const char* contract_name(Contract contract) {
  switch (contract) {
    case Contract::kAtomic:
      return "atomic";
    case Contract::kStructure:
      return "structure";
    case Contract::kOrdered:
      return "ordered";
    case Contract::kFsync:
      return "fsync";
    case Contract::kNames:
      return "names";
    case Contract::kPromised:
      return "promised";
    case Contract::kWhole:
      return "whole";
    case Contract::kFresh:
      return "fresh";
  }
  return "?";
}

Result<Contract> parse_contract(std::string_view name) {
  for (const Contract c : {Contract::kAtomic, Contract::kOrdered, Contract::kNames, Contract::kFsync,
                           Contract::kStructure, Contract::kPromised, Contract::kWhole, Contract::kFresh}) {
    if (name == contract_name(c)) return c;
  }
  return bad_input(fmt::format(
      "unknown contract '{}'; it is one of atomic, ordered, names, fsync, structure, promised, whole, fresh",
      name));
}

}  // namespace sisyfs
