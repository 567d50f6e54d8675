#include "adapters/kernel/host_past.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace sisyfs {
namespace {

bool has_effect(const Event& event) { return event.changes_blocks() || event.kind == EventKind::kFlush; }
// The further runs of a write have the number of the first one.
bool has_number(const Event& event) { return has_effect(event) && !event.tied_to_previous; }

// The log of a recovery begins at 0 and is put on top of the disk that it was for. It has no boundaries:
// those are of ops.
uint64_t shift_of(std::span<const Event* const> events, std::span<const HostRepeat> calls,
                  const MediaState& saved) {
  const bool is_of_op = std::any_of(events.begin(), events.end(),
                                    [](const Event* event) { return event->kind == EventKind::kBoundary; });
  if (is_of_op) return 0;
  // An op begins with a boundary.
  const uint64_t behind = calls.size() == 1 ? saved.log.next_serial() : calls[1].past->begin - 1;
  return behind - calls[0].past->end;
}

// The serial numbers of all events, first those before the mount.
std::vector<uint64_t> serials_of(std::span<const Event* const> events, std::span<const HostRepeat> calls,
                                 const MediaState& saved) {
  const Log& before = calls[0].past->before->log;
  const uint64_t shift = shift_of(events, calls, saved);
  std::vector<uint64_t> serials;
  for (const Event* event : events.first(before.size()))
    if (has_number(*event)) serials.push_back(before.serial_of(*event) + shift);
  for (size_t i = 0; i < calls.size(); ++i) {
    const HostPast& past = *calls[i].past;
    for (size_t n = 0; n < calls[i].events; ++n) {
      if (n < past.serials.size())
        serials.push_back(past.serials[n] + (i == 0 ? shift : 0));
      else
        serials.push_back(serials.empty() ? past.begin : serials.back());
    }
  }
  return serials;
}

}  // namespace

std::span<const char* const> host_marks() {
  static constexpr const char* kMarks[] = {
      "a state was brought back at a later try, since the kernel made other requests to the disk at first",
      "a state was brought back by other requests to the disk than the first time"};
  return kMarks;
}

MediaState rewritten(const MediaState& now, std::span<const HostRepeat> calls, const MediaState& saved) {
  const MediaState& before = *calls[0].past->before;
  std::vector<const Event*> events;
  now.log.events(events);
  const std::vector<uint64_t> serials = serials_of(events, calls, saved);
  Log log(serials.empty() ? saved.log.next_serial() : serials.front());
  std::vector<BlockRef> blocks;
  size_t next = 0;
  for (const Event* event : events) {
    if (!has_effect(*event)) continue;
    if (has_number(*event)) {
      SISYFS_ASSERT(next < serials.size(), "each event has a serial number");
      log.set_next_serial(serials[next++]);
    }
    blocks.clear();
    for (uint64_t i = 0; event->changes_blocks() && i < event->count.value; ++i)
      blocks.push_back(BlockRef::share(event->block(i)));
    if (event->kind == EventKind::kWrite)
      log.add_write(event->first, blocks, event->flags, event->disk, event->tied_to_previous);
    else if (event->kind == EventKind::kDiscard)
      log.add_discard(event->first, blocks, event->disk, event->tied_to_previous);
    else
      log.add_flush(event->disk);
  }
  log.set_next_serial(saved.log.next_serial());
  return {before.durable, now.current, std::move(log), saved.undecided};
}

}  // namespace sisyfs
