#include "machine/decision_memo.h"

#include "base/mutant.h"

namespace sisyfs {
namespace {

Digest start_of(const Epoch& epoch) {
  Digest start = digest_at(1, epoch.durable().digest());
  if (mutant(Mutant::kDecisionsByImage)) return start;
  for (const Epoch::BlockVersions& block : epoch.blocks())
    start += digest_at(2, digest_at(block.address.value, Digest{1, 1}));
  return start;
}

Digest further(const Digest& path, uint32_t read, BlockAddress address, const Block* block) {
  return digest_at(read, path) + identity(address, block);
}

}  // namespace

const DecisionMemo::Entry* DecisionMemo::find(LazyStates& run) {
  Digest path = start_of(run.epoch());
  for (;;) {
    const Step* step = steps_.find(path);
    if (step == nullptr) return nullptr;
    if (step->entry != nullptr) return step->entry->key == step->key ? step->entry : nullptr;
    run.skip_to(step->read - 1);
    path = further(path, step->read, step->address, run.block(step->address));
  }
}

void DecisionMemo::put(const LazyStates& run, std::span<const BlockAddress> reads, const Entry& entry) {
  Digest path = start_of(run.epoch());
  BlockRef block;
  for (uint32_t i = 0; i < reads.size(); ++i) {
    if (!run.known_block(reads[i], &block)) continue;
    steps_.put(path) = {reads[i], i + 1, nullptr, {}};
    path = further(path, i + 1, reads[i], block.get());
  }
  steps_.put(path) = {{}, 0, &entry, entry.key};
}

}  // namespace sisyfs
