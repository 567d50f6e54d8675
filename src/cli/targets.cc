// sisyfs targets: what can be checked, with its options; and what can be found.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"

namespace sisyfs::cli {
namespace {

void list_findings() {
  for (const FindingInfo& entry : catalogue())
    fmt::print("{:<3} {:<15} {:<10} {}\n", entry.code, entry.name,
               entry.severity == Severity::kCritical ? "critical" : "repairable", entry.says);
}

void list_targets() {
  for (const auto& [name, entry] : registry().entries()) {
    fmt::print("{}: {}\n", name, entry.summary);
    for (const OptionSpec& option : entry.options)
      fmt::print("    --set {:<22} {} (default {})\n", fmt::format("{}={}", option.name, option.allowed()),
                 option.help, option.value_text(option.fallback));
  }
}

void list_targets_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [name, entry] : registry().entries()) {
    nlohmann::ordered_json options = nlohmann::ordered_json::array();
    for (const OptionSpec& option : entry.options)
      options.push_back({{"name", option.name},
                         {"allowed", option.allowed()},
                         {"default", option.value_text(option.fallback)},
                         {"help", option.help}});
    all.push_back({{"name", name}, {"summary", entry.summary}, {"options", options}});
  }
  fmt::print("{}\n", all.dump(2));
}

}  // namespace

void add_targets(CLI::App& app, int& exit) {
  struct Flags {
    bool findings = false, json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* sub = app.add_subcommand("targets", "List the targets and their options");
  auto* findings = sub->add_flag("--findings", flags->findings, "list the catalogue of findings instead");
  sub->add_flag("--json", flags->json, "as JSON")->excludes(findings);
  sub->callback([flags, &exit] {
    if (flags->findings)
      list_findings();
    else if (flags->json)
      list_targets_json();
    else
      list_targets();
    exit = kClean;
  });
}

}  // namespace sisyfs::cli
