// sisyfs ops: lists what a search would try from a state.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/cli.h"
#include "cli/sanitized.h"
#include "cli/supervisor.h"

namespace sisyfs::cli {
namespace {

struct OpsFlags {
  std::string target, after;
  std::vector<std::string> settings;
};

// "create /a; write /a 0 512"
Result<std::vector<Op>> ops_in(std::string_view script) {
  std::vector<Op> ops;
  for (size_t at = 0; at <= script.size();) {
    const size_t end = std::min(script.find_first_of(";\n", at), script.size());
    const std::string_view line = script.substr(at, end - at);
    if (line.find_first_not_of(" \t") != line.npos) {
      const Result<Op> op = parse_op(line);
      if (!op) return bad_input(fmt::format("--after, op {}: {}", ops.size() + 1, op.error().message));
      ops.push_back(*op);
    }
    at = end + 1;
  }
  return ops;
}

std::string line_of(const Candidate& candidate) {
  const std::string text = to_text(candidate.op);
  return candidate.error == 0 ? text : fmt::format("{}  # must fail: {}", text, errno_text(candidate.error));
}

int list_ops(const OpsFlags& flags) {
  const Result<std::vector<Op>> after = ops_in(flags.after);
  if (!after) return fail(after.error());
  if (Status s = Options::each_once(flags.settings); !s) return fail(s.error());
  const Result<NamedCheck> named = registry().make(flags.target, flags.settings);
  if (!named) return fail(named.error());
  const Result<TriedOps> tried = named->check->ops_after(*after);
  if (!tried) return fail(tried.error());
  for (const Candidate& candidate : tried->ops) fmt::print("{}\n", line_of(candidate));
  const auto must_fail = std::count_if(tried->ops.begin(), tried->ops.end(),
                                       [](const Candidate& candidate) { return candidate.error != 0; });
  fmt::print("# {} ops from {}{}\n", tried->ops.size(),
             after->empty() ? "the start" : fmt::format("the state after {} ops", after->size()),
             must_fail == 0 ? std::string() : fmt::format(", {} of them must fail", must_fail));
  if (!tried->not_tried.empty()) fmt::print("# not tried: {}\n", not_tried_text(tried->not_tried));
  if (!tried->absent.empty()) fmt::print("# not supported by the target: {}\n", tried->absent);
  return kClean;
}

int run_ops(const OpsFlags& flags) {
  if (registry().isolation_of(flags.target) == Isolation::kNone) return list_ops(flags);
  if (Status s = start_with_sanitizer(flags.target); !s) return fail(s.error());
  return supervise([&](const SharedBlackBox&) { return list_ops(flags); });
}

}  // namespace

void add_ops(CLI::App& app, int& exit) {
  auto flags = std::make_shared<OpsFlags>();
  CLI::App* sub = app.add_subcommand("ops", "List the ops that a search would try from a state");
  sub->add_option("target", flags->target, "one of 'sisyfs targets', or the path of a plug-in")->required();
  sub->add_option("--set", flags->settings, "set an option of the target, as name=value; may be repeated")
      ->allow_extra_args(false);
  sub->add_option("--after", flags->after,
                  "from the state after these ops, with ';' between them: \"create /a; append /a 512\"");
  sub->footer("Exit codes: 0 listed, 2 usage or bad input, 4 harness error.");
  sub->callback([flags, &exit] { exit = run_ops(*flags); });
}

}  // namespace sisyfs::cli
