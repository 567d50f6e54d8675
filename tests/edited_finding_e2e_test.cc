// A finding of each target is written to JSON, each of its steps is deleted in turn, and replay says what
// happens then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "program.h"

namespace sisyfs::edited_finding_e2e_test {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;

struct Found {
  const char* name;
  std::string arguments;  // of check
  friend std::ostream& operator<<(std::ostream& out, const Found& found) { return out << found.name; }
};

const std::string kPlugins = SISYFS_PLUGIN_DIR;

const Found kFound[] = {
    {"link", "link --set order=naive --set cache=off"},
    {"index", "index --set order=naive --set cache=off"},
    {"LinkTwoTasks", "link --set order=naive --set blocks=3 --tasks 2"},
    {"LinkOnADisk", "link --via disk --set order=naive"},
    {"f2fs", "f2fs --set reuse=lifo --set one_write=off --only lost-node"},
    {"f2fsTorn", "f2fs --set device=hostile --set crash=lazy --set cp_flush=off --depth 4"},
    {"journal", "journal --set commit_barrier=none --depth 4"},
    {"JournalNested", "journal --set replay_flush=off --set fsck=off --set nesting=1 --depth 4"},
    {"JournalFailingAccess", "journal --set lookup_error=absent --set failures=1 --depth 3"},
    {"JournalDamaged", "journal --set start=entry-free --set fsck_dir=drop --depth 2"},
    {"flash", "flash --set checksum=off --depth 4"},
    {"FlashLazyNested", "flash --set crash=lazy --set nesting=1 --set clean=erase-first --depth 5"},
    {"verifs1", "verifs1 --set name_cache=stale"},
    {"verifs2", "verifs2 --set name_cache=stale"},
    {"libext2fs", "libext2fs --set contract=atomic --depth 3"},
    {"libntfs", "libntfs --depth 2"},
    {"plugin", "'" + kPlugins + "/libslots_no_flush.so' --depth 4"},
};

class EditedFinding : public testing::TestWithParam<Found> {};

TEST_P(EditedFinding, ReplaySaysWhatHappensWithoutAStep) {
  const TemporaryDirectory dir;
  const Answer checked =
      run("check " + GetParam().arguments + " --progress off --json '" + dir.file("run.json") + "'");
  if (checked.code == 2) GTEST_SKIP() << "the target is not built here: " << checked.text;
  ASSERT_EQ(checked.code, 1) << checked.text;
  const json finding = json::parse(content_of(dir.file("run.json")))["findings"][0];
  const std::string name = finding["name"];

  const Answer whole = run("replay --quiet '" + dir.write("whole.json", finding.dump()) + "'");
  EXPECT_EQ(whole.code, 1) << whole.text;
  EXPECT_THAT(whole.text, HasSubstr(": still happens"));
  EXPECT_EQ(run("replay --quiet " + finding["token"].get<std::string>()).text, whole.text)
      << "the token says the same as the file";

  const size_t steps = finding["steps"].size();
  ASSERT_GT(steps, 0u);
  size_t gone = 0;
  for (size_t i = 0; i < steps; ++i) {
    json edited = finding;
    edited["steps"].erase(i);
    edited.erase("token");
    const Answer answer = run("replay --quiet '" + dir.write("edited.json", edited.dump()) + "'");
    EXPECT_THAT(answer.text, AnyOf(HasSubstr(": still happens"), HasSubstr(": something else happens: "),
                                   HasSubstr(": does not happen any more"), HasSubstr(": cannot happen: ")))
        << i;
    const bool happens = answer.text.find(" happens") != std::string::npos;
    EXPECT_EQ(answer.code, happens ? 1 : 0) << answer.text;
    gone += answer.text.find(": still happens") == std::string::npos ? 1 : 0;
  }
  EXPECT_GT(gone, 0u) << name << " needs at least one of its steps";
}

INSTANTIATE_TEST_SUITE_P(Each, EditedFinding, testing::ValuesIn(kFound),
                         [](const auto& info) { return info.param.name; });

// The write that matters is kept instead of lost.
TEST(EditedFindingTest, AWriteThatIsNotLostAnyMoreMendsIt) {
  const TemporaryDirectory dir;
  const Answer checked = run("check journal --set commit_barrier=none --depth 4 --progress off --json '" +
                             dir.file("run.json") + "'");
  ASSERT_EQ(checked.code, 1) << checked.text;
  json finding = json::parse(content_of(dir.file("run.json")))["findings"][0];
  json& lost = finding["steps"].back()["cuts"][0]["lost"];
  ASSERT_FALSE(lost.empty());
  lost = json::array();
  const Answer answer = run("replay --quiet '" + dir.write("edited.json", finding.dump()) + "'");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("does not happen any more"));
}

TEST(EditedFindingTest, ALostWriteThatIsNotThereCannotHappen) {
  const TemporaryDirectory dir;
  const Answer checked = run("check journal --set commit_barrier=none --depth 4 --progress off --json '" +
                             dir.file("run.json") + "'");
  ASSERT_EQ(checked.code, 1) << checked.text;
  json finding = json::parse(content_of(dir.file("run.json")))["findings"][0];
  finding["steps"].back()["cuts"][0]["lost"][0]["address"] = 9999;
  const Answer answer = run("replay --quiet '" + dir.write("edited.json", finding.dump()) + "'");
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("cannot happen: step "));
}

}  // namespace
}  // namespace sisyfs::edited_finding_e2e_test
