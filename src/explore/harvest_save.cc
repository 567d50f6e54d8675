// Saves a Harvest to a checkpoint (docs/formats/checkpoint.md). harvest_restore.cc reads it.
#include "explore/harvest.h"

namespace sisyfs {

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
    ++saves_.written;
    return;
  }
  if (first) return fail(saved.error());  // not only after hours of searching
  const std::lock_guard lock(trouble_.mutex);
  trouble_.error = saved.error();
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
  std::vector<uint64_t> counts(kCheckpointRegions);
  uint64_t all = 0;
  visited_.for_each([&](const Digest& d) { ++counts[d.hi >> 52], ++all; });
  out.begin(CheckpointSection::kVisited, (kCheckpointRegions + all) * sizeof(uint64_t));
  out.append(counts.data(), kCheckpointRegions * sizeof(uint64_t));
  visited_.for_each([&](const Digest& d) { out.append(&d.lo, sizeof d.lo); });
}

}  // namespace sisyfs
