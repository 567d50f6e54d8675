// The table of `sisyfs services`, as text, Markdown and JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/services/services.h"

namespace sisyfs::cli {

enum class Keeps : uint8_t { kKept, kBroken, kUnknown };

struct ServiceCell {
  const Service* service = nullptr;
  Keeps keeps = Keeps::kUnknown;
  std::string token;    // broken: replays it
  std::string finding;  // broken: the name of its kind
  std::string why;      // unknown: why; broken: what came back
  std::string bound;    // which crash states were tried: "all", "prefixes"; empty: none
  std::string also;     // other findings that the search met
  uint64_t crash_states = 0;
  double seconds = 0;
};

struct ServiceRow {
  std::string target;
  std::vector<std::string> settings;
  std::vector<ServiceCell> cells;
};

// A line for each file system, then the tokens of what is broken and what is unknown.
std::string text_table(std::span<const ServiceRow> rows);
std::string markdown_table(std::span<const ServiceRow> rows);
nlohmann::ordered_json json_table(std::span<const ServiceRow> rows, double seconds);

}  // namespace sisyfs::cli
