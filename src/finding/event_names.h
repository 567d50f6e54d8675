// EventNames: the names of the events of a run, by serial number.
//
// Writes, discards and flushes have names: the step, and their number in the op or recovery that issued them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "disk/log.h"
#include "machine/step.h"

namespace sisyfs {

// Whether an event has a name of its own.
inline bool is_named(const Event& event) {
  return (event.changes_blocks() || event.kind == EventKind::kFlush) && !event.tied_to_previous;
}

class EventNames {
 public:
  explicit EventNames(const Geometry& geometry) : geometry_(geometry) {}

  // Names the events of a log from position `from` on; `base` is the serial number of number 0. `cut` as in
  // EventName.
  void add(const Log& log, size_t from, uint64_t base, uint32_t step, uint32_t cut);
  // The name of an event that was added, and its address in the address space of all disks.
  const EventName& at(uint64_t serial) const { return names_.at(serial).name; }
  uint64_t address(uint64_t serial) const { return names_.at(serial).address; }
  // The serial number of the event with this name, if there is one.
  std::optional<uint64_t> find(const EventName& name) const;

 private:
  struct Named {
    EventName name;
    uint64_t address;
  };

  const Geometry geometry_;
  std::map<uint64_t, Named> names_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> serials_;  // by step, cut and number
  std::vector<const Event*> events_;
};

}  // namespace sisyfs
