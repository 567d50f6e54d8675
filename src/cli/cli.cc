#include "cli/cli.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <ios>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "adapters/kernel/kernel_check.h"
#include "adapters/plugin/plugin_check.h"
#include "base/printable.h"
#include "cli/files.h"
#include "cli/packages.h"
#include "judge/catalogue.h"
#include "models/targets.h"

namespace sisyfs::cli {
namespace {

std::atomic<bool> interrupt_flag{false};
std::atomic<bool> traces_flag{false};
std::atomic<std::atomic<bool>*> next_flag{&interrupt_flag};  // the flag that the next Ctrl-C sets
bool line_shown = false;

std::atomic<int64_t> heard_ms{INT64_MIN};  // time of the last Ctrl-C

void on_interrupt(int number) {
  constexpr int64_t kMoment_ms = 100;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t now_ms = int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  int64_t before = heard_ms.load();
  if (before != INT64_MIN && now_ms - before < kMoment_ms) return;
  if (!heard_ms.compare_exchange_strong(before, now_ms)) return;  // another thread handles it
  if (!next_flag.load()->exchange(true)) return;
  signal(number, SIG_DFL);
  raise(number);
}

// Splits a number and its unit: "30m" is 30 and "m".
bool number_and_unit(const std::string& text, uint64_t& number, std::string& unit) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  unit.assign(end, text.data() + text.size());
  return error == std::errc() && number > 0;
}

}  // namespace

void to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

int fail(const Error& error) {
  clear_progress();
  to_stderr(fmt::format("sisyfs: {}\n", printable_message(error.message)));
  return error.kind == ErrorKind::kBadInput ? kUsage : kHarness;
}

int printed(int exit) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit;
  return fail(system_error("could not write all output to standard output"));
}

int guarded(const std::function<int()>& command) {
  try {
    return printed(command());
  } catch (const std::bad_alloc&) {
    return fail(system_error("the system grants no more memory: give a smaller --memory or fewer --threads"));
  } catch (const std::length_error&) {
    return fail(system_error("something is larger than memory can be: give smaller bounds"));
  } catch (const std::ios_base::failure& error) {
    return fail(system_error(error.what()));
  } catch (const std::system_error& error) {
    // fmt::print() throws this if it cannot write, for example to a full disk.
    return fail(system_error(fmt::format("cannot write: {}", error.code().message())));
  } catch (const std::exception& error) {
    return fail(system_error(error.what()));
  }
}

TextStyle text_style(bool verbose) {
  constexpr unsigned short kNarrowest = 60;
  const char* no_color = std::getenv("NO_COLOR");
  const bool terminal = isatty(fileno(stdout)) == 1;
  TextStyle style{.colour = terminal && (no_color == nullptr || *no_color == '\0'), .verbose = verbose};
  winsize size{};
  if (terminal && ioctl(fileno(stdout), TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
    style.width = std::max(size.ws_col, kNarrowest);
  return style;
}

void add_verbose(CLI::App& app, bool& verbose) {
  app.add_flag("--verbose", verbose, "list every write of a story, with its content, and all that was seen");
}

void add_kernel(CLI::App& app, std::string& path) {
  app.add_option("--kernel", path,
                 "boot this user-mode Linux for file systems of the kernel (same as --set kernel=PATH)");
}

std::string kernel_setting(const std::string& path) {
  std::error_code unknown;
  const auto whole = std::filesystem::absolute(path, unknown).lexically_normal();
  return "kernel=" + (unknown ? path : whole.string());
}

void clear_progress() {
  if (!line_shown) return;
  to_stderr("\r\033[K");
  line_shown = false;
}

ProgressFn progress_printer(const std::string& mode, std::function<std::string()> note) {
  const bool terminal = isatty(fileno(stderr)) == 1;
  if (mode == "off") return {};
  if (mode == "json")
    return [note](const Progress& p) {
      nlohmann::ordered_json json{{"elapsed_s", p.elapsed.count()},
                                  {"states", p.states},
                                  {"transitions", p.transitions},
                                  {"depth", p.depth},
                                  {"memory_bytes", p.memory_bytes},
                                  {"findings", std::popcount(p.findings)},
                                  {"tracing", p.tracing}};
      if (note) json["part"] = note();
      to_stderr(json.dump() + "\n");
    };
  const auto line = [note](const Progress& p) {
    return fmt::format("{}  {}depth {}  {} states  {} transitions  {}{}", seconds_text(p.elapsed.count()),
                       note ? note() + "  " : "", p.depth, count_text(p.states), count_text(p.transitions),
                       bytes_text(p.memory_bytes),
                       p.tracing         ? "  searching for the trace of a finding"
                       : p.findings != 0 ? "  finding"
                                         : "");
  };
  if (mode == "line" || (mode == "auto" && terminal))
    return [line](const Progress& p) {
      to_stderr("\r\033[K" + line(p));
      line_shown = true;
    };
  // To a pipe or file: a plain line after 5 seconds, then every 10 seconds.
  return [line, next = std::chrono::duration<double>(5)](const Progress& p) mutable {
    if (p.elapsed < next) return;
    next = p.elapsed + std::chrono::duration<double>(10);
    to_stderr(line(p) + "\n");
  };
}

const std::atomic<bool>& interrupted() { return interrupt_flag; }

const std::atomic<bool>& traces_interrupted() { return traces_flag; }

TracesInterrupt::TracesInterrupt() { next_flag.store(&traces_flag); }

TracesInterrupt::~TracesInterrupt() {
  next_flag.store(&interrupt_flag);
  if (traces_flag.load()) interrupt_flag.store(true);
}

void watch_interrupt() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Result<size_t> parse_bytes(const std::string& flag, const std::string& text) {
  uint64_t number = 0;
  std::string unit;
  static const std::pair<const char*, int> kUnits[] = {{"", 0},   {"B", 0},    {"K", 10}, {"KiB", 10},
                                                       {"M", 20}, {"MiB", 20}, {"G", 30}, {"GiB", 30},
                                                       {"T", 40}, {"TiB", 40}};
  if (number_and_unit(text, number, unit))
    for (const auto& [name, shift] : kUnits)
      if (unit == name && number < (uint64_t{1} << 62) >> shift) return size_t{number << shift};
  return bad_input(
      fmt::format("{}: '{}' is not a size above zero and below 4194304TiB; write it like 512MiB or 4GiB",
                  flag, shown(text)));
}

Result<std::chrono::milliseconds> parse_time(const std::string& flag, const std::string& text) {
  uint64_t number = 0;
  std::string unit;
  static const std::pair<const char*, uint64_t> kUnits[] = {
      {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
  constexpr uint64_t kMost = 1'000'000 * uint64_t{3'600'000};  // so that nanoseconds fit into 63 bits
  if (number_and_unit(text, number, unit))
    for (const auto& [name, ms] : kUnits)
      if (unit == name && number < kMost / ms) return std::chrono::milliseconds(number * ms);
  return bad_input(
      fmt::format("{}: '{}' is not a time above zero and below 1000000h; write it like 90s, 30m or 2h", flag,
                  shown(text)));
}

Result<uint64_t> parse_count(const std::string& flag, const std::string& text) {
  uint64_t number = 0;
  std::string unit;
  if (!number_and_unit(text, number, unit) || !unit.empty())
    return bad_input(fmt::format("{} takes a whole number from 1 on, not '{}'", flag, shown(text)));
  return number;
}

// A directory or a device is refused before the loader reads it.
static Result<CheckEntry> load_plugin(const std::string& target) {
  const Result<std::string> path = plugin_path(target);
  if (!path) return path.error();
  if (Status s = can_be_library(*path); !s) return s.error();
  return plugin_entry(target);
}

const CheckRegistry& registry() {
  static const CheckRegistry all = [] {
    CheckRegistry r;
    add_model_targets(r);
    add_kernel_targets(r, install_packages);
    for (const RenamedPlugin& plugin : renamed_plugins()) r.rename(plugin.before, plugin.now);
    r.set_loader({.handles = is_plugin, .load = load_plugin, .isolation = Isolation::kProcess});
    return r;
  }();
  return all;
}

int exit_code(const SearchResult& result) {
  switch (result.verdict) {
    case Verdict::kPass:
      return kClean;
    case Verdict::kFail:
      return kFound;
    case Verdict::kUnknown:
      return kInconclusive;
  }
  return kHarness;
}

}  // namespace sisyfs::cli
