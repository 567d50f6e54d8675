#include "disk/pool.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sisyfs::pool_test {
namespace {

TEST(PoolTest, MemoryGivenBackIsTakenAgainByItsSizeClassOnly) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the pool steps aside under a sanitizer";
#endif
  for (size_t bytes : {1u, 100u, 512u, 513u, 4128u}) {
    void* first = pool_take(bytes);
    pool_give(first, bytes);
    void* other = pool_take(bytes + 64);
    EXPECT_NE(other, first) << bytes;
    void* second = pool_take(bytes);
    EXPECT_EQ(second, first) << bytes;
    pool_give(second, bytes);
    pool_give(other, bytes + 64);
  }
}

TEST(PoolTest, MemoryMayBeGivenBackOnAnotherThread) {
  std::vector<char*> taken;
  for (int i = 0; i < 100; i++) {
    taken.push_back(static_cast<char*>(pool_take(40)));
    taken.back()[39] = static_cast<char>(i);
  }
  std::thread([&] {
    for (char* memory : taken) pool_give(memory, 40);
    char* again = static_cast<char*>(pool_take(40));
    EXPECT_NE(again, nullptr);
    again[39] = 1;
    pool_give(again, 40);
  }).join();  // the leak checker of the asan build sees whether the thread's lists were freed
}

}  // namespace
}  // namespace sisyfs::pool_test
