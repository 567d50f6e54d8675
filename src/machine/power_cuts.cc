#include "machine/power_cuts.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"

namespace sisyfs {

namespace {
constexpr EnumerationBound kNewestOnly{.newest_only = true};
}  // namespace

PowerCuts::Level::Level(const DiskSetup& setup, const Image& blank)
    : none(setup.cuts.device, blank), points(setup.cuts.device, MediaState(blank)), eager(none), lazy(none) {}

PowerCuts::PowerCuts(const DiskSetup& setup, Recoverer& recoverer, const Image& blank)
    : setup_(setup), recoverer_(recoverer), rest_(setup.cuts.device, blank) {
  for (uint32_t level = 0; level <= setup.cuts.nesting; ++level)
    levels_.push_back(std::make_unique<Level>(setup, blank));
}

void PowerCuts::begin(Level& level, const CrashPoint& point) {
  level.reason = point.reason;
  level.event = point.event;
  level.promises = point.promises;
  level.at_point = true;
  level.judged = 0;
  if (setup_.cuts.lazy) return level.lazy.restart(point.epoch);
  level.eager.restart(point.epoch, setup_.cuts.persisted ? kNewestOnly : setup_.cuts.enumeration);
  if (level.eager.complete()) return;
  cut_short_ = true;
  counts_.left_out += level.eager.cut_off();
}

const CrashPoint* PowerCuts::next_point() {
  while ((point_ = levels_[0]->points.next()) != nullptr) {
    if (!setup_.cuts.persisted || point_->reason == CrashPointReason::kAfterPromise) break;
    leave_point();
  }
  return point_;
}

void PowerCuts::begin_point() {
  level_ = 0;
  may_descend_ = cut_short_ = false;
  seen_.clear();
  begin(*levels_[0], *point_);
}

bool PowerCuts::next_state(Level& level) {
  if (setup_.cuts.lazy) return level.lazy.next();
  return (level.state = level.eager.next()) != nullptr;
}

// Where recovery starts to change what it read. Up to there another recovery would do the same again.
size_t PowerCuts::first_change(const Recovery& recovery) {
  recovery.log.events(events_);
  if (setup_.cuts.all_nested) return 0;
  const std::vector<BlockAddress>& reads = recovery.blocks;
  const Geometry& geometry = rest_.durable().geometry();
  for (size_t e = 0; e < events_.size(); ++e) {
    if (!events_[e]->changes_blocks()) continue;
    const uint64_t first = events_[e]->first.value, end = first + events_[e]->count.value;
    const bool wears = events_[e]->kind == EventKind::kDiscard && geometry.flash.units_go_bad;
    const auto touched = [&](BlockAddress at) {
      return (at.value >= first && at.value < end) || (wears && at == geometry.wear_of(events_[e]->first));
    };
    if (std::any_of(reads.begin(), reads.end(), touched))
      return e + (mutant(Mutant::kSkipFirstChange) ? 2 : 1);
  }
  return SIZE_MAX;
}

// The power goes in the recovery from the outcome at hand.
void PowerCuts::descend() {
  Level& from = *levels_[level_];
  from.recovered = *recovered_;
  MediaState cut = start();
  if (mutant(Mutant::kCloseNested)) cut.undecided = Log();
  cut.log = from.recovered.log;
  cut.log.rebase(from.serial);
  Level& to = *levels_[++level_];
  to.serial = cut.log.next_serial();
  to.at_point = to.in_write = false;
  to.event = kNoEvent;
  to.skip = first_change(from.recovered);
  to.points.restart(std::move(cut), 0);
}

// The power goes in the first write after the recovery that `level` cuts. That write may have read more than
// the recovery, so all that the run has read is decided.
bool PowerCuts::begin_write(Level& level) {
  Level& from = *levels_[level_ - 1];
  if (level_ != 1 || level.in_write || from.recovered.log_with_write.empty()) return false;
  level.in_write = true;
  Log log = from.recovered.log_with_write;
  log.rebase(from.serial);
  level.serial = log.next_serial();
  level.skip = 0;
  level.event = kNoEvent;
  if (setup_.cuts.lazy) from.lazy.epoch().narrow(from.lazy.known(), rest_);
  MediaState cut = setup_.cuts.lazy
                       ? MediaState(rest_.durable(), rest_.durable(), Log(), rest_.undecided_log())
                       : MediaState(from.state->image());
  cut.log = std::move(log);
  level.points.restart(std::move(cut), from.recovered.log.size());
  return true;
}

const Tree* PowerCuts::tree_with_write() const {
  for (uint32_t number = level_; number > 0; --number)
    if (levels_[number]->in_write) return &levels_[number - 1]->recovered.tree_with_write;
  return nullptr;
}

bool PowerCuts::next_nested_point(Level& level) {
  while (const CrashPoint* point = level.points.next()) {
    if (mutant(Mutant::kOneNestedPoint) && level.event != kNoEvent) return false;
    // A look shows what came before its event, and a write that passes the cache itself.
    if (point->event + (point->reason == CrashPointReason::kBeforeFua ? 1 : 0) < level.skip) continue;
    if (!seen_.insert(digest_at(level_, point->epoch.digest()))) continue;
    begin(level, *point);
    return true;
  }
  return false;
}

bool PowerCuts::next() {
  if (may_descend_) descend();
  may_descend_ = false;
  for (;;) {
    Level& level = *levels_[level_];
    if (!level.at_point) {
      if (level_ == 0) return false;
      if (!next_nested_point(level) && !begin_write(level)) --level_;
      continue;
    }
    if (!next_state(level)) {
      level.at_point = false;
      continue;
    }
    recovered_ = setup_.cuts.lazy ? &recoverer_.recover(level.lazy) : &recoverer_.recover(*level.state);
    const StateCount stood_for = setup_.cuts.lazy ? level.lazy.stands_for() : StateCount(1);
    counts_.stood_for += stood_for;
    level.judged += stood_for;
    if (!setup_.cuts.lazy && level.eager.is_sample() && !level.eager.complete()) ++counts_.sampled;
    ++counts_.outcomes;
    // What came back wrong needs no second power cut.
    may_descend_ = level_ + 1 < levels_.size() && recovered_->sound &&
                   (recovered_->work != 0 || (level_ == 0 && !recovered_->log_with_write.empty()));
    return true;
  }
}

void PowerCuts::leave_rest() {
  for (uint32_t number = 0; number <= level_; ++number) {
    const Level& level = *levels_[number];
    if (!level.at_point) continue;
    const StateCount all = setup_.cuts.lazy ? level.lazy.epoch().count() : level.eager.planned();
    counts_.left_out += all - level.judged;
  }
}

MediaState PowerCuts::start() {
  Level& level = *levels_[level_];
  if (!setup_.cuts.lazy) return MediaState(level.state->image(), level.serial);
  level.lazy.epoch().narrow(level.lazy.known_after(recovered_->reads), rest_);
  return {rest_.durable(), rest_.durable(), Log(level.serial), rest_.undecided_log()};
}

Digest PowerCuts::start_digest() {
  Level& level = *levels_[level_];
  if (!setup_.cuts.lazy) return level.state->digest();
  return level.lazy.epoch().narrowed_digest(level.lazy.known_after(recovered_->reads), rest_);
}

PowerCuts::Cut PowerCuts::cut(uint32_t number, bool decided_by_trial) {
  Level& level = *levels_[number];
  const Epoch& epoch = setup_.cuts.lazy ? level.lazy.epoch() : level.state->epoch();
  Cut cut{&epoch,
          level.reason,
          level.event,
          level.promises,
          number == 0 ? nullptr : &log_of(number),
          number == 0 ? 0 : levels_[number - 1]->serial,
          {}};
  if (!setup_.cuts.lazy) {
    for (const uint32_t kept : level.state->kept()) cut.kept.push_back({kept, kept});
    return cut;
  }
  const uint32_t reads = number == level_ ? recovered_->reads : level.recovered.reads;
  const auto known =
      number == level_ && decided_by_trial ? level.lazy.known() : level.lazy.known_after(reads);
  cut.kept.assign(known.begin(), known.end());
  return cut;
}

bool PowerCuts::lost_anything() const {
  const Level& level = *levels_[0];
  if (!setup_.cuts.lazy) return level.state->lost_pieces() != 0;
  const auto chains = level.lazy.epoch().chains();
  for (size_t chain = 0; chain < chains.size(); ++chain)
    if (level.lazy.known()[chain].most < chains[chain].length) return true;
  return false;
}

}  // namespace sisyfs
