// What a file system may keep when the power goes, service by service, each with the script that tries it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "expect/contract.h"
#include "workload/op.h"

namespace sisyfs::cli {

struct Service {
  std::string_view name;    // in JSON and --only
  std::string_view head;    // of its column
  std::string_view says;    // what is kept
  Contract contract;        // that asks for this and nothing else
  bool fsync_names;         // fsync of a file must keep its name
  bool sync_mount;          // the file system is mounted with the option sync
  bool during;              // the power goes while the system writes back: prefixes first, then all subsets
  std::string_view script;  // 2U: two units; H: half a unit
};

std::span<const Service> services();

// The script for a file system with these ops and this unit, in bytes. Alternatives that it does not have are
// left out. Nothing if it does not have the call of the service.
std::optional<std::string> script_of(const Service& service, OpSet ops, uint32_t unit);

}  // namespace sisyfs::cli
