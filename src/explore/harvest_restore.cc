// Restores a Harvest from a checkpoint (docs/formats/checkpoint.md).
//
// A checksum says that a file is whole. It does not say who wrote it. So every number is compared with the
// others before it is used. What only an execution can show is checked when it is executed: that a node has
// its choice (Harvest::report_lost), and that a finding happens (Generations).
#include <cmath>

#include "explore/harvest.h"

namespace sisyfs {

namespace {

Error misfit(const char* why) {
  return bad_input(std::string("the checkpoint does not fit this search: ") + why);
}

Error no_room() {
  return bad_input("the checkpoint needs more memory than its bound allows: increase --memory");
}

// False where there is a rest.
template <class T>
bool copy(std::span<const std::byte> bytes, std::vector<T>& values) {
  if (bytes.size() % sizeof(T) != 0) return false;
  values.resize(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return true;
}

}  // namespace

bool Harvest::has_all_sections(const LoadedCheckpoint& from) const {
  for (const CheckpointSection which :
       {CheckpointSection::kSetup, CheckpointSection::kSummary, CheckpointSection::kNodes,
        CheckpointSection::kPending, CheckpointSection::kAgenda})
    if (!from.has(which)) return false;
  return from.has(CheckpointSection::kDepths) == tree_.with_depth() &&
         from.has(CheckpointSection::kVisited) == dedup_;
}

Status Harvest::restore_nodes(const LoadedCheckpoint& from, std::vector<uint32_t>& depths) {
  std::vector<Node> saved;
  std::vector<uint16_t> deep;
  if (!copy(from.section(CheckpointSection::kNodes), saved) ||
      !copy(from.section(CheckpointSection::kDepths), deep) || saved.empty() ||
      (tree_.with_depth() && (deep.size() != saved.size() || deep[0] != 0)))
    return misfit("its list of nodes has another size");
  depths.assign(saved.size(), 0);
  for (size_t i = 1; i < saved.size(); ++i) {
    if (tree_.full()) return no_room();
    const uint32_t parent = saved[i].parent;
    if (parent >= i) return misfit("a node comes before its parent");
    depths[i] = depths[parent] + 1;
    if (depths[i] >= depth_bound_ || (tree_.with_depth() && deep[i] != depths[i]))
      return misfit("a node is not as deep as it should be");
    tree_.add(parent, saved[i].choice, depths[i]);
  }
  return {};
}

// A state is a node, or lies at the bound on depth. A kind of finding has a count and a first transition.
bool Harvest::summary_fits(const CheckpointSummary& s, const std::vector<uint32_t>& depths) const {
  const uint32_t deepest = *std::max_element(depths.begin(), depths.end());
  if (s.unexpanded > s.states || s.states - s.unexpanded != depths.size()) return false;
  if (s.transitions < s.states - 1 || s.depth != (s.unexpanded == 0 ? deepest : depth_bound_)) return false;
  if (!std::isfinite(s.seconds) || s.seconds < 0) return false;
  if (s.findings != s.met || (s.findings & ~options_.possible) != 0) return false;
  for (size_t kind = 0; kind < SearchResult::kKinds; ++kind) {
    if ((s.findings >> kind & 1) == 0) continue;
    if (s.times_found[kind] == 0 || s.times_found[kind] > s.transitions) return false;
    if (s.least_depth[kind] != s.first_met[kind].depth) return false;
  }
  return s.cursor <= agenda_.size();
}

Status Harvest::restore_visited(std::span<const std::byte> bytes, uint64_t states) {
  std::vector<uint64_t> words;
  const Error wrong = misfit("its visited states are not as many as it says");
  if (!copy(bytes, words) || words.size() < kCheckpointRegions || words.size() - kCheckpointRegions != states)
    return wrong;
  size_t at = kCheckpointRegions;
  for (uint64_t region = 0; region < kCheckpointRegions; ++region) {
    if (words[region] > words.size() - at) return wrong;
    for (uint64_t i = 0; i < words[region]; ++i, ++at) {
      if (visited_.crowded(at - kCheckpointRegions))
        visited_.grow(options_.bounds.memory_bytes, options_.threads);
      const Digest print{region << 52, words[at]};
      Seen seen = visited_.insert(print);
      while (seen == Seen::kNoRoom && visited_.grow(options_.bounds.memory_bytes, options_.threads))
        seen = visited_.insert(print);
      if (seen == Seen::kNoRoom) return no_room();
      if (seen != Seen::kNew) return misfit("a visited state is there twice");
    }
  }
  return at == words.size() ? Status() : wrong;
}

// Successors that wait come from nodes that were expanded in this generation.
bool Harvest::restore_pending(std::span<const std::byte> bytes, const CheckpointSummary& summary) {
  if (!copy(bytes, pending_)) return false;
  uint32_t before = 0;
  for (const Offspring& candidate : pending_) {
    if (candidate.zero != 0 || candidate.parent < before) return false;
    if (!agenda_.is_among_first(candidate.parent, summary.cursor)) return false;
    before = candidate.parent;
  }
  return true;
}

Status Harvest::restore(const LoadedCheckpoint& from) {
  if (options_.checkpoint)
    if (Status same = from.matches(options_.checkpoint->identity); !same) return same;
  CheckpointSummary summary;
  Decoder in(from.section(CheckpointSection::kSummary));
  in.get(summary);
  if (!in.done() || summary.zero != std::array<uint8_t, 6>{} || summary.order != options_.order ||
      summary.dedup != options_.dedup || !has_all_sections(from))
    return misfit("it is of another kind of search");
  std::vector<uint32_t> depths;
  if (Status nodes = restore_nodes(from, depths); !nodes) return nodes;
  Decoder agenda(from.section(CheckpointSection::kAgenda));
  if (!agenda_.restore(agenda, depths) || !agenda.done()) return misfit("its agenda is not one of its nodes");
  if (!summary_fits(summary, depths) || !hands_[0].met.restore(summary, depths))
    return misfit("its counts and findings contradict its nodes");
  if (!restore_pending(from.section(CheckpointSection::kPending), summary))
    return misfit("a successor that waits has no parent in this generation");
  if (dedup_)
    if (Status seen = restore_visited(from.section(CheckpointSection::kVisited), summary.states); !seen)
      return seen;
  cursor_ = summary.cursor;
  Tally& tally = hands_[0].tally;
  tally.states = summary.states;
  tally.transitions = summary.transitions;
  tally.unexpanded = summary.unexpanded;
  tally.depth = summary.depth;
  tally.findings = summary.findings;
  tally.marks = summary.marks;
  tally.times_found = summary.times_found;
  tally.least_depth = summary.least_depth;
  times_.seconds_before = summary.seconds;
  return {};
}

}  // namespace sisyfs
