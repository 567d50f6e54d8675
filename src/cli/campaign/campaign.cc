#include "cli/campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "adapters/plugin/plugin_check.h"
#include "base/printable.h"
#include "cli/campaign/campaign_findings.h"
#include "cli/campaign/schedule.h"
#include "cli/campaign/small_disk.h"
#include "cli/campaign/stages.h"
#include "cli/campaign/tried.h"
#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/crew.h"
#include "cli/files.h"
#include "finding/finding_json.h"
#include "finding/shorten.h"
#include "finding/token.h"
#include "machine/marks.h"
#include "report/campaign_report.h"

namespace sisyfs::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kUsualTime{60};
// Random walks in the first round of a stage, and rounds, each of twice as many. Then the stage is exhausted.
constexpr uint64_t kFirstWalks = 16;
constexpr uint32_t kWalkRounds = 16;
// When all other stages are exhausted, so many rounds are enough.
constexpr uint32_t kWalkRoundsAtTheEnd = 7;
constexpr const char* kCutsInRecovery = "power cuts in recovery";  // as not_tried() says it
// The part of the budget at which a round of another stage is dearer than the first walks.
constexpr double kBeforeWalks = 0.02;
// There are many other stages. With this the walks get about half of the budget.
constexpr double kFavourOfWalks = 4;
// A shorter way to what a walk found is searched for this part of what is left of the budget.
constexpr double kForAShorterWay = 0.1;
// The same for each simpler stage in which it may be found, too.
constexpr double kForASimplerWay = 0.1;
// A stage that came to some depth is not searched deeper than this many rounds for a simpler way.
constexpr uint32_t kReach = 2;
// After a finding that needs a failing access, or of a call that must fail, others are looked for: this part
// of the budget.
constexpr double kForAGraverFinding = 0.1;
// Worker processes take some time to begin. Searches that are cheaper run in the process of the campaign.
constexpr double kWorthACrew = 0.3, kStatesWorthACrew = 2000;

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
    bool all_known = false;  // all that it could find was found
  };

  bool counts_states() const { return request_.options.bounds.states != SearchBounds().states; }
  Status do_task(const Schedule::Task& task);
  SearchResult search(const Made& made, const Schedule::Task& task, Clock::time_point start);
  Status tell_in_simplest(const Schedule::Task& found);
  Result<Made> make(const Stage& stage, const Schedule::Task& task);
  Result<std::vector<std::string>> settings_of(const Stage& stage);
  void set_order(const Stage& stage, const Schedule::Task& task, SearchOptions& options) const;
  FindingBits asked_for(const Check& check) const;
  FindingBits watched(const Stage& stage, const Check& check) const;
  bool is_enough() const;
  double spent() const { return budget_ - schedule_.left(); }
  double left() const;
  Status report_findings(const Stage& stage, Made& made, const SearchResult& result);
  Status find_shorter(const Made& made, ToldFinding& told);
  Schedule::End end_of(const Stage& stage, const SearchResult& result, const Schedule::Task& task) const;
  void fill(DoneTask& done, const Made& made, const SearchResult& result) const;
  void note(size_t stage, DoneTask done);
  Status save();
  bool save_if_possible();
  Status restore(const SavedCampaign& saved);
  bool all_searches_exhausted() const;
  bool is_time_to_save() const { return Clock::now() - last_save_ >= request_.checkpoint_every; }
  void conclude();
  int print();

  const CampaignRequest& request_;
  const std::vector<Stage> stages_;
  const double budget_;
  Schedule schedule_;
  CampaignReport report_;
  CampaignFindings found_;
  std::optional<uint64_t> smallest_;  // blocks of the smallest disk
  Tried tried_;
  std::vector<DoneTask> done_;
  std::vector<uint64_t> last_walk_states_;  // of the last round of a stage
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_save_ = start_;
};

// Walks begin when the other stages have gone as deep as is cheap: what those find is told by its shortest
// way.
std::vector<Schedule::StageKind> kinds_of(const std::vector<Stage>& stages, double budget) {
  std::vector<Schedule::StageKind> kinds;
  for (const Stage& stage : stages) {
    const bool walks = stage.kind == Stage::Kind::kWalks;
    kinds.push_back(
        {.elastic = walks, .first = walks ? budget * kBeforeWalks : 0, .favour = walks ? kFavourOfWalks : 1});
  }
  return kinds;
}

double new_budget_of(const SearchOptions& options) {
  if (options.bounds.states != SearchBounds().states) return static_cast<double>(options.bounds.states);
  const auto time = options.bounds.time == SearchBounds().time ? kUsualTime : options.bounds.time;
  return std::chrono::duration<double>(time).count();
}

// In seconds or states. A campaign that is continued has what it has used so far, and as much again as the
// bound says.
double budget_of(const CampaignRequest& request) {
  const SearchOptions& options = request.options;
  double used = 0;
  if (request.saved != nullptr)
    for (const DoneTask& task : request.saved->done) used += task.cost;
  return used + new_budget_of(options);
}

bool sets(const Stage& stage, std::string_view setting) {
  return std::find(stage.settings.begin(), stage.settings.end(), setting) != stage.settings.end();
}

// Whether findings of a stage may be minor.
bool may_be_minor(const Stage& stage) { return sets(stage, "failures=1") || sets(stage, "impossible=on"); }

Campaign::Campaign(const CampaignRequest& request, std::vector<Stage> stages)
    : request_(request),
      stages_(std::move(stages)),
      budget_(budget_of(request)),
      schedule_(kinds_of(stages_, budget_), budget_),
      last_walk_states_(stages_.size()) {
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
  if (request_.saved != nullptr)
    if (const Status s = restore(*request_.saved); !s) return fail(s.error());
  if (const Status s = save(); !s) return fail(s.error());
  while (const auto task = schedule_.next()) {
    if (const Status s = do_task(*task); !s) return fail(s.error());
    if (report_.stopped == Stop::kInterrupted) break;
    if (is_time_to_save()) save_if_possible();
    if (!is_enough()) continue;
    if (!found_.grave().empty())
      if (const Status s = tell_in_simplest(*task); !s) return fail(s.error());
    break;
  }
  if (interrupted().load() && !found_.any()) report_.stopped = Stop::kInterrupted;
  conclude();
  const int exit = print();
  const bool can_go_on = report_.verdict == Verdict::kUnknown || (request_.all && !schedule_.all_exhausted());
  if (request_.checkpoint.empty() || !can_go_on || !save_if_possible()) return exit;
  const std::string how =
      fmt::format("to continue: ./sisyfs resume {}\n", printable(quoted(request_.checkpoint)));
  if (request_.output.json == "-")
    to_stderr(how);
  else
    fmt::print("{}", how);
  return exit;
}

bool Campaign::is_enough() const {
  if (request_.all) return false;
  const std::optional<double>& minor_at = found_.first_minor_at();
  return !found_.grave().empty() || (minor_at && spent() >= *minor_at + budget_ * kForAGraverFinding);
}

// Of the budget, now. The schedule learns what a search has cost when it has ended.
double Campaign::left() const {
  if (counts_states()) return schedule_.left();
  return std::max(0.0, new_budget_of(request_.options) - seconds_since(start_));
}

// A stern stage may have come to this depth before a simpler one. If a simpler one has a finding too, that is
// the one to tell.
Status Campaign::tell_in_simplest(const Schedule::Task& found) {
  const size_t all = found_.grave().size();
  for (size_t i = 0; i < found.stage && !interrupted().load(); ++i) {
    const StageReport& report = report_.stages[i];
    if (stages_[i].kind != Stage::Kind::kDeepened || !report.left_out.empty() || report.exhausted) continue;
    if (may_be_minor(stages_[i]) && !may_be_minor(stages_[found.stage])) continue;
    const uint32_t depth = stages_[found.stage].kind == Stage::Kind::kWalks
                               ? static_cast<uint32_t>(found_.grave().front().finding.steps.size())
                               : found.round;
    if (report.rounds >= depth || report.rounds + kReach < depth) continue;
    found_.forget_grave_kinds();
    if (left() <= 0) return {};
    if (const Status s = do_task({i, depth, left() * kForASimplerWay, budget_ * kForASimplerWay}); !s)
      return s;
    if (found_.grave().size() == all) continue;
    found_.drop_grave(all);
    return {};
  }
  return {};
}

// --- one search -------------------------------------------------------------------------------------

Result<std::vector<std::string>> Campaign::settings_of(const Stage& stage) {
  std::vector<std::string> settings = request_.settings;
  settings.insert(settings.end(), stage.settings.begin(), stage.settings.end());
  if (stage.kind != Stage::Kind::kSmallDisk) return settings;
  if (!smallest_) {
    const Result<uint64_t> smallest = smallest_disk(request_.entry, request_.settings, request_.options);
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
                    .seed = request_.seed * 1'000'003 + task.round,
                    .setbacks_rarer = stage.setbacks_rarer,
                    .swarm = true};
    // With a bound on states the walks of a round are the same, whatever finds something first.
    options.stop = request_.all || counts_states() ? StopRule::kNever : StopRule::kFirst;
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
FindingBits Campaign::asked_for(const Check& check) const {
  FindingBits bits = request_.only.empty() ? check.kinds().all() : 0;
  for (const FindingInfo& kind : request_.only) bits |= check.kinds().bit_or_none(kind.kind);
  return bits;
}

FindingBits Campaign::watched(const Stage& stage, const Check& check) const {
  return asked_for(check) & ~found_.known(check.kinds(), may_be_minor(stage));
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
  options.watched = watched(stage, *named->check);
  if (asked_for(*named->check) == 0) return bad_input("it cannot have such a finding");
  if (options.watched == 0) return Made{*std::move(named), std::move(options), true};
  if (sets(stage, "both_ways=on") && named->check->kinds().bit_or_none(FindingKind::kTwoOutcomes) == 0)
    return bad_input("the target does not claim that its mount recovers without the check");
  if (request_.box != nullptr && task.predicted >= (counts_states() ? kStatesWorthACrew : kWorthACrew))
    options.start_worker = crew_of(named->setup, *request_.box);
  options = named->check->fitted(options);
  if (const Status s = named->check->accepts(options); !s) return s.error();
  return Made{*std::move(named), std::move(options)};
}

Schedule::End Campaign::end_of(const Stage& stage, const SearchResult& result,
                               const Schedule::Task& task) const {
  if (result.stopped == Stop::kMemory) return Schedule::End::kExhausted;  // as far as memory reaches
  if (result.stopped != Stop::kNo && result.stopped != Stop::kFinding) return Schedule::End::kCut;
  bool last = result.exhausted || (stage.rounds != 0 && task.round >= stage.rounds);
  if (stage.kind == Stage::Kind::kWalks) {
    // Twice as many walks that met no more states: there is little more to meet.
    const bool nothing_new =
        result.stopped == Stop::kNo && task.round > 1 && result.states <= last_walk_states_.at(task.stage);
    last = task.round == kWalkRounds || nothing_new ||
           (task.round >= kWalkRoundsAtTheEnd && all_searches_exhausted());
  }
  return last ? Schedule::End::kExhausted : Schedule::End::kDone;
}

// And there was one: what could not be begun has shown nothing.
bool Campaign::all_searches_exhausted() const {
  const auto& stages = report_.stages;
  return std::any_of(stages.begin(), stages.end(),
                     [](const StageReport& stage) { return stage.exhausted; }) &&
         std::all_of(stages.begin(), stages.end(), [](const StageReport& stage) {
           return stage.exhausted || stage.is_walks || !stage.left_out.empty();
         });
}

Status Campaign::do_task(const Schedule::Task& task) {
  const Stage& stage = stages_[task.stage];
  const Clock::time_point start = Clock::now();
  DoneTask done;
  done.stage = stage.name;
  done.round = task.round;
  done.limit = task.limit;
  Result<Made> made = make(stage, task);
  if (!made) {
    if (made.error().kind != ErrorKind::kBadInput) return made.error();
    done.left_out = made.error().message;
    done.end = Schedule::End::kExhausted;
    done.cost = counts_states() ? 1 : seconds_since(start);
    note(task.stage, std::move(done));
    return {};
  }
  if (made->all_known) {
    done.cost = counts_states() ? 1 : seconds_since(start);
    done.end = Schedule::End::kCut;
    note(task.stage, std::move(done));
    return {};
  }
  const SearchResult result = search(*made, task, start);
  if (result.stopped == Stop::kHarness)
    return result.trouble.value_or(system_error("the search failed for an unknown reason"));
  if (result.findings != 0)
    if (const Status s = report_findings(stage, *made, result); !s) return s;
  if (result.stopped == Stop::kInterrupted) report_.stopped = Stop::kInterrupted;
  fill(done, *made, result);
  done.seconds = seconds_since(start);
  done.cost = counts_states() ? static_cast<double>(result.states) : done.seconds;
  done.end = end_of(stage, result, task);
  if (result.stopped == Stop::kNo) last_walk_states_[task.stage] = result.states;
  note(task.stage, std::move(done));
  return {};
}

SearchResult Campaign::search(const Made& made, const Schedule::Task& task, Clock::time_point start) {
  const Stage& stage = stages_[task.stage];
  const auto about = [&] {
    const std::string what =
        stage.kind == Stage::Kind::kWalks ? "walks" : fmt::format("to depth {}", task.round);
    const double left = schedule_.left() - (counts_states() ? 0 : seconds_since(start));
    return fmt::format("{} ({}, {:.0f} {} left)", stage.name, what, std::max(0.0, left),
                       counts_states() ? "states" : "s");
  };
  const ProgressFn print = progress_printer(request_.output.progress, about);
  ProgressFn show;
  if (print)
    show = [&](Progress p) {
      p.elapsed = Clock::now() - start_;
      print(p);
    };
  SearchResult result = made.named.check->search(made.options, show);
  clear_progress();
  return result;
}

// --- what came of it --------------------------------------------------------------------------------

Status Campaign::report_findings(const Stage& stage, Made& made, const SearchResult& result) {
  Result<TracedFindings> traced = trace_findings(made.named, made.options, result, request_.output.progress);
  if (!traced) return traced.error();
  for (ToldFinding& told : traced->findings) {
    const FindingKind kind = told.finding.kind;
    if (stage.kind == Stage::Kind::kWalks) {
      told.finding.steps = renumbered(shorten(*made.named.check, kind, told.finding.steps, interrupted()));
      told.story = made.named.check->replay(told.finding.steps).story;
      if (const Status s = find_shorter(made, told); !s) return s;
    }
    if (const Status s = confirm_all({&told, 1}, request_.output.confirm); !s) return s;
    if (found_.keep(std::move(told), spent()))
      report_.stages[static_cast<size_t>(&stage - stages_.data())].found.push_back(kind);
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
    options.bounds.states = static_cast<uint64_t>(left() * kForAShorterWay) + 1;
  } else {
    const auto ms = static_cast<int64_t>(left() * 1000 * kForAShorterWay);
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

void Campaign::fill(DoneTask& done, const Made& made, const SearchResult& result) const {
  const Check& check = *made.named.check;
  done.at_memory_bound = result.stopped == Stop::kMemory;
  if (made.options.order == SearchOrder::kWalk && result.stopped == Stop::kNo)
    done.walks = made.options.walk.walks;
  done.states = result.states;
  done.transitions = result.transitions;
  done.crash_states = result.crash_states;
  done.recoveries = result.recoveries;
  done.left_out_states = result.left_out;
  done.performed = result.performed;
  for (const MarkInfo& mark : check.marks())
    ((result.marks & mark.bit) != 0 ? done.reached : done.missed).emplace_back(mark.says);
  for (const NotTried& one : check.not_tried(Tried::kAllOps)) {
    done.not_tried.push_back(one.what);
    // Without power cuts there are none in recovery.
    if (one.what.starts_with("power cuts") && one.what != kCutsInRecovery)
      done.not_tried.emplace_back(kCutsInRecovery);
  }
}

// The same for a search of this run and for one that was saved.
void Campaign::note(size_t stage, DoneTask done) {
  StageReport& report = report_.stages[stage];
  schedule_.ended({stage, done.round, done.limit, 0}, done.cost, done.end);
  if (!done.left_out.empty()) {
    report.left_out = done.left_out;
  } else {
    const bool complete = done.end != Schedule::End::kCut && !done.at_memory_bound;
    report.cut = !complete;
    if (complete) report.rounds = done.round;
    report.exhausted =
        complete && done.end == Schedule::End::kExhausted && !report.is_walks && done.left_out_states == 0;
    if (report.is_walks) {
      report.walks += done.walks;
      report.states += done.states;
      report.crash_states += std::min(done.crash_states, UINT64_MAX - report.crash_states);
    } else if (done.states > report.states) {
      report.states = done.states;
      report.crash_states = done.crash_states;
    }
    report.left_out_states += done.left_out_states;
    report.transitions += done.transitions;
    report.recoveries += done.recoveries;
    report.seconds += done.seconds;
    tried_.add(done);
  }
  done_.push_back(std::move(done));
}

// --- saving -----------------------------------------------------------------------------------------

Status Campaign::save() {
  if (request_.checkpoint.empty()) return {};
  SavedCampaign saved;
  saved.target = request_.entry.name;
  saved.settings = request_.settings;
  saved.bound = report_.bound;
  saved.budget = new_budget_of(request_.options);  // without what earlier runs had
  saved.counts_states = counts_states();
  saved.is_budget = request_.is_budget;
  saved.stages = request_.stages;
  saved.seed = request_.seed;
  saved.only = report_.only;
  saved.all = request_.all;
  saved.memory_bytes = request_.options.bounds.memory_bytes;
  saved.smallest_blocks = smallest_.value_or(0);
  saved.done = done_;
  for (const ToldFinding& told : found_.all()) saved.findings.push_back(make_token(told.finding));
  last_save_ = Clock::now();
  return write_file(request_.checkpoint, campaign_text(saved));
}

// A file that cannot be written does not end a campaign that has begun. It is told each time.
bool Campaign::save_if_possible() {
  const Status saved = save();
  if (!saved)
    to_stderr(fmt::format("sisyfs: {}; the campaign continued, and the last successful save is intact\n",
                          printable_message(saved.error().message)));
  return static_cast<bool>(saved);
}

Status Campaign::restore(const SavedCampaign& saved) {
  const auto unfit = [](const std::string& why) {
    return bad_input("the saved campaign does not fit the target as it is now: " + why);
  };
  if (saved.smallest_blocks != 0) smallest_ = saved.smallest_blocks;
  for (const DoneTask& task : saved.done) {
    const auto stage = std::find_if(stages_.begin(), stages_.end(),
                                    [&](const Stage& one) { return one.name == task.stage; });
    if (stage == stages_.end()) return unfit(fmt::format("it has no stage '{}'", task.stage));
    if (stage->kind == Stage::Kind::kWalks && task.round > kWalkRounds)
      return unfit("it has too many rounds of walks");
    note(static_cast<size_t>(stage - stages_.begin()), task);
  }
  for (const std::string& token : saved.findings) {
    Result<Finding> finding = parse_token(token);
    if (!finding) return unfit(finding.error().message);
    const Result<NamedCheck> named = CheckRegistry::make(request_.entry, finding->setup.settings);
    if (!named) return named.error();
    Replayed replayed = named->check->replay(finding->steps);
    if (!replayed.cannot_happen.empty() || !replayed.story.shows(finding->kind))
      return unfit(fmt::format("a finding does not happen any more: {}", token));
    (void)found_.keep({*std::move(finding), std::move(replayed.story)}, spent());
  }
  return {};
}

void Campaign::conclude() {
  // Most targets cannot have this one, and there is nothing to be done about it.
  std::erase_if(report_.stages, [&](const StageReport& stage) {
    return !stage.left_out.empty() && stage.name == "coverage";
  });
  report_.findings = found_.all();
  report_.seconds = seconds_since(start_);
  report_.threads = request_.options.threads;
  if (const Result<NamedCheck> named = CheckRegistry::make(request_.entry, request_.settings); named)
    tried_.report_to(report_, *named->check);
  if (found_.any())
    report_.verdict = Verdict::kFail;
  else if (report_.stopped != Stop::kInterrupted && schedule_.all_exhausted() && all_searches_exhausted())
    report_.verdict = Verdict::kPass;
}

int Campaign::print() {
  if (report_.verdict != Verdict::kFail)
    if (const Status s = deaths_explained(request_.output); !s) return fail(s.error());
  const bool text = request_.output.json != "-";
  if (text) {
    fmt::print("{}", tell_all(report_.findings, text_style(request_.output.verbose)));
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
  // What no stage can do is no matter of a stage: the user's settings must give a check by themselves.
  if (const Result<NamedCheck> named = CheckRegistry::make(request.entry, request.settings); !named)
    return fail(named.error());
  skip_plugin_trials();  // that check has tried whether a plug-in is deterministic
  return Campaign(request, std::move(stages)).run();
}

}  // namespace sisyfs::cli
