// sisyfs replay: executes the trace of a finding and says whether the finding still happens.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "adapters/plugin/plugin_check.h"
#include "cli/cli.h"
#include "cli/files.h"
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
  const Result<std::string> text = read_file(what);
  if (!text) return text.error();
  Result<std::vector<Replay>> replays = replays_in(*text);
  if (!replays) return bad_input(fmt::format("{}: {}", what, replays.error().message));
  return replays;
}

// Writes the disk as the last power cut left it, before recovery.
Status write_image(const std::string& path, const Story& story) {
  if (!story.image)
    return bad_input(
        "--image: no power cut left a disk: this finding has no power cut, or the target has no "
        "disk (link and index have one with via=disk)");
  const Geometry& geometry = story.image->geometry();
  std::string bytes(geometry.block_count.value * geometry.block_size, '\0');
  story.image->read(BlockAddress(0), std::as_writable_bytes(std::span(bytes)));
  return write_file(path, bytes);
}

int replay_here(const std::vector<Replay>& replays, bool quiet, const std::string& image) {
  int exit = kClean;
  for (const Replay& replay : replays) {
    const Result<NamedCheck> named = registry().make(replay.setup.target, replay.setup.settings);
    if (!named) return fail(named.error());
    const Result<Story> story = named->check->tell(replay.trace);
    // The code of the plug-in may have changed so that the trace cannot be executed. The trace itself is
    // valid: it was checked when the token was parsed.
    if (!story && is_plugin(replay.setup.target) && story.error().kind == ErrorKind::kBadInput) {
      fmt::print(
          "{} {}: does not happen any more: the code has changed and the trace cannot be executed ({}). "
          "'sisyfs check' searches for another trace\n",
          info(replay.kind).name, make_token(replay), story.error().message);
      continue;
    }
    if (!story) return fail(story.error());
    if (Status s = image.empty() ? Status() : write_image(image, *story); !s) return fail(s.error());
    const bool happens = (story->findings & bit(replay.kind)) != 0;
    if (!quiet && happens)
      fmt::print("{}\n", tell(Finding{replay.kind, named->setup, replay.trace, *story}, text_style()));
    fmt::print("{} {}: {}\n", info(replay.kind).name, make_token(replay),
               happens ? "still happens" : "does not happen any more");
    if (happens) exit = kFound;
  }
  return exit;
}

int run_replay(const std::string& what, bool quiet, const std::string& image) {
  const Result<std::vector<Replay>> replays = replays_of(what);
  if (!replays) return fail(replays.error());
  if (!image.empty() && replays->size() != 1)
    return fail(bad_input("--image writes one disk: give a token, or a file with one finding"));
  const auto foreign = [](const Replay& replay) { return is_plugin(replay.setup.target); };
  if (std::none_of(replays->begin(), replays->end(), foreign)) return replay_here(*replays, quiet, image);
  for (const Replay& replay : *replays) {
    if (!foreign(replay)) continue;
    if (Status s = start_with_sanitizer(replay.setup.target); !s) return fail(s.error());
  }
  return supervise([&] { return replay_here(*replays, quiet, image); });
}

}  // namespace

void add_replay(CLI::App& app, int& exit) {
  struct Flags {
    std::string what, image;
    bool quiet = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* sub =
      app.add_subcommand("replay", "Execute a finding again: exit code 1 if it still happens, 0 if not");
  sub->add_option("token_or_file", flags->what, "a replay token, or a file that check --json wrote")
      ->required();
  sub->add_flag("--quiet", flags->quiet, "print only whether it still happens");
  sub->add_option("--image", flags->image,
                  "write the disk as the last power cut left it to this file, for other tools");
  sub->footer(
      "Exit codes: 0 it does not happen any more, 1 it still happens (for a file: at least one finding "
      "does),\n"
      "2 usage or bad input, 4 harness error.");
  sub->callback([flags, &exit] { exit = run_replay(flags->what, flags->quiet, flags->image); });
}

}  // namespace sisyfs::cli
