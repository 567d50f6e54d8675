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

Result<const CheckEntry*> CheckRegistry::find(std::string_view name) const {
  if (const auto at = entries_.find(name); at != entries_.end()) return &at->second;
  if (const auto at = renamed_.find(name); at != renamed_.end())
    return bad_input(fmt::format("the target '{}' is called '{}' now", name, at->second));
  std::string names;
  for (const auto& [known, entry] : entries_) names += (names.empty() ? "" : ", ") + known;
  const char* others =
      loader_.handles ? ", and plug-ins: 'sisyfs targets' has those that are there already" : "";
  return bad_input(fmt::format("unknown target '{}'; targets are {}{}", name, names, others));
}

bool CheckRegistry::is_loadable(std::string_view name) const {
  return entries_.find(name) == entries_.end() && loader_.handles && loader_.handles(name);
}

Result<CheckEntry> CheckRegistry::entry(std::string_view name) const {
  if (is_loadable(name)) {
    Result<CheckEntry> loaded = loader_.load(std::string(name));
    if (loaded)
      SISYFS_ASSERT(loaded->isolation == loader_.isolation, "a loader says where its targets may run");
    return loaded;
  }
  const Result<const CheckEntry*> known = find(name);
  if (!known) return known.error();
  return **known;
}

Isolation CheckRegistry::isolation_of(std::string_view name) const {
  if (is_loadable(name)) return loader_.isolation;
  const auto at = entries_.find(name);
  return at == entries_.end() ? Isolation::kNone : at->second.isolation;
}

Result<NamedCheck> CheckRegistry::make(std::string_view name,
                                       const std::vector<std::string>& settings) const {
  const Result<CheckEntry> entry = this->entry(name);
  if (!entry) return entry.error();
  return make(*entry, settings);
}

Result<NamedCheck> CheckRegistry::make(const CheckEntry& entry, const std::vector<std::string>& settings) {
  Result<Options> options = Options::parse(entry.options, settings);
  if (!options) return options.error();
  if (const Status settled = entry.settle ? entry.settle(*options) : Status(); !settled)
    return settled.error();
  Result<std::unique_ptr<Check>> check = entry.make(*options);
  if (!check) return check.error();
  for (const std::string& setting : (*check)->settled())
    if (Status s = options->set(setting); !s) return s.error();
  NamedCheck named{{.target = entry.name, .settings = {}}, *std::move(check)};
  std::istringstream words(options->text());
  for (std::string word; words >> word;) named.setup.settings.push_back(word);
  return named;
}

}  // namespace sisyfs
