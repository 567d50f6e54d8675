// What a search of a plug-in costs in processes: with two worker processes against one, and with one against
// the search in one process.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "adapters/plugin/namespace.h"
#include "bench/bench.h"
#include "cli/cli.h"
#include "cli/run_self.h"

namespace sisyfs::cli {
namespace {

using Json = nlohmann::ordered_json;

// What must not depend on how a search was done, and how long it took.
struct Searched {
  uint64_t states = 0, transitions = 0, crash_states = 0;
  double seconds = 0;

  bool is_like(const Searched& other) const {
    return states == other.states && transitions == other.transitions && crash_states == other.crash_states;
  }
};

class ReportFile {
 public:
  ReportFile() : path_((std::filesystem::temp_directory_path() / "sisyfs-bench-XXXXXX").string()) {
    const int descriptor = mkstemp(path_.data());
    if (descriptor >= 0) close(descriptor);
  }
  ~ReportFile() { unlink(path_.c_str()); }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The whole program, as a user runs it.
Result<Searched> run_check(const std::string& target, const std::vector<std::string>& settings,
                           uint32_t depth, unsigned workers) {
  const ReportFile report;
  std::vector<std::string> words{"sisyfs",
                                 "check",
                                 target,
                                 "--depth",
                                 fmt::to_string(depth),
                                 "--threads",
                                 fmt::to_string(workers),
                                 "--progress",
                                 "off",
                                 "--json",
                                 report.path()};
  for (const std::string& setting : settings) {
    words.emplace_back("--set");
    words.push_back(setting);
  }
  const Result<int> code = run_self(std::move(words), SelfOutput::kDropped);
  if (!code) return code.error();
  if (interrupted().load()) return system_error("interrupted");
  std::ifstream file(report.path());
  const Json json = Json::parse(file, nullptr, false);
  if (*code != kClean || !json.is_object())
    return system_error(fmt::format("'sisyfs check {} --depth {} --threads {}' ended with exit code {}",
                                    target, depth, workers, *code));
  return Searched{json["states"], json["transitions"], json["crash_states"], json["seconds"]};
}

// The same search in this process, without workers.
Result<Searched> search_here(const std::string& target, uint32_t depth) {
  const Result<NamedCheck> named = registry().make(target, {});
  if (!named) return named.error();
  SearchOptions options;
  options.threads = 1;
  options.bounds.depth = depth;
  options.interrupt = &interrupted();
  const SearchResult result = named->check->search(options, {});
  if (interrupted().load()) return system_error("interrupted");
  if (result.stopped == Stop::kHarness) return *result.trouble;
  return Searched{result.states, result.transitions, result.crash_states, result.seconds};
}

Status add_processes(Json& out, const BenchFlags& flags) {
  const Result<std::string> path = bundled_library("examples/libpebblefs.so");
  if (!path) return path.error();
  const uint32_t depth = flags.quick ? 4 : 6;
  to_stderr(fmt::format("bench plugin: pebblefs to depth {}, by one process, one worker and two\n", depth));
  std::vector<double> one_seconds, processes, workers;
  for (int round = 0; round < flags.rounds; ++round) {
    const Result<Searched> here = search_here(*path, depth);
    if (!here) return here.error();
    const Result<Searched> one = run_check(*path, {}, depth, 1);
    if (!one) return one.error();
    const Result<Searched> two = run_check(*path, {}, depth, 2);
    if (!two) return two.error();
    if (!one->is_like(*here) || !two->is_like(*here))
      return system_error(fmt::format("by one process {} states, by one worker {}, by two {}", here->states,
                                      one->states, two->states));
    one_seconds.push_back(one->seconds);
    processes.push_back(one->seconds / two->seconds);
    workers.push_back(one->seconds / here->seconds);
    out["depth"] = depth;
    out["states"] = one->states;
    out["transitions"] = one->transitions;
  }
  out["one_worker_seconds"] = median(one_seconds);
  out["processes_ratio"] = median(processes);
  out["one_worker_over_in_process"] = median(workers);
  return {};
}

Status add_ext2(Json& out, const BenchFlags& flags) {
  const uint32_t depth = flags.quick ? 4 : 6;
  to_stderr(fmt::format("bench plugin: libext2fs to depth {} without power cuts\n", depth));
  std::vector<double> rates;
  for (int round = 0; round < flags.rounds; ++round) {
    const Result<Searched> one = run_check("libext2fs", {"crash=none"}, depth, 1);
    if (!one) return one.error();
    rates.push_back(static_cast<double>(one->transitions) / one->seconds);
    out["ext2_depth"] = depth;
    out["ext2_transitions"] = one->transitions;
  }
  out["ext2_transitions_per_s"] = median(rates);
  return {};
}

}  // namespace

BenchResult bench_plugin(const BenchFlags& flags) {
  Json out{{"bench", "plugin"}};
  if (Status s = add_processes(out, flags); !s) return s.error();
  if (Status s = add_ext2(out, flags); !s) return s.error();
  out["rounds"] = flags.rounds;
  return out;
}

}  // namespace sisyfs::cli
