// AppPlan: an application that is checked: what to run, and how to see whether all is well.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "crash/files/file_rules.h"

namespace sisyfs {

class WorkPlace;

struct AppPlan {
  using Command = std::vector<std::string>;  // empty: there is none

  Command setup, run, recover, check;
  Command start, ready, stop;          // of a server
  std::vector<std::string> variables;  // NAME=VALUE
  // The folder whose content the work directory has at the start; empty: it is empty.
  std::string folder;
  uint64_t most_bytes = uint64_t{1} << 30;                       // of that folder
  std::optional<std::regex> ack;                                 // printed lines that acknowledge
  std::vector<std::string> ignored;                              // patterns of file names that do not matter
  std::chrono::milliseconds patience{std::chrono::seconds(60)};  // with each command
  std::shared_ptr<WorkPlace> place;                              // where all of it runs
};

// How the states of a run are searched.
struct AppSearch {
  const FileRules* rules = nullptr;
  unsigned threads = 1;
  uint32_t losses = UINT32_MAX;                                // that a state has at most
  std::optional<std::chrono::steady_clock::time_point> until;  // it is stopped then
};

}  // namespace sisyfs
