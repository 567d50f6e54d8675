#include "cli/campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "adapters/plugin/plugin_check.h"
#include "cli/campaign/schedule.h"
#include "cli/campaign/stages.h"
#include "cli/cli.h"
#include "cli/crew.h"
#include "cli/files.h"
#include "finding/finding_json.h"
#include "finding/shorten.h"
#include "machine/marks.h"
#include "report/campaign_report.h"

namespace sisyfs::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kUsualTime{60};
// Random walks in the first round of a stage, and rounds, each of twice as many. Then the stage is exhausted.
constexpr uint64_t kFirstWalks = 16;
constexpr uint32_t kWalkRounds = 16;
// The part of the budget at which a round of another stage is dearer than the first walks.
constexpr double kBeforeWalks = 0.02;
// A shorter way to what a walk found is searched for this part of what is left of the budget.
constexpr double kForAShorterWay = 0.25;
// The same for each simpler stage in which it may be found, too.
constexpr double kForASimplerWay = 0.1;
// Worker processes take some time to begin. Searches that are cheaper run in the process of the campaign.
constexpr double kWorthACrew = 0.3;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Campaign {
 public:
  Campaign(const CampaignRequest& request, std::vector<Stage> stages);

  int run();

 private:
  struct Made {
    NamedCheck named;
    SearchOptions options;
  };

  bool counts_states() const { return request_.options.bounds.states != SearchBounds().states; }
  double left_s() const { return counts_states() ? 0 : schedule_.left(); }

  Status do_task(const Schedule::Task& task);
  Status tell_in_simplest(const Schedule::Task& found);
  Result<Made> make(const Stage& stage, const Schedule::Task& task);
  Result<std::vector<std::string>> settings_of(const Stage& stage);
  Result<uint64_t> smallest_disk(const Stage& stage);
  Result<uint64_t> states_at_depth_one(std::vector<std::string> settings, uint64_t blocks);
  void set_order(const Stage& stage, const Schedule::Task& task, SearchOptions& options) const;
  FindingBits watched(const Check& check) const;
  Status report_findings(const Stage& stage, Made& made, const SearchResult& result);
  Status find_shorter(const Made& made, ToldFinding& told);
  void note(StageReport& stage, const SearchResult& result, const SearchOptions& options, double seconds);
  Schedule::End end_of(const Stage& stage, const SearchResult& result, uint32_t round) const;
  void note_coverage(const Check& check, const SearchResult& result);
  void conclude();
  int print();

  const CampaignRequest& request_;
  const std::vector<Stage> stages_;
  const double budget_;
  Schedule schedule_;
  CampaignReport report_;
  std::vector<FindingKind> known_;              // kinds that were found
  std::optional<uint64_t> smallest_;            // blocks of the smallest disk
  uint32_t performed_ = 0;                      // kinds of op, in all stages
  std::map<std::string, bool> marks_;           // whether they were reached, in any stage
  std::optional<std::vector<NotTried>> never_;  // of what is no op, in no stage so far
  const Clock::time_point start_ = Clock::now();
};

// Walks begin when the other stages have gone as deep as is cheap: what those find is told by its shortest
// way.
std::vector<Schedule::StageKind> kinds_of(const std::vector<Stage>& stages, double budget) {
  std::vector<Schedule::StageKind> kinds;
  for (const Stage& stage : stages) {
    const bool walks = stage.kind == Stage::Kind::kWalks;
    kinds.push_back({.elastic = walks, .first = walks ? budget * kBeforeWalks : 0});
  }
  return kinds;
}

double budget_of(const SearchOptions& options) {
  if (options.bounds.states != SearchBounds().states) return static_cast<double>(options.bounds.states);
  const auto time = options.bounds.time == SearchBounds().time ? kUsualTime : options.bounds.time;
  return std::chrono::duration<double>(time).count();
}

Campaign::Campaign(const CampaignRequest& request, std::vector<Stage> stages)
    : request_(request),
      stages_(std::move(stages)),
      budget_(budget_of(request.options)),
      schedule_(kinds_of(stages_, budget_), budget_) {
  report_.setup = {request.entry.name, request.settings};
  report_.bound = request.bound.empty() ? "60s" : request.bound;
  report_.is_budget = request.is_budget;
  for (const FindingInfo& kind : request.only) report_.only.emplace_back(kind.name);
  for (const Stage& stage : stages_) {
    StageReport one;
    one.name = stage.name;
    one.says = stage.says;
    one.settings = stage.settings;
    one.is_walks = stage.kind == Stage::Kind::kWalks;
    one.walk_length = stage.walk_length;
    report_.stages.push_back(std::move(one));
  }
}

int Campaign::run() {
  while (const auto task = schedule_.next()) {
    if (const Status s = do_task(*task); !s) return fail(s.error());
    if (report_.stopped == Stop::kInterrupted) break;
    if (report_.findings.empty() || request_.all) continue;
    if (const Status s = tell_in_simplest(*task); !s) return fail(s.error());
    break;
  }
  if (interrupted().load() && report_.findings.empty()) report_.stopped = Stop::kInterrupted;
  conclude();
  return print();
}

// A stern stage may have come to this depth before a simpler one. If a simpler one has a finding too, that is
// the one to tell.
Status Campaign::tell_in_simplest(const Schedule::Task& found) {
  const size_t all = report_.findings.size();
  for (size_t i = 0; i < found.stage && !interrupted().load(); ++i) {
    const StageReport& report = report_.stages[i];
    if (stages_[i].kind != Stage::Kind::kDeepened || !report.left_out.empty() || report.exhausted) continue;
    const uint32_t depth = stages_[found.stage].kind == Stage::Kind::kWalks
                               ? static_cast<uint32_t>(report_.findings.front().finding.steps.size())
                               : found.round;
    if (report.rounds >= depth) continue;
    known_.clear();
    if (const Status s = do_task({i, depth, schedule_.left() * kForASimplerWay, budget_ * kForASimplerWay});
        !s)
      return s;
    if (report_.findings.size() == all) continue;
    report_.findings.erase(report_.findings.begin(), report_.findings.begin() + static_cast<ptrdiff_t>(all));
    return {};
  }
  return {};
}

// --- one search -------------------------------------------------------------------------------------

// The number of states one call away from the start, on a disk of this size. 0: it cannot be used at all.
Result<uint64_t> Campaign::states_at_depth_one(std::vector<std::string> settings, uint64_t blocks) {
  if (blocks != 0) settings.push_back(fmt::format("blocks={}", blocks));
  const Result<NamedCheck> named = CheckRegistry::make(request_.entry, settings);
  if (!named)
    return named.error().kind == ErrorKind::kBadInput ? Result<uint64_t>(uint64_t{0}) : named.error();
  SearchOptions options = request_.options;
  options.bounds.depth = 1;
  options.threads = 1;
  options.digest_visited = false;
  options.stop = StopRule::kNever;
  const SearchResult result = named->check->search(named->check->fitted(options), {});
  // On a disk that is too small a call may be wrong, too. That is for the stage itself to find.
  return result.states;
}

Result<uint64_t> Campaign::smallest_disk(const Stage& stage) {
  const auto& specs = request_.entry.options;
  const auto blocks =
      std::find_if(specs.begin(), specs.end(), [](const OptionSpec& s) { return s.name == "blocks"; });
  if (blocks == specs.end()) return bad_input("the size of its disk is no option");
  for (const std::string& setting : request_.settings)
    if (setting.starts_with("blocks=")) return bad_input("the size of the disk was given");
  const Result<Options> options = Options::parse(specs, request_.settings);
  if (!options) return options.error();
  std::vector<std::string> settings = request_.settings;
  settings.insert(settings.end(), stage.settings.begin(), stage.settings.end());
  std::erase_if(settings, [](const std::string& one) { return one.starts_with("crash="); });
  settings.emplace_back("crash=none");
  const uint64_t step = options->has("erase_blocks") && options->integer("erase_blocks") > 0
                            ? static_cast<uint64_t>(options->integer("erase_blocks"))
                            : 1;
  const auto usual = static_cast<uint64_t>(options->integer("blocks"));
  const Result<uint64_t> wanted = states_at_depth_one(settings, 0);
  if (!wanted) return wanted.error();
  uint64_t too_small = 0, enough = usual / step;
  while (too_small + 1 < enough && !interrupted().load()) {
    const uint64_t middle = too_small + (enough - too_small) / 2;
    if (static_cast<int64_t>(middle * step) < blocks->min) {
      too_small = middle;
      continue;
    }
    const Result<uint64_t> states = states_at_depth_one(settings, middle * step);
    if (!states) return states.error();
    (*states >= *wanted ? enough : too_small) = middle;
  }
  if (enough * step == usual) return bad_input("its usual disk is the smallest one");
  return enough * step;
}

Result<std::vector<std::string>> Campaign::settings_of(const Stage& stage) {
  std::vector<std::string> settings = request_.settings;
  settings.insert(settings.end(), stage.settings.begin(), stage.settings.end());
  if (stage.kind != Stage::Kind::kSmallDisk) return settings;
  if (!smallest_) {
    const Result<uint64_t> smallest = smallest_disk(stage);
    if (!smallest) return smallest.error();
    smallest_ = *smallest;
  }
  settings.push_back(fmt::format("blocks={}", *smallest_));
  return settings;
}

void Campaign::set_order(const Stage& stage, const Schedule::Task& task, SearchOptions& options) const {
  if (stage.kind == Stage::Kind::kWalks) {
    options.order = SearchOrder::kWalk;
    options.walk = {.walks = kFirstWalks << (task.round - 1),
                    .length = stage.walk_length,
                    .seed = request_.seed * 1'000'003 + task.round};
    // The walks of a round are the same, whatever finds something first.
    options.stop = StopRule::kNever;
  } else {
    options.order =
        stage.kind == Stage::Kind::kCoverage ? SearchOrder::kCoverage : SearchOrder::kBreadthFirst;
    options.bounds.depth = task.round;
    options.stop = request_.all ? StopRule::kNever : StopRule::kFirst;
  }
  if (!counts_states())
    options.bounds.time =
        std::chrono::milliseconds(std::max<int64_t>(1, static_cast<int64_t>(task.limit * 1000)));
  else if (stage.kind != Stage::Kind::kWalks)
    options.bounds.states = std::max<uint64_t>(1, static_cast<uint64_t>(task.limit));
  else
    options.bounds.states = SearchBounds().states;  // so many walks are made, however many states they visit
}

// Kinds that were asked for, and not yet found.
FindingBits Campaign::watched(const Check& check) const {
  FindingBits bits = request_.only.empty() ? check.kinds().all() : 0;
  for (const FindingInfo& kind : request_.only) bits |= check.kinds().bit_or_none(kind.kind);
  for (const FindingKind kind : known_) bits &= ~check.kinds().bit_or_none(kind);
  return bits;
}

Result<Campaign::Made> Campaign::make(const Stage& stage, const Schedule::Task& task) {
  Result<std::vector<std::string>> settings = settings_of(stage);
  if (!settings) return settings.error();
  Result<NamedCheck> named = CheckRegistry::make(request_.entry, *settings);
  if (!named) return named.error();
  const auto& marks = named->check->marks();
  const bool may_be_full =
      std::any_of(marks.begin(), marks.end(), [](const MarkInfo& mark) { return mark.bit == kNoSpace; });
  if (stage.kind == Stage::Kind::kSmallDisk && !may_be_full)
    return bad_input("the target does not claim that its space is limited");
  SearchOptions options = request_.options;
  options.digest_visited = false;
  set_order(stage, task, options);
  options.watched = watched(*named->check);
  if (options.watched == 0) return bad_input("it cannot have such a finding");
  if (request_.box != nullptr && task.predicted >= kWorthACrew)
    options.start_worker = crew_of(named->setup, *request_.box);
  options = named->check->fitted(options);
  if (const Status s = named->check->accepts(options); !s) return s.error();
  return Made{*std::move(named), std::move(options)};
}

Schedule::End Campaign::end_of(const Stage& stage, const SearchResult& result, uint32_t round) const {
  if (result.stopped == Stop::kMemory) return Schedule::End::kExhausted;  // as far as memory reaches
  if (result.stopped != Stop::kNo && result.stopped != Stop::kFinding) return Schedule::End::kCut;
  const bool last = stage.kind == Stage::Kind::kWalks ? round == kWalkRounds : result.exhausted;
  return last ? Schedule::End::kExhausted : Schedule::End::kDone;
}

Status Campaign::do_task(const Schedule::Task& task) {
  const Stage& stage = stages_[task.stage];
  StageReport& report = report_.stages[task.stage];
  const Clock::time_point start = Clock::now();
  Result<Made> made = make(stage, task);
  if (!made) {
    // Settings that no target has are no property of this stage.
    const bool usable = made.error().kind == ErrorKind::kBadInput &&
                        Options::parse(request_.entry.options, request_.settings);
    if (!usable) return made.error();
    report.left_out = made.error().message;
    schedule_.ended(task, counts_states() ? 1 : seconds_since(start), Schedule::End::kExhausted);
    return {};
  }
  skip_plugin_trials();  // the first check of a plug-in has tried whether it is deterministic
  const auto about = [&] {
    return fmt::format("{} ({}{}, {})", stage.name, report.is_walks ? "walks" : "to depth ",
                       report.is_walks ? "" : std::to_string(task.round),
                       counts_states()
                           ? fmt::format("{:.0f} states left", schedule_.left())
                           : fmt::format("{:.0f} s left", std::max(0.0, left_s() - seconds_since(start))));
  };
  const ProgressFn print = progress_printer(request_.output.progress, about);
  ProgressFn show;
  if (print)
    show = [&](Progress p) {
      p.elapsed = Clock::now() - start_;
      print(p);
    };
  const SearchResult result = made->named.check->search(made->options, show);
  clear_progress();
  if (result.stopped == Stop::kHarness)
    return result.trouble.value_or(system_error("the search failed for an unknown reason"));
  if (result.stopped == Stop::kInterrupted) report_.stopped = Stop::kInterrupted;
  note_coverage(*made->named.check, result);
  if (result.findings != 0)
    if (const Status s = report_findings(stage, *made, result); !s) return s;
  const double seconds = seconds_since(start);
  note(report, result, made->options, seconds);
  const Schedule::End end = end_of(stage, result, task.round);
  report.cut = end == Schedule::End::kCut;
  if (!report.cut && result.stopped != Stop::kMemory) report.rounds = task.round;
  report.exhausted = end == Schedule::End::kExhausted && !report.is_walks && result.stopped != Stop::kMemory;
  if (result.left_out != 0) report.exhausted = false;
  schedule_.ended(task, counts_states() ? static_cast<double>(result.states) : seconds, end);
  return {};
}

// --- what came of it --------------------------------------------------------------------------------

Status Campaign::report_findings(const Stage& stage, Made& made, const SearchResult& result) {
  Result<TracedFindings> traced = trace_findings(made.named, made.options, result, request_.output.progress);
  if (!traced) return traced.error();
  for (ToldFinding& told : traced->findings) {
    const FindingKind kind = told.finding.kind;
    if (stage.kind == Stage::Kind::kWalks) {
      told.finding.steps = shorten(*made.named.check, kind, told.finding.steps, interrupted());
      told.story = made.named.check->replay(told.finding.steps).story;
      if (const Status s = find_shorter(made, told); !s) return s;
    }
    if (std::find(known_.begin(), known_.end(), kind) == known_.end()) known_.push_back(kind);
    StageReport& report = report_.stages[static_cast<size_t>(&stage - stages_.data())];
    report.found.push_back(kind);
    report_.findings.push_back(std::move(told));
  }
  if (!traced->why.empty()) to_stderr(fmt::format("sisyfs: no trace of {}\n", traced->why));
  return {};
}

// Searches for a way with fewer steps.
Status Campaign::find_shorter(const Made& made, ToldFinding& told) {
  if (told.finding.steps.size() < 2) return {};
  SearchOptions options = made.options;
  options.order = SearchOrder::kBreadthFirst;
  options.stop = StopRule::kFirst;
  options.watched = made.named.check->kinds().bit_or_none(told.finding.kind);
  options.bounds.depth = static_cast<uint32_t>(told.finding.steps.size()) - 1;
  if (counts_states()) {
    options.bounds.states = static_cast<uint64_t>(schedule_.left() * kForAShorterWay) + 1;
  } else {
    const auto ms = static_cast<int64_t>((schedule_.left() * 1000) * kForAShorterWay);
    options.bounds.time = std::chrono::milliseconds(std::max<int64_t>(1, ms));
  }
  if (request_.box != nullptr) options.start_worker = crew_of(made.named.setup, *request_.box);
  options = made.named.check->fitted(options);
  const ProgressFn show = progress_printer(request_.output.progress, [] { return "a shorter way"; });
  const SearchResult result = made.named.check->search(options, show);
  clear_progress();
  if (counts_states()) schedule_.spend(static_cast<double>(result.states));
  if (result.stopped == Stop::kHarness)
    return result.trouble.value_or(system_error("the search failed for an unknown reason"));
  if (result.findings == 0) return {};
  Result<TracedFindings> traced = trace_findings(made.named, options, result, request_.output.progress);
  if (!traced) return traced.error();
  if (!traced->findings.empty()) told = std::move(traced->findings.front());
  return {};
}

void Campaign::note(StageReport& stage, const SearchResult& result, const SearchOptions& options,
                    double seconds) {
  if (stage.is_walks) {
    stage.walks += result.stopped == Stop::kNo ? options.walk.walks : 0;
    stage.states += result.states;
    stage.crash_states += result.crash_states;
  } else if (result.states > stage.states) {
    stage.states = result.states;
    stage.crash_states = result.crash_states;
  }
  stage.left_out_states += result.left_out;
  stage.transitions += result.transitions;
  stage.recoveries += result.recoveries;
  stage.seconds += seconds;
}

void Campaign::note_coverage(const Check& check, const SearchResult& result) {
  performed_ |= result.performed;
  for (const MarkInfo& mark : check.marks()) marks_[std::string(mark.says)] |= (result.marks & mark.bit) != 0;
  const std::vector<NotTried> here = check.not_tried(~uint32_t{0});  // all but ops
  if (!never_) {
    never_ = here;
    return;
  }
  std::erase_if(*never_, [&](const NotTried& one) {
    return std::none_of(here.begin(), here.end(),
                        [&](const NotTried& other) { return other.what == one.what; });
  });
}

void Campaign::conclude() {
  // Most targets cannot have this one, and there is nothing to be done about it.
  std::erase_if(report_.stages, [&](const StageReport& stage) {
    return !stage.left_out.empty() && stage.name == "coverage";
  });
  report_.seconds = seconds_since(start_);
  report_.threads = request_.options.threads;
  for (const auto& [mark, reached] : marks_) (reached ? report_.reached : report_.never).push_back(mark);
  if (never_) {
    report_.not_tried = *never_;
    if (const Result<NamedCheck> named = CheckRegistry::make(request_.entry, request_.settings)) {
      const std::vector<NotTried> but_ops = named->check->not_tried(~uint32_t{0});
      for (const NotTried& one : named->check->not_tried(performed_)) {
        const auto same = [&](const NotTried& other) { return other.what == one.what; };
        if (std::none_of(but_ops.begin(), but_ops.end(), same)) report_.not_tried.push_back(one);
      }
    }
  }
  if (!report_.findings.empty() || !known_.empty())
    report_.verdict = Verdict::kFail;
  else if (report_.stopped != Stop::kInterrupted && schedule_.all_exhausted() &&
           std::all_of(report_.stages.begin(), report_.stages.end(), [](const StageReport& stage) {
             return stage.exhausted || stage.is_walks || !stage.left_out.empty();
           }))
    report_.verdict = Verdict::kPass;
}

int Campaign::print() {
  const bool text = request_.output.json != "-";
  if (text) {
    for (const ToldFinding& finding : report_.findings) fmt::print("{}\n", tell(finding, text_style()));
    fmt::print("{}", campaign_table(report_, text_style()));
  }
  if (!request_.output.json.empty())
    if (const Status s = write_file(request_.output.json, text_of(campaign_json(report_))); !s)
      return fail(s.error());
  switch (report_.verdict) {
    case Verdict::kFail:
      return kFound;
    case Verdict::kPass:
      return kClean;
    case Verdict::kUnknown:
      break;
  }
  return report_.is_budget && report_.stopped != Stop::kInterrupted ? kClean : kInconclusive;
}

}  // namespace

int run_campaign(const CampaignRequest& request) {
  std::vector<Stage> stages = stages_for(request.entry.options, request.settings);
  if (!request.stages.empty()) {
    Result<std::vector<Stage>> chosen = chosen_stages(std::move(stages), request.stages);
    if (!chosen) return fail(chosen.error());
    stages = *std::move(chosen);
  }
  if (const Result<Options> options = Options::parse(request.entry.options, request.settings); !options)
    return fail(options.error());
  return Campaign(request, std::move(stages)).run();
}

}  // namespace sisyfs::cli
