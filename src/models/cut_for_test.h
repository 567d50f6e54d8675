// What random runs of the models' tests do to a disk when the power goes.
#pragma once

#include <cstddef>
#include <vector>

#include "disk/media.h"

namespace sisyfs {

// What may be on the disk when the power goes after `cut` events: of those after the last flush, each write
// is kept if keep() says so.
template <class Keep>
Image cut_image(const MediaState& state, size_t cut, Keep keep) {
  std::vector<const Event*> events;
  state.log.events(events);
  size_t durable = 0;
  for (size_t i = 0; i < cut; ++i)
    if (events[i]->kind == EventKind::kFlush) durable = i + 1;
  Image image = state.durable;
  for (size_t i = 0; i < cut; ++i) {
    if (!events[i]->changes_blocks() || (i >= durable && !keep())) continue;
    for (uint64_t b = 0; b < events[i]->count.value; ++b)
      image.set(events[i]->first + BlockCount(b), BlockRef::share(events[i]->block(b)));
  }
  return image;
}

// Forgets the history of a disk where all of it is durable.
inline void forget_settled(Media& disk) {
  std::vector<const Event*> events;
  disk.state().log.events(events);
  if (events.empty() || events.back()->kind == EventKind::kFlush) disk.load(MediaState(disk.state().current));
}

}  // namespace sisyfs
