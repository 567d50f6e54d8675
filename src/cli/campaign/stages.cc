#include "cli/campaign/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

namespace sisyfs::cli {
namespace {

using Kind = Stage::Kind;

// A setting of a stage. Targets differ in the words of an option, so there may be several values; the first
// one that the option has counts.
struct Wanted {
  std::string_view option;
  std::array<std::string_view, 2> values;
  bool needed = false;      // without it there is no such stage
  bool is_default = false;  // ... nor where it is not the default: it is a claim of the target
};

struct StageSpec {
  std::string_view name;
  std::string_view says;
  Kind kind;
  std::vector<Wanted> settings;
  uint32_t walk_length = 0;
  uint32_t setbacks_rarer = 1;
  uint32_t rounds = 0;
};

constexpr bool kNeeded = true, kClaimed = true;

const Wanted kNoCuts{"crash", {"none"}, kNeeded};
const Wanted kInOrder{"crash", {"prefixes", "whole"}, kNeeded};
const Wanted kAnyOrder{"crash", {"lazy"}, kNeeded};

// From cheap to stern.
const std::vector<StageSpec>& specs() {
  static const std::vector<StageSpec> all = {
      {"calls", "calls without power cuts", Kind::kDeepened, {kNoCuts}},
      {"ordered", "power cuts on a device that keeps the order of writes", Kind::kDeepened, {kInOrder}},
      {"reordered", "power cuts that lose any of the unflushed writes", Kind::kDeepened, {kAnyOrder}},
      {"refusals", "calls that must fail", Kind::kDeepened, {kNoCuts, {"impossible", {"on"}, kNeeded}}},
      {"failures",
       "one disk access or allocation fails",
       Kind::kDeepened,
       {kNoCuts, {"failures", {"1"}, kNeeded}}},
      {"small-disk", "the smallest disk on which each call still works", Kind::kSmallDisk, {kInOrder}},
      {"recovery",
       "power cuts in recovery, on a device that keeps the order of writes",
       Kind::kDeepened,
       {kInOrder, {"nesting", {"1"}, kNeeded}}},
      {"torn",
       "power cuts on a device that tears writes",
       Kind::kDeepened,
       {kAnyOrder, {"device", {"hostile"}, kNeeded}}},
      {"recovery-reordered",
       "power cuts in recovery that lose any of the unflushed writes",
       Kind::kDeepened,
       {kAnyOrder, {"nesting", {"1"}, kNeeded}}},
      {"first-mount",
       "power cuts before and in the first mount, while what format wrote is not durable",
       Kind::kDeepened,
       {kAnyOrder, {"first_mount", {"on"}, kNeeded}},
       0,
       1,
       1},
      {"both-ways",
       "recovery by mount alone against check and mount",
       Kind::kDeepened,
       {kAnyOrder, {"both_ways", {"on"}, kNeeded}}},
      {"failure-cut",
       "one disk access or allocation fails, then the power goes",
       Kind::kDeepened,
       {kInOrder, {"failures", {"1"}, kNeeded}}},
      {"torn-bits",
       "power cuts on NOR flash that leave a program or an erase half done by bits",
       Kind::kDeepened,
       {kAnyOrder, {"flash", {"nor"}, kNeeded, kClaimed}, {"torn_bits", {"on"}, kNeeded}}},
      {"worn-erases",
       "erase units of raw flash refuse to be erased after a few erases",
       Kind::kDeepened,
       {kInOrder, {"handles_bad_units", {"on"}, kNeeded, kClaimed}, {"erase_cycles", {"2"}, kNeeded}}},
      {"worn-programs",
       "erase units of raw flash refuse to be programmed after a few erases",
       Kind::kDeepened,
       {kInOrder,
        {"handles_bad_units", {"on"}, kNeeded, kClaimed},
        {"erase_cycles", {"2"}, kNeeded},
        {"bad_unit", {"program-error"}, kNeeded}}},
      {"large",
       "more files and directories, longer writes",
       Kind::kDeepened,
       {kInOrder,
        {"files", {"3"}},
        {"dirs", {"2"}},
        {"write", {"3"}},
        {"file_blocks", {"6", "2"}},
        {"truncates", {"all"}},
        {"offsets", {"all"}},
        {"one_write", {"off"}}}},
      {"reads",
       "reads as calls of their own, which may fill a cache",
       Kind::kDeepened,
       {kNoCuts, {"reads", {"on"}, kNeeded}}},
      {"odd", "sizes and offsets within a unit", Kind::kDeepened, {kInOrder, {"odd", {"on"}, kNeeded}}},
      {"long-names",
       "names as long as they may be",
       Kind::kDeepened,
       {kInOrder, {"names", {"long"}, kNeeded}}},
      {"colliding-names",
       "names that collide in common hashes",
       Kind::kDeepened,
       {kInOrder, {"names", {"colliding"}, kNeeded}}},
      {"handles",
       "open files, unlinked, renamed and replaced where the target allows that",
       Kind::kDeepened,
       {kInOrder, {"handles", {"on"}, kNeeded}}},
      {"modes", "permission bits", Kind::kDeepened, {kInOrder, {"modes", {"on"}, kNeeded}}},
      {"coverage", "first the states that reached new code", Kind::kCoverage, {kInOrder}},
      {"long-life",
       "random walks with few power cuts: many syncs and mounts, so that logs and numbers wrap",
       Kind::kWalks,
       {kInOrder, {"system_ops", {"1000"}, kNeeded}},
       200,
       200},
      {"walks",
       "random walks over many files, with power cuts that lose any of the unflushed writes",
       Kind::kWalks,
       {kAnyOrder,
        {"files", {"8", "3"}},
        {"dirs", {"3", "2"}},
        {"write", {"3"}},
        {"file_blocks", {"6", "2"}},
        {"truncates", {"all"}},
        {"offsets", {"all"}},
        {"reads", {"on"}},
        {"handles", {"on"}},
        {"modes", {"on"}},
        {"fallocate", {"on"}},
        {"exchange", {"on"}},
        {"direct", {"on"}},
        {"mapped", {"on"}},
        {"commit", {"on"}},
        {"impossible", {"on"}},
        {"system_ops", {"1000"}}},
       60,
       20},
  };
  return all;
}

// Of the options by which the stages differ, those that are not about the size of the workload.
constexpr std::string_view kSearchOptions[] = {
    "crash",     "device",      "nesting", "all_nested",  "impossible", "failures", "fail",
    "both_ways", "first_mount", "samples", "sample_seed", "torn_bits",  "log",      "base"};

std::string_view name_in(std::string_view setting) { return setting.substr(0, setting.find('=')); }

bool has_value(const OptionSpec& option, std::string_view value) {
  switch (option.type) {
    case OptionSpec::Type::kChoice:
      return std::find(option.values.begin(), option.values.end(), value) != option.values.end();
    case OptionSpec::Type::kFlag:
      return value == "on" || value == "off";
    case OptionSpec::Type::kText:
      return false;
    case OptionSpec::Type::kInteger:
      break;
  }
  const int64_t number = std::stoll(std::string(value));
  return number >= option.min && number <= option.max;
}

// "crash=prefixes", if the option exists, has such a value and another default.
struct Setting {
  bool possible = false;
  std::string text;  // empty: it is the default
};
Setting setting_of(const Wanted& wanted, const std::vector<OptionSpec>& options) {
  const auto option = std::find_if(options.begin(), options.end(),
                                   [&](const OptionSpec& one) { return one.name == wanted.option; });
  if (option == options.end()) return {};
  for (const std::string_view value : wanted.values) {
    if (value.empty() || !has_value(*option, value)) continue;
    if (option->value_text(option->fallback) == value) return {true, {}};
    return {true, fmt::format("{}={}", wanted.option, value)};
  }
  return {};
}

std::optional<Stage> stage_of(const StageSpec& spec, const std::vector<OptionSpec>& options,
                              const std::vector<std::string>& given) {
  Stage stage{spec.name, spec.says, spec.kind, {}, spec.walk_length, spec.setbacks_rarer, spec.rounds};
  bool only_defaults = true;  // all that makes it is the default, or has been set by the user
  for (const Wanted& wanted : spec.settings) {
    const bool is_given = std::any_of(given.begin(), given.end(),
                                      [&](const std::string& one) { return name_in(one) == wanted.option; });
    if (is_given) continue;
    Setting setting = setting_of(wanted, options);
    if (wanted.is_default && !setting.text.empty()) return std::nullopt;
    if (!setting.possible && wanted.needed) return std::nullopt;
    if (setting.text.empty()) continue;
    if (wanted.option != "crash") only_defaults = false;
    stage.settings.push_back(std::move(setting.text));
  }
  // What is left of it would be the stage "ordered" or "reordered" again.
  const bool is_of_more = spec.settings.size() > 1 && spec.kind == Kind::kDeepened;
  if (is_of_more && only_defaults) return std::nullopt;
  return stage;
}

}  // namespace

std::vector<Stage> stages_for(const std::vector<OptionSpec>& options,
                              const std::vector<std::string>& settings) {
  std::vector<Stage> stages;
  for (const StageSpec& spec : specs())
    if (auto stage = stage_of(spec, options, settings)) stages.push_back(*std::move(stage));
  return stages;
}

Result<std::vector<Stage>> chosen_stages(std::vector<Stage> stages, std::string_view list) {
  std::vector<std::string_view> names;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    names.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  for (const std::string_view name : names) {
    const auto is_it = [&](const Stage& stage) { return stage.name == name; };
    if (std::any_of(stages.begin(), stages.end(), is_it)) continue;
    std::string all;
    for (const Stage& stage : stages) all += (all.empty() ? "" : ", ") + std::string(stage.name);
    return bad_input(
        fmt::format("--stages: there is no stage '{}' for this target; its stages are {}", name, all));
  }
  std::erase_if(stages, [&](const Stage& stage) {
    return std::find(names.begin(), names.end(), stage.name) == names.end();
  });
  return stages;
}

bool is_of_one_search(std::string_view setting) {
  return std::find(std::begin(kSearchOptions), std::end(kSearchOptions), name_in(setting)) !=
         std::end(kSearchOptions);
}

}  // namespace sisyfs::cli
