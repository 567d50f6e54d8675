// sisyfs keep-directories: the keepers of work directories (adapters/app/keeper_process.h). Not for users.
#include <CLI/CLI.hpp>

#include "adapters/app/keeper_process.h"
#include "cli/cli.h"

namespace sisyfs::cli {

void add_keep_directories(CLI::App& app, int& exit) {
  CLI::App* sub = app.add_subcommand("keep-directories", "Keep work directories (used by app)")->group("");
  sub->callback([&exit] { exit = run_keepers(); });
}

}  // namespace sisyfs::cli
