// The fixed parts of a checkpoint file, as they are in the file. docs/formats/checkpoint.md describes them;
// checkpoint_layout_test.cc compares the two. A change here needs a new kCheckpointVersion.
#pragma once

#include <array>
#include <cstdint>

#include "explore/node_tree.h"
#include "explore/search.h"

namespace sisyfs {

inline constexpr char kCheckpointMagic[8] = {'S', 'I', 'S', 'Y', 'F', 'S', 'C', 'P'};
inline constexpr uint32_t kCheckpointVersion = 2;
inline constexpr uint32_t kCheckpointByteOrder =
    0x01020304;  // another number on a machine of the other order

inline constexpr size_t kCheckpointRegions = 4096;  // visited words are grouped by their first twelve bits

enum class CheckpointSection : uint32_t {
  kEnd = 0,
  kSetup = 1,    // the text of CheckpointOptions::setup
  kSummary = 2,  // CheckpointSummary
  kNodes = 3,    // a Node for each node of the tree
  kDepths = 4,   // best-first: the depth of each node
  kVisited = 5,  // the visited set
  kPending = 6,  // an Offspring for each successor that was generated and not yet looked up
  kAgenda = 7,   // the current generation and the nodes of later ones
};

struct CheckpointHeader {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;
  Digest identity;
};
static_assert(sizeof(CheckpointHeader) == 32);

struct CheckpointSectionHead {
  CheckpointSection number;
  uint32_t zero;
  uint64_t size;
};
static_assert(sizeof(CheckpointSectionHead) == 16);

// A transition in the tree: from the node `parent` by `choice` to a state at `depth`.
struct FirstTransition {
  uint32_t depth;
  uint32_t parent;
  Choice choice;
};
static_assert(sizeof(FirstTransition) == 16);

// A successor that may be new.
struct Offspring {
  Digest print;
  Choice choice;
  uint32_t parent;
  uint32_t marks;
  uint16_t work;
  uint16_t new_edges;
  uint32_t zero = 0;
};
static_assert(sizeof(Offspring) == 40);

struct CheckpointSummary {
  SearchOrder order;
  Dedup dedup;
  std::array<uint8_t, 6> zero;
  uint64_t cursor;
  uint64_t states;
  uint64_t transitions;
  uint64_t unexpanded;
  FindingBits findings;
  uint32_t depth;
  uint32_t marks;
  std::array<uint64_t, SearchResult::kKinds> times_found;
  std::array<uint32_t, SearchResult::kKinds> least_depth;
  double seconds;
  FindingBits met;
  std::array<FirstTransition, SearchResult::kKinds> first_met;
};
static_assert(sizeof(CheckpointSummary) == 1864);

}  // namespace sisyfs
