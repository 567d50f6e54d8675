// What a search of a kernel file system does, against what its guest can do: cycles of mount, create, sync
// and unmount without a search.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "adapters/kernel/kernel_check.h"
#include "adapters/kernel/raw_cycles.h"
#include "adapters/kernel/tool.h"
#include "bench/bench.h"
#include "cli/cli.h"

namespace sisyfs::cli {
namespace {

using Json = nlohmann::ordered_json;

// The most memory that a process has had, in 10^6 bytes; 0: it has ended.
double peak_memory_mb(const std::string& process) {
  std::ifstream file("/proc/" + process + "/status");
  uint64_t kibibytes = 0;
  for (std::string word; file >> word;)
    if (word == "VmHWM:" && file >> kibibytes) return static_cast<double>(kibibytes) * 1024 / 1e6;
  return 0;
}

double largest_guest_mb(const KernelSetup& kernel) {
  double most = 0;
  for (const pid_t process : kernel.guests().processes)
    most = std::max(most, peak_memory_mb(fmt::to_string(process)));
  return most;
}

// What is missing is not installed by a bench.
Status refuse_to_install(const std::vector<std::string>& packages) {
  std::string names;
  for (const std::string& name : packages) names += " " + name;
  return bad_input(
      fmt::format("bench kernel is skipped: it needs the packages{}; 'apt-get install{}'", names, names));
}

struct KernelSearch {
  SearchResult result;
  uint64_t mounts = 0, brought_back = 0;
  double boot_seconds = 0;  // of guests, during the search
};

Result<KernelSearch> search_kernel(const KernelCheck& made, uint32_t depth, unsigned threads) {
  const KernelWork& work = made.kernel->work;
  SearchOptions options;
  options.threads = threads;
  options.bounds.depth = depth;
  options.interrupt = &interrupted();
  const uint64_t mounts = work.mounts, brought_back = work.brought_back, boot_us = work.boot_us;
  KernelSearch out{.result = made.check->search(options, {})};
  if (interrupted().load()) return system_error("interrupted");
  if (out.result.stopped == Stop::kHarness) return *out.result.trouble;
  out.mounts = work.mounts - mounts;
  out.brought_back = work.brought_back - brought_back;
  out.boot_seconds = static_cast<double>(work.boot_us - boot_us) / 1e6;
  return out;
}

bool found_alike(const SearchResult& a, const SearchResult& b) {
  return a.states == b.states && a.transitions == b.transitions && a.crash_states == b.crash_states;
}

class KernelBench {
 public:
  KernelBench(const FileSystem& fs, const BenchFlags& flags)
      : fs_(fs),
        flags_(flags),
        depth_(flags.depth != 0 ? flags.depth
               : flags.quick    ? 1
                                : 2),
        cycles_(flags.quick ? 20 : 200) {}

  BenchResult run() {
    for (int round = 0; round < flags_.rounds; ++round)
      if (Status s = measure(); !s) return s.error();
    Json out{{"bench", "kernel"}, {"target", fs_.name}, {"kernel", release_}, {"depth", depth_}};
    out["states"] = first_->result.states;
    out["transitions"] = first_->result.transitions;
    out["crash_states"] = first_->result.crash_states;
    out["recoveries"] = first_->result.recoveries;
    out["brought_back"] = first_->brought_back;
    out["mounts"] = first_->mounts;
    out["raw_cycles"] = median(raw_);
    out["mounts_per_s"] = median(mounts_);
    out["work_per_cycle"] = median(work_);
    out["crash_states_per_mount"] =
        static_cast<double>(first_->result.crash_states) / static_cast<double>(first_->result.recoveries);
    out["guests_ratio"] = median(guests_);
    out["guest_memory_mb"] = guest_mb_;
    out["checker_memory_mb"] = peak_memory_mb("self");
    out["rounds"] = flags_.rounds;
    return out;
  }

 private:
  Result<KernelCheck> make() const {
    const Result<Options> options = Options::parse(kernel_option_specs(fs_), flags_.settings);
    if (!options) return options.error();
    return make_kernel_check(fs_, *options, refuse_to_install);
  }

  Result<double> raw_rate(RawCycles& raw) const { return raw.per_second(cycles_); }

  // Raw cycles before and after a search on the same core, then the search with two guests.
  Status measure() {
    to_stderr(fmt::format("bench kernel: {} to depth {}, with one guest and with two\n", fs_.name, depth_));
    const Result<KernelSearch> one = search_with_one();
    if (!one) return one.error();
    const Result<KernelCheck> made = make();
    if (!made) return made.error();
    const Result<KernelSearch> two = search_kernel(*made, depth_, 2);
    if (!two) return two.error();
    guest_mb_ = std::max(guest_mb_, largest_guest_mb(*made->kernel));
    if (!first_) first_ = *one;
    for (const KernelSearch* other : {&*one, &*two})
      if (!found_alike(other->result, first_->result))
        return system_error(fmt::format("{} states, {} transitions in one search, {} and {} in another",
                                        other->result.states, other->result.transitions,
                                        first_->result.states, first_->result.transitions));
    // While its guest boots, a thread has nothing to work with.
    guests_.push_back(one->result.seconds / (two->result.seconds - two->boot_seconds / 2));
    return {};
  }

  Result<KernelSearch> search_with_one() {
    Result<KernelCheck> made = make();
    if (!made) return made.error();
    // Its first guest has a core already; the one for the raw cycles gets the same.
    made->kernel->kernel.cpu = made->kernel->guests().last_core;
    Result<std::unique_ptr<RawCycles>> raw = RawCycles::make(*made->kernel);
    if (!raw) return raw.error();
    const Result<double> before = raw_rate(**raw);
    if (!before) return before.error();
    Result<KernelSearch> one = search_kernel(*made, depth_, 1);
    if (!one) return one;
    const Result<double> after = raw_rate(**raw);
    if (!after) return after.error();
    if (one->result.recoveries == 0)
      return bad_input("bench kernel measures recoveries: it needs a search with power cuts");
    const double raw_now = 2 / (1 / *before + 1 / *after);
    const double mounts = static_cast<double>(one->mounts) / one->result.seconds;
    raw_.push_back(raw_now);
    mounts_.push_back(mounts);
    work_.push_back(mounts / raw_now);
    release_ = made->kernel->release();
    guest_mb_ = std::max(guest_mb_, largest_guest_mb(*made->kernel));
    return one;
  }

  const FileSystem& fs_;
  const BenchFlags& flags_;
  const uint32_t depth_, cycles_;
  std::optional<KernelSearch> first_;
  std::vector<double> raw_, mounts_, work_, guests_;
  double guest_mb_ = 0;
  std::string release_;
};

}  // namespace

BenchResult bench_kernel(const BenchFlags& flags) {
  const std::string name = flags.target.empty() ? "ext4" : flags.target;
  const FileSystem* fs = file_system(name);
  if (fs == nullptr)
    return bad_input(
        fmt::format("bench kernel: {} is no file system of the kernel; 'sisyfs targets' has them", name));
  return KernelBench(*fs, flags).run();
}

}  // namespace sisyfs::cli
