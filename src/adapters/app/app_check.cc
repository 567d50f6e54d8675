#include "adapters/app/app_check.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/printable.h"

namespace sisyfs {

using std::chrono::steady_clock;

AppCheck::AppCheck(const AppPlan& plan, const AppRecording& recording) : plan_(plan), recording_(recording) {
  const auto is_ignored = [&](const std::string& path) {
    const std::string name = path.substr(path.find_last_of('/') + 1);
    return std::any_of(plan.ignored.begin(), plan.ignored.end(),
                       [&](const std::string& one) { return fnmatch(one.c_str(), name.c_str(), 0) == 0; });
  };
  for (SlotId id = 0; id < recording.files.log.slots(); ++id) {
    const Slot& slot = recording.files.log.slot_of(id);
    if (is_ignored(slot.kind == SlotKind::kEntry ? slot.name : recording.name_of(slot.object)))
      ignored_.insert(id);
  }
}
AppCheck::~AppCheck() = default;

Status AppCheck::try_without_power_cut(unsigned threads) {
  const auto events = static_cast<EventId>(recording_.files.log.events().size());
  const FileStates states(recording_.files.log, *file_rules("in-order"), events);
  std::optional<AppOutcome> first;
  while (runners_.size() < std::max(threads, 1u))
    runners_.push_back(std::make_unique<AppRunner>(plan_, recording_));
  for (int turn = 0; turn < 2; ++turn) {
    FilePicks picks(states, recording_.files.acks.size());
    auto outcome = runners_[static_cast<size_t>(turn) % runners_.size()]->run(picks);
    if (!outcome) return outcome.error();
    if (first && !(*first == *outcome))
      return system_error("the check is not deterministic: two runs on the same files ended differently");
    const bool is_right =
        outcome->what == AppOutcome::What::kRight ||
        (outcome->what == AppOutcome::What::kContents && outcome->contents == recording_.contents.back());
    if (!is_right)
      return bad_input(fmt::format(
          "without any power cut {}",
          outcome->said.empty() ? "the directory is not what the workload left" : last_words(outcome->said)));
    first = *std::move(outcome);
  }
  reports_kept_ = !first->kept.empty();
  if (!reports_kept_) return {};
  for (size_t i = 0; i < recording_.files.acks.size(); ++i)
    if (recording_.is_line(i) && !first->kept.contains(recording_.ack_text(i)))
      return bad_input(
          fmt::format("without any power cut the check does not report '{}', which was acknowledged",
                      printable(recording_.ack_text(i))));
  return {};
}

std::vector<AppCheck::Moment> AppCheck::moments(const FlushChanges& changes) const {
  std::vector<Moment> out;
  const auto events = recording_.files.log.events();
  uint64_t acked = 0;
  bool is_new = true;  // something was written since the last moment
  const auto at = [&](EventId event, bool before_added = false) {
    out.push_back({event, acked, before_added});
    is_new = false;
  };
  std::set<EventId> added;
  for (const FlushChanges::Added& one : changes.added) added.insert(one.after);
  for (EventId e = 0; e < events.size(); ++e) {
    const FileEvent& event = events[e];
    const bool is_ack = event.kind == FileEventKind::kAck || event.kind == FileEventKind::kExit;
    if (is_new && event.promise != FilePromise::kNone && !changes.dropped.contains(e)) at(e);
    is_new |= !event.steps.empty();
    if (is_new && added.contains(e)) at(e + 1, true);
    if (is_ack) ++acked, at(e + 1);
  }
  if (is_new) at(static_cast<EventId>(events.size()));
  return out;
}

std::optional<AppFinding> AppCheck::judge(const AppOutcome& outcome, const Moment& moment) const {
  AppFinding found;
  found.events = moment.events;
  found.acked = moment.acked;
  found.said = outcome.said;
  switch (outcome.what) {
    case AppOutcome::What::kWrong:
      return found.kind = AppFinding::Kind::kWrong, found;
    case AppOutcome::What::kDied:
      return found.kind = AppFinding::Kind::kDied, found;
    case AppOutcome::What::kLate:
      return found.kind = AppFinding::Kind::kLate, found;
    case AppOutcome::What::kContents: {
      const auto& contents = recording_.contents;
      // The next step may be done already if it has begun.
      const EventId begin = moment.acked == 0 ? 0 : recording_.files.acks[moment.acked - 1] + 1;
      const uint64_t next =
          moment.events > begin && moment.acked + 1 < contents.size() ? moment.acked + 1 : moment.acked;
      if (outcome.contents == contents[moment.acked] || outcome.contents == contents[next])
        return std::nullopt;
      return found.kind = AppFinding::Kind::kOtherContents, found;
    }
    case AppOutcome::What::kRight:
      break;
  }
  if (!reports_kept_) return std::nullopt;
  for (uint64_t i = 0; i < moment.acked; ++i)
    if (recording_.is_line(i) && !outcome.kept.contains(recording_.ack_text(i)))
      found.missing.push_back(recording_.ack_text(i));
  if (found.missing.empty()) return std::nullopt;
  return found.kind = AppFinding::Kind::kLostAck, found;
}

Status AppCheck::run(const FileStates& states, const std::vector<FileRuns::Missing>& missing,
                     unsigned threads, const std::function<bool()>& enough) {
  struct Done {
    std::vector<FileRead> reads;
    std::optional<AppOutcome> outcome;
  };
  std::vector<Done> done(missing.size());
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::optional<Error> trouble;
  const auto work = [&](AppRunner& runner) {
    for (size_t i = next++; i < missing.size() && !enough(); i = next++) {
      FilePicks picks(states, missing[i]);
      auto outcome = runner.run(picks);
      if (!outcome) {
        const std::lock_guard lock(mutex);
        trouble = outcome.error();
        return;
      }
      done[i] = {picks.reads(), *std::move(outcome)};
    }
  };
  while (runners_.size() < std::max(threads, 1u))
    runners_.push_back(std::make_unique<AppRunner>(plan_, recording_));
  const size_t used = std::min<size_t>(std::max(threads, 1u), missing.size());
  std::vector<std::jthread> others;
  for (size_t i = 1; i < used; ++i) others.emplace_back([&, i] { work(*runners_[i]); });
  work(*runners_[0]);
  others.clear();
  if (trouble) return *trouble;
  for (Done& one : done) {
    if (!one.outcome) continue;
    runs_.add(one.reads, static_cast<uint32_t>(outcomes_.size()));
    outcomes_.push_back(*std::move(one.outcome));
  }
  return {};
}

// One search, with its states at each moment.
class AppCheck::Search {
 public:
  Search(AppCheck& check, const AppSearch& search, const FlushChanges& changes)
      : check_(check), search_(search), moments_(check.moments(changes)) {
    for (const Moment& moment : moments_) {
      FlushChanges until = changes;
      if (moment.before_added)
        std::erase_if(until.added,
                      [&](const FlushChanges::Added& one) { return one.after + 1 == moment.events; });
      states_.push_back(
          std::make_unique<FileStates>(check.recording_.files.log, *search.rules, moment.events, until));
    }
    result_.moments = moments_.size();
    for (const auto& states : states_) result_.states += states->count(states->all());
  }

  Result<AppResult> run() {
    const uint64_t before = check_.runs();
    for (uint32_t losses = 0;; ++losses) {
      bool more = false;
      result_.losses = losses;
      for (size_t i = 0; i < moments_.size(); ++i) {
        const auto beyond = at_moment(i, losses);
        if (!beyond) return beyond.error();
        more |= *beyond;
        result_.runs = check_.runs() - before;
        if (check_.progress) check_.progress(result_);
        if (enough()) {
          result_.stopped = true;
          return result_;
        }
      }
      result_.exhausted = !more;
      if (!more || losses >= search_.losses || !result_.findings.empty()) return result_;
    }
  }

 private:
  bool enough() const {
    return (check_.stop != nullptr && check_.stop->load()) ||
           (search_.until && steady_clock::now() > *search_.until);
  }

  // Whether there are states with more losses.
  Result<bool> at_moment(size_t index, uint32_t losses) {
    const FileStates& states = *states_[index];
    for (;;) {
      std::vector<FileRuns::Missing> missing;
      std::vector<AppFinding> found;
      const auto met = [&](const FileRuns::Met& met) {
        auto finding = check_.judge(check_.outcomes_[met.outcome], moments_[index]);
        if (!finding) return;
        finding->losses.assign(met.losses.begin(), met.losses.end());
        found.push_back(*std::move(finding));
      };
      const bool beyond =
          check_.runs_.walk(states, moments_[index].acked, losses, met, missing, check_.ignored_);
      if (missing.empty()) {
        for (AppFinding& finding : found) add(std::move(finding));
        return beyond;
      }
      if (Status s = check_.run(states, missing, search_.threads, [this] { return enough(); }); !s)
        return s.error();
      if (enough()) return true;
    }
  }

  // One finding for the things that were lost, at the earliest moment.
  void add(AppFinding finding) {
    std::set<std::pair<FileId, std::string>> things;
    for (const FileLoss& loss : finding.losses) {
      const Slot& slot = check_.recording_.files.log.slot_of(loss.slot);
      things.emplace(slot.object, slot.name);
    }
    const auto [known, is_new] = known_.emplace(std::pair(finding.kind, things), result_.findings.size());
    if (is_new)
      result_.findings.push_back(std::move(finding));
    else
      ++result_.findings[known->second].alike;
  }

  AppCheck& check_;
  const AppSearch search_;
  const std::vector<Moment> moments_;
  std::vector<std::unique_ptr<FileStates>> states_;
  AppResult result_;
  std::map<std::pair<AppFinding::Kind, std::set<std::pair<FileId, std::string>>>, size_t> known_;
};

// --- the plain way --------------------------------------------------------------------------------------

bool AppCheck::each_state(const FileStates& states, uint32_t losses, const OnState& on_state) {
  const std::vector<SlotId> open = states.open_slots();
  std::vector<FileRead> values;
  std::vector<FileLoss> lost;
  const std::function<bool(size_t, const FileStates::Ranges&)> from = [&](size_t i,
                                                                          const FileStates::Ranges& ranges) {
    if (i == open.size()) return on_state(values, lost);
    const uint32_t high = states.high(ranges, open[i]);
    for (uint32_t version = high + 1; version-- > states.low(ranges, open[i]);) {
      const bool is_lost = version != high;
      if (is_lost && lost.size() == losses) break;
      FileStates::Ranges picked = ranges;
      states.pick(picked, open[i], version);
      values.push_back({open[i], states.value(open[i], version)});
      if (is_lost) lost.push_back({open[i], version});
      const bool more = from(i + 1, picked);
      if (is_lost) lost.pop_back();
      values.pop_back();
      if (!more) return false;
    }
    return true;
  };
  return from(0, states.all());
}

namespace {

Digest digest_of_values(const std::vector<FileRead>& values, uint64_t acked) {
  Digest all = digest_of(&acked, sizeof acked);
  for (const FileRead& one : values) all += digest_at(one.slot, digest_of(&one.value, sizeof one.value));
  return all;
}

}  // namespace

uint64_t AppCheck::count_eagerly(const AppSearch& search, uint32_t losses, uint64_t most) const {
  std::set<Digest> seen;
  for (const Moment& moment : moments({})) {
    const FileStates states(recording_.files.log, *search.rules, moment.events);
    if (!each_state(states, losses, [&](const std::vector<FileRead>& values, const std::vector<FileLoss>&) {
          seen.insert(digest_of_values(values, moment.acked));
          return seen.size() < most;
        }))
      break;
  }
  return seen.size();
}

Result<AppResult> AppCheck::search_eagerly(const AppSearch& search, uint32_t losses, uint64_t most_runs) {
  AppResult result;
  result.losses = losses;
  result.exhausted = losses == UINT32_MAX;
  std::map<Digest, AppOutcome> known;
  if (runners_.empty()) runners_.push_back(std::make_unique<AppRunner>(plan_, recording_));
  for (const Moment& moment : moments({})) {
    const FileStates states(recording_.files.log, *search.rules, moment.events);
    ++result.moments;
    std::optional<Error> trouble;
    each_state(states, losses, [&](const std::vector<FileRead>& values, const std::vector<FileLoss>& lost) {
      result.states += 1;
      const Digest key = digest_of_values(values, moment.acked);
      auto found = known.find(key);
      if (found == known.end()) {
        if (++result.runs > most_runs) return trouble = bad_input("there are too many states"), false;
        FileStates::Ranges ranges = states.all();
        for (const FileLoss& loss : lost) states.pick(ranges, loss.slot, loss.version);
        FilePicks picks(states, {values, ranges, moment.acked, lost});
        auto outcome = runners_[0]->run(picks);
        if (!outcome) return trouble = outcome.error(), false;
        found = known.emplace(key, *std::move(outcome)).first;
      }
      if (auto finding = judge(found->second, moment)) {
        finding->losses = lost;
        result.findings.push_back(*std::move(finding));
      }
      return true;
    });
    if (trouble) return *trouble;
  }
  return result;
}

Result<AppResult> AppCheck::search(const AppSearch& search, const FlushChanges& changes) {
  return Search(*this, search, changes).run();
}

}  // namespace sisyfs
