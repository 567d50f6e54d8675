// FileStates: the states of the files that a power cut may leave at a moment of a log.
//
// A state picks a version of each slot. Promises make versions durable, and the rules of the file system say
// which versions need others: "if a is at version i or later, then b is at version j or later". Such rules
// have a convenient property: every slot has a range of versions, and whatever is picked in one range, the
// ranges of the others can be narrowed so that each version that is left in them is part of some state. So
// versions can be picked one by one, when they are asked for, without ever having to go back.
//
//   FileStates states(log, rules, moment);
//   FileStates::Ranges ranges = states.all();
//   states.pick(ranges, slot, states.high(ranges, slot) - 1);   // the newest version of it is lost
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "crash/files/file_log.h"
#include "crash/files/file_rules.h"
#include "crash/state_count.h"

namespace sisyfs {

// Flushes that the program made and that are left out, and flushes that it did not make and that are added.
struct FlushChanges {
  struct Added {
    EventId after = 0;  // this event
    FileId object = kNoFile;
    // NOLINTNEXTLINE(modernize-use-nullptr): the zero is that of the standard library.
    friend auto operator<=>(const Added&, const Added&) = default;
  };
  std::set<EventId> dropped;
  std::vector<Added> added;
};

class FileStates {
 public:
  // At most so many events of the log have happened. The log is borrowed.
  FileStates(const FileLog& log, const FileRules& rules, EventId events, const FlushChanges& changes = {});

  // The versions that each open slot may have, both included.
  struct Ranges {
    std::vector<uint32_t> low, high;
  };
  const Ranges& all() const { return start_; }

  uint32_t low(const Ranges& ranges, SlotId slot) const;
  uint32_t high(const Ranges& ranges, SlotId slot) const;
  // The newest version at this moment, lost or not.
  uint32_t newest(SlotId slot) const { return newest_[slot]; }
  // The version must be in the slot's range.
  void pick(Ranges& ranges, SlotId slot, uint32_t version) const;
  // The value of a version. What was lost before it was ever written is garbage under some rules.
  uint64_t value(SlotId slot, uint32_t version) const;
  // How many states there are in these ranges. A count that takes too long is saturated.
  StateCount count(const Ranges& ranges) const;
  // The slots that may have more than one version.
  std::vector<SlotId> open_slots() const;

 private:
  using Chain = uint32_t;  // a slot; behind the slots, the journal of the rules
  // If `from` is at this version or later, `to` is at that version or later.
  struct Need {
    uint32_t version;
    Chain other;
    uint32_t other_version;
  };
  struct Chains {
    std::vector<std::vector<Need>> needs, needed_by;
  };
  class Builder;
  class Counter;

  static void narrow(const Chains& chains, Ranges& ranges, std::vector<Chain>& changed);
  static constexpr uint32_t kNotOpen = UINT32_MAX;

  const FileLog& log_;
  const FileRules& rules_;
  std::vector<uint32_t> newest_, fixed_;  // by slot; the version of a slot that is not open
  std::vector<Chain> open_;               // the index of a slot in the ranges, or kNotOpen
  std::vector<SlotId> slot_of_;           // by index in the ranges; the journal has none
  Chains chains_;                         // of what is open
  Ranges start_;
};

}  // namespace sisyfs
