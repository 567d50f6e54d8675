#include "cli/app_ready.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "adapters/kernel/tool.h"
#include "base/assert.h"
#include "cli/packages.h"
#include "cli/ready_apps_data.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace sisyfs::cli {

namespace {

std::vector<std::string> words_in(const toml::table& table, std::string_view key) {
  std::vector<std::string> out;
  if (const toml::array* const list = table[key].as_array())
    for (const toml::node& node : *list) out.push_back(node.value_or(std::string()));
  return out;
}

// Takes what the table has, and leaves the rest as it is.
void take(const toml::table& table, ReadyApp& app) {
  const auto command = [&](std::string_view key, AppPlan::Command& out) {
    if (const auto text = table[key].value<std::string>()) out = {"sh", "-euc", *text};
  };
  command("setup", app.plan.setup);
  command("run", app.plan.run);
  command("recover", app.plan.recover);
  command("check", app.plan.check);
  command("start", app.plan.start);
  command("ready", app.plan.ready);
  command("stop", app.plan.stop);
  if (const auto summary = table["summary"].value<std::string>()) app.summary = *summary;
  if (table.contains("packages")) app.packages = words_in(table, "packages");
  if (table.contains("programs")) app.programs = words_in(table, "programs");
  if (table.contains("ignore")) app.plan.ignored = words_in(table, "ignore");
  if (const toml::table* const variables = table["env"].as_table())
    for (const auto& [name, value] : *variables)
      app.plan.variables.push_back(std::string(name.str()) + "=" + value.value_or(std::string()));
}

std::vector<ReadyApp> read_apps() {
  std::vector<ReadyApp> all;
  for (size_t i = 0; i < kReadyAppCount; ++i) {
    const toml::parse_result parsed = toml::parse(kReadyAppFiles[i].content);
    SISYFS_ASSERT(parsed, "the files in src/adapters/app/ready are TOML");
    const toml::table& table = parsed.table();
    ReadyApp app;
    app.name = kReadyAppFiles[i].name;
    take(table, app);
    all.push_back(app);
    const toml::table* const variants = table["variants"].as_table();
    if (variants == nullptr) continue;
    for (const auto& [name, content] : *variants) {
      ReadyApp variant = app;
      variant.name = app.name + "-" + std::string(name.str());
      SISYFS_ASSERT(content.is_table(), "a variant is a table");
      take(*content.as_table(), variant);
      all.push_back(std::move(variant));
    }
  }
  return all;
}

}  // namespace

const std::vector<ReadyApp>& ready_apps() {
  static const std::vector<ReadyApp> all = read_apps();
  return all;
}

const ReadyApp* ready_app(const std::string& name) {
  const auto found = std::ranges::find(ready_apps(), name, &ReadyApp::name);
  return found == ready_apps().end() ? nullptr : &*found;
}

namespace {

// A library has no program by which it is known: the list of its files is there.
bool is_installed(const std::string& package) {
  std::error_code unknown;
  for (const auto& entry : std::filesystem::directory_iterator("/var/lib/dpkg/info", unknown)) {
    const std::string name = entry.path().filename().string();
    if (name == package + ".list" || (name.starts_with(package + ":") && name.ends_with(".list")))
      return true;
  }
  return unknown ? true : false;  // not a Debian: the programs decide
}

}  // namespace

Status provide(const ReadyApp& app) {
  const bool has_programs =
      std::ranges::none_of(app.programs, [](const std::string& one) { return find_tool(one).empty(); });
  if (has_programs && std::ranges::all_of(app.packages, is_installed)) return {};
  return install_packages(app.packages);
}

}  // namespace sisyfs::cli
