// Confirming findings: a finding of a target that is a whole system of its own, such as a kernel, is replayed
// several times when it is told, each time with a target that is made anew.
//
//   if (Status s = confirm_all(findings, output.confirm); !s) return fail(s.error());
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "finding/registry.h"
#include "finding/told_finding.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sisyfs::cli {

// A target made anew, of which nothing is left of earlier replays.
using MakeAgain = std::function<Result<std::unique_ptr<Check>>()>;

// How often the finding happens in so many replays. Stops early when it is interrupted.
Result<Confirmed> confirm(const Finding& finding, uint32_t times, const MakeAgain& make);
// The same for a target of the registry.
Result<Confirmed> confirm(const Finding& finding, uint32_t times);

// Confirms all of them: `asked` times each, or as often as their targets want.
Status confirm_all(std::span<ToldFinding> findings, const std::optional<uint32_t>& asked);

// What a replay did instead of showing the finding; empty if it shows it.
std::string difference_of(const Replayed& replayed, FindingKind kind);

// "--confirm"; checks what it takes.
void add_confirm(CLI::App& app, std::string& value);
Result<std::optional<uint32_t>> parse_confirm(const std::string& value);

}  // namespace sisyfs::cli
