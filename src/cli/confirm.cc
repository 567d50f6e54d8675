#include "cli/confirm.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/cli.h"

namespace sisyfs::cli {
namespace {

constexpr uint64_t kMostTimes = 1000;

uint32_t wanted_by(const Finding& finding) {
  const auto& entries = registry().entries();
  const auto at = entries.find(finding.setup.target);
  return at == entries.end() ? 0 : at->second.confirmations;
}

}  // namespace

std::string difference_of(const Replayed& replayed, FindingKind kind) {
  if (!replayed.cannot_happen.empty()) return replayed.cannot_happen;
  if (replayed.story.shows(kind)) return {};
  if (!replayed.story.findings.empty())
    return fmt::format("{} happened instead", names_of(replayed.story.findings));
  return "no promise was broken";
}

Result<Confirmed> confirm(const Finding& finding, uint32_t times, const MakeAgain& make) {
  Confirmed confirmed;
  while (confirmed.of < times && !interrupted().load()) {
    const Result<std::unique_ptr<Check>> check = make();
    if (!check) return check.error();
    const std::string difference = difference_of((*check)->replay(finding.steps), finding.kind);
    ++confirmed.of;
    if (difference.empty())
      ++confirmed.times;
    else if (confirmed.differs.empty())
      confirmed.differs = difference;
  }
  return confirmed;
}

Result<Confirmed> confirm(const Finding& finding, uint32_t times) {
  return confirm(finding, times, [&]() -> Result<std::unique_ptr<Check>> {
    Result<NamedCheck> named = registry().make(finding.setup.target, finding.setup.settings);
    if (!named) return named.error();
    return std::move(named->check);
  });
}

Status confirm_all(std::span<ToldFinding> findings, const std::optional<uint32_t>& asked) {
  for (ToldFinding& told : findings) {
    const uint32_t times = asked.value_or(wanted_by(told.finding));
    if (times == 0) continue;
    Result<Confirmed> confirmed = confirm(told.finding, times);
    if (!confirmed) return confirmed.error();
    if (confirmed->of != 0) told.confirmed = *std::move(confirmed);
  }
  return {};
}

void add_confirm(CLI::App& app, std::string& value) {
  app.add_option("--confirm", value,
                 "replay each finding so often, each time with a target that is made anew, and print how "
                 "often it happened (default: 3 for kernels, 0 for others)");
}

Result<std::optional<uint32_t>> parse_confirm(const std::string& value) {
  if (value.empty()) return std::optional<uint32_t>();
  if (value == "0") return std::optional<uint32_t>(0);
  const Result<uint64_t> times = parse_count("--confirm", value);
  if (!times) return times.error();
  if (*times > kMostTimes)
    return bad_input(fmt::format("--confirm takes a number from 0 to {}, not {}", kMostTimes, value));
  return std::optional(static_cast<uint32_t>(*times));
}

}  // namespace sisyfs::cli
