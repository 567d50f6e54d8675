// sisyfs keep-directory: the keeper of a work directory (adapters/app/keeper_process.h). Not for users.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "adapters/app/keeper_process.h"
#include "cli/cli.h"

namespace sisyfs::cli {

void add_keep_directory(CLI::App& app, int& exit) {
  auto folder = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("keep-directory", "Keep a work directory (used by app)")->group("");
  sub->add_option("folder", *folder, "the folder to mount over");
  sub->callback([folder, &exit] { exit = run_keeper(*folder); });
}

}  // namespace sisyfs::cli
