// Long runs as users meet them: searches that are saved, killed, bounded and gone on with; and random walks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "explore/checkpoint.h"
#include "running_program.h"

namespace sisyfs::resume_e2e_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Some hundred thousand transitions, so that there is time to be killed in.
constexpr const char* kLong = "check f2fs --depth 5 ";
// Small, with findings: the wrong order of writes, searched to its end.
constexpr const char* kNaive = "check link --via disk --set order=naive --set files=2 --set blocks=3 --all ";

// A million states in a few seconds: more than 16 MiB hold.
constexpr const char* kMany = "check link --set blocks=5 --set cache=off ";

// Found within a second, at whatever depth; the shortest way there takes ten.
constexpr const char* kHardToTrace =
    "check journal --set revoke=off --set crash=prefixes --search dfs --depth 9 --first ";

// Waits until a file has been written this many times.
bool written(const std::string& path, int times) {
  timespec last{};
  for (int waited = 0; waited < 30000 && times > 0; ++waited) {
    struct stat now {};
    if (stat(path.c_str(), &now) == 0 &&
        (now.st_mtim.tv_sec != last.tv_sec || now.st_mtim.tv_nsec != last.tv_nsec)) {
      last = now.st_mtim;
      --times;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return times == 0;
}

// What must be the same however often a search was interrupted.
json outcome_of(const std::string& text) {
  const json whole = json::parse(text, nullptr, false);
  if (whole.is_discarded()) return text;
  json out;
  for (const char* name :
       {"target", "settings", "verdict", "exhausted", "search", "dedup", "depth_bound", "depth", "states",
        "transitions", "unexpanded", "visited_digest", "marks", "findings"})
    out[name] = whole.value(name, json());
  return out;
}

json outcome_of_run(const std::string& arguments) {
  return outcome_of(run(arguments + " --progress off --json -").text);
}

class KilledAndResumed : public testing::TestWithParam<const char*> {};

TEST_P(KilledAndResumed, EndsAsIfItHadNeverBeenKilled) {
  const TemporaryDirectory dir;
  const std::string file = dir.file("run.checkpoint"), threads = std::string(" --threads ") + GetParam();
  {
    Running first(kLong + ("--checkpoint " + file) + " --checkpoint-every 1ms" + threads, dir.file("out"));
    ASSERT_TRUE(written(file, 2)) << content_of(dir.file("out"));
    const int status = first.end(SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it was over before it could be killed";
  }
  // And again, while it goes on.
  {
    Running second("resume " + file + threads, dir.file("out"));
    ASSERT_TRUE(written(file, 2)) << content_of(dir.file("out"));
    second.end(SIGKILL);
  }
  const Answer end = run("resume " + file + " --progress off --json -" + threads);
  EXPECT_EQ(end.code, 0) << end.text;
  EXPECT_EQ(outcome_of(end.text), outcome_of_run(kLong));
}

INSTANTIATE_TEST_SUITE_P(Threads, KilledAndResumed, testing::Values("1", "2"));

TEST(ResumeTest, ABoundOnMemoryIsLiftedByMoreMemory) {
  const TemporaryDirectory dir;
  const std::string file = dir.file("run.checkpoint");
  const Answer cut = run(kMany + ("--search rare --memory 16MiB --checkpoint " + file));
  EXPECT_EQ(cut.code, 3) << cut.text;
  EXPECT_THAT(cut.text, HasSubstr("the memory bound was reached"));
  EXPECT_THAT(cut.text, HasSubstr("to continue: ./sisyfs resume " + file + "\n"));
  EXPECT_EQ(run("resume " + file).code, 3) << "the bound is that of before";
  const json whole = outcome_of_run("resume " + file + " --memory 1GiB"), breadth = outcome_of_run(kMany);
  // Where all is exhausted every order has seen the same.
  for (const char* same :
       {"verdict", "exhausted", "states", "transitions", "visited_digest", "marks", "findings"})
    EXPECT_EQ(whole[same], breadth[same]) << same;
}

TEST(ResumeTest, FindingsFromBeforeAndAfterTheCutAreTheSame) {
  for (const char* order :
       {"--search bfs", "--search recovery", "--search rare", "--dedup shape --depth 9"}) {
    const TemporaryDirectory dir;
    const std::string file = dir.file("run.checkpoint"), search = std::string(kNaive) + order;
    const Answer cut = run(search + " --states 60 --checkpoint " + file);
    EXPECT_THAT(cut.text, HasSubstr("the bound on states was reached")) << order;
    EXPECT_THAT(cut.text, HasSubstr("to continue: ")) << order;
    const Answer more = run("resume " + file + " --states 90 --threads 1");
    EXPECT_THAT(cut.text, Not(HasSubstr("since the search was resumed"))) << order;
    if (std::string_view(order).starts_with("--search")) {  // by shape there is nothing new to judge so soon
      EXPECT_THAT(more.text, HasSubstr("come back alike, since the search was resumed")) << order;
    }
    const json whole = outcome_of_run("resume " + file);
    EXPECT_EQ(whole, outcome_of_run(search)) << order;
    EXPECT_EQ(whole["verdict"], "fail") << order;
  }
}

TEST(ResumeTest, CtrlCGivesTheVerdictSoFarAndSaysHowToGoOn) {
  const TemporaryDirectory dir;
  const std::string file = dir.file("run.checkpoint");
  Running search("check f2fs --search bfs --checkpoint " + file + " --checkpoint-every 1h", dir.file("out"));
  ASSERT_TRUE(written(file, 1)) << content_of(dir.file("out"));
  const int status = search.end(SIGINT);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  const std::string text = content_of(dir.file("out"));
  EXPECT_THAT(text, HasSubstr("UNKNOWN: f2fs"));
  EXPECT_THAT(text, HasSubstr("interrupted: what lies beyond was not looked at"));
  EXPECT_THAT(text, HasSubstr("to continue: ./sisyfs resume " + file + "\n"));
  const Answer more = run("resume " + file + " --time 1ms");
  EXPECT_EQ(more.code, 3) << more.text;
}

TEST(TracingTest, CtrlCGivesUpTheTraceAndKeepsTheFinding) {
  const TemporaryDirectory dir;
  Running search(std::string(kHardToTrace) + "--progress json --json " + dir.file("run.json"),
                 dir.file("out"));
  ASSERT_TRUE(says(dir.file("out"), "\"tracing\":true")) << content_of(dir.file("out"));
  EXPECT_EQ(WEXITSTATUS(search.end(SIGINT)), 1);
  const std::string text = content_of(dir.file("out"));
  EXPECT_THAT(text, HasSubstr("FAIL: journal"));
  EXPECT_THAT(text, HasSubstr("no trace  not-allowed: the search for the trace was interrupted\n"));
  EXPECT_THAT(text, Not(HasSubstr("sisyfs replay")));
  const json told = json::parse(content_of(dir.file("run.json")), nullptr, false);
  EXPECT_EQ(told["verdict"], "fail");
  EXPECT_EQ(told["findings"], json::array());
  EXPECT_EQ(told["untraced"], json({"not-allowed"}));
}

TEST(TracingTest, ACtrlCInTheSearchLeavesOneForTheTrace) {
  const TemporaryDirectory dir;
  Running search(
      "check journal --set revoke=off --set crash=prefixes --search dfs --depth 9 --all --progress json",
      dir.file("out"));
  ASSERT_TRUE(says(dir.file("out"), "\"findings\":1")) << content_of(dir.file("out"));
  search.send(SIGINT);
  ASSERT_TRUE(says(dir.file("out"), "\"tracing\":true")) << content_of(dir.file("out"));
  EXPECT_EQ(WEXITSTATUS(search.end(SIGINT)), 1);
  EXPECT_THAT(content_of(dir.file("out")), HasSubstr("no trace  not-allowed: the search for the trace was"));
}

TEST(ResumeTest, ACheckpointThatCannotBeWrittenLeavesTheVerdictAlone) {
  const TemporaryDirectory dir;
  const std::string file = dir.file("run.checkpoint");
  Running search(kLong + ("--checkpoint " + file) + " --checkpoint-every 1ms", dir.file("out"));
  ASSERT_TRUE(written(file, 1)) << content_of(dir.file("out"));
  // A folder where the next one would be written.
  for (int i = 0; i < 10000 && mkdir((file + ".part").c_str(), 0755) != 0; ++i)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  EXPECT_EQ(WEXITSTATUS(search.end()), 0);
  const std::string text = content_of(dir.file("out"));
  EXPECT_THAT(text, HasSubstr("PASS: f2fs"));
  EXPECT_THAT(text, HasSubstr(".part could not be created: Is a directory; the search continued"));
}

TEST(ResumeTest, AFileThatIsThereIsNotOverwritten) {
  const TemporaryDirectory dir;
  const std::string notes = dir.write("notes", "dear diary");
  const Answer a = run(kNaive + ("--checkpoint " + notes));
  EXPECT_EQ(a.code, 2);
  EXPECT_THAT(a.text, HasSubstr("notes exists already"));
  EXPECT_EQ(content_of(notes), "dear diary");
}

// A checkpoint to spoil.
class SpoiltTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run(kNaive + ("--states 60 --checkpoint " + good_)).code, 1);
    bytes_ = content_of(good_);
    ASSERT_GT(bytes_.size(), 1000u);
  }
  // The good one with another identity, setup or node.
  std::string rewritten(const std::string& setup, Digest identity_change, uint32_t choice_change) {
    Result<LoadedCheckpoint> loaded = load_checkpoint(good_);
    CheckpointOptions options{.path = dir_.file("rewritten"),
                              .identity = loaded->identity() + identity_change,
                              .setup = setup.empty() ? std::string(loaded->setup()) : setup};
    CheckpointWriter out(options);
    for (uint32_t which = 2; which <= 7; ++which) {
      const auto section = loaded->section(CheckpointSection{which});
      std::vector<std::byte> content(section.begin(), section.end());
      // The choice of the last node.
      if (which == 3 && choice_change != 0) std::memcpy(&content[content.size() - 4], &choice_change, 4);
      if (!content.empty()) out.section(CheckpointSection{which}, content.data(), content.size());
    }
    EXPECT_TRUE(out.finish());
    return options.path;
  }
  std::string setup_with(const char* name, const json& value) {
    json setup = json::parse(load_checkpoint(good_)->setup());
    setup[name] = value;
    return setup.dump();
  }
  static void expect_refused(const std::string& path, const std::string& says) {
    const Answer a = run("resume " + path);
    EXPECT_EQ(a.code, 2) << a.text;
    EXPECT_THAT(a.text, HasSubstr(says));
    EXPECT_EQ(std::count(a.text.begin(), a.text.end(), '\n'), 1) << a.text;
  }

  const TemporaryDirectory dir_;
  const std::string good_ = dir_.file("good");
  std::string bytes_;
};

TEST_F(SpoiltTest, FilesThatAreNoCheckpointsAreOneLine) {
  expect_refused(dir_.file("missing"), "could not be read: No such file");
  expect_refused(dir_.file(""), "is not a regular file");
  expect_refused(dir_.write("empty", ""), "is not a checkpoint");
  expect_refused(dir_.write("text", "once upon a time"), "is not a checkpoint");
  expect_refused(dir_.write("cut", bytes_.substr(0, bytes_.size() / 2)), "is damaged or cut short");
  expect_refused(dir_.write("short", bytes_.substr(0, 33)), "is damaged or cut short");
  std::string other = bytes_;
  other[8] = 9;
  expect_refused(dir_.write("version", other), "is of version 9, this program reads 2");
  other = bytes_;
  other[bytes_.size() / 2] ^= 1;
  expect_refused(dir_.write("flipped", other), "is damaged or cut short");
}

TEST_F(SpoiltTest, CheckpointsOfOtherSearchesAreOneLine) {
  expect_refused(rewritten("", Digest{0, 1}, 0), "is of another search");
  expect_refused(rewritten("words", {}, 0), "was not written by 'sisyfs check'");
  expect_refused(rewritten("[]", {}, 0), "was not written by 'sisyfs check'");
  for (const char* name :
       {"target", "settings", "search", "dedup", "shape_ops", "stop", "watched", "memory_bytes"})
    expect_refused(rewritten(setup_with(name, -1), {}, 0), "was not written by 'sisyfs check'");
  expect_refused(rewritten(setup_with("version", "9.9"), {}, 0), "is from sisyfs 9.9 and this is sisyfs");
  expect_refused(rewritten(setup_with("fingerprint", "thumb"), {}, 0), "fingerprints of kind 'thumb'");
  expect_refused(rewritten(setup_with("depth_bound", 9), {}, 0), "is of another search");
  expect_refused(rewritten(setup_with("target", "nosuch"), {}, 0), "unknown target 'nosuch'");
}

TEST_F(SpoiltTest, AChoiceThatIsNotThereIsRefused) {
  expect_refused(rewritten("", {}, 0x3FF), "a choice on the path to state");
}

TEST(WalkTest, TheSameSeedGivesTheSameWalksOnAnyNumberOfThreads) {
  const std::string walks = std::string(kNaive) + "--walk 100 --walk-length 20 --seed 7";
  const json once = outcome_of_run(walks + " --threads 1");
  EXPECT_EQ(once, outcome_of_run(walks + " --threads 1"));
  EXPECT_EQ(once, outcome_of_run(walks + " --threads 2"));
  EXPECT_EQ(once["verdict"], "fail");
  EXPECT_NE(once, outcome_of_run(std::string(kNaive) + "--walk 100 --walk-length 20 --seed 8"));
}

TEST(WalkTest, WalksProveNothingAndSaySo) {
  const Answer a = run("check f2fs --walk 3 --walk-length 5 --seed 0");
  EXPECT_EQ(a.code, 3) << a.text;
  EXPECT_THAT(a.text, HasSubstr("UNKNOWN"));
  EXPECT_THAT(a.text, HasSubstr("random walks, which find and prove nothing"));
  EXPECT_THAT(a.text, HasSubstr("3 random walks of at most 5 steps, seed 0"));
  const json whole = json::parse(run("check link --walk 3 --walk-length 5 --progress off --json -").text);
  EXPECT_EQ(whole["search"], "walk");
  EXPECT_EQ(whole["walk"], (json{{"walks", 3}, {"length", 5}, {"seed", 1}}));
}

TEST(BestFirstTest, TheOrdersAreNamedAndExhaustASmallSpace) {
  const std::string safe = "check link --via disk --set files=2 --set blocks=3 ";
  const json breadth = outcome_of_run(safe);
  for (const char* order : {"recovery", "rare"}) {
    const json best = outcome_of_run(safe + "--search " + order);
    EXPECT_EQ(best["search"], order);
    for (const char* same : {"verdict", "exhausted", "states", "transitions", "visited_digest", "marks"})
      EXPECT_EQ(best[same], breadth[same]) << order << " " << same;
    EXPECT_THAT(run(safe + "--search " + order).text, HasSubstr("order     best-first: states"));
  }
  const Answer bounded = run(safe + "--search rare --depth 3");
  EXPECT_EQ(bounded.code, 3);
  EXPECT_THAT(bounded.text, HasSubstr("to prove, search by bfs"));
  EXPECT_THAT(bounded.text, Not(HasSubstr("every path")));
}

struct WrongUse {
  const char *arguments, *says;
};

TEST(LongRunsTest, WrongUsesAreOneMessage) {
  const TemporaryDirectory dir;
  const std::string file = dir.file("run.checkpoint");
  for (const WrongUse& wrong : std::initializer_list<WrongUse>{
           {"check link --checkpoint FILE", "this search cannot be saved"},
           {"check f2fs --search dfs --checkpoint FILE", "this search cannot be saved"},
           {"check f2fs --dedup bitstate --checkpoint FILE", "this search cannot be saved"},
           {"check f2fs --walk 3 --checkpoint FILE", "walks are not saved"},
           {"check f2fs --checkpoint FILE/x", "cannot write"},
           {"check f2fs --checkpoint FILE --checkpoint-every 0s",
            "--checkpoint-every: '0s' is not a time above zero"},
           {"check f2fs --checkpoint-every 1s", "requires --checkpoint"},
           {"check link --search recovery", "--search recovery needs a target whose recovery"},
           {"check link --search rare --dedup bitstate", "use --dedup exact or none"},
           {"check f2fs --walk 3 --dedup shape", "walks merge no states"},
           {"check link --walk 3 --dedup bitstate", "walks merge no states"},
           {"check link --walk 0", "--walk takes a whole number from 1 on, not '0'"},
           {"check link --walk 3 --walk-length x", "--walk-length takes a whole number"},
           {"check link --walk 3 --seed -1", "--seed takes a whole number, not '-1'"},
           {"check link --walk 3 --depth 4", "--depth cannot be used with --walk"},
           {"check link --walk 3 --search bfs", "excludes"},
           {"check link --seed 3", "add --walk N"},
           {"check link --search best", "--search"},
           {"matrix --search rare", "--search"},
           {"matrix --dedup shape", "--dedup"},
           {"check verifs1 --search recovery", "--search recovery needs a target whose recovery"},
           {"check f2fs --set crash=none --search recovery", "after a power cut"},
           {"check f2fs --shape-ops 2", "--shape-ops needs --dedup shape"},
           {"resume", "file is required"},
           {"resume FILE --depth 3", "--depth"},
           {"resume FILE", "could not be read"}}) {
    std::string arguments = wrong.arguments;
    if (const size_t at = arguments.find("FILE"); at != std::string::npos) arguments.replace(at, 4, file);
    const Answer a = run(arguments);
    EXPECT_EQ(a.code, 2) << arguments << "\n" << a.text;
    EXPECT_THAT(a.text, HasSubstr(wrong.says)) << arguments;
    EXPECT_FALSE(std::filesystem::exists(file)) << arguments;
  }
}

}  // namespace
}  // namespace sisyfs::resume_e2e_test
