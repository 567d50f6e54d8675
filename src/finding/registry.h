// CheckRegistry: what can be checked, by name, with what a user has to know about each.
//
// Filled by hand at the start of the program, so that what is listed does not depend on what the linker
// kept. Read-only afterwards.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "finding/check.h"
#include "finding/finding.h"
#include "target/options.h"

namespace sisyfs {

struct CheckEntry {
  std::string name;
  std::string summary;  // one line
  std::vector<OptionSpec> options;
  // A check with these options, or why they do not go together. `options` are made from the list above.
  std::function<Result<std::unique_ptr<Check>>(const Options& options)> make;
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
  // The error names the targets that there are. The entry lives as long as the registry.
  Result<const CheckEntry*> find(std::string_view name) const;
  // Names that are not in the list may be something else that can be checked, like a path: `open` makes an
  // entry of those for which `opens` is true.
  void set_opener(std::function<bool(std::string_view)> opens,
                  std::function<Result<CheckEntry>(const std::string&)> open);
  // Finds, parses "name=value" settings and makes.
  Result<NamedCheck> make(std::string_view name, const std::vector<std::string>& settings) const;
  const std::map<std::string, CheckEntry, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, CheckEntry, std::less<>> entries_;
  std::function<bool(std::string_view)> opens_;
  std::function<Result<CheckEntry>(const std::string&)> open_;
};

}  // namespace sisyfs
