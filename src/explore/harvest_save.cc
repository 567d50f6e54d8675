// Saves a Harvest to a checkpoint, and restores it (docs/formats/checkpoint.md).
#include "explore/harvest.h"

namespace sisyfs {

namespace {

constexpr size_t kRegions = 4096;  // fingerprints are grouped by their first twelve bits

template <class T>
std::vector<T> copy_of(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

void Harvest::save_if_due(bool first) {
  if (!options_.checkpoint || broken_) return;
  const Stop why = team_.stop_reason();
  const bool cut = over_ && !ended_ && why != Stop::kFinding;
  // In milliseconds: a very long interval has more nanoseconds than can be counted.
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - times_.saved);
  if (!first && !cut && (over_ || since < options_.checkpoint->interval)) return;
  Status saved = save();
  times_.saved = Clock::now();
  if (saved) {
    ++saves_;
    return;
  }
  if (first) return fail(saved.error());  // not only after hours of searching
  const std::lock_guard lock(trouble_mutex_);
  trouble_ = saved.error();
}

Status Harvest::save() const {
  SearchResult sum;
  FirstMet met;
  for (const Hand& hand : hands_) {
    hand.tally.merge_into(sum);
    met.merge(hand.met);
  }
  CheckpointSummary summary{};
  summary.order = options_.order;
  summary.dedup = options_.dedup;
  summary.cursor = cursor_;
  summary.states = sum.states;
  summary.transitions = sum.transitions;
  summary.unexpanded = sum.unexpanded;
  summary.depth = sum.depth;
  summary.findings = sum.findings;
  summary.marks = sum.marks;
  summary.times_found = sum.times_found;
  summary.least_depth = sum.least_depth;
  summary.seconds = seconds();
  met.save(summary);
  Encoder agenda;
  agenda_.save(agenda);

  CheckpointWriter out(*options_.checkpoint);
  out.section(CheckpointSection::kSummary, &summary, sizeof summary);
  out.section(CheckpointSection::kNodes, tree_.nodes(), tree_.size() * sizeof(Node));
  if (tree_.with_depth())
    out.section(CheckpointSection::kDepths, tree_.depths(), tree_.size() * sizeof(uint16_t));
  if (dedup_) save_visited(out);
  out.section(CheckpointSection::kPending, pending_.data() + head_,
              (pending_.size() - head_) * sizeof(Offspring));
  out.section(CheckpointSection::kAgenda, agenda.bytes().data(), agenda.bytes().size());
  return out.finish();
}

void Harvest::save_visited(CheckpointWriter& out) const {
  std::vector<uint64_t> counts(kRegions);
  uint64_t all = 0;
  visited_.for_each([&](const Digest& d) { ++counts[d.hi >> 52], ++all; });
  out.begin(CheckpointSection::kVisited, (kRegions + all) * sizeof(uint64_t));
  out.append(counts.data(), kRegions * sizeof(uint64_t));
  visited_.for_each([&](const Digest& d) { out.append(&d.lo, sizeof d.lo); });
}

std::vector<uint32_t> Harvest::restore_nodes(std::span<const std::byte> nodes,
                                             std::span<const std::byte> depths) {
  const auto saved = copy_of<Node>(nodes);
  const auto deep = copy_of<uint16_t>(depths);
  if (saved.empty() || (tree_.with_depth() && deep.size() != saved.size())) return {};
  std::vector<uint32_t> known(saved.size());
  for (size_t i = 1; i < saved.size(); ++i) {
    if (tree_.full() || saved[i].parent >= i) return {};
    known[i] = known[saved[i].parent] + 1;
    if (tree_.with_depth() && deep[i] != known[i]) return {};
    tree_.add(saved[i].parent, saved[i].choice, known[i]);
  }
  return known;
}

bool Harvest::restore_visited(std::span<const std::byte> bytes) {
  const auto words = copy_of<uint64_t>(bytes);
  if (words.size() < kRegions) return false;
  size_t at = kRegions;
  for (uint64_t region = 0; region < kRegions; ++region) {
    if (words[region] > words.size() - at) return false;
    for (uint64_t i = 0; i < words[region]; ++i, ++at) {
      if (visited_.crowded(at - kRegions)) visited_.grow(options_.bounds.memory_bytes, options_.threads);
      const Digest print{region << 52, words[at]};
      Seen seen = visited_.insert(print);
      while (seen == Seen::kNoRoom && visited_.grow(options_.bounds.memory_bytes, options_.threads))
        seen = visited_.insert(print);
      if (seen != Seen::kNew) return false;
    }
  }
  return at == words.size();
}

Status Harvest::restore(const LoadedCheckpoint& from) {
  const Error misfit =
      bad_input("the checkpoint does not fit this search, or needs more memory than its bound allows");
  if (options_.checkpoint)
    if (Status same = from.matches(options_.checkpoint->identity); !same) return same;
  CheckpointSummary summary;
  Decoder in(from.section(CheckpointSection::kSummary));
  in.get(summary);
  if (!in.done() || summary.order != options_.order || summary.dedup != options_.dedup) return misfit;
  const std::vector<uint32_t> depths =
      restore_nodes(from.section(CheckpointSection::kNodes), from.section(CheckpointSection::kDepths));
  if (depths.empty()) return misfit;
  if (!hands_[0].met.restore(summary, tree_.size())) return misfit;
  Decoder agenda(from.section(CheckpointSection::kAgenda));
  if (!agenda_.restore(agenda, depths) || !agenda.done()) return misfit;
  if (dedup_ && !restore_visited(from.section(CheckpointSection::kVisited))) return misfit;
  pending_ = copy_of<Offspring>(from.section(CheckpointSection::kPending));
  for (const Offspring& candidate : pending_)
    if (candidate.parent >= tree_.size() || depths[candidate.parent] != depth_of(candidate.parent))
      return misfit;
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
