#include "machine/settler.h"

#include <algorithm>

namespace sisyfs {

Settler::Settler(const DeviceModel& device, const Image& blank)
    : device_(device), epoch_(device, blank), points_(device, MediaState(blank)) {}

// Nearly always everything is durable: the device writes through, or a flush came last and there is one disk.
MediaState Settler::settle(const MediaState& state) {
  bool durable = device_.cache == WriteCache::kWriteThrough;
  if (!durable) {
    state.log.events(events_);
    const auto last = std::find_if(events_.rbegin(), events_.rend(), [](const Event* event) {
      return event->changes_blocks() || event->kind == EventKind::kFlush;
    });
    durable =
        last == events_.rend() || ((*last)->kind == EventKind::kFlush && state.current.geometry().disks == 1);
  }
  if (durable && state.undecided.empty()) return MediaState(state.current, state.log.next_serial());
  points_.restart(state);
  while (points_.next() != nullptr) {
  }
  return points_.settled();
}

Digest Settler::print_of(const MediaState& settled) {
  if (settled.log.empty() && settled.undecided.empty())
    return digest_at(0, settled.durable.digest());  // that of an epoch with nothing in doubt
  epoch_.restart(settled.durable, settled.undecided);
  // The same writes may be undecided behind a power cut, or pending. A flush settles only the latter.
  const Digest frozen = digest_at(7, Digest{0, epoch_.frozen_pieces()});
  for (const Event* event : settled.log.events(events_)) {
    if (event->changes_blocks()) epoch_.add(*event, settled.log.base());
  }
  return settled.undecided.empty() ? epoch_.digest() : epoch_.digest() + frozen;
}

}  // namespace sisyfs
