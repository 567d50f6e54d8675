// sisyfs replay: execute a finding's trace again and say whether it still happens.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "adapters/plugin_check.h"
#include "cli/cli.h"
#include "cli/sanitized.h"
#include "cli/supervisor.h"
#include "report/finding_json.h"

namespace sisyfs::cli {
namespace {

Result<std::vector<Replay>> replays_of(const std::string& what) {
  std::error_code ignored;
  if (!std::filesystem::exists(what, ignored)) {
    Result<Replay> replay = parse_token(what);
    if (!replay) return replay.error();
    return std::vector<Replay>{*std::move(replay)};
  }
  if (!std::filesystem::is_regular_file(what, ignored))
    return bad_input(
        fmt::format("{} is not a file: give a replay token, or a file that check --json wrote", what));
  std::ifstream in(what, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) return bad_input(fmt::format("cannot read {}", what));
  Result<std::vector<Replay>> replays = replays_in(text);
  if (!replays) return bad_input(fmt::format("{}: {}", what, replays.error().message));
  return replays;
}

int replay_here(const std::vector<Replay>& replays, bool quiet) {
  int exit = kClean;
  for (const Replay& replay : replays) {
    const Result<NamedCheck> named = registry().make(replay.setup.target, replay.setup.settings);
    if (!named) return fail(named.error());
    const Result<Story> story = named->check->tell(replay.trace);
    if (!story) return fail(story.error());
    const bool happens = (story->findings & bit(replay.kind)) != 0;
    if (!quiet && happens)
      fmt::print("{}\n", tell(Finding{replay.kind, named->setup, replay.trace, *story}, text_style()));
    fmt::print("{} {}: {}\n", info(replay.kind).name, make_token(replay),
               happens ? "still happens" : "does not happen any more");
    if (happens) exit = kFound;
  }
  return exit;
}

int run_replay(const std::string& what, bool quiet) {
  const Result<std::vector<Replay>> replays = replays_of(what);
  if (!replays) return fail(replays.error());
  const auto foreign = [](const Replay& replay) { return is_plugin(replay.setup.target); };
  if (std::none_of(replays->begin(), replays->end(), foreign)) return replay_here(*replays, quiet);
  for (const Replay& replay : *replays) {
    if (!foreign(replay)) continue;
    if (Status s = start_with_sanitizer(replay.setup.target); !s) return fail(s.error());
  }
  return supervise([&] { return replay_here(*replays, quiet); });
}

}  // namespace

void add_replay(CLI::App& app, int& exit) {
  struct Flags {
    std::string what;
    bool quiet = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* sub =
      app.add_subcommand("replay", "Execute a finding again: exit code 1 if it still happens, 0 if not");
  sub->add_option("what", flags->what, "a replay token, or a file that check --json wrote")->required();
  sub->add_flag("--quiet", flags->quiet, "only say whether it still happens");
  sub->callback([flags, &exit] { exit = run_replay(flags->what, flags->quiet); });
}

}  // namespace sisyfs::cli
