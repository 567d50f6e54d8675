// TargetRegistry: the targets by name, with what a user has to know about each.
//
// Filled by hand at the start of the program, so that what is listed does not depend on what the linker
// kept. Read-only afterwards, and then shared by all threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "target/options.h"
#include "target/target.h"

namespace sisyfs {

struct TargetEntry {
  std::string name;
  std::string summary;  // one line
  std::vector<OptionSpec> options;
  // A new instance, or why these options do not go together. `options` are made from the list above.
  std::function<Result<std::unique_ptr<Target>>(const Options& options)> make;
};

class TargetRegistry {
 public:
  // The name is new.
  void add(TargetEntry entry);
  // The error names the targets that there are. The entry lives as long as the registry.
  Result<const TargetEntry*> find(std::string_view name) const;
  // find() and make() in one; `assignments` are "name=value".
  Result<std::unique_ptr<Target>> make(std::string_view name,
                                       const std::vector<std::string>& assignments) const;

  // By name.
  const std::map<std::string, TargetEntry, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, TargetEntry, std::less<>> entries_;
};

}  // namespace sisyfs
