// bench spin: the file-mapping models under SPIN's pan and under sisyfs, in turn, in one run.
//
// Both exhaust the same model at equal numbers of states and transitions, without reductions, each in a
// process of its own. pan runs with the fastest of its exact option sets (bench/spin/run says which there
// are); its memory is its own account, ours is what the operating system saw, so that neither is flattered.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <thread>

#include "bench/bench.h"
#include "cli/cli.h"

extern char** environ;

namespace sisyfs::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Output {
  std::string text;
  int exit = 0;
  double peak_mb = 0;
};

// Takes and gives back as much memory as the largest run needs. A guest hands its free memory back to the
// host, and to have it again may take longer than a whole search does (docs/formats/bench.md); this way both
// sides find it at hand, and pay the operating system's price and no other. In a process of its own: what a
// process once had counts as the peak of those that it starts.
void warm_memory(const BenchFlags& flags) {
  const pid_t child = fork();
  if (child > 0) waitpid(child, nullptr, 0);
  if (child != 0) return;
  const size_t bytes = (flags.quick ? size_t{256} : size_t{1536}) << 20;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) _exit(0);
  madvise(memory, bytes, MADV_HUGEPAGE);
  for (size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  _exit(0);
}

// Runs a program to its end and keeps what it prints.
Result<Output> run_program(const std::string& program, std::vector<std::string> words) {
  int ends[2];  // of no other program that is started meanwhile
  if (pipe2(ends, O_CLOEXEC) != 0)
    return system_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Output out;
  if (error == 0) {
    std::array<char, 65536> buffer;
    for (ssize_t n = 0; (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
      out.text.append(buffer.data(), static_cast<size_t>(n));
  }
  close(ends[0]);
  if (error != 0) return system_error(fmt::format("cannot run {}: {}", program, std::strerror(error)));
  int status = 0;
  struct rusage usage {};
  if (wait4(child, &status, 0, &usage) != child || !WIFEXITED(status))
    return system_error(fmt::format("{} did not end by itself", program));
  out.exit = WEXITSTATUS(status);
  out.peak_mb = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
  return out;
}

struct Measured {
  uint64_t states = 0, transitions = 0;
  std::vector<double> seconds;
  double memory_mb = 0;
  double rate() const { return static_cast<double>(transitions) / std::max(1e-9, median(seconds)); }
};

Status add_round(Measured& m, const Result<Output>& output, const char* who, const char* memory_key) {
  if (!output) return output.error();
  const Json json = Json::parse(output->text, nullptr, false);
  if (json.is_discarded() || !json.contains("states"))
    return system_error(fmt::format("{} gave no result (exit code {})", who, output->exit));
  m.states = json["states"];
  m.transitions = json["transitions"];
  m.seconds.push_back(json["seconds"]);
  m.memory_mb = memory_key != nullptr ? json[memory_key].get<double>() * 1.048576 : output->peak_mb;
  return {};
}

struct CellSpec {
  std::string target;
  int tasks, blocks;
};

struct CellRun {
  Measured pan_fast, pan_processes, one, two, beside, reduced;
  // Runs on one thread and on two follow each other, so that what slows the machine down for longer counts in
  // both.
  double threads_ratio() const {
    std::vector<double> ratios;
    for (size_t i = 0; i < one.seconds.size(); ++i)
      ratios.push_back(one.seconds[i] / std::max(1e-9, two.seconds[i]));
    return median(ratios);
  }
  const Measured& pan() const { return pan_fast.rate() >= pan_processes.rate() ? pan_fast : pan_processes; }
};

// A directory for the programs that spin and gcc make, which goes when it is done with.
class Workshop {
 public:
  Workshop() {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "sisyfs.spin.XXXXXX").string();
    if (!error && mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~Workshop() {
    std::error_code ignored;
    if (ok()) std::filesystem::remove_all(path_, ignored);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  bool ok() const { return !path_.empty(); }

  // Makes pan with a set of options, or runs the one that was made.
  Result<Output> pan(const CellSpec& cell, const char* set, bool only_build) const {
    const std::string build = fmt::format("BUILD={}/{}-{}-{}", path_, cell.target, cell.tasks, set);
    const std::string script = SISYFS_BENCH_DIR "/spin/run";
    return run_program("env",
                       {"env", build, only_build ? "ONLY=build" : "ONLY=", script, cell.target, "4",
                        std::to_string(cell.blocks), std::to_string(cell.tasks), "flush", "pointed", set});
  }

 private:
  std::string path_;
};

Status run_round(const BenchFlags& flags, const Workshop& workshop, const CellSpec& cell, CellRun& run) {
  const auto pan = [&](Measured& m, const char* set) -> Status {
    to_stderr(fmt::format("bench spin: {} with {} task(s), {} blocks: pan ({})\n", cell.target, cell.tasks,
                          cell.blocks, set));
    if (const Result<Output> made = workshop.pan(cell, set, true); !made) return made.error();
    warm_memory(flags);
    return add_round(m, workshop.pan(cell, set, false), "pan", "memory_mb");
  };
  const auto search = [&](int threads, bool symmetry) {
    return run_program(
        "/proc/self/exe",
        {"sisyfs", "check", cell.target, "--tasks", std::to_string(cell.tasks), "--set",
         fmt::format("blocks={}", cell.blocks), "--set", fmt::format("symmetry={}", symmetry ? "on" : "off"),
         "--threads", std::to_string(threads), "--all", "--progress", "off", "--json", "-"});
  };
  const auto ours = [&](Measured& m, int threads, bool symmetry) {
    warm_memory(flags);
    return add_round(m, search(threads, symmetry), "sisyfs", nullptr);
  };
  // Two searches that share nothing but the machine.
  const auto side_by_side = [&](Measured& m) -> Status {
    warm_memory(flags);
    Result<Output> other = Output{};
    {
      const std::jthread beside([&] { other = search(1, false); });
      if (Status s = add_round(m, search(1, false), "sisyfs", nullptr); !s) return s;
    }
    return add_round(m, other, "sisyfs", nullptr);
  };
  // Ours are short runs, which noise hits harder: five for each of pan's.
  for (int again = 0; again < 5; ++again) {
    if (again == 1)
      if (Status s = pan(run.pan_fast, "fast"); !s) return s;
    if (again == 3)
      if (Status s = pan(run.pan_processes, "processes"); !s) return s;
    if (Status s = ours(run.one, 1, false); !s) return s;
    if (Status s = ours(run.two, 2, false); !s) return s;
  }
  if (Status s = side_by_side(run.beside); !s) return s;
  return ours(run.reduced, 2, true);
}

}  // namespace

BenchResult bench_spin(const BenchFlags& flags) {
  if (!std::filesystem::exists(SISYFS_BENCH_DIR "/spin/run"))
    return bad_input("bench spin needs the source tree that this program was built from");
  const Result<Output> spin = run_program("spin", {"spin", "-V"});
  if (!spin || spin->exit != 0) return bad_input("bench spin needs SPIN: apt-get install spin");
  const Workshop workshop;
  if (!workshop.ok())
    return system_error("bench spin cannot make a directory for temporary files; TMPDIR says where");
  Json out{{"bench", "spin"}};
  double ratio_1 = std::numeric_limits<double>::max(), ratio_2 = ratio_1, memory = ratio_1, threads = ratio_1;
  Json cells = Json::array();
  for (const char* target : {"link", "index"})
    for (int tasks : {1, 2}) {
      const CellSpec cell{target, tasks, tasks == 1 ? (flags.quick ? 5 : 6) : (flags.quick ? 3 : 4)};
      CellRun run;
      for (int round = 0; round < flags.rounds; ++round) {
        if (Status s = run_round(flags, workshop, cell, run); !s) return s.error();
        if (interrupted().load()) return system_error("interrupted");
      }
      const Measured& pan = run.pan();
      if (pan.states != run.one.states || pan.transitions != run.one.transitions ||
          run.two.states != run.one.states)
        return system_error(
            fmt::format("{}: pan has {} states and {} transitions, sisyfs {} and {}: the models differ",
                        target, pan.states, pan.transitions, run.one.states, run.one.transitions));
      ratio_1 = std::min(ratio_1, run.one.rate() / pan.rate());
      ratio_2 = std::min(ratio_2, run.two.rate() / pan.rate());
      memory = std::min(memory, pan.memory_mb / std::max(run.one.memory_mb, run.two.memory_mb));
      threads = std::min(threads, run.threads_ratio());
      cells.push_back(
          {{"target", target},
           {"tasks", tasks},
           {"files", 4},
           {"blocks", cell.blocks},
           {"states", pan.states},
           {"transitions", pan.transitions},
           {"pan_options", &pan == &run.pan_fast ? "fast" : "processes"},
           {"pan_seconds", median(pan.seconds)},
           {"pan_memory_mb", pan.memory_mb},
           {"sisyfs_seconds_1", median(run.one.seconds)},
           {"sisyfs_seconds_2", median(run.two.seconds)},
           {"sisyfs_memory_mb", std::max(run.one.memory_mb, run.two.memory_mb)},
           {"transitions_ratio_1", run.one.rate() / pan.rate()},
           {"transitions_ratio_2", run.two.rate() / pan.rate()},
           {"memory_ratio", pan.memory_mb / std::max(run.one.memory_mb, run.two.memory_mb)},
           {"threads_ratio", run.threads_ratio()},
           {"two_processes_ratio", 2 * run.beside.rate() / run.one.rate()},
           {"with_symmetry_states", run.reduced.states},
           {"with_symmetry_seconds_2", median(run.reduced.seconds)},
           {"with_symmetry_time_ratio", median(pan.seconds) / std::max(1e-3, median(run.reduced.seconds))}});
    }
  out["transitions_ratio_1"] = ratio_1;
  out["transitions_ratio_2"] = ratio_2;
  out["memory_ratio"] = memory;
  out["threads_ratio"] = threads;
  out["rounds"] = flags.rounds;
  out["cells"] = cells;
  return out;
}

}  // namespace sisyfs::cli
