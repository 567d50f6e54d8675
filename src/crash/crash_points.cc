#include "crash/crash_points.h"

#include <utility>

#include "base/assert.h"
#include "base/mutant.h"

namespace sisyfs {

CrashPoints::CrashPoints(const DeviceModel& model, MediaState state, size_t judged)
    : state_(std::move(state)), epoch_(model, state_.durable) {
  restart(state_, judged);
}

void CrashPoints::restart(MediaState state, size_t judged) {
  state_ = std::move(state);
  state_.log.events(events_);
  judged_ = judged;
  SISYFS_ASSERT(judged_ <= events_.size(), "what was judged is in the log");
  at_ = 0;
  then_ = Then::kNothing;
  news_ = false;
  before_promise_ = false;
  promises_ = 0;
  epoch_.restart(state_.durable, state_.undecided);
}

const CrashPoint* CrashPoints::next() {
  while (true) {
    carry_out();
    if (at_ == judged_ && writes_through()) epoch_.settle();
    if (at_ < events_.size()) {
      if (step(*events_[at_])) return &*point_;
    } else if (!news_) {
      return nullptr;
    } else if (stop_at(CrashPointReason::kLogEnd, writes_through() ? Then::kSettleAll : Then::kNothing)) {
      return &*point_;
    }
  }
}

// Applies the effect of the event at the last crash point.
void CrashPoints::carry_out() {
  switch (std::exchange(then_, Then::kNothing)) {
    case Then::kNothing:
      break;
    case Then::kSettleAll:
      epoch_.settle();
      break;
    case Then::kSettleDisk:
      epoch_.settle(disk_);
      break;
    case Then::kSettleLastWrite:
      epoch_.settle_last_write();
      break;
  }
}

// Notes the effect on the epoch. Returns whether there is a crash point before it. An event with two crash
// points leaves at_ unchanged after the first.
bool CrashPoints::stop_at(CrashPointReason reason, Then then) {
  then_ = then;
  if (!std::exchange(news_, false)) return false;
  uint64_t next_serial = state_.log.next_serial();
  if (at_ < events_.size()) {
    next_serial = state_.log.serial_of(*events_[at_]);
    if (reason == CrashPointReason::kBeforeFua) ++next_serial;  // this write was issued
  }
  point_.emplace(CrashPoint{reason, epoch_, at_, next_serial, promises_});
  return true;
}

bool CrashPoints::step(const Event& event) {
  switch (event.kind) {
    case EventKind::kBoundary:
      return step_boundary(event);
    case EventKind::kWrite:
    case EventKind::kDiscard: {
      epoch_.add(event, state_.log.base());
      news_ = at_ >= judged_;
      const bool hardens = event.flags.fua && !writes_through();
      const bool stop = hardens && stop_at(CrashPointReason::kBeforeFua, Then::kSettleLastWrite);
      at_++;
      return stop;
    }
    case EventKind::kFlush: {
      // Under write-through there is nothing left for a flush to settle.
      if (mutant(Mutant::kSkipBeforeFlush)) news_ = false;
      disk_ = event.disk;
      const bool stop = !writes_through() && stop_at(CrashPointReason::kBeforeFlush, Then::kSettleDisk);
      at_++;
      return stop;
    }
    case EventKind::kStray:
      at_++;
      return false;
  }
  return false;
}

bool CrashPoints::step_boundary(const Event& event) {
  const Then settle_through = writes_through() ? Then::kSettleAll : Then::kNothing;
  switch (event.boundary.kind) {
    case BoundaryKind::kOpBegin:
    case BoundaryKind::kPowerCut:
      at_++;
      return false;
    case BoundaryKind::kOpEnd: {
      const Then then = mutant(Mutant::kOpEndSettles) ? Then::kSettleAll : settle_through;
      const bool stop = stop_at(CrashPointReason::kOpEnd, then);
      at_++;
      return stop;
    }
    case BoundaryKind::kPromise: {
      if (writes_through() && !std::exchange(before_promise_, true)) {
        return stop_at(CrashPointReason::kBeforePromise, Then::kSettleAll);
      }
      before_promise_ = false;
      promises_++;
      news_ = at_ >= judged_ && !mutant(Mutant::kSkipAfterPromise);
      const bool stop = stop_at(CrashPointReason::kAfterPromise, Then::kNothing);
      at_++;
      return stop;
    }
  }
  return false;
}

MediaState CrashPoints::settled() const {
  SISYFS_ASSERT(at_ == events_.size() && then_ == Then::kNothing, "the end of the log was reached");
  Log pending = epoch_.pending_log();
  pending.set_next_serial(state_.log.next_serial());
  return {epoch_.durable(), state_.current, std::move(pending), epoch_.undecided_log()};
}

}  // namespace sisyfs
