#include "finding/step_recorder.h"

#include <utility>

namespace sisyfs {

uint32_t EventParts::unit_of(const Epoch& epoch, const Epoch::Piece& piece, uint64_t address) {
  const Epoch::Slot& slot = epoch.slots()[piece.first_slot];
  return static_cast<uint32_t>(epoch.blocks()[slot.block_index].address.value - address);
}

void StepRecorder::add(bool last) {
  Machine& machine = worker_.machine();
  const Episode& episode = machine.episode();
  Step step;
  step.id = static_cast<uint32_t>(steps_.size()) + 1;
  step.op = to_text(episode.op);
  if (episode.failed) step.failure = episode.failure;
  steps_.push_back(std::move(step));
  if (worker_.from_damaged()) return;
  // What the op read of earlier power cuts.
  if (machine.ways().has_undecided())
    add_lost(machine.ways().undecided().epoch(), machine.ways().undecided().known());
  const Log& log = machine.disk().log;
  if (steps_.size() == 1) names_.add(log, 0, log.base(), 0, 0);  // of the start; those of the op follow
  names_.add(log, episode.events_before, log.base(), steps_.back().id, 0);
  if (!worker_.is_cut()) return;
  for (uint32_t level = 0; level <= machine.cuts().level(); ++level) add_cut(level, last);
  const Recovery& recovered = machine.cuts().recovered();
  if (recovered.alive)
    names_.add(recovered.log, 0, machine.cuts().serial_of_recovery(), steps_.back().id,
               machine.cuts().level() + 1);
}

void StepRecorder::add_cut(uint32_t level, bool last) {
  Machine& machine = worker_.machine();
  const PowerCuts::Cut cut = machine.cuts().cut(level, last);
  const Log& log = cut.log == nullptr ? machine.disk().log : *cut.log;
  if (level != 0) names_.add(log, 0, cut.base, steps_.back().id, level);
  PowerCut named;
  log.events(events_);
  for (size_t i = level == 0 ? machine.episode().events_before : 0; i < cut.event; ++i)
    named.after += is_named(*events_[i]) ? 1 : 0;
  // The write itself had been issued.
  if (cut.reason == CrashPointReason::kBeforeFua) ++named.after;
  named.promises = static_cast<uint32_t>(cut.promises);
  steps_.back().cuts.push_back(std::move(named));
  add_doubts(*cut.epoch);
  add_lost(*cut.epoch, cut.kept);
}

// The writes that the last power cut put in doubt.
void StepRecorder::add_doubts(const Epoch& epoch) {
  for (size_t p = epoch.frozen_pieces(); p < epoch.pieces().size(); ++p) {
    Doubt& doubt = doubts_[epoch.writes()[epoch.pieces()[p].write].serial];
    doubt.step = steps_.size() - 1;
    doubt.cut = steps_.back().cuts.size() - 1;
    ++doubt.parts;
  }
}

// Stages of a write lie on one chain. An epoch that was narrowed holds those that are still undecided: the
// known ones were dropped at both ends.
void StepRecorder::add_lost(const Epoch& epoch, std::span<const Epoch::KeptRange> kept) {
  const bool stages = EventParts::are_stages(epoch.model());
  std::map<uint64_t, uint32_t> seen, surely_kept;  // pieces, by serial number
  for (const Epoch::Piece& piece : epoch.pieces()) {
    const uint64_t serial = epoch.writes()[piece.write].serial;
    const auto doubt = doubts_.find(serial);
    if (doubt == doubts_.end()) continue;
    const uint32_t part = stages ? doubt->second.known_stages + seen[serial]++
                                 : EventParts::unit_of(epoch, piece, names_.address(serial));
    if (piece.rank >= kept[piece.chain].most) doubt->second.lost.insert(part);
    if (piece.rank < kept[piece.chain].least) ++surely_kept[serial];
  }
  for (const auto& [serial, count] : surely_kept) doubts_[serial].known_stages += count;
}

std::vector<Step> StepRecorder::take() {
  for (const auto& [serial, doubt] : doubts_) {
    if (doubt.lost.empty()) continue;
    LostEvent lost{names_.at(serial), {}};
    if (doubt.lost.size() < doubt.parts) lost.parts.assign(doubt.lost.begin(), doubt.lost.end());
    steps_[doubt.step].cuts[doubt.cut].lost.push_back(std::move(lost));
  }
  return std::move(steps_);
}

}  // namespace sisyfs
