// What the subcommands share: exit codes, the terminal, quantities, the registry of targets.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "explore/search.h"
#include "finding/registry.h"
#include "report/text.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sisyfs::cli {

// The exit codes of every subcommand that checks something.
enum Exit : int {
  kClean = 0,         // the bound was exhausted and nothing was found
  kFound = 1,         // a finding
  kUsage = 2,         // usage or bad input
  kInconclusive = 3,  // stopped before the bound, or not all below it was looked at
  kHarness = 4,       // a problem of the harness or of the machine
};

// Writes to standard error, as far as that goes: where it is closed or full, the work goes on all the same.
void to_stderr(std::string_view text);
// Prints "sisyfs: message" on standard error, and gives the exit code that fits the error.
int fail(const Error& error);

// The terminal: whether to colour, and how to show progress.
TextStyle text_style();
ProgressFn progress_printer(const std::string& mode);
// Removes an updating progress line, if there is one.
void clear_progress();

// Set by the first Ctrl-C; the second one kills. Two within a moment are one: who sends a signal to a process
// and to its group, as timeout does, means it once.
const std::atomic<bool>& interrupted();
void watch_interrupt();

// While it lives, the next Ctrl-C sets traces_interrupted(), though one came before: it gives up the traces
// of what was found, and not what was found. From then on it counts as interrupted(), too.
class TracesInterrupt {
 public:
  TracesInterrupt();
  ~TracesInterrupt();
  TracesInterrupt(const TracesInterrupt&) = delete;
  TracesInterrupt& operator=(const TracesInterrupt&) = delete;
};
const std::atomic<bool>& traces_interrupted();

// "4GiB", "512M", "1000000"; "90", "90s", "30m", "2h"; a whole number from 1 on. Errors name the flag.
Result<size_t> parse_bytes(const std::string& flag, const std::string& text);
Result<std::chrono::milliseconds> parse_time(const std::string& flag, const std::string& text);
Result<uint64_t> parse_count(const std::string& flag, const std::string& text);

// All targets of this program.
const CheckRegistry& registry();

// How to search, as the user says it.
struct SearchFlags {
  std::string search = "bfs", dedup = "exact", shape_ops = "3", depth;
  std::string walk, walk_length = "100", seed = "1";  // walks, if `walk` says how many
  std::string states, time, memory = "4GiB", threads, progress = "auto";

  // Order, dedup (by shape too, if there are shapes) and depth; random walks; and what a search may use,
  // which it also may use when resumed.
  void add_order_to(CLI::App& app, const std::vector<std::string>& orders, bool shape);
  void add_walk_to(CLI::App& app);
  void add_bounds_to(CLI::App& app);

  Result<SearchOptions> options() const;
  // Sets states, time, memory and threads; memory stays as it is where nothing is said.
  Status put_bounds(SearchOptions& options) const;

 private:
  Status put_walk(SearchOptions& options) const;
  CLI::Option *order_ = nullptr, *shape_ops_ = nullptr;
};

// The exit code for a result.
int exit_code(const SearchResult& result);

// Subcommands. Each adds itself and runs through its callback, which stores the exit code.
void add_check(CLI::App& app, int& exit);
void add_demo(CLI::App& app, int& exit);
void add_resume(CLI::App& app, int& exit);
void add_replay(CLI::App& app, int& exit);
void add_new_plugin(CLI::App& app, int& exit);
void add_targets(CLI::App& app, int& exit);
void add_matrix(CLI::App& app, int& exit);
void add_museum(CLI::App& app, int& exit);

}  // namespace sisyfs::cli
