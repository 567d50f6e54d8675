#include "target/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>
#include <utility>

namespace sisyfs {

void TargetRegistry::add(TargetEntry entry) {
  std::string name = entry.name;
  const bool is_new = entries_.emplace(std::move(name), std::move(entry)).second;
  SISYFS_ASSERT(is_new, "a target is registered once");
}

Result<const TargetEntry*> TargetRegistry::find(std::string_view name) const {
  if (const auto at = entries_.find(name); at != entries_.end()) return &at->second;
  return bad_input(
      fmt::format("unknown target '{}'; targets are {}", name, fmt::join(std::views::keys(entries_), ", ")));
}

Result<std::unique_ptr<Target>> TargetRegistry::make(std::string_view name,
                                                     const std::vector<std::string>& assignments) const {
  const Result<const TargetEntry*> entry = find(name);
  if (!entry) return entry.error();
  Result<Options> options = Options::parse((*entry)->options, assignments);
  if (!options) return options.error();
  return (*entry)->make(*options);
}

}  // namespace sisyfs
