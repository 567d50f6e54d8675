// The museum's catalogue: planted bugs (exhibits) and correct models, read from a data file.
//
// An exhibit is a target with some switches in their wrong position, the findings that a search must give,
// and their depth. A model is a target with all switches in their right position, and a bound up to which it
// must have no finding. The data file is TOML (museum/exhibits.toml, whose head explains the keys) and is
// built into the program.
//
//   Result<Museum> museum = parse_museum(shipped_exhibits(), "museum/exhibits.toml");
//   if (!museum) return fail(museum.error());   // "museum/exhibits.toml:12: exhibit 'x': ..."
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "explore/search.h"
#include "judge/catalogue.h"

namespace sisyfs::cli {

// What a search of the same target without the bug must give, to the depth at which the bug is found.
enum class Twin : uint8_t {
  kClean,      // complete to the bound, no finding
  kNoFinding,  // no finding, although some crash states are left out
  kOther,      // the twin has another bug, which the exhibit needs too; the exhibit's finding is not found
};

struct Exhibit {
  std::string name;    // a word, unique
  std::string title;   // what the code does wrong
  std::string source;  // paper and section
  std::string takes;   // what is needed to see it: crash, reordering, ...
  std::string target;
  std::vector<std::string> wrong, set;  // settings: those that plant the bug, and all others
  std::string waits;  // the missing feature without which it cannot be found; then the rest is unset
  SearchOrder search = SearchOrder::kBreadthFirst;
  Dedup dedup = Dedup::kExact;
  uint32_t depth = 0;             // to which the search goes
  std::vector<FindingKind> only;  // findings to look for; empty: all
  std::vector<FindingKind>
      finds;        // findings that must be there when the search ends, by the catalogue's order
  uint32_t at = 0;  // depth of the first of them
  Twin twin = Twin::kClean;
  bool in_long_run = false;  // takes long: shown only with --long
};

struct RightModel {
  std::string name, title, target;
  std::vector<std::string> set;
  uint32_t depth = SearchBounds::kNoDepth;       // no bound: all states
  uint32_t long_depth = SearchBounds::kNoDepth;  // the bound of --long
  bool in_long_run = false;                      // shown only with --long
};

struct Museum {
  std::vector<Exhibit> exhibits;
  std::vector<RightModel> models;
};

// The settings of an exhibit with its bug.
std::vector<std::string> wrong_settings(const Exhibit& exhibit);

// Reads a data file; `file` is its name in messages. Errors name the line and the entry. Targets, settings
// and findings are checked.
Result<Museum> parse_museum(std::string_view text, const std::string& file);

// The built-in data file.
std::string_view shipped_exhibits();

}  // namespace sisyfs::cli
