#include "finding/disk_check.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "explore/serve_search.h"
#include "finding/disk_teller.h"
#include "finding/not_tried.h"
#include "finding/step_recorder.h"
#include "judge/disk_system.h"
#include "machine/marks.h"
#include "workload/right_errnos.h"
#include "workload/script_trees.h"
#include "workload/write_parts.h"

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

bool is_possible(uint32_t mark, const DiskSetup& setup) {
  if (mark == kRefused) return setup.bounds.impossible;
  if (mark == kNoSpace) return setup.kind.claims.limited_space && setup.recording == nullptr;
  if (mark == kAccessFailed) return setup.failures.most != 0 && setup.kind.has_disk();
  if (mark == kCutInRecovery && setup.cuts.nesting == 0) return false;
  if (mark == kPowerCutInOp && setup.cuts.persisted) return false;
  if (mark == kFsckRepaired && setup.start.damage != nullptr) return true;
  return setup.cuts.enabled;
}

// The marks that a run can reach: those that the setup leaves out are nothing to miss.
std::vector<MarkInfo> reachable_marks(const DiskSetup& setup) {
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

// Ends a search when it is interrupted or the target is in trouble: what comes after that cannot be relied
// on.
class TroubleWatch {
 public:
  // Without `trouble` there is nothing to watch.
  TroubleWatch(std::function<std::optional<std::string>()> trouble, const std::atomic<bool>* interrupt)
      : interrupt_(interrupt) {
    if (!trouble) return;
    ends_ = trouble().has_value();
    watcher_ = std::thread([this, trouble = std::move(trouble)] {
      const auto is_over = [&] { return over_.load() || trouble(); };
      while (!is_over() && (interrupt_ == nullptr || !interrupt_->load()))
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ends_ = true;
    });
  }
  ~TroubleWatch() {
    over_ = true;
    if (watcher_.joinable()) watcher_.join();
  }
  TroubleWatch(const TroubleWatch&) = delete;
  TroubleWatch& operator=(const TroubleWatch&) = delete;
  // Ends the search when it is set.
  const std::atomic<bool>* flag() const { return watcher_.joinable() ? &ends_ : interrupt_; }

 private:
  const std::atomic<bool>* const interrupt_;
  std::atomic<bool> ends_{false}, over_{false};
  std::thread watcher_;
};

class DiskCheck : public Check {
 public:
  explicit DiskCheck(DiskSystem system) : system_(std::move(system)), marks_(reachable_marks(setup())) {}

  std::vector<std::string> settled() const override {
    return setup().recording == nullptr ? std::vector<std::string>() : setup().recording->settings();
  }
  const KindTable& kinds() const override { return system_.workers().plan().kinds; }
  std::span<const MarkInfo> marks() const override { return marks_; }

  Status accepts(const SearchOptions& options) const override {
    const bool generations = detail::by_generations<DiskSystem>(options);
    return detail::accepts(options, {.generations = generations,
                                     .shape = true,
                                     .recovery = setup().cuts.enabled,
                                     .edges = counts_edges()});
  }

  // A process has one instance of an isolated target. So only searches by generations and random walks have
  // several workers: they are processes. The edges of code are counted in one process.
  SearchOptions fitted(SearchOptions options) const override {
    if (setup().kind.isolation != Isolation::kProcess) {
      options.start_worker = nullptr;
      return options;
    }
    if (!detail::by_generations<DiskSystem>(options) && options.order != SearchOrder::kWalk)
      options.start_worker = nullptr;
    if (!options.start_worker || counts_edges()) options.threads = 1;
    return options;
  }

  void serve(WorkerLink& search) const override {
    const std::optional<message::Begin> begin = await_begin(search);
    if (!begin) return;
    const WorkerReport report{
        .counts = [this] { return counts(); },
        .account =
            [this] {
              return message::Account{setup().edges ? setup().edges() : std::nullopt,
                                      setup().trouble ? setup().trouble().value_or("") : ""};
            },
    };
    if (begin->prints != PrintKind::kWhole)
      serve_search(ShapedDiskSystem(system_, begin->shape_ops, begin->prints), *begin, search, report);
    else
      serve_search(system_, *begin, search, report);
  }

  // What was left out may hold anything, and so may a state that another one of its shape stands for.
  SearchResult search(const SearchOptions& wanted, const ProgressFn& show) const override {
    SearchOptions options = fitted(wanted);
    options.possible = kinds().all();
    (void)system_.workers().take_performed();
    const CrashCounts before = counts();
    // In another process a worker says so at the end of its work.
    const bool is_here = setup().kind.isolation != Isolation::kProcess;
    const TroubleWatch watch(is_here ? setup().trouble : nullptr, options.interrupt);
    options.interrupt = watch.flag();
    SearchResult result = by_shape(options) ? run_search(shaped(options), exact(options), show)
                                            : run_search(system_, options, show);
    static_cast<CrashCounts&>(result) += counts() - before;
    result.not_tried = not_tried(result.performed);
    if (setup().edges && !options.start_worker) result.edges = setup().edges();
    if (const auto trouble = setup().trouble ? setup().trouble() : std::nullopt) {
      result.stopped = Stop::kHarness;
      result.trouble = system_error(*trouble);
    }
    if ((result.marks & kLeftOut) == 0 && !by_shape(options) && !setup().cuts.persisted) return result;
    result.exhausted = false;
    result.verdict = merge(result.verdict, Verdict::kUnknown);
    return result;
  }

  using Check::find_traces;
  FoundTraces find_traces(const SearchOptions& asked, FindingBits wanted,
                          const ProgressFn& show) const override {
    const SearchOptions options = fitted(asked);
    return by_shape(options) ? sisyfs::find_traces(shaped(options), exact(options), wanted, show)
                             : sisyfs::find_traces(system_, options, wanted, show);
  }

  Result<std::vector<Step>> steps(const Trace& trace) const override {
    const WorkerPool::Lease worker(system_.workers());
    StepRecorder recorder(*worker);
    DiskSystemState state, next;
    system_.initial(state);
    for (size_t i = 0; i < trace.size(); ++i) {
      if (!worker->go(state, DiskMove::of(trace[i]))) return detail::no_such_choice(i, trace[i]);
      recorder.add(i + 1 == trace.size());
      worker->is_cut() ? worker->put_crash(next) : worker->put_end(next);
      state = next;
    }
    return recorder.take();
  }

  Replayed replay(std::span<const Step> steps) const override {
    DiskSystemState initial;
    system_.initial(initial);
    Replayed replayed = DiskTeller(system_.workers()).run(initial, steps);
    replayed.story.system = setup().kind.version;
    // What was seen cannot be relied on.
    const bool is_here = setup().kind.isolation != Isolation::kProcess;
    if (const auto trouble = is_here && setup().trouble ? setup().trouble() : std::nullopt)
      replayed.cannot_happen = *trouble;
    return replayed;
  }

  std::vector<NotTried> not_tried(uint64_t performed) const override {
    return sisyfs::not_tried(setup(), OpSet::of_bits(performed));
  }
  Result<TriedOps> ops_after(std::span<const Op> done) const override {
    const WorkerPool::Lease worker(system_.workers());
    DiskSystemState state, next;
    system_.initial(state);
    for (size_t i = 0; i < done.size(); ++i) {
      const std::string which = fmt::format("op {}, '{}'", i + 1, to_text(done[i]));
      if (!setup().kind.ops.has(done[i].kind)) return bad_input(which + ": the target has no such op");
      (void)worker->run(state, done[i], {});
      const Episode& episode = worker->machine().episode();
      if (worker->op_is_over() || episode.is_dead() || worker->outcome().findings != 0)
        return bad_input(which + ", breaks a promise: 'sisyfs check' reports it");
      if (episode.answer.error != 0)
        return bad_input(fmt::format("{}, answers {}", which, errno_text(episode.answer.error)));
      worker->put_end(next);
      state = next;
    }
    worker->begin(state);
    const Bounds& bounds = worker->plan().bounds;
    OpSet tried = bounds.ops;
    if (bounds.max_dirs == 0) tried = tried - OpSet(OpKind::kMkdir, OpKind::kRmdir);
    const OpSet has = setup().kind.ops;
    // Of a target that is no kernel nobody expects those.
    const OpSet expected = (has & kLinuxOps) == OpSet() ? OpSet::all() - kLinuxOps : OpSet::all();
    return TriedOps{worker->ops(), sisyfs::not_tried(setup(), tried), op_names(expected - has)};
  }

  // The number of syncs and power cuts is that of the script.
  Status follow(const Script& script) override {
    if (setup().recording != nullptr)
      return bad_input("a log is played as it is: leave out --script or --log");
    for (const Script::Line& line : script.lines())
      for (const Op& op : line.ops)
        if (const std::string why = cannot_do(op); !why.empty())
          return bad_input(fmt::format("line {}, column {}: {}", line.number, line.column, why));
    DiskSystemState start;
    system_.initial(start);
    const auto may_be_full = [&](OpKind kind) {
      return this->setup().kind.claims.limited_space && needs_space(kind);
    };
    if (Status s = check_expectations(script, start.expectation.now(), may_be_full); !s) return s;
    DiskSetup setup = this->setup();
    setup.script = std::make_shared<const Script>(script);
    return restart(std::move(setup));
  }

  // The names of a workload of ACE are its own, so only what the target cannot hold limits them.
  Status follow_ace(uint32_t core_ops) override {
    if (setup().recording != nullptr)
      return bad_input("a log is played as it is: leave out --workload ace or --log");
    if (setup().start.damage != nullptr || setup().start.unmounted)
      return bad_input(
          "--workload ace begins with a mounted system, and this start is damaged or not mounted");
    Bounds bounds = system_.workers().plan().bounds;
    bounds.max_files = setup().kind.limits.max_files;
    bounds.max_depth = setup().kind.limits.max_depth;
    Result<AceWorkload> ace = AceWorkload::make(bounds, core_ops);
    if (!ace) return ace.error();
    DiskSetup setup = this->setup();
    setup.ace = std::make_shared<const AceWorkload>(*std::move(ace));
    return restart(std::move(setup));
  }
  std::optional<BoundedWorkloads> workloads() const override {
    if (setup().ace == nullptr) return std::nullopt;
    DiskSystemState start;
    system_.initial(start);
    return BoundedWorkloads{setup().ace->core_ops(), setup().ace->count(start.expectation.now())};
  }

  std::string device() const override {
    return setup().cuts.enabled ? describe(setup().cuts.device, setup().kind.disks) : std::string();
  }
  std::string cuts() const override {
    if (!setup().cuts.enabled || !setup().cuts.persisted) return {};
    return "the power went only right after a call that had promised something, and nothing that was written "
           "was lost: to prove, use another value of crash";
  }
  std::string repairs() const override { return setup().kind.repairs; }
  std::string snapshots() const override { return setup().kind.snapshots; }

 private:
  bool counts_edges() const { return setup().edges && setup().edges(); }
  // Of all expansions in this process.
  CrashCounts counts() const {
    const WorkerPool& workers = system_.workers();
    return {workers.left_out(), workers.sampled(), workers.stood_for(),
            workers.runs(),     workers.images(),  workers.performed().bits()};
  }
  static bool by_shape(const SearchOptions& options) { return is_coarse(options.dedup); }
  static PrintKind prints_of(const SearchOptions& options) {
    return options.dedup == Dedup::kTree ? PrintKind::kTree : PrintKind::kShape;
  }
  ShapedDiskSystem shaped(const SearchOptions& options) const {
    return {system_, options.shape_ops, prints_of(options)};
  }
  // To the search a shape is a fingerprint like any other.
  static SearchOptions exact(SearchOptions options) {
    options.prints = prints_of(options);
    options.dedup = Dedup::kExact;
    return options;
  }
  // The workload says how many syncs and power cuts there are.
  Status restart(DiskSetup setup) {
    setup.max_system_ops = UINT32_MAX;
    Result<DiskSystem> system = DiskSystem::make(std::move(setup), system_.workers().plan().further);
    if (!system) return system.error();
    system_ = *std::move(system);
    return {};
  }
  // Why the target cannot do the op; empty if it can.
  std::string cannot_do(const Op& op) const {
    const TargetKind& kind = setup().kind;
    const uint32_t unit = kind.limits.write_unit;
    static constexpr OpSet kPlaced = kWriteOps | kRangeOps | OpSet(OpKind::kTruncate, OpKind::kRead);
    if (!kind.ops.has(op.kind)) return fmt::format("the target has no op {}", op_name(op.kind));
    const auto is_multiple_of = [&](uint32_t of) { return op.offset % of == 0 && op.length % of == 0; };
    if (kPlaced.has(by_path(op.kind)) && !kind.limits.any_byte && !is_multiple_of(unit))
      return fmt::format("offsets and lengths of this target are multiples of {}", unit);
    if (op.kind == OpKind::kWriteDirect && !is_multiple_of(direct_unit(unit)))
      return fmt::format("offsets and lengths of write_direct are multiples of {}", direct_unit(unit));
    return {};
  }

  const DiskSetup& setup() const { return system_.workers().plan().setup; }

  DiskSystem system_;
  std::vector<MarkInfo> marks_;
};

}  // namespace

Result<std::unique_ptr<Check>> make_disk_check(DiskSetup setup, MakeJudges further) {
  Result<DiskSystem> system = DiskSystem::make(std::move(setup), std::move(further));
  if (!system) return system.error();
  return std::unique_ptr<Check>(std::make_unique<DiskCheck>(*std::move(system)));
}

}  // namespace sisyfs
