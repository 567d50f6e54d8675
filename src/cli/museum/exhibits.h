// The museum's catalogue: the planted mistakes and the right models, as its data file lists them.
//
// An exhibit is a target with some switches in their wrong position, what must be found, and how deep; a
// model is a target with every switch right, and a bound to which it must be clean. The data file is TOML
// (museum/exhibits.toml, whose head explains the keys) and is built into the program.
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

// What the same target must give without the mistake, to the depth at which the mistake is found.
enum class Twin : uint8_t {
  kClean,      // the bound is exhausted, and nothing is found
  kNoFinding,  // nothing is found, though not all crash states are looked at
  kOther,      // it has another mistake, which both need; what the exhibit finds is not found
};

struct Exhibit {
  std::string name;    // a word, unique
  std::string title;   // what the code does wrong
  std::string source;  // paper and section
  std::string takes;   // what it takes to see it: crash, reordering, ...
  std::string target;
  std::vector<std::string> wrong, set;  // settings: those that are the mistake, and all others
  std::string waits;                    // for what it cannot be found yet; then nothing below is there
  SearchOrder search = SearchOrder::kBreadthFirst;
  Dedup dedup = Dedup::kExact;
  uint32_t depth = 0;  // to which the search goes
  std::vector<FindingKind> only;   // findings to look for; empty: all
  std::vector<FindingKind> finds;  // findings that must be there when the search ends, by the catalogue's order
  uint32_t at = 0;                 // depth of the first of them
  Twin twin = Twin::kClean;
  bool in_long_run = false;  // too long for every day: shown with --long only
};

struct RightModel {
  std::string name, title, target;
  std::vector<std::string> set;
  uint32_t depth = SearchBounds::kNoDepth;       // none: to the end of its states
  uint32_t long_depth = SearchBounds::kNoDepth;  // the bound of --long
  bool in_long_run = false;                      // shown with --long only
};

struct Museum {
  std::vector<Exhibit> exhibits;
  std::vector<RightModel> models;
};

// The settings of an exhibit with its mistake.
std::vector<std::string> wrong_settings(const Exhibit& exhibit);

// Reads a data file; `file` is its name in messages. Bad input names the line and the entry. Every target,
// setting and finding is known when it succeeds.
Result<Museum> parse_museum(std::string_view text, const std::string& file);

// The data file that was built in.
std::string_view shipped_exhibits();

}  // namespace sisyfs::cli
