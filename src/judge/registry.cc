#include "judge/registry.h"

#include <fmt/format.h>

#include <sstream>
#include <utility>

namespace sisyfs {

void CheckRegistry::add(CheckEntry entry) {
  std::string name = entry.name;
  const bool is_new = entries_.emplace(std::move(name), std::move(entry)).second;
  SISYFS_ASSERT(is_new, "a target is registered once");
}

Result<const CheckEntry*> CheckRegistry::find(std::string_view name) const {
  if (const auto at = entries_.find(name); at != entries_.end()) return &at->second;
  std::string names;
  for (const auto& [known, entry] : entries_) names += (names.empty() ? "" : ", ") + known;
  return bad_input(fmt::format("unknown target '{}'; targets are {}", name, names));
}

Result<NamedCheck> CheckRegistry::make(std::string_view name,
                                       const std::vector<std::string>& settings) const {
  const Result<const CheckEntry*> entry = find(name);
  if (!entry) return entry.error();
  Result<Options> options = Options::parse((*entry)->options, settings);
  if (!options) return options.error();
  Result<std::unique_ptr<Check>> check = (*entry)->make(*options);
  if (!check) return check.error();
  NamedCheck named{{.target = std::string(name), .settings = {}}, *std::move(check)};
  std::istringstream words(options->text());
  for (std::string word; words >> word;) named.setup.settings.push_back(word);
  return named;
}

}  // namespace sisyfs
