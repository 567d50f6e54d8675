#include "finding/registry.h"

#include <fmt/format.h>

#include <sstream>
#include <utility>

namespace sisyfs {

void CheckRegistry::add(CheckEntry entry) {
  std::string name = entry.name;
  const bool is_new = entries_.emplace(std::move(name), std::move(entry)).second;
  SISYFS_ASSERT(is_new, "a target is registered once");
}

void CheckRegistry::set_opener(std::function<bool(std::string_view)> opens,
                               std::function<Result<CheckEntry>(const std::string&)> open) {
  opens_ = std::move(opens);
  open_ = std::move(open);
}

Result<const CheckEntry*> CheckRegistry::find(std::string_view name) const {
  if (const auto at = entries_.find(name); at != entries_.end()) return &at->second;
  std::string names;
  for (const auto& [known, entry] : entries_) names += (names.empty() ? "" : ", ") + known;
  const char* others = opens_ ? ", and plug-ins: 'sisyfs targets' has those that are there already" : "";
  return bad_input(fmt::format("unknown target '{}'; targets are {}{}", name, names, others));
}

Result<NamedCheck> CheckRegistry::make(std::string_view name,
                                       const std::vector<std::string>& settings) const {
  CheckEntry entry;
  if (entries_.find(name) == entries_.end() && opens_ && opens_(name)) {
    Result<CheckEntry> opened = open_(std::string(name));
    if (!opened) return opened.error();
    entry = *std::move(opened);
  } else {
    const Result<const CheckEntry*> known = find(name);
    if (!known) return known.error();
    entry = **known;
  }
  Result<Options> options = Options::parse(entry.options, settings);
  if (!options) return options.error();
  Result<std::unique_ptr<Check>> check = entry.make(*options);
  if (!check) return check.error();
  NamedCheck named{{.target = std::string(name), .settings = {}}, *std::move(check)};
  std::istringstream words(options->text());
  for (std::string word; words >> word;) named.setup.settings.push_back(word);
  return named;
}

}  // namespace sisyfs
