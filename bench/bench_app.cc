// What the search of an application saves, and how fast it runs the check: for the store of examples/ledgerkv
// and for sqlite, with workloads that sync nothing, so that much is pending.
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "adapters/app/app_check.h"
#include "adapters/app/work_directory.h"
#include "adapters/kernel/tool.h"
#include "bench/bench.h"
#include "cli/cli.h"

extern char** environ;

namespace sisyfs::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// A folder that is removed at the end.
class OwnFolder {
 public:
  OwnFolder() {
    std::string name = std::filesystem::temp_directory_path() / "sisyfs-bench-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~OwnFolder() {
    std::error_code unknown;
    if (!path_.empty()) std::filesystem::remove_all(path_, unknown);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs a command in a folder, without any search. Whether it succeeded.
bool run_bare(const std::vector<std::string>& command, const std::vector<std::string>& variables,
              const std::string& folder) {
  std::vector<std::string> words{"env", "-C", folder};
  words.insert(words.end(), variables.begin(), variables.end());
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = -1;
  int status = 0;
  return posix_spawnp(&child, "env", nullptr, nullptr, argv.data(), environ) == 0 &&
         waitpid(child, &status, 0) == child && status == 0;
}

// Runs of the check per second on a plain folder, by so many threads at once.
double bare_speed(const AppPlan& plan, const std::string& folder, unsigned threads, int runs) {
  std::atomic<int> left{runs};
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < threads; ++i)
      all.emplace_back([&] {
        while (left-- > 0) run_bare(plan.check, plan.variables, folder);
      });
  }
  return runs / std::chrono::duration<double>(Clock::now() - begin).count();
}

struct AppBench {
  const char* name;
  AppPlan plan;
};

constexpr uint32_t kLosses = 2;
constexpr uint64_t kMostStates = 2'000'000;

BenchResult measure(const AppBench& bench, const std::string& folder, int rounds) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  const AppSearch search{.rules = file_rules("posix"), .threads = threads, .losses = kLosses, .until = {}};
  std::vector<double> speeds, ratios;
  uint64_t runs = 0, states = 0, pending = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto recording = record_app(bench.plan);
    if (!recording) return recording.error();
    AppCheck check(bench.plan, *recording);
    check.stop = &interrupted();
    if (Status s = check.try_without_power_cut(threads); !s) return s.error();
    const auto begin = Clock::now();
    const auto result = check.search(search);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!result) return result.error();
    if (result->stopped) return system_error("interrupted");
    if (!result->findings.empty())
      return system_error(
          fmt::format("{}: the check of the bench accepts everything, and did not", bench.name));
    const double bare = bare_speed(bench.plan, folder, threads, 200);
    speeds.push_back(static_cast<double>(result->runs) / seconds);
    ratios.push_back(speeds.back() / bare);
    if (round != 0) continue;
    runs = result->runs;
    states = check.count_eagerly(search, kLosses, kMostStates);
    const auto events = static_cast<EventId>(recording->files.log.events().size());
    pending = FileStates(recording->files.log, *search.rules, events).open_slots().size();
  }
  return Json{{"pending", pending},
              {"losses", kLosses},
              {"states", states},
              {"runs", runs},
              {"runs_saved", static_cast<double>(states) / static_cast<double>(std::max<uint64_t>(runs, 1))},
              {"checks_per_s", median(speeds)},
              {"checks_per_s_over_bare", median(ratios)}};
}

}  // namespace

BenchResult bench_app(const BenchFlags& flags) {
  const std::string source = std::string(SISYFS_BENCH_DIR) + "/../examples/ledgerkv";
  const OwnFolder toy, toy_after, sqlite_after;
  if (toy.path().empty()) return system_error("no temporary folder can be made");
  if (find_tool("cc").empty() || find_tool("sqlite3").empty())
    return bad_input("bench app is skipped: it needs cc and sqlite3; 'apt-get install gcc sqlite3'");
  if (!run_bare({"cc", "-O2", "-o", toy.path() + "/ledgerkv", source + "/ledgerkv.c"}, {}, toy.path()))
    return bad_input(fmt::format("{} cannot be compiled", source));
  AppPlan plan;
  auto place = WorkPlace::open("/proc/self/exe");
  if (!place) return place.error();
  plan.place = *place;
  plan.folder = toy.path();
  plan.variables = {"LEDGERKV_BUG=no_fsync"};
  const std::string puts =
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do ./ledgerkv put key$i $(printf %05000d $i); done";
  plan.run = {"sh", "-euc", puts};
  plan.check = {"sh", "-c", "./ledgerkv list >/dev/null 2>&1; true"};
  std::filesystem::copy(toy.path(), toy_after.path(), std::filesystem::copy_options::recursive);
  if (!run_bare(plan.run, plan.variables, toy_after.path()))
    return system_error("the toy store does not run");
  Json out;
  const auto first = measure({"ledgerkv", plan}, toy_after.path(), flags.rounds);
  if (!first) return first.error();
  out["ledgerkv"] = *first;

  AppPlan base;
  base.place = *place;
  base.setup = {"sh", "-euc", "sqlite3 a.db 'PRAGMA journal_mode=wal; CREATE TABLE a(x)' >/dev/null"};
  base.run = {
      "sh", "-euc",
      "for i in 1 2 3 4 5 6; do echo \"INSERT INTO a VALUES(printf('%09000d', $i));\"; done | sqlite3 "
      "-cmd 'PRAGMA synchronous=off' a.db"};
  base.check = {"sh", "-c", "sqlite3 a.db 'SELECT count(*), sum(length(x)) FROM a' >/dev/null 2>&1; true"};
  if (!run_bare(base.setup, base.variables, sqlite_after.path()) ||
      !run_bare(base.run, base.variables, sqlite_after.path()))
    return system_error("sqlite3 does not run");
  const auto second = measure({"sqlite", base}, sqlite_after.path(), flags.rounds);
  if (!second) return second.error();
  out["sqlite"] = *second;
  return out;
}

}  // namespace sisyfs::cli
