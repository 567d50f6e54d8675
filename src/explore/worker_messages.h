// What a search and its workers elsewhere say to each other (worker_link.h).
//
//   search                          worker
//   Begin                   ──▶
//                           ◀──     Ready, or Refused
//   Expand                  ──▶
//                           ◀──     Part (kMore), … Part (kDone)      or Lost
//   Walk                    ──▶
//                           ◀──     Walked (kMore), … Walked (kDone)
//   Stop                    ──▶
//                           ◀──     Part or Walked (kCut), if it was at work
//   End                     ──▶
//                           ◀──     Account
//
// A second Expand or Walk may be sent before the first one is answered, so that the worker never waits. The
// path to a state is sent as the difference from the path before: how many of its choices stay, and those
// that follow. Both ends are the same program, so that messages have no version.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "explore/search.h"
#include "explore/team.h"

namespace sisyfs::message {

struct Begin {
  SearchOrder order;
  Dedup dedup;
  PrintKind prints;
  uint32_t shape_ops;
};
struct Ready {
  Digest initial;  // the fingerprint of the initial state
};
struct Refused {
  std::string why;
};
// States to expand, each by the path to it.
struct Expand {
  struct Path {
    uint32_t kept = 0;   // choices of the path before that stay
    uint32_t added = 0;  // choices after them, in Expand::added
  };
  std::vector<Path> paths;
  std::vector<Choice> added;
};
// The search has ended. The worker gives up what it does and ignores further states.
struct Stop {};
struct End {};
// The path of an Expand asks for a choice that its state does not have.
struct Lost {};

// Takes one random walk.
struct Walk {
  WalkOptions options;
  uint64_t number;
  uint32_t length;
};

// Whether more of an answer follows.
enum class Ends : uint8_t {
  kMore,  // more parts follow
  kDone,  // this is the last one
  kCut,   // this is the last one, because the worker was told to stop
};

// Some successors of the states of an Expand.
struct Part {
  using Ends = message::Ends;
  struct Successor {
    Digest print;
    Choice choice;
    uint32_t state;  // that it is a successor of: its number in the Expand
    uint32_t marks;
    uint16_t work;
    uint16_t new_edges;
    uint32_t zero = 0;
  };
  static_assert(sizeof(Successor) == 40);
  struct Shown {
    FindingBits findings;
    Choice choice;
    uint64_t state;
  };
  Ends ends = Ends::kMore;
  uint64_t transitions = 0;
  uint32_t marks = 0;                 // of all transitions
  std::vector<uint64_t> mark_counts;  // by mark; empty for an order that does not need them
  std::vector<Successor> successors;  // those that the worker has not sent before
  std::vector<Shown> shown;           // transitions with findings
  CrashCounts counts;                 // of the whole Expand, in its last part
};

// What was met on a part of a walk.
struct Walked {
  // The end of the shortest way to a kind of finding.
  struct Met {
    uint32_t kind;
    uint32_t length;  // of its trace, in Walked::choices
  };
  Ends ends = Ends::kMore;
  Tally tally;                 // of this part; its states are in `prints`
  std::vector<Digest> prints;  // of successors
  std::vector<Met> met;        // of the walk so far
  std::vector<Choice> choices;
  CrashCounts counts;  // of the whole walk, in its last part
};

// What a worker knows at the end.
struct Account {
  std::optional<EdgeCount> edges;
  std::string trouble;  // why its results cannot be relied on; empty: they can
};

using Any = std::variant<Begin, Ready, Refused, Expand, Walk, Stop, End, Lost, Part, Walked, Account>;

// As bytes.
std::vector<std::byte> encode(const Any& message);
// From bytes; nothing if they are no message.
std::optional<Any> decode(std::span<const std::byte> bytes);

}  // namespace sisyfs::message
