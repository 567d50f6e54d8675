// CheckRegistry: the targets that can be checked, by name, each with its options.
//
// Filled explicitly at the start of the program, so that the list does not depend on which objects the linker
// keeps. Read-only afterwards.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "finding/check.h"
#include "finding/finding.h"
#include "target/options.h"
#include "target/target_kind.h"

namespace sisyfs {

struct CheckEntry {
  std::string name;
  std::string summary;  // one line
  std::vector<OptionSpec> options;
  // A check with these options, or why they do not go together. `options` are made from the list above.
  std::function<Result<std::unique_ptr<Check>>(const Options& options)> make;
  // Where instances of the target may run; known before a check is made. The same as TargetKind::isolation.
  Isolation isolation = Isolation::kNone;
  // A check without options of a search is a campaign: several searches, from cheap to stern.
  bool in_stages = false;
  // Completes the options before a check is made: what is set here goes into findings. Null: nothing.
  std::function<Status(Options& options)> settle = {};
  // A finding is replayed so often when it is told, each time with a target that is made anew.
  uint32_t confirmations = 0;
};

// Makes entries for targets that are not in the list, for example of the path of a library.
struct TargetLoader {
  std::function<bool(std::string_view name)> handles;
  std::function<Result<CheckEntry>(const std::string& name)> load;
  // Of every entry that load() makes. It is asked for before load(), which may run foreign code.
  Isolation isolation = Isolation::kNone;
};

// A check and the name under which it can be made again.
struct NamedCheck {
  Setup setup;
  std::unique_ptr<Check> check;
};

class CheckRegistry {
 public:
  // The name is new.
  void add(CheckEntry entry);
  // A name that a target had before, which nothing has now. The error of find() has the new one.
  void rename(std::string before, std::string now) { renamed_.emplace(std::move(before), std::move(now)); }
  // An entry of the list. The error names the targets that there are. Lives as long as the registry.
  Result<const CheckEntry*> find(std::string_view name) const;
  // Names that are not in the list go to the loader, if it handles them.
  void set_loader(TargetLoader loader) { loader_ = std::move(loader); }
  // An entry of the list, or one that the loader makes.
  Result<CheckEntry> entry(std::string_view name) const;
  // Where the target must run. Loads nothing. kNone for an unknown name.
  Isolation isolation_of(std::string_view name) const;
  // A check of this target with these "name=value" settings.
  Result<NamedCheck> make(std::string_view name, const std::vector<std::string>& settings) const;
  static Result<NamedCheck> make(const CheckEntry& entry, const std::vector<std::string>& settings);
  const std::map<std::string, CheckEntry, std::less<>>& entries() const { return entries_; }

 private:
  // Whether the name is not in the list, and the loader handles it.
  bool is_loadable(std::string_view name) const;

  std::map<std::string, CheckEntry, std::less<>> entries_;
  std::map<std::string, std::string, std::less<>> renamed_;  // from the name before to the name now
  TargetLoader loader_;
};

}  // namespace sisyfs
