// sisyfs new-plugin: writes a directory with the skeleton of a plug-in.
#include "cli/new_plugin.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

#include "cli/cli.h"
#include "cli/files.h"

namespace sisyfs::cli {
namespace {

// Replaces myfs, the name in the skeleton, by another name.
std::string renamed(std::string text, const std::string& name) {
  constexpr std::string_view kName = "myfs";
  for (size_t at = 0; (at = text.find(kName, at)) != std::string::npos; at += name.size())
    text.replace(at, kName.size(), name);
  return text;
}

// Whether the name can be used in C and in a make file.
bool is_name(const std::string& name) {
  const auto good = [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_'; };
  return !name.empty() && name.size() <= 40 && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), good);
}

int make_plugin(const std::string& directory) {
  const std::string name = std::filesystem::path(directory).filename();
  if (!is_name(name))
    return fail(bad_input(
        fmt::format("'{}' is not a valid name for a plug-in: use lower-case letters, digits and '_'", name)));
  std::error_code error;
  if (std::filesystem::exists(directory, error))
    return fail(bad_input(fmt::format("{} exists already: use another name, or remove it", directory)));
  std::filesystem::create_directories(directory + "/include/sisyfs", error);
  if (error)
    return fail(bad_input(fmt::format("cannot make the directory {}: {}", directory, error.message())));
  for (const auto& [file, text] :
       {std::pair(name + ".c", renamed(kSkeletonCode, name)),
        std::pair(std::string("Makefile"), renamed(kSkeletonMakefile, name)),
        std::pair(std::string("include/sisyfs/plugin.h"), std::string(kPluginHeader))})
    if (Status s = write_file(fmt::format("{}/{}", directory, file), text); !s) return fail(s.error());
  fmt::print(
      "Wrote {0}/{1}.c, the skeleton of a plug-in. To build and check it:\n\n"
      "    make -C {0} && ./sisyfs check {0}/lib{1}.so\n",
      directory, name);
  return kClean;
}

}  // namespace

void add_new_plugin(CLI::App& app, int& exit) {
  auto directory = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("new-plugin", "Write the skeleton of a plug-in, ready to be built");
  sub->add_option("name", *directory,
                  "name of the file system and of its new directory: lower-case letters, digits and '_'; a "
                  "path may come "
                  "before it")
      ->required();
  sub->footer("Exit codes: 0 written, 2 usage or bad input, 4 harness error.");
  sub->callback([directory, &exit] { exit = make_plugin(*directory); });
}

}  // namespace sisyfs::cli
