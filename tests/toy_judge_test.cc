// A further judge is one class: no other file of the checker knows of it.
#include <gtest/gtest.h>

#include "finding/disk_check.h"
#include "models/journal/check.h"

namespace sisyfs::toy_judge_test {
namespace {

// Finds that a path has more flushes than it may. Its value in a state is the number of flushes so far.
class FlushLimit : public Judge {
 public:
  explicit FlushLimit(uint32_t most) : most_(most) {}
  std::vector<FindingKind> may_find() const override { return {FindingKind::kContentError}; }
  Snapshot initial() const override { return Snapshot(uint32_t{0}); }
  void begin(const Snapshot& value) override { flushes_ = before_ = value.as<uint32_t>(); }
  bool wants_events() const override { return true; }
  void saw(const Event& event, Opinion&) override { flushes_ += event.kind == EventKind::kFlush ? 1 : 0; }
  void op_ended(const OpEnd&, Opinion& opinion) override {
    after_ = std::exchange(flushes_, before_);
    if (after_ > most_) opinion.found(FindingKind::kContentError);
  }
  Snapshot after_op() const override { return Snapshot(after_); }
  Snapshot after_comeback() const override { return Snapshot(after_); }

 private:
  uint32_t most_, flushes_ = 0, before_ = 0, after_ = 0;
};

Verdict verdict_with(uint32_t most) {
  const Result<Options> options = Options::parse(journal::option_specs(), {});
  const auto check = make_disk_check(*journal::setup_of(*options), [most] {
    std::vector<std::unique_ptr<Judge>> judges;
    judges.push_back(std::make_unique<FlushLimit>(most));
    return judges;
  });
  SearchOptions search;
  search.bounds.depth = 3;
  return (*check)->search(search, {}).verdict;
}

TEST(ToyJudgeTest, FindsWhatItLooksForAndNothingElse) {
  EXPECT_EQ(verdict_with(1), Verdict::kFail);
  EXPECT_EQ(verdict_with(1000), Verdict::kPass);
}

}  // namespace
}  // namespace sisyfs::toy_judge_test
