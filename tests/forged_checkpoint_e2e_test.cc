// A checkpoint with a right checksum need not come from a search. `resume` died of some: it trusted bits of
// findings, counts, agenda and choices. Now each is searched on, or refused in one line with exit code 2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "forged_checkpoint.h"

namespace sisyfs::forged_checkpoint_e2e_test {
namespace {

using testing::HasSubstr;

class ForgedCheckpoint : public testing::Test {
 protected:
  static void SetUpTestSuite() { good_ = real_checkpoints(); }

  template <class Change>
  Answer resume_with(size_t which, CheckpointSection section, Change change) {
    CheckpointParts parts = CheckpointParts::of(good_[which]);
    std::string* content = parts.content(section);
    if (content == nullptr) return {};
    change(*content);
    return resume_briefly(dir_.write("run.checkpoint", parts.file()));
  }
  template <class T>
  static void put(std::string& content, size_t at, T value) {
    std::memcpy(content.data() + at, &value, sizeof value);
  }

  inline static std::vector<std::string> good_;
  const TemporaryDirectory dir_;
};

TEST_F(ForgedCheckpoint, RealOnesAreResumed) {
  for (const std::string& good : good_) {
    EXPECT_EQ(CheckpointParts::of(good).file(), good);
    const Answer answer = resume_briefly(dir_.write("run.checkpoint", good));
    EXPECT_TRUE(answer.code == 0 || answer.code == 1 || answer.code == 3) << answer.code << answer.text;
  }
}

TEST_F(ForgedCheckpoint, AFindingThatTheTargetCannotHaveIsRefused) {
  const Answer answer = resume_with(0, CheckpointSection::kSummary, [](std::string& summary) {
    put(summary, offsetof(CheckpointSummary, findings), UINT64_MAX);
    put(summary, offsetof(CheckpointSummary, met), UINT64_MAX);
  });
  EXPECT_EQ(answer.code, 2) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("its counts and findings contradict its nodes"));
}

TEST_F(ForgedCheckpoint, AFindingThatDoesNotHappenIsRefused) {
  const Answer answer = resume_with(0, CheckpointSection::kSummary, [](std::string& content) {
    CheckpointSummary summary;
    std::memcpy(&summary, content.data(), sizeof summary);
    const int kind = std::countr_zero(summary.met);
    ASSERT_NE(summary.met, 0u);
    summary.first_met[static_cast<size_t>(kind)].choice = Choice{UINT64_MAX};
    put(content, 0, summary);
  });
  EXPECT_EQ(answer.code, 2) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("does not happen"));
}

TEST_F(ForgedCheckpoint, AChoiceThatIsNotThereIsRefused) {
  const Answer answer = resume_with(4, CheckpointSection::kNodes, [](std::string& nodes) {
    for (size_t at = sizeof(Node); at < nodes.size(); at += sizeof(Node))
      put(nodes, at + offsetof(Node, choice), UINT64_MAX);
  });
  EXPECT_EQ(answer.code, 2) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("a choice on the path to state"));
}

TEST_F(ForgedCheckpoint, ASectionThatIsMissingIsRefused) {
  for (const std::string& good : good_) {
    for (size_t which = 0; which < CheckpointParts::of(good).sections.size(); ++which) {
      CheckpointParts parts = CheckpointParts::of(good);
      parts.sections.erase(parts.sections.begin() + static_cast<ptrdiff_t>(which));
      const Answer answer = resume_briefly(dir_.write("run.checkpoint", parts.file()));
      EXPECT_EQ(answer.code, 2) << "section " << which << ": " << answer.text;
    }
  }
}

TEST_F(ForgedCheckpoint, NoneCrashesOrHangs) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::string bad = Forger(seed).forge(good_[seed % good_.size()]);
    const Answer answer = resume_briefly(dir_.write("run.checkpoint", bad));
    EXPECT_EQ(complaint_of(answer), "") << "seed " << seed << ": " << answer.text;
  }
}

}  // namespace
}  // namespace sisyfs::forged_checkpoint_e2e_test
