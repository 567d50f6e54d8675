// sisyfs targets: lists the targets with their options, and the catalogue of findings.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "adapters/plugin/plugin_check.h"
#include "base/printable.h"
#include "cli/cli.h"
#include "cli/supervisor.h"
#include "finding/finding_json.h"

namespace sisyfs::cli {
namespace {

void list_findings() {
  for (const FindingInfo& entry : catalogue())
    fmt::print("{:<3} {:<15} {:<10} {}\n", entry.code, entry.name,
               entry.severity == Severity::kCritical ? "critical" : "repairable", entry.says);
}

void list_target(const std::string& name, const CheckEntry& entry) {
  fmt::print("{}: {}\n", printable(name), printable(entry.summary));
  for (const OptionSpec& option : entry.options) {
    if (option.help.empty()) continue;
    fmt::print("    --set {:<22}  {} (default {})\n",
               printable(fmt::format("{}={}", option.name, option.allowed())), option.help,
               option.value_text(option.fallback));
  }
}

void list_targets() {
  for (const auto& [name, entry] : registry().entries()) list_target(name, entry);
  fmt::print("\nReal file systems, as plug-ins ('sisyfs targets NAME' lists their options):\n");
  for (const BundledPlugin& plugin : bundled_plugins()) fmt::print("{}: {}\n", plugin.name, plugin.summary);
  fmt::print("Your own file system: the path of a library ('sisyfs new-plugin' writes a skeleton).\n");
}

using Json = nlohmann::ordered_json;

Json json_of(const std::string& name, const CheckEntry& entry) {
  Json options = Json::array();
  for (const OptionSpec& option : entry.options) {
    if (option.help.empty()) continue;
    options.push_back({{"name", option.name},
                       {"allowed", option.allowed()},
                       {"default", option.value_text(option.fallback)},
                       {"help", option.help}});
  }
  return {{"name", name}, {"summary", entry.summary}, {"options", options}};
}

int list_one(const std::string& name, bool json) {
  const auto list = [&](const CheckEntry& entry) {
    if (json)
      fmt::print("{}", text_of(Json::array({json_of(name, entry)})));
    else
      list_target(name, entry);
    return kClean;
  };
  const Result<CheckEntry> entry = registry().entry(name);
  return entry ? list(*entry) : fail(entry.error());
}

// Plug-ins that cannot be loaded here are left out.
int list_targets_json() {
  Json all = Json::array();
  for (const auto& [name, entry] : registry().entries()) all.push_back(json_of(name, entry));
  for (const BundledPlugin& plugin : bundled_plugins())
    if (const Result<CheckEntry> entry = plugin_entry(std::string(plugin.name)))
      all.push_back(json_of(std::string(plugin.name), *entry));
  fmt::print("{}", text_of(all));
  return kClean;
}

// To ask a plug-in for its options is to run its code.
int list(const std::string& target, bool json) {
  if (registry().isolation_of(target) == Isolation::kNone) return list_one(target, json);
  return supervise([&](const SharedBlackBox&) { return list_one(target, json); });
}

}  // namespace

void add_targets(CLI::App& app, int& exit) {
  struct Flags {
    std::string target;
    bool findings = false, json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* sub = app.add_subcommand("targets", "List the targets and their options");
  auto* target =
      sub->add_option("target", flags->target, "list only this target: a name, or the path of a plug-in");
  auto* findings = sub->add_flag("--findings", flags->findings, "list the catalogue of findings instead");
  findings->excludes(target);
  sub->add_flag("--json", flags->json, "print JSON")->excludes(findings);
  sub->footer("Exit codes: 0 listed, 2 usage or bad input, 4 harness error.");
  sub->callback([flags, &exit] {
    exit = kClean;
    if (flags->findings)
      list_findings();
    else if (!flags->target.empty())
      exit = list(flags->target, flags->json);
    else if (flags->json)
      exit = supervise([](const SharedBlackBox&) { return list_targets_json(); });
    else
      list_targets();
  });
}

}  // namespace sisyfs::cli
