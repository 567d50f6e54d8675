// The heap of src/adapters/arena, through a plug-in that uses it.
#include "adapters/plugin/arena/arena.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "adapters/plugin/play_for_test.h"
#include "adapters/plugin/source_location.h"

namespace sisyfs::arena_test {
namespace {

class ArenaTest : public testing::Test {
 protected:
  std::string bytes() const { return {control().base, control().state->used}; }
  sisyfs_arena_control& control() const { return play_.plugin.control(); }
  char* take(size_t size) const { return static_cast<char*>(play_.malloc(size)); }
  void expect_fault(sisyfs_arena_fault fault) const {
    EXPECT_EQ(control().fault, static_cast<uint32_t>(fault));
    control().fault = SISYFS_FAULT_NONE;
  }
  Play play_;
};

TEST_F(ArenaTest, EqualHeapsHaveEqualBytesHoweverTheyCameToBe) {
  const std::string empty = bytes();
  char* a = take(100);
  char* b = take(5000);
  char* c = take(1);
  play_.free(b);
  const std::string a_and_c = bytes();
  EXPECT_EQ(take(5000), b);
  std::memset(b, 7, 5000);
  char* d = take(77);
  play_.free(b);
  play_.free(d);
  EXPECT_EQ(bytes(), a_and_c);
  for (char* const block : {c, a}) play_.free(block);
  EXPECT_EQ(bytes(), empty);
}

// Random blocks are taken and freed, then all but a few are freed in a random order. The heap is that of a
// plug-in which took the same blocks at the same places and nothing else.
TEST_F(ArenaTest, BytesFollowFromTheLiveBlocksAlone) {
  std::mt19937 random(6);
  for (int run = 0; run < 200; ++run) {
    std::map<char*, size_t> live;
    for (int i = 0; i < 60; ++i) {
      const size_t size = random() % 3 == 0 ? random() % 5000 : random() % 100;
      live[random() % 4 == 0 ? static_cast<char*>(play_.aligned(64u << random() % 7, size)) : take(size)] =
          size;
      if (random() % 2 == 0) {
        const auto gone = std::next(live.begin(), static_cast<ptrdiff_t>(random() % live.size()));
        play_.free(gone->first);
        live.erase(gone);
      }
      ASSERT_EQ(play_.plugin.check_heap(), SISYFS_FAULT_NONE);
    }
    uint64_t sum = 0;
    size_t at = 0;
    const std::vector<sisyfs_arena_block> told = play_.plugin.live_blocks();
    ASSERT_EQ(told.size(), live.size() + 0);
    for (const auto& [block, size] : live) {
      EXPECT_EQ(told[at].address, block);
      EXPECT_EQ(told[at++].size, size);
      sum += size;
    }
    EXPECT_EQ(control().state->live_bytes, sum);
    EXPECT_EQ(control().state->live_blocks, live.size());
    std::vector<char*> order;
    for (const auto& [block, size] : live) order.push_back(block);
    std::shuffle(order.begin(), order.end(), random);
    for (char* const block : order) play_.free(block);
    ASSERT_EQ(control().state->used, sizeof(sisyfs_arena_state)) << "no hole is left";
    ASSERT_EQ(control().state->first_hole, 0u);
  }
  for (size_t i = 0; i < 1 << 20; ++i)
    ASSERT_TRUE(i < sizeof(sisyfs_arena_state) || control().base[i] == 0) << i;
}

TEST_F(ArenaTest, BlocksAreAlignedAndHoldWhatTheyShould) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(take(1)) % 16, 0u);
  for (const size_t alignment : {16u, 64u, 512u, 4096u, 65536u})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(play_.aligned(alignment, 10)) % alignment, 0u);
  EXPECT_EQ(play_.aligned(48, 10), nullptr);
  EXPECT_EQ(play_.error(), EINVAL);
  control().fresh_byte = 0xA5;
  EXPECT_EQ(take(9)[8], '\xA5');
  EXPECT_EQ(static_cast<char*>(play_.calloc(3, 3))[8], 0);
  char* block = take(20);
  std::strcpy(block, "kept");
  block = static_cast<char*>(play_.realloc(block, 3000));
  EXPECT_STREQ(block, "kept");
  block = static_cast<char*>(play_.realloc(block, 5));
  EXPECT_STREQ(block, "kept");
  EXPECT_EQ(play_.realloc(block, 0), nullptr);
  EXPECT_EQ(play_.calloc(SIZE_MAX / 2, 3), nullptr);
}

TEST_F(ArenaTest, NthAllocationFailsOnceAndChangesNothing) {
  const std::string before = bytes();
  control().fail_in = 2;
  char* const first = take(10);
  EXPECT_EQ(take(10), nullptr);
  EXPECT_EQ(play_.error(), ENOMEM);
  EXPECT_EQ(control().failed, 1u);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(control().calls, 2u);
  std::strcpy(first, "as it was");
  control().fail_in = 1;
  EXPECT_EQ(play_.realloc(first, 1000), nullptr);
  EXPECT_STREQ(first, "as it was");
  play_.free(first);
  EXPECT_EQ(bytes(), before);
}

TEST_F(ArenaTest, LimitStopsRunawayMemory) {
  control().limit = 1 << 20;
  int blocks = 0;
  while (take(1000) != nullptr && blocks < 100'000) ++blocks;
  EXPECT_GT(blocks, 900);
  EXPECT_LT(blocks, 1100);
  EXPECT_EQ(control().over_limit, 1u);
  EXPECT_EQ(play_.error(), ENOMEM);
  EXPECT_EQ(take(uint64_t{5} << 30), nullptr);
  EXPECT_EQ(control().over_limit, 2u);
}

TEST_F(ArenaTest, FaultsOfTheHeapAreTold) {
  char* const low = take(24);
  char* const block = take(24);
  char* const high = take(24);
  play_.free(block);
  play_.free(block);
  EXPECT_EQ(control().fault_address, block);
  expect_fault(SISYFS_FAULT_NOT_LIVE);
  play_.free(low + 16);
  expect_fault(SISYFS_FAULT_NOT_LIVE);
  static int ours;
  play_.free(&ours);
  expect_fault(SISYFS_FAULT_FOREIGN);

  block[3] = 1;
  EXPECT_EQ(play_.plugin.check_heap(), SISYFS_FAULT_WRITE_AFTER_FREE);
  EXPECT_EQ(control().fault_address, block + 3);
  expect_fault(SISYFS_FAULT_WRITE_AFTER_FREE);
  EXPECT_EQ(take(24), block);
  expect_fault(SISYFS_FAULT_WRITE_AFTER_FREE);
  EXPECT_EQ(block[3], 0);

  block[24] = 1;
  EXPECT_EQ(play_.plugin.check_heap(), SISYFS_FAULT_OVERRUN);
  EXPECT_EQ(control().fault_address, block);
  EXPECT_EQ(control().fault_size, 24u);
  expect_fault(SISYFS_FAULT_OVERRUN);
  play_.free(block);
  expect_fault(SISYFS_FAULT_OVERRUN);

  std::memset(high - 16, 0x55, 16);
  EXPECT_EQ(play_.plugin.check_heap(), SISYFS_FAULT_DAMAGED);
  expect_fault(SISYFS_FAULT_DAMAGED);
}

TEST_F(ArenaTest, DamagedHolesAreToldAndDoNotHang) {
  char* const block = take(100);
  char* const keep = take(100);
  play_.free(block);
  std::memset(block - 16, 0xFF, 16);
  EXPECT_EQ(take(50), nullptr);
  expect_fault(SISYFS_FAULT_DAMAGED);
  play_.free(keep);
  expect_fault(SISYFS_FAULT_DAMAGED);
}

TEST_F(ArenaTest, LeaksAreListedWithWhoTookThem) {
  char* const text = play_.strdup("lost");
  char* const block = take(30);
  const std::vector<sisyfs_arena_block> blocks = play_.plugin.live_blocks();
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].address, text);
  EXPECT_EQ(blocks[0].size, 5u);
  EXPECT_EQ(blocks[1].address, block);
  EXPECT_NE(source_location(blocks[0].caller).find("libc"), std::string::npos);
}

TEST_F(ArenaTest, PrintingLeavesNoTextInMemory) {
  const std::string before = bytes();
  play_.print();
  EXPECT_EQ(bytes(), before);
}

TEST_F(ArenaTest, EdgesAreCountedOnceAndByGuardsTheirNumberIsKnown) {
  std::vector<uint32_t> first(3), second(5);
  for (std::vector<uint32_t>* guards : {&first, &second, &first})  // the last call says nothing new
    play_.guards(guards->data(), guards->data() + guards->size());
  EXPECT_EQ(control().edges_known, 8u);
  EXPECT_EQ(control().edges_reached, 0u);
  const std::vector<uint32_t> numbers = second;
  for (const size_t i : {4, 0, 4, 4}) play_.edge(&second[i]);
  play_.edge(&first[0]);
  EXPECT_EQ(control().edges_reached, 3u);
  EXPECT_EQ(second, numbers) << "guards lie in memory that is saved";
  control().new_edges = 0;
  play_.edge(&first[0]);
  play_.edge(&first[2]);
  EXPECT_EQ(control().new_edges, 1u);
}

}  // namespace
}  // namespace sisyfs::arena_test
