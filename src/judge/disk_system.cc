#include "judge/disk_system.h"

#include <fmt/format.h>

#include <utility>

#include "judge/disk_story.h"

namespace sisyfs {
namespace {

constexpr MarkInfo kMarks[] = {
    {kPowerCutInOp, "the power went in the middle of an op"},
    {kNoSpace, "an op was refused for lack of space"},
    {kFsckRepaired, "recovery repaired something"},
    {kRefused, "an impossible op was refused"},
    {kCutInRecovery, "the power went in recovery"},
    {kAccessFailed, "a disk access failed"},
};

// A target without a disk gets the smallest one, which nobody reads or writes, and no power cuts.
Geometry geometry_of(const TargetKind& kind) {
  Geometry geometry = kind.disks;
  if (!kind.has_disk()) geometry.block_count = BlockCount(1);
  return geometry;
}

std::string device_text(const DiskSetup& setup) {
  return setup.crashes && setup.kind.has_disk() ? describe(setup.device, geometry_of(setup.kind))
                                                : std::string();
}

bool is_possible(uint32_t mark, const DiskSetup& setup) {
  if (mark == kRefused) return setup.bounds.impossible;
  if (mark == kNoSpace) return setup.kind.claims.limited_space;
  if (mark == kAccessFailed) return setup.failures != 0 && setup.kind.has_disk();
  if (mark == kCutInRecovery && setup.nesting == 0) return false;
  if (mark == kFsckRepaired && setup.damage != nullptr) return true;
  return setup.crashes && setup.kind.has_disk();
}

// The marks that a run can reach: those that the setup leaves out are nothing to miss.
std::vector<MarkInfo> marks_of(const DiskSetup& setup) {
  std::vector<MarkInfo> all;
  for (const MarkInfo& mark : kMarks)
    if (is_possible(mark.bit, setup)) all.push_back(mark);
  uint32_t bit = kOfTarget;
  for (const char* says : setup.kind.words.marks) {
    all.push_back({bit, says});
    bit *= 2;
  }
  return all;
}

// What the judge sees by itself, and of the problems that the target's check knows those that are told as
// findings.
uint32_t findings_of(const DiskSetup& setup) {
  uint32_t all =
      bit(FindingKind::kWrongErrno) | bit(FindingKind::kWrongEffect) | findings_of_faults(setup.kind.faults);
  if (setup.failures != 0) all |= bit(FindingKind::kHiddenError) | bit(FindingKind::kFailedChange);
  if (!setup.kind.has_disk()) return all;
  all |= bit(FindingKind::kOutOfRange);
  if (setup.kind.disks.is_flash()) all |= bit(FindingKind::kFlashMisuse);
  if (!setup.crashes && setup.damage == nullptr) return all;
  if (setup.nesting != 0) all |= bit(FindingKind::kNotRepeatable);
  if (setup.both_ways) all |= bit(FindingKind::kTwoOutcomes);
  all |= bit(FindingKind::kNotMountable) | bit(FindingKind::kNotWalkable) | bit(FindingKind::kNotAllowed) |
         bit(FindingKind::kNotClean) | bit(FindingKind::kNotUsable);
  for (const ProblemKind& problem : setup.kind.words.problems) {
    const auto kind = find_kind(problem.code);
    const bool told = setup.report_repaired || problem.severity == Severity::kCritical;
    if (kind && kind->name == problem.name && told) all |= bit(kind->kind);
  }
  return all;
}

class DiskCheck : public SystemCheck<DiskSystem, DiskTeller> {
 public:
  struct About {
    std::vector<MarkInfo> marks;
    uint32_t possible = 0;
    std::string device;
    std::string snapshots;
    bool one_thread = false;
    std::function<std::optional<std::string>()> trouble;
    std::function<std::optional<EdgeCount>()> edges;
  };
  DiskCheck(DiskSystem system, About about)
      : SystemCheck(std::move(system), about.marks, about.possible), about_(std::move(about)) {}

  Status accepts(const SearchOptions& options) const override {
    const bool generations = detail::by_generations<DiskSystem>(options);
    return detail::accepts(options, {.generations = generations,
                                     .shape = true,
                                     .recovery = !about_.device.empty(),
                                     .edges = about_.edges && about_.edges()});
  }

  SearchOptions fitted(SearchOptions options) const override {
    if (about_.one_thread) options.threads = 1;
    return options;
  }

  // What was left out may hold anything, and so may a state that another of its shape stands for.
  SearchResult search(const SearchOptions& wanted, const ProgressFn& show) const override {
    const SearchOptions options = fitted(wanted);
    const RigPool& rigs = system().rigs();
    const uint64_t before = rigs.left_out(), sampled = rigs.sampled(), stood_for = rigs.stood_for(),
                   runs = rigs.runs(), images = rigs.images();
    SearchResult result = by_shape(options) ? run_search(shaped(options), exact(options), show)
                                            : SystemCheck::search(options, show);
    result.left_out = rigs.left_out() - before;
    result.sampled = rigs.sampled() - sampled;
    result.crash_states = rigs.stood_for() == UINT64_MAX ? UINT64_MAX : rigs.stood_for() - stood_for;
    result.recoveries = rigs.runs() - runs;
    result.crash_images = rigs.images() - images;
    if (about_.edges) result.edges = about_.edges();
    if (const auto trouble = about_.trouble ? about_.trouble() : std::nullopt) {
      result.stopped = Stop::kHarness;
      result.trouble = system_error(*trouble);
    }
    if ((result.marks & kLeftOut) == 0 && !by_shape(options)) return result;
    result.exhausted = false;
    result.verdict = merge(result.verdict, Verdict::kUnknown);
    return result;
  }
  std::string device() const override { return about_.device; }
  std::string snapshots() const override { return about_.snapshots; }
  using Check::explain;
  FoundTraces explain(const SearchOptions& asked, uint32_t wanted, const ProgressFn& show) const override {
    const SearchOptions options = fitted(asked);
    return by_shape(options) ? find_traces(shaped(options), exact(options), wanted, show)
                             : SystemCheck::explain(options, wanted, show);
  }

 private:
  static bool by_shape(const SearchOptions& options) { return options.dedup == Dedup::kShape; }
  ShapedDiskSystem shaped(const SearchOptions& options) const { return {system(), options.shape_ops}; }
  // To the search a shape is a fingerprint like any other.
  static SearchOptions exact(SearchOptions options) {
    options.dedup = Dedup::kExact;
    return options;
  }

  About about_;
};

}  // namespace

Result<DiskSystem> DiskSystem::make(DiskSetup setup) {
  const Geometry geometry = geometry_of(setup.kind);
  setup.crashes = setup.crashes && setup.kind.has_disk();
  if (const Status fits = setup.device.check(geometry); !fits) return fits.error();
  if (setup.lazy && setup.device.scattered)
    return bad_input(
        "crash=lazy does not go with a device that scatters a write, and is not needed: it keeps order, and "
        "there "
        "are few crash states; use crash=subsets");
  Bounds bounds = bounds_for(setup.kind, setup.bounds);
  if (const Result<Workload> workload = Workload::make(bounds); !workload) return workload.error();
  auto rigs = std::make_unique<RigPool>(std::move(setup), std::move(bounds), Image(geometry));
  State initial;
  const int error = RigPool::Lease(*rigs)->put_initial(initial);
  if (error != 0)
    return bad_input(
        fmt::format("the target cannot be formatted and brought to its start: {}", errno_text(error)));
  return DiskSystem(std::move(rigs), std::move(initial));
}

Result<std::unique_ptr<Check>> make_disk_check(DiskSetup setup) {
  DiskCheck::About about{.marks = marks_of(setup),
                         .possible = findings_of(setup),
                         .device = device_text(setup),
                         .snapshots = setup.kind.snapshots,
                         .one_thread = setup.kind.isolation == Isolation::kProcess,
                         .trouble = setup.trouble,
                         .edges = setup.edges};
  Result<DiskSystem> system = DiskSystem::make(std::move(setup));
  if (!system) return system.error();
  return std::unique_ptr<Check>(std::make_unique<DiskCheck>(*std::move(system), std::move(about)));
}

}  // namespace sisyfs
