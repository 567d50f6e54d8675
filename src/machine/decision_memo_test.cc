#include "machine/decision_memo.h"

#include <gtest/gtest.h>

#include <vector>

namespace sisyfs::decision_memo_test {
namespace {

constexpr Geometry kFlash{.block_size = 8, .block_count = BlockCount(8), .erase_blocks = 2};

Image erased() {
  Image image(kFlash);
  for (uint64_t i = 0; i < kFlash.block_count.value; ++i)
    image.set(BlockAddress(i), filled_block(kFlash.block_size, kErased));
  return image;
}

// Programs of these pages, in doubt on an erased flash.
Epoch epoch_of(const std::vector<uint64_t>& pages, char byte = 'x') {
  DeviceModel model = *DeviceModel::preset("nand");
  Media media(erased());
  const std::vector<std::byte> bytes(kFlash.block_size, std::byte(byte));
  Epoch epoch(model, media.state().current);
  for (const uint64_t page : pages) EXPECT_EQ(media.write(BlockAddress(page), bytes), IoStatus::kOk);
  std::vector<const Event*> events;
  for (const Event* event : media.state().log.events(events)) epoch.add(*event);
  return epoch;
}

// Reads all pages, and puts an answer with that many reads. Returns whether it was known.
class Reader {
 public:
  // Of each run: whether it was known. The answers are checked.
  std::vector<bool> read(const Epoch& epoch, const std::vector<uint64_t>& pages) {
    std::vector<bool> known;
    LazyStates run(epoch);
    while (run.next()) {
      const size_t choices = run.choices();
      const DecisionMemo::Entry* entry = memo_.find(run);
      known.push_back(entry != nullptr);
      if (entry == nullptr) run.forget(choices);
      std::vector<BlockAddress> reads;
      Digest seen;
      for (const uint64_t page : pages) reads.emplace_back(page);
      // A hit has come by the choices of the run already.
      if (entry != nullptr) run.rewind();
      for (const BlockAddress at : reads) seen += identity(at, run.block(at));
      if (entry != nullptr) {
        EXPECT_EQ(entry->answer.tree.digest(), tree_of(seen).digest());
        continue;
      }
      Recovery answer;
      answer.tree = tree_of(seen);
      memo_.put(run, reads, answers_.put({}, run_of(seen), {}, std::move(answer)));
    }
    return known;
  }

 private:
  struct Nothing {
    const Block* block(BlockAddress) const { return nullptr; }
  };
  Nothing run_of(const Digest&) const { return {}; }
  static Tree tree_of(const Digest& seen) {
    Tree tree;
    EXPECT_EQ(tree.create("/" + std::to_string(seen.lo)), 0);
    return tree;
  }

  DecisionMemo memo_{10};
  ReadMemo<Recovery> answers_{8};
};

TEST(DecisionMemoTest, EachRunIsKnownTheSecondTime) {
  Reader reader;
  const std::vector<uint64_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<bool> first = reader.read(epoch_of({2}), all), second = reader.read(epoch_of({2}), all);
  EXPECT_EQ(first.size(), 4u) << "erased, half, unreadable, programmed";
  EXPECT_EQ(first, std::vector<bool>(4, false));
  EXPECT_EQ(second, std::vector<bool>(4, true));
}

// What is read at another time of the run is at its own number there.
TEST(DecisionMemoTest, OtherContentsAndOtherBlocksInDoubtAreOtherRuns) {
  Reader reader;
  const std::vector<uint64_t> all = {7, 6, 5, 4, 3, 2, 1, 0};
  (void)reader.read(epoch_of({2}), all);
  const std::vector<bool> other_page = reader.read(epoch_of({3}), all);
  EXPECT_EQ(other_page, std::vector<bool>(4, false));
  const std::vector<bool> other_bytes = reader.read(epoch_of({2}, 'y'), all);
  EXPECT_EQ(other_bytes, (std::vector<bool>{false, true, false, true})) << "unreadable and erased are known";
  const std::vector<bool> both = reader.read(epoch_of({2, 3}), all);
  EXPECT_EQ(both, std::vector<bool>(7, false)) << "the other page is in doubt too";
}

}  // namespace
}  // namespace sisyfs::decision_memo_test
