#include "disk/image.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace sisyfs::image_test {
namespace {

using Bytes = std::vector<std::byte>;

Geometry shape(uint32_t block_size, uint64_t blocks) { return {block_size, BlockCount(blocks)}; }

Bytes filled(size_t size, int value) { return Bytes(size, static_cast<std::byte>(value)); }

TEST(ImageTest, FreshImageIsZeroAndItsDigestDependsOnTheGeometryAlone) {
  const Image image(shape(4, 20));
  EXPECT_EQ(image.bytes(), filled(80, 0));
  EXPECT_EQ(image.digest(), Image(shape(4, 20)).digest());
  EXPECT_NE(image.digest(), Image(shape(4, 21)).digest());
  EXPECT_NE(image.digest(), Image(shape(8, 10)).digest()) << "as many bytes, but other blocks";
}

TEST(ImageTest, CopiesAreIndependentValues) {
  Image a(shape(4, 300));
  a.write(BlockAddress(299), filled(4, 1));
  Image b = a;
  b.write(BlockAddress(299), filled(4, 2));
  b.write(BlockAddress(0), filled(4, 3));
  EXPECT_EQ(a.block(BlockAddress(299))->bytes()[0], std::byte{1});
  EXPECT_EQ(a.block(BlockAddress(0)), nullptr);
  EXPECT_EQ(b.block(BlockAddress(299))->bytes()[0], std::byte{2});
}

TEST(ImageTest, WritingBackTheOldContentRestoresTheDigest) {
  Image image(shape(512, 64));
  const Digest empty = image.digest();
  image.write(BlockAddress(7), filled(512, 9));
  EXPECT_NE(image.digest(), empty);
  image.write(BlockAddress(7), filled(512, 0));
  EXPECT_EQ(image.digest(), empty);
}

TEST(ImageTest, EqualBlocksInOtherPlacesAreAnotherImage) {
  Image a(shape(4, 16)), b(shape(4, 16));
  a.write(BlockAddress(1), filled(4, 5));
  b.write(BlockAddress(2), filled(4, 5));
  EXPECT_NE(a, b);
}

TEST(ImageTest, EqualBlocksShareMemoryAndZeroBlocksTakeNone) {
  Image image(shape(64, 16));
  image.write(BlockAddress(1), filled(64, 5));
  image.write(BlockAddress(9), filled(64, 5));
  EXPECT_EQ(image.block(BlockAddress(1)), image.block(BlockAddress(9)));
  image.write(BlockAddress(9), filled(64, 0));
  EXPECT_EQ(image.block(BlockAddress(9)), nullptr);
}

TEST(ImageTest, AnUnsharedImageHasEqualBlocksElsewhere) {
  Image image(shape(4, 300));
  for (const uint64_t at : {0u, 17u, 299u})
    image.write(BlockAddress(at), filled(4, static_cast<int>(at % 200 + 1)));
  const Image copy = image.unshared();
  EXPECT_EQ(copy, image);
  EXPECT_EQ(copy.bytes(), image.bytes());
  EXPECT_NE(copy.block(BlockAddress(17)), image.block(BlockAddress(17)));
  EXPECT_EQ(copy.block(BlockAddress(18)), nullptr);
  image.write(BlockAddress(17), filled(4, 9));
  EXPECT_EQ(copy.block(BlockAddress(17))->bytes()[0], std::byte{18});
  EXPECT_EQ(Image(shape(4, 300)).unshared(), Image(shape(4, 300)));
}

TEST(ImageTest, DifferencesLeadFromOneImageToTheOther) {
  std::mt19937_64 random(3);
  const Geometry geometry = shape(8, 1000);
  Image from(geometry);
  for (int i = 0; i < 300; ++i)
    from.write(BlockAddress(random() % 1000), filled(8, static_cast<int>(random() % 3)));
  Image to = from;
  for (int i = 0; i < 20; ++i)
    to.write(BlockAddress(random() % 1000), filled(8, static_cast<int>(random() % 3)));
  for (const auto& [a, b] : {std::pair(from, to), std::pair(to, from), std::pair(Image(geometry), to)}) {
    Image made = a;
    uint64_t last = 0;
    a.differences(b, [&, first = &a](BlockAddress address, const Block* block) {
      EXPECT_FALSE(same_content(first->block(address), block));
      EXPECT_TRUE(address.value > last || last == 0) << "in order";
      last = address.value;
      made.set(address, BlockRef::share(block));
    });
    EXPECT_EQ(made.bytes(), b.bytes());
  }
}

TEST(ImageTest, WhatWasMovedFromIsAnEmptyDisk) {
  Image a(shape(4, 16));
  a.write(BlockAddress(1), filled(4, 5));
  const Image b = std::move(a);
  EXPECT_EQ(b.block(BlockAddress(1))->bytes()[0], std::byte{5});
  EXPECT_EQ(a, Image(shape(4, 16)));  // NOLINT: the state after a move is part of the contract
}

// Random writes and copies among a few images, each with a plain array beside it. Few different blocks
// are written, so that images often meet again by other ways.
class ImageProperty : public testing::TestWithParam<Geometry> {};

TEST_P(ImageProperty, DigestsAreEqualExactlyWhenBytesAre) {
  const Geometry geometry = GetParam();
  const size_t size = geometry.block_size, blocks = geometry.block_count.value;
  std::mt19937_64 random(20 + size);
  std::vector<Image> images(4, Image(geometry));
  std::vector<Bytes> plain(images.size(), Bytes(size * blocks));
  const std::vector<size_t> places = {0, blocks / 2, blocks - 1};
  size_t equal_pairs = 0, unequal_pairs = 0;
  for (int step = 0; step < 1500; step++) {
    const size_t i = random() % images.size(), j = random() % images.size();
    if (random() % 4 == 0) {
      images[i] = images[j];
      plain[i] = plain[j];
    } else {
      const size_t at = places[random() % places.size()];
      Bytes content(size);  // differs from zero in its last byte at most
      content.back() = static_cast<std::byte>(random() % 3);
      images[i].write(BlockAddress(at), content);
      std::copy(content.begin(), content.end(), plain[i].begin() + at * size);
    }
    ASSERT_EQ(images[i].bytes(), plain[i]) << "step " << step;
    for (size_t other = 0; other < images.size(); other++) {
      const bool same = plain[i] == plain[other];
      ASSERT_EQ(images[i].digest() == images[other].digest(), same) << "step " << step;
      (same ? equal_pairs : unequal_pairs) += other != i;
    }
  }
  EXPECT_GT(equal_pairs, 50u);
  EXPECT_GT(unequal_pairs, 50u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ImageProperty,
                         testing::Values(shape(1, 1), shape(1, 300), shape(4, 16), shape(4, 17),
                                         shape(512, 5), shape(2, 1025)));

TEST(ImageTest, ThreadsMayCopyChangeAndDropImagesThatShareContent) {
  Image shared(shape(8, 100));
  for (uint64_t i = 0; i < 100; i++) shared.write(BlockAddress(i), filled(8, static_cast<int>(i) + 1));
  const Digest before = shared.digest();
  std::vector<Digest> results(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); t++) {
    threads.emplace_back([&, t, own = shared]() mutable {
      for (int round = 0; round < 200; round++) {
        Image copy = own;
        copy.write(BlockAddress((round * 7 + t) % 100), filled(8, 200));
        if (round % 3 == 0) own = copy;
      }
      for (uint64_t i = 0; i < 100; i++) own.write(BlockAddress(i), filled(8, 77));
      results[t] = own.digest();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.digest(), before);
  for (uint64_t i = 0; i < 100; i++) shared.write(BlockAddress(i), filled(8, 77));
  for (const Digest& result : results) EXPECT_EQ(result, shared.digest());
}

}  // namespace
}  // namespace sisyfs::image_test
