// sisyfs serve-search: one worker of a crew (crew.h). Not for users.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <new>

#include "adapters/plugin/fence.h"
#include "adapters/plugin/plugin_check.h"
#include "adapters/plugin/process_guard.h"
#include "cli/cli.h"
#include "cli/crew.h"
#include "cli/own_streams.h"
#include "explore/socket_link.h"
#include "explore/worker_messages.h"

namespace sisyfs::cli {
namespace {

struct ServeFlags {
  std::string target, script;
  std::vector<std::string> settings;
  int socket = -1, box = -1;
  uint32_t slot = 0, ace = 0;
};

int serve(const ServeFlags& flags) {
  // The search passes on what Ctrl-C means.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  guard_and_keep_streams();
  SocketLink search(keep_descriptor(flags.socket));
  const auto refuse = [&](const std::string& why) {
    search.send(message::encode(message::Refused{why}));
    return static_cast<int>(kHarness);
  };
  const SharedBlackBox shared(keep_descriptor(flags.box));
  if (shared.box() == nullptr || flags.slot >= BlackBox::kSlots)
    return refuse("a worker was started with wrong arguments");
  Fence::claim_process();
  Fence::set_black_box(shared.box(), flags.slot);
  try {
    skip_plugin_trials();
    const Result<NamedCheck> named = registry().make(flags.target, flags.settings);
    if (!named) return refuse(named.error().message);
    if (!flags.script.empty()) {
      const Result<Script> script = Script::parse(flags.script);
      if (!script) return refuse(script.error().message);
      if (Status s = named->check->follow(*script); !s) return refuse(s.error().message);
    }
    if (flags.ace != 0)
      if (Status s = named->check->follow_ace(flags.ace); !s) return refuse(s.error().message);
    named->check->serve(search);
  } catch (const std::bad_alloc&) {
    return refuse("a worker of the search ran out of memory: choose fewer workers (--threads)");
  }
  shared.box()->clear(flags.slot);
  return kClean;
}

}  // namespace

void add_serve_search(CLI::App& app) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* sub = app.add_subcommand("serve-search", "Work for a search in another process");
  sub->group("");  // not in the list of commands
  sub->add_option("target", flags->target)->required();
  sub->add_option("--set", flags->settings)->allow_extra_args(false);
  sub->add_option("--script", flags->script);
  sub->add_option("--ace", flags->ace);
  sub->add_option("--socket", flags->socket)->required();
  sub->add_option("--box", flags->box)->required();
  sub->add_option("--slot", flags->slot)->required();
  // Foreign code may have damaged what would run at a usual end, and has destructors of its own.
  sub->callback([flags] { _exit(serve(*flags)); });
}

}  // namespace sisyfs::cli
