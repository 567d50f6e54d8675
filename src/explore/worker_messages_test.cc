#include "explore/worker_messages.h"

#include <gtest/gtest.h>

namespace sisyfs::worker_messages_test {
namespace {

using namespace message;

TEST(WorkerMessagesTest, OrdersComeBackAsTheyWere) {
  const auto begin =
      std::get<Begin>(*decode(encode(Begin{SearchOrder::kRarest, Dedup::kNone, PrintKind::kTree, 5})));
  EXPECT_EQ(begin.order, SearchOrder::kRarest);
  EXPECT_EQ(begin.dedup, Dedup::kNone);
  EXPECT_EQ(begin.prints, PrintKind::kTree);
  EXPECT_EQ(begin.shape_ops, 5u);
  Expand expand;
  expand.paths = {{0, 2}, {1, 0}};
  expand.added = {Choice{7}, Choice{9}};
  const auto again = std::get<Expand>(*decode(encode(expand)));
  ASSERT_EQ(again.paths.size(), 2u);
  EXPECT_EQ(again.paths[1].kept, 1u);
  EXPECT_EQ(again.added, expand.added);
  EXPECT_TRUE(std::holds_alternative<message::Stop>(*decode(encode(message::Stop{}))));
  EXPECT_TRUE(std::holds_alternative<End>(*decode(encode(End{}))));
}

TEST(WorkerMessagesTest, AnswersComeBackAsTheyWere) {
  EXPECT_EQ(std::get<Refused>(*decode(encode(Refused{"no memory"}))).why, "no memory");
  EXPECT_EQ(std::get<Ready>(*decode(encode(Ready{{1, 2}}))).initial, (Digest{1, 2}));
  Part part;
  part.ends = Part::Ends::kCut;
  part.transitions = 3;
  part.marks = 6;
  part.mark_counts = {0, 1, 2};
  part.successors.push_back({{3, 4}, Choice{5}, 1, 6, 7, 8});
  part.shown.push_back({9, Choice{10}, 1});
  part.counts.crash_states = 11;
  const auto again = std::get<Part>(*decode(encode(part)));
  EXPECT_EQ(again.ends, Part::Ends::kCut);
  EXPECT_EQ(again.transitions, 3u);
  EXPECT_EQ(again.mark_counts, part.mark_counts);
  ASSERT_EQ(again.successors.size(), 1u);
  EXPECT_EQ(again.successors[0].print, (Digest{3, 4}));
  EXPECT_EQ(again.successors[0].new_edges, 8u);
  ASSERT_EQ(again.shown.size(), 1u);
  EXPECT_EQ(again.shown[0].findings, 9u);
  EXPECT_EQ(again.counts.crash_states, 11u);
  Account account;
  account.edges = EdgeCount{12, 13};
  account.trouble = "odd";
  const auto told = std::get<Account>(*decode(encode(account)));
  EXPECT_EQ(told.edges->known, 13u);
  EXPECT_EQ(told.trouble, "odd");
  EXPECT_FALSE(std::get<Account>(*decode(encode(Account{}))).edges);
}

TEST(WorkerMessagesTest, OtherBytesAreNoMessage) {
  EXPECT_FALSE(decode({}));
  const std::byte unknown[] = {std::byte{200}};
  EXPECT_FALSE(decode(unknown));
  std::vector<std::byte> bytes = encode(Refused{"why"});
  bytes.pop_back();
  EXPECT_FALSE(decode(bytes)) << "cut off";
  bytes = encode(message::Stop{});
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode(bytes)) << "too long";
  bytes = encode(Refused{"why"});
  bytes[8] = std::byte{0xFF};  // of the length
  EXPECT_FALSE(decode(bytes));
}

}  // namespace
}  // namespace sisyfs::worker_messages_test
