// What the subcommands share: exit codes, the terminal, quantities, the registry of targets.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "explore/search.h"
#include "finding/registry.h"
#include "report/story_text.h"
#include "report/text.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sisyfs::cli {

// The exit codes of every subcommand that checks something.
enum Exit : int {
  kClean = 0,         // the search reached its bound without a finding
  kFound = 1,         // there is a finding
  kUsage = 2,         // usage or bad input
  kInconclusive = 3,  // stopped before the bound, or states were merged or left out
  kHarness = 4,       // a problem of the checker or of the operating system
};

// Writes to standard error. Errors are ignored, for example if standard error is closed or full.
void to_stderr(std::string_view text);
// Prints "sisyfs: message" on standard error and returns the exit code for the error.
int fail(const Error& error);

// The exit code; that of a system error if standard output could not be written.
int printed(int exit);
// Runs a command to its exit code. An exception becomes a sentence and exit code 4: a full standard output,
// no memory, no thread.
int guarded(const std::function<int()>& command);

// The terminal: whether to colour, how wide it is, and how to show progress.
TextStyle text_style(bool verbose = false);
// Adds --verbose to a command that tells stories.
void add_verbose(CLI::App& app, bool& verbose);
// Adds --kernel to a command that runs targets.
void add_kernel(CLI::App& app, std::string& path);
// The setting that --kernel stands for. Its path does not depend on the current folder: it goes into tokens.
std::string kernel_setting(const std::string& path);
// `note` says what the search is a part of, such as "torn, depth 4, 23 s left"; empty: it is all there is.
ProgressFn progress_printer(const std::string& mode, std::function<std::string()> note = {});
// Removes the progress line from the terminal, if one is shown.
void clear_progress();

// Set by the first Ctrl-C; the second one ends the process. Two signals within 100 ms count as one, because
// timeout(1), for example, sends its signal to the process and to the process group.
const std::atomic<bool>& interrupted();
void watch_interrupt();

// While an instance exists, the next Ctrl-C sets traces_interrupted(), even if a first Ctrl-C ended the
// search. It gives up the search for traces; the findings are still reported. The destructor also sets
// interrupted() then.
class TracesInterrupt {
 public:
  TracesInterrupt();
  ~TracesInterrupt();
  TracesInterrupt(const TracesInterrupt&) = delete;
  TracesInterrupt& operator=(const TracesInterrupt&) = delete;
};
const std::atomic<bool>& traces_interrupted();

// Parse "4GiB", "512M" or "1000000"; "90", "90s", "30m" or "2h"; a whole number from 1. Errors name the flag.
Result<size_t> parse_bytes(const std::string& flag, const std::string& text);
Result<std::chrono::milliseconds> parse_time(const std::string& flag, const std::string& text);
Result<uint64_t> parse_count(const std::string& flag, const std::string& text);

// All targets of this program.
const CheckRegistry& registry();

// The flags that say how to search, as text.
struct SearchFlags {
  std::string search = "bfs", dedup = "exact", shape_ops = "3", depth;
  std::string walk, walk_length = "100", seed = "1";  // random walks, if `walk` is not empty
  bool swarm = false;
  std::string workload = "free";  // or "ace": then the depth is the number of core ops
  std::string states, time, memory = "4GiB", threads, progress = "auto";

  // Add flags: order, dedup (with `shape` also by shape) and depth; random walks; bounds of one run, which
  // `resume` has too.
  void add_order_to(CLI::App& app, const std::vector<std::string>& orders, bool shape);
  void add_walk_to(CLI::App& app);
  void add_bounds_to(CLI::App& app);

  bool seeded() const;  // whether a seed was given
  Result<SearchOptions> options() const;
  // Sets states, time, memory and threads. An empty memory flag leaves options.bounds.memory_bytes unchanged.
  Status put_bounds(SearchOptions& options) const;

 private:
  Status put_walk(SearchOptions& options) const;
  CLI::Option *order_ = nullptr, *shape_ops_ = nullptr, *seed_ = nullptr;
};

// The exit code for a result.
int exit_code(const SearchResult& result);

// Each adds a subcommand, whose callback runs it and stores the exit code.
void add_check(CLI::App& app, int& exit);
void add_demo(CLI::App& app, int& exit);
void add_resume(CLI::App& app, int& exit);
void add_replay(CLI::App& app, int& exit);
void add_new_plugin(CLI::App& app, int& exit);
void add_targets(CLI::App& app, int& exit);
void add_ops(CLI::App& app, int& exit);
void add_matrix(CLI::App& app, int& exit);
void add_museum(CLI::App& app, int& exit);
void add_services(CLI::App& app, int& exit);
void add_app(CLI::App& app, int& exit);
void add_keep_directories(CLI::App& app, int& exit);

}  // namespace sisyfs::cli
