// CrashPoints: the moments of a log at which crash states must be judged.
//
// A cut may come at any moment, but most moments add nothing. As long as nothing becomes durable, what a
// cut may leave only grows; as long as nothing is promised, what is allowed only grows too, since a
// crash state that was right stays right. So it is enough to look
//
//   1. just before something takes effect that settles what is in doubt: a flush, or a write with FUA
//      (which is in doubt itself until it returns);
//   2. right after a promise: what is still in doubt, under the new promise;
//   3. at the end of each op, and of the log, because the path may end there;
//
// and to skip each of these if neither a write nor a promise came since the last look. A device that
// writes through settles each write as it returns. All the cuts between two writes together are the
// prefixes of the writes, so these are gathered and judged at the end of the op, or before a promise
// (under which only the newest content is right).
//
//   CrashPoints looks(model, disk.state(), judged_events);
//   while (const CrashPoint* look = looks.next()) {
//     CrashStates states(look->epoch);
//     ...
//   }
//   disk.load(looks.settled());
//
// The test of this file compares with the plain way: a look at each moment.
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
  const Epoch& epoch;  // lives and keeps still until the next call of CrashPoints::next()
  size_t event;        // the index in the log of the event that caused the look; its size at kLogEnd
  uint32_t op;         // the op during which it falls
  size_t promises;     // how many promises of this log were made before it
};

class CrashPoints {
 public:
  // Walks over state.log. The first `judged` events were judged before, by an earlier walk, and only
  // count for what they left in doubt. Takes its own copy of the state.
  CrashPoints(const DeviceModel& model, MediaState state, size_t judged = 0);
  CrashPoints(const CrashPoints&) = delete;
  CrashPoints& operator=(const CrashPoints&) = delete;
  // As if constructed anew for a disk of the same shape, but keeps its memory.
  void restart(MediaState state, size_t judged = 0);

  // The next moment to look at, or null at the end of the log.
  const CrashPoint* next();

  // After next() returned null: the disk with all that became durable moved into `durable`, and a log
  // of nothing but what is still in doubt. Marks and strays are gone from it.
  MediaState settled() const;

 private:
  enum class Then : uint8_t { kNothing, kSettle, kSettleLastWrite };

  bool stop_at(CrashPointReason reason, Then then);
  void carry_out();
  bool step(const Event& event);
  bool step_mark(const Event& event);
  bool writes_through() const { return epoch_.model().cache == WriteCache::kWriteThrough; }

  MediaState state_;
  std::vector<const Event*> events_;
  size_t judged_ = 0;
  size_t at_ = 0;               // the event to go on with
  Then then_ = Then::kNothing;  // what happens once the caller has looked
  bool news_ = false;           // a write or promise came since the last look
  bool promise_told_ = false;   // the look before the promise at hand was taken
  size_t promises_ = 0;
  Epoch epoch_;
  std::optional<CrashPoint> point_;
};

}  // namespace sisyfs
