// sisyfs new-plugin: a directory with a plug-in that can be built and filled in.
#include "cli/new_plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

#include "cli/cli.h"

namespace sisyfs::cli {
namespace {

// The skeleton is about a file system called myfs.
std::string renamed(std::string text, const std::string& name) {
  constexpr std::string_view kName = "myfs";
  for (size_t at = 0; (at = text.find(kName, at)) != std::string::npos; at += name.size())
    text.replace(at, kName.size(), name);
  return text;
}

// What is a word in C and in a make file.
bool is_name(const std::string& name) {
  const auto good = [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_'; };
  return !name.empty() && name.size() <= 40 && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), good);
}

int make_plugin(const std::string& name) {
  if (!is_name(name))
    return fail(
        bad_input(fmt::format("'{}' is no name for a plug-in: take small letters, digits and '_'", name)));
  std::error_code error;
  if (std::filesystem::exists(name, error))
    return fail(bad_input(fmt::format("{} is there already: take another name, or remove it", name)));
  std::filesystem::create_directories(name + "/include/sisyfs", error);
  if (error) return fail(bad_input(fmt::format("cannot make the directory {}: {}", name, error.message())));
  for (const auto& [path, text] : {std::pair(fmt::format("{0}/{0}.c", name), renamed(kSkeletonCode, name)),
                                   std::pair(name + "/Makefile", renamed(kSkeletonMakefile, name)),
                                   std::pair(name + "/include/sisyfs/plugin.h", std::string(kPluginHeader))})
    if (Status s = write_file(path, text); !s) return fail(s.error());
  fmt::print(
      "{0}/{0}.c is a plug-in to be filled in. To build and check it:\n\n"
      "    make -C {0} && ./sisyfs check {0}/lib{0}.so\n",
      name);
  return kClean;
}

}  // namespace

void add_new_plugin(CLI::App& app, int& exit) {
  auto name = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("new-plugin", "Write the skeleton of a plug-in, ready to be built");
  sub->add_option("name", *name, "of the file system: small letters, digits and '_'")->required();
  sub->callback([name, &exit] { exit = make_plugin(*name); });
}

}  // namespace sisyfs::cli
