#include "workload/name_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "workload/path.h"

namespace sisyfs::name_pool_test {
namespace {

TEST(NamePoolTest, EachStyleHasEightNamesThatFit) {
  for (const NameStyle style : {NameStyle::kPlain, NameStyle::kLong, NameStyle::kColliding}) {
    for (const uint32_t depth : {1u, 2u, 3u, 8u}) {
      for (const uint64_t max_name : {uint64_t{1}, uint64_t{3}, uint64_t{23}, uint64_t{255}}) {
        const std::vector<std::string> names = names_of(style, max_name, depth);
        EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 8u);
        EXPECT_EQ(names.size(), 8u);
        for (const std::string& name : names) {
          EXPECT_LE(name.size(), max_name);
          EXPECT_LE((name.size() + 1) * depth, Path::kCapacity) << name;
        }
      }
    }
  }
}

TEST(NamePoolTest, PlainNamesAreLetters) {
  EXPECT_EQ(names_of(NameStyle::kPlain, 255, 2).front(), "a");
  EXPECT_EQ(names_of(NameStyle::kPlain, 255, 2)[1], "b");
}

TEST(NamePoolTest, LongNamesUseTheWholeRoomAndDifferAtTheEnd) {
  const std::vector<std::string> limited = names_of(NameStyle::kLong, 9, 2);
  EXPECT_EQ(limited[0], "aaaaaaaaa");
  EXPECT_EQ(limited[1], "aaaaaaaab");
  EXPECT_EQ(names_of(NameStyle::kLong, 255, 1)[0].size(), 46u);
  EXPECT_EQ(names_of(NameStyle::kLong, 255, 2)[0].size(), 22u);
}

uint32_t polynomial(const std::string& text, uint32_t base) {
  uint32_t hash = 5381;
  for (const char c : text) hash = hash * base + static_cast<unsigned char>(c);
  return hash;
}

TEST(NamePoolTest, CollidingNamesCollide) {
  const std::vector<std::string> names = names_of(NameStyle::kColliding, 255, 2);
  std::string one = names[0], two = names[1];
  EXPECT_NE(one, two);
  for (const uint32_t base : {31u, 33u, 37u, 131u, 65599u})
    EXPECT_EQ(polynomial(one, base) % 256, polynomial(two, base) % 256) << base;
  std::sort(one.begin(), one.end());
  std::sort(two.begin(), two.end());
  EXPECT_EQ(one, two) << "the same letters: the same sum, the same xor";
  std::string small = names[2];
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  EXPECT_EQ(small, names[0]) << "the third differs in the case";
  const bool prefix = std::any_of(names.begin() + 1, names.end(), [&](const std::string& name) {
    return name.substr(0, 7) == names[0].substr(0, 7);
  });
  EXPECT_TRUE(prefix);
}

}  // namespace
}  // namespace sisyfs::name_pool_test
