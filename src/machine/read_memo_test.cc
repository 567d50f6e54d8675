#include "machine/read_memo.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "disk/media.h"

namespace sisyfs::read_memo_test {
namespace {

constexpr uint64_t kBlocks = 40;
constexpr Geometry kGeometry{16, BlockCount(kBlocks)};

// Reads some blocks; what they hold decides which ones come next and how many. It also writes, and reads back
// what it wrote. The answer depends on all that was read.
uint64_t read_about(Media& disk) {
  std::array<std::byte, 16> bytes{};
  uint64_t hash = 3;
  for (uint64_t step = 0; step < 3 + hash % 20; ++step) {
    const BlockAddress at(hash % kBlocks);
    EXPECT_EQ(disk.read(at, bytes), IoStatus::kOk);
    hash = digest_of(bytes.data(), bytes.size()).lo ^ mul_fold(hash, 0x9e3779b97f4a7c15u);
    if (hash % 5 != 0) continue;
    std::memcpy(bytes.data(), &hash, 8);
    EXPECT_EQ(disk.write(BlockAddress(hash / 7 % kBlocks), bytes), IoStatus::kOk);
  }
  return hash;
}

Image changed_at_random(Image image, std::mt19937& random) {
  std::array<std::byte, 16> bytes{};
  for (unsigned i = 0; i < 3; ++i) {
    bytes[0] = static_cast<std::byte>(random() % 3);
    image.write(BlockAddress(random() % kBlocks), bytes);
  }
  return image;
}

struct Hits {
  uint64_t found = 0, kept = 0, looked = 0;
};

// Asks a memo for many images, each time comparing with what is right.
Hits ask(unsigned bits) {
  std::mt19937 random(7);
  ReadMemo<uint64_t> memo(bits);
  FirstReads reads;
  Hits hits;
  Image image(kGeometry);
  for (unsigned round = 0; round < 3000; ++round) {
    image = changed_at_random(round % 50 == 0 ? Image(kGeometry) : image, random);
    Media disk(image);
    reads.restart(kGeometry.block_count);
    disk.watch(&reads);
    const uint64_t right = read_about(disk);
    ++hits.looked;
    if (const auto* known = memo.find({}, image)) {
      ++hits.found;
      EXPECT_EQ(known->answer, right) << "round " << round;
    } else {
      memo.put({}, image, reads.addresses(), right);
      const auto* now = memo.find({}, image);
      EXPECT_TRUE(now == nullptr || now->answer == right) << "round " << round;
      hits.kept += now != nullptr;
    }
  }
  return hits;
}

TEST(ReadMemoTest, AnswersAsTheReaderWould) {
  const Hits hits = ask(12);
  EXPECT_GT(hits.found, hits.looked / 20) << "some images agree where they are read";
  EXPECT_GT(hits.kept + hits.found, hits.looked * 9 / 10) << "few are lost to others";
}

TEST(ReadMemoTest, ForgetsAndIsStillRight) {
  for (const unsigned bits : {0u, 2u, 5u}) {
    EXPECT_LT(ask(bits).found, ask(12).found);
  }
}

TEST(ReadMemoTest, ServesImagesThatDifferWhereNothingWasRead) {
  Image image(kGeometry);
  ReadMemo<int> memo(4);
  const std::array<BlockAddress, 2> reads{BlockAddress(3), BlockAddress(9)};
  memo.put({}, image, reads, 42);
  std::array<std::byte, 16> bytes{};
  bytes[0] = std::byte{1};
  Image elsewhere = image, there = image;
  elsewhere.write(BlockAddress(4), bytes);
  there.write(BlockAddress(9), bytes);
  ASSERT_NE(memo.find({}, elsewhere), nullptr);
  EXPECT_EQ(memo.find({}, elsewhere)->answer, 42);
  EXPECT_EQ(memo.find({}, there), nullptr);
}

TEST(ReadMemoTest, AnAnswerThatNeededNoReadServesAll) {
  ReadMemo<int> memo(4);
  memo.put({}, Image(kGeometry), {}, 5);
  ASSERT_NE(memo.find({}, Image(kGeometry)), nullptr);
}

TEST(ReadMemoTest, AnswersWithAnotherStartAreOthers) {
  const Image image(kGeometry);
  ReadMemo<int> memo(4);
  const std::array<BlockAddress, 1> reads{BlockAddress(3)};
  memo.put(Digest{1, 2}, image, reads, 7);
  EXPECT_EQ(memo.find(Digest{1, 3}, image), nullptr);
  memo.put(Digest{1, 3}, image, reads, 8);
  ASSERT_NE(memo.find(Digest{1, 2}, image), nullptr);
  EXPECT_EQ(memo.find(Digest{1, 2}, image)->answer, 7);
}

TEST(ReadMemoTest, TellsWhatAReaderWouldHaveReadAndNothingWhereItDoesNotKnow) {
  Image image(kGeometry);
  ReadMemo<int> memo(4);
  std::vector<BlockAddress> order;
  for (uint64_t i = 0; i < 20; ++i) order.push_back(BlockAddress(i * 7 % kBlocks));
  memo.put({}, image, order, 1);
  FirstReads reads;
  reads.restart(kGeometry.block_count);
  reads.written(BlockAddress(14));
  ASSERT_NE(memo.find({}, image, &reads), nullptr);
  std::erase(order, BlockAddress(14));
  EXPECT_TRUE(std::equal(order.begin(), order.end(), reads.addresses().begin(), reads.addresses().end()));

  std::array<std::byte, 16> bytes{};
  bytes[0] = std::byte{1};
  image.write(order.back(), bytes);
  reads.restart(kGeometry.block_count);
  EXPECT_EQ(memo.find({}, image, &reads), nullptr);
  EXPECT_TRUE(reads.addresses().empty());
}

TEST(ReadMemoTest, WhatCannotBeFoundAgainIsThereUntilTheNextOne) {
  const Image image(Geometry{16, BlockCount(uint64_t{1} << 33)});
  ReadMemo<int> memo(0);
  const std::array<BlockAddress, 1> reads{BlockAddress(uint64_t{1} << 32)};
  const auto& first = memo.put({}, image, reads, 1);
  const Digest key = first.key;
  EXPECT_EQ(first.answer, 1);
  EXPECT_EQ(memo.find({}, image), nullptr);
  memo.put({}, image, reads, 2);
  EXPECT_NE(first.key, key) << "it is another answer now";
}

TEST(FirstReadsTest, CountsEachBlockOnceAndNoneThatWasWrittenBefore) {
  Media disk{Image(kGeometry)};
  FirstReads reads;
  reads.restart(kGeometry.block_count);
  disk.watch(&reads);
  std::array<std::byte, 48> three{};
  const auto one = std::span(three).first(16);
  EXPECT_EQ(disk.write(BlockAddress(5), one), IoStatus::kOk);
  EXPECT_EQ(disk.discard(BlockAddress(6), BlockCount(1)), IoStatus::kOk);
  EXPECT_EQ(disk.read(BlockAddress(4), three), IoStatus::kOk);
  EXPECT_EQ(disk.read(BlockAddress(7), one), IoStatus::kOk);
  EXPECT_EQ(disk.read(BlockAddress(4), one), IoStatus::kOk);
  EXPECT_EQ(disk.read(BlockAddress(kBlocks), one), IoStatus::kOutOfRange);
  ASSERT_EQ(reads.addresses().size(), 2u);
  EXPECT_EQ(reads.addresses()[0], BlockAddress(4));
  EXPECT_EQ(reads.addresses()[1], BlockAddress(7));
  reads.restart(kGeometry.block_count);
  EXPECT_TRUE(reads.addresses().empty());
}

}  // namespace
}  // namespace sisyfs::read_memo_test
