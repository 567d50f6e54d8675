// Step: one thing that was done to a system under check, and what was made to go wrong in it.
//
// A list of steps says everything that is needed to do a run again, by names and not by ordinals of a search:
// an op with its arguments, a failing access, and power cuts that name each event that was lost. So a list
// stays meaningful when a step is removed by hand, in another build, or after the target was changed.
//
//   Step write{.id = 2, .op = "append /a 512"};
//   write.cuts.push_back({.after = 1, .lost = {{{.step = 2, .nth = 1, .address = 7}, {}}}});
//
// The steps of a run have ids, which stay as they are when a step is removed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sisyfs {

// An event (write, discard or flush) of a run, by what it is.
struct EventName {
  // The id of the step during which it was issued; 0: the start (format and first mount). Of the start those
  // events have names that were not durable at its end.
  uint32_t step = 0;
  uint32_t cut = 0;      // 0: issued by the op; n: by the recovery after the step's nth power cut
  uint32_t nth = 0;      // its number among the events of that op or recovery, from 1
  uint32_t disk = 0;     // of the media
  uint64_t address = 0;  // its first block on that disk

  friend bool operator==(const EventName&, const EventName&) = default;
};

// An event of which a power cut lost something.
struct LostEvent {
  EventName event;
  // Empty: all of it was lost. Otherwise it was torn, and these parts of it were lost: the units of the
  // device by the offset of their first block in the write, rising; on raw flash and on a device that
  // scatters writes the stages of the write, from 0.
  std::vector<uint32_t> parts;

  friend bool operator==(const LostEvent&, const LostEvent&) = default;
};

// The power goes during an op, right after it, or during recovery.
struct PowerCut {
  uint32_t after = 0;     // events of the op, or of the recovery, that had been issued
  uint32_t promises = 0;  // promises that the op had made by then; its return is the last one
  // Of the events that were not durable: those that did not survive, in the order in which they were issued.
  // All others survived.
  std::vector<LostEvent> lost;

  friend bool operator==(const PowerCut&, const PowerCut&) = default;
};

// A call into the system below that was made to fail.
struct InjectedFailure {
  enum class Kind : uint8_t { kNone, kDiskAccess, kAllocation };
  Kind kind = Kind::kNone;
  uint32_t nth = 0;  // of the op, from 1

  friend bool operator==(const InjectedFailure&, const InjectedFailure&) = default;
};

struct Step {
  enum class Kind : uint8_t {
    kOp,        // a whole op, perhaps with power cuts
    kBegin,     // a task begins an op, which others may interleave with
    kAdvance,   // the op of a task in flight goes on to its next write, or returns
    kPowerCut,  // the power goes between the steps of the tasks
  };

  uint32_t id = 0;  // unique in a run, rising, from 1
  Kind kind = Kind::kOp;
  uint32_t task = 0;  // of interleaved tasks
  std::string op;     // in the words of a workload: "append /a 512"; of kPowerCut: empty
  InjectedFailure failure;
  // The first goes off during the op, the next during the recovery from the one before it.
  std::vector<PowerCut> cuts;

  friend bool operator==(const Step&, const Step&) = default;
};

}  // namespace sisyfs
