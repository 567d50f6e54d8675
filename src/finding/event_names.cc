#include "finding/event_names.h"

namespace sisyfs {

void EventNames::add(const Log& log, size_t from, uint64_t base, uint32_t step, uint32_t cut) {
  uint32_t nth = 0;
  log.events(events_);
  for (size_t i = from; i < events_.size(); ++i) {
    const Event& event = *events_[i];
    if (!is_named(event)) continue;
    const uint64_t on_disk =
        event.changes_blocks() ? event.first.value - geometry_.first_block_of(event.disk).value : 0;
    names_[base + event.number] = {{step, cut, ++nth, event.disk, on_disk}, event.first.value};
    serials_.try_emplace({step, cut, nth}, base + event.number);
  }
}

std::optional<uint64_t> EventNames::find(const EventName& name) const {
  const auto at = serials_.find({name.step, name.cut, name.nth});
  if (at == serials_.end() || names_.at(at->second).name != name) return std::nullopt;
  return at->second;
}

}  // namespace sisyfs
