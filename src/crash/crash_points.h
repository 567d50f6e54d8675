// CrashPoints: the moments of a log at which crash states must be judged.
//
// The power may go at any moment, but most moments add nothing. As long as nothing becomes durable, the set
// of possible crash states only grows. As long as nothing is promised, the set of allowed outcomes only grows
// too: a crash state that was right stays right. So the crash points are
//
//   1. just before something settles what is in doubt: a flush of a disk, or a write with FUA (which is
//      itself in doubt until it returns);
//   2. right after a promise: what is still in doubt, under the new promise;
//   3. at the end of each op, and of the log, because the path may end there;
//
// and each of these is skipped if neither a write nor a promise came since the last crash point. A flush is
// a flush of one disk: it settles the writes to that disk, and writes to the others stay in doubt. A device
// that writes through settles each write as it returns. All cuts between two writes together are the prefixes
// of the writes, so these are gathered and judged at the end of the op, or before a promise (under which only
// the newest content is right).
//
//   CrashPoints points(model, media.state(), judged_events);
//   while (const CrashPoint* point = points.next()) {
//     CrashStates states(point->epoch);
//     ...
//   }
//   media.load(points.settled());
//
// crash_points_test.cc compares with the plain way: a crash point at each moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "crash/epoch.h"
#include "disk/media.h"

namespace sisyfs {

enum class CrashPointReason : uint8_t {
  kBeforeFlush,
  kBeforeFua,      // before a write with FUA returns
  kBeforePromise,  // a device that writes through: cuts before the promise, under the older ones
  kAfterPromise,
  kOpEnd,
  kLogEnd,  // what came after the last op ended
};

struct CrashPoint {
  CrashPointReason reason;
  const Epoch& epoch;    // valid and unchanged until the next call of CrashPoints::next()
  size_t event;          // index in the log of the event that caused it; the size of the log at kLogEnd
  uint64_t next_serial;  // the events with lower serial numbers were issued before the cut
  size_t promises;       // number of promises of this log made before it
};

class CrashPoints {
 public:
  // Goes through state.log. The first `judged` events were judged before, by an earlier object, and only
  // count for what they left in doubt. Takes its own copy of the state.
  CrashPoints(const DeviceModel& model, MediaState state, size_t judged = 0);
  CrashPoints(const CrashPoints&) = delete;
  CrashPoints& operator=(const CrashPoints&) = delete;
  // As if constructed anew for media of the same shape, but keeps its memory.
  void restart(MediaState state, size_t judged = 0);

  // The next crash point, or null at the end of the log.
  const CrashPoint* next();

  // After next() returned null: the media with all that became durable moved into `durable`, and a log
  // of only what is still in doubt. Boundaries and strays are gone from it. Serial numbers stay.
  MediaState settled() const;

 private:
  enum class Then : uint8_t { kNothing, kSettleAll, kSettleDisk, kSettleLastWrite };

  bool stop_at(CrashPointReason reason, Then then);
  void carry_out();
  bool step(const Event& event);
  bool step_boundary(const Event& event);
  bool writes_through() const { return epoch_.model().cache == WriteCache::kWriteThrough; }

  MediaState state_;
  std::vector<const Event*> events_;
  size_t judged_ = 0;
  size_t at_ = 0;                // the event to go on with
  Then then_ = Then::kNothing;   // what happens after the crash point
  uint32_t disk_ = 0;            // of kSettleDisk
  bool news_ = false;            // a write or promise came since the last crash point
  bool before_promise_ = false;  // the crash point before the promise at hand was visited
  size_t promises_ = 0;
  Epoch epoch_;
  std::optional<CrashPoint> point_;
};

}  // namespace sisyfs
