#include "explore/serve_search.h"

#include <gtest/gtest.h>

#include <deque>

#include "explore/toy_systems.h"

namespace sisyfs::serve_search_test {
namespace {

// Gives the orders one by one, and keeps the answers. After the last order the search is gone.
class Script : public WorkerLink {
 public:
  explicit Script(std::deque<message::Any> orders) : orders_(std::move(orders)) {}
  bool send(std::span<const std::byte> message) override {
    answers.push_back(*message::decode(message));
    return true;
  }
  Receipt receive(std::vector<std::byte>& message, std::chrono::milliseconds patience) override {
    if (patience.count() == 0) return Receipt::kNothing;
    if (orders_.empty()) return Receipt::kGone;
    message = message::encode(orders_.front());
    orders_.pop_front();
    return Receipt::kMessage;
  }
  std::vector<message::Any> answers;

 private:
  std::deque<message::Any> orders_;
};

const message::Begin kBegin{SearchOrder::kBreadthFirst, Dedup::kExact, PrintKind::kWhole, 0};

TEST(ServeSearchTest, ExpandsTheStatesThatItIsTold) {
  message::Expand expand;
  expand.paths = {{0, 0}, {0, 2}, {1, 1}};  // the initial state, after 0 and 1, after 0 and 2
  expand.added = {Choice{0}, Choice{1}, Choice{2}};
  Script script({expand, message::End{}});
  serve_search(Blurred{}, kBegin, script, {});
  ASSERT_EQ(script.answers.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<message::Ready>(script.answers[0]));
  const auto& part = std::get<message::Part>(script.answers[1]);
  EXPECT_EQ(part.ends, message::Part::Ends::kDone);
  EXPECT_EQ(part.transitions, 9u);
  ASSERT_EQ(part.successors.size(), 9u);
  const uint64_t from = Blurred::step(Blurred::step(1, 0), 2);
  EXPECT_EQ(part.successors[7].state, 2u);
  EXPECT_EQ(part.successors[7].choice, Choice{1});
  EXPECT_EQ(part.successors[7].print, Blurred{}.fingerprint(Blurred::step(from, 1)));
  EXPECT_TRUE(std::holds_alternative<message::Account>(script.answers[2]));
}

TEST(ServeSearchTest, SendsAFingerprintOnce) {
  message::Expand expand;
  expand.paths = {{0, 0}};
  Script script({expand, expand});
  serve_search(Blurred{}, kBegin, script, {});
  ASSERT_EQ(script.answers.size(), 3u);
  EXPECT_EQ(std::get<message::Part>(script.answers[1]).successors.size(), 3u);
  EXPECT_EQ(std::get<message::Part>(script.answers[2]).successors.size(), 0u);
  EXPECT_EQ(std::get<message::Part>(script.answers[2]).transitions, 3u);
}

TEST(ServeSearchTest, SaysWhenAPathIsNotThere) {
  message::Expand expand;
  expand.paths = {{0, 1}};
  expand.added = {Choice{99}};
  message::Expand impossible;
  impossible.paths = {{5, 0}};  // keeps choices that were never sent
  message::Expand short_of_choices;
  short_of_choices.paths = {{0, 3}};
  for (const message::Expand& wrong : {expand, impossible, short_of_choices}) {
    Script script({wrong});
    serve_search(Blurred{}, kBegin, script, {});
    ASSERT_EQ(script.answers.size(), 2u);
    EXPECT_TRUE(std::holds_alternative<message::Lost>(script.answers[1]));
  }
}

TEST(ServeSearchTest, AfterAStopStatesAreIgnored) {
  message::Expand expand;
  expand.paths = {{0, 0}};
  Script script({message::Stop{}, expand, message::End{}});
  serve_search(Blurred{}, kBegin, script, {});
  ASSERT_EQ(script.answers.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<message::Account>(script.answers[1]));
}

}  // namespace
}  // namespace sisyfs::serve_search_test
