#include "cli/campaign/small_disk.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"

namespace sisyfs::cli {
namespace {

// The number of states one call away from the start. 0: with these settings there is no start.
Result<uint64_t> states_at_depth_one(const CheckEntry& entry, const std::vector<std::string>& settings,
                                     SearchOptions options) {
  const Result<NamedCheck> named = CheckRegistry::make(entry, settings);
  if (!named && named.error().kind == ErrorKind::kBadInput) return uint64_t{0};
  if (!named) return named.error();
  options.bounds.depth = 1;
  options.threads = 1;
  options.digest_visited = false;
  options.stop = StopRule::kNever;
  return named->check->search(named->check->fitted(options), {}).states;
}

}  // namespace

Result<uint64_t> smallest_disk(const CheckEntry& entry, const std::vector<std::string>& given,
                               const SearchOptions& search) {
  const auto is_size = [](const OptionSpec& option) { return option.name == "blocks"; };
  const auto size = std::find_if(entry.options.begin(), entry.options.end(), is_size);
  if (size == entry.options.end()) return bad_input("the size of its disk is no option");
  for (const std::string& setting : given)
    if (setting.starts_with("blocks=")) return bad_input("the size of the disk was given");
  const Result<Options> options = Options::parse(entry.options, given);
  if (!options) return options.error();
  std::vector<std::string> settings = given;
  settings.emplace_back("crash=none");
  const auto states = [&](uint64_t blocks) {
    std::vector<std::string> with_size = settings;
    with_size.push_back(fmt::format("blocks={}", blocks));
    return states_at_depth_one(entry, with_size, search);
  };
  const uint64_t unit = options->has("erase_blocks")
                            ? std::max<uint64_t>(1, static_cast<uint64_t>(options->integer("erase_blocks")))
                            : 1;
  const auto usual = static_cast<uint64_t>(options->integer("blocks"));
  const auto least = static_cast<uint64_t>(std::max<int64_t>(1, size->min));
  const Result<uint64_t> wanted = states(usual);
  if (!wanted) return wanted.error();
  // In units: too few, and enough.
  uint64_t few = (least - 1) / unit, enough = usual / unit;
  while (few + 1 < enough && !interrupted().load()) {
    const uint64_t middle = few + (enough - few) / 2;
    const Result<uint64_t> there = states(middle * unit);
    if (!there) return there.error();
    (*there >= *wanted ? enough : few) = middle;
  }
  if (enough * unit >= usual) return bad_input("its usual disk is the smallest one");
  return enough * unit;
}

}  // namespace sisyfs::cli
