// The command line. Each subcommand has its own file; this one collects them.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string_view>

#include "base/printable.h"
#include "bench/bench.h"
#include "bench/pebble_target.h"
#include "cli/cli.h"
#include "cli/crew.h"
#include "cli/memory_reserve.h"

namespace {

// The message for a wrong command line. CLI11 lists unexpected words in reverse order, so they are listed
// here.
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> words = app.remaining(true);
  const bool no_command =
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && app.get_subcommands().empty();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr && (!no_command || words.empty()))
    return error.what();
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + sisyfs::shown(word);
  return fmt::format("not understood: {}", sisyfs::shown(all, 800));
}

// The subcommand whose help to suggest, with a leading blank; empty if there is none.
std::string command_of(const CLI::App& app) {
  const std::vector<CLI::App*> used = app.get_subcommands();
  return used.empty() ? "" : " " + used.front()->get_name();
}

// If a standard stream is closed, the next opened file would get its number, and output meant for the stream
// would go into that file. So closed streams are opened on /dev/null, for reading only.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  namespace cli = sisyfs::cli;
  hold_standard_streams();
  cli::hold_memory_reserve();
  CLI::App app{
      "Sisyfs, a model checker for storage systems: runs every sequence of operations up to a bound,\n"
      "cuts the power at every point, lets the system recover, and judges what came back.",
      "sisyfs"};
  app.set_version_flag("--version", "sisyfs " SISYFS_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 searched to the bound without a finding, 1 finding, 2 usage or bad input,\n"
      "3 inconclusive (stopped before the bound, or states were merged or left out), 4 harness error.");
  cli::built_in_pebble() = sisyfs::pebble_kind;
  int exit = cli::kClean;
  cli::add_check(app, exit);
  cli::add_resume(app, exit);
  cli::add_demo(app, exit);
  cli::add_replay(app, exit);
  cli::add_new_plugin(app, exit);
  cli::add_targets(app, exit);
  cli::add_ops(app, exit);
  cli::add_matrix(app, exit);
  cli::add_museum(app, exit);
  cli::add_services(app, exit);
  cli::add_app(app, exit);
  cli::add_keep_directories(app, exit);
  cli::add_bench(app, exit);
  cli::add_serve_search(app);
  if (argc == 1 || (argc == 2 && std::string_view(argv[1]) == "help")) {
    fmt::print("{}", app.help());
    return argc == 1 ? cli::kUsage : cli::kClean;
  }
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '\0') continue;
    const std::string_view before = argv[i - 1];
    return cli::fail(sisyfs::bad_input(before.starts_with('-')
                                           ? fmt::format("the value of {} is empty", sisyfs::shown(before))
                                           : fmt::format("argument {} is empty", i)));
  }
  if (argv[1][0] != '-') {
    std::vector<std::string> names;
    bool known = false;
    for (const CLI::App* sub : app.get_subcommands({})) {
      known = known || sub->get_name() == argv[1];
      if (!sub->get_group().empty()) names.push_back(sub->get_name());
    }
    if (!known)
      return cli::fail(sisyfs::bad_input(fmt::format("unknown command '{}'; commands are {}",
                                                     sisyfs::shown(argv[1]), fmt::join(names, ", "))));
  }
  cli::watch_interrupt();
  return cli::guarded([&] {
    try {
      app.parse(argc, argv);
      return exit;
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app.exit(error);
      cli::to_stderr(fmt::format("sisyfs: {}\nTry 'sisyfs{} --help'.\n",
                                 sisyfs::printable_message(what_is_wrong(app, error)), command_of(app)));
      return static_cast<int>(cli::kUsage);
    }
  });
}
