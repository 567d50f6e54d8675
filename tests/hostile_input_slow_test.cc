// Thousands of tokens, findings, checkpoints, museum files and command lines, most of them broken in some
// way: the program never crashes, never hangs, and answers with an exit code that is documented.
#include <gtest/gtest.h>

#include <set>

#include "finding/finding_json.h"
#include "finding/random_finding_for_test.h"
#include "finding/token.h"
#include "forged_checkpoint.h"

namespace sisyfs::hostile_input_slow_test {
namespace {

std::string in_quotes(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// 137 is the code of a killed process.
Answer run_soon(const std::string& arguments) {
  return run_line(std::string("timeout -s KILL 60 '") + SISYFS_PROGRAM + "' " + arguments);
}

// Exit codes above 128 are signals.
void expect_code(const Answer& answer, const std::set<int>& allowed, const std::string& what) {
  EXPECT_TRUE(allowed.contains(answer.code)) << what << "\nexit code " << answer.code << ": " << answer.text;
  if (answer.code == 2) {
    EXPECT_TRUE(answer.text.starts_with("sisyfs: ")) << what << "\n" << answer.text;
  }
  for (const char c : answer.text)
    ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << what << "\n" << answer.text;
}

// Findings with models and ops that there are, so that many of them are executed.
class LikelyFindings {
 public:
  explicit LikelyFindings(uint64_t seed) : random_(seed) {}
  size_t below(size_t n) { return random_.below(n); }

  Finding next() {
    static constexpr const char* kTargets[] = {"journal", "f2fs", "flash", "verifs1", "link", "index"};
    static constexpr const char* kOps[] = {
        "create /a",      "create /b",      "mkdir /d",          "sync",          "fsync /a",
        "append /a 1",    "write /a 0 512", "truncate /a 0",     "unlink /a",     "rename /a /b",
        "rename /b /d/a", "read /a 0 512",  "link /a /b",        "create /file0", "unlink /file0",
        "remount",        "fdatasync /a",   "append /file0 100", "fsync /file0"};
    Finding finding = random_.next();
    if (below(8) == 0) return finding;
    finding.others.clear();
    finding.surroundings.clear();
    finding.setup = {kTargets[below(std::size(kTargets))], {}};
    if (finding.setup.target == "link" || finding.setup.target == "index")
      finding.setup.settings = {"via=disk"};
    for (Step& step : finding.steps) {
      if (below(10) != 0 && step.kind != Step::Kind::kPowerCut) {
        step.kind = Step::Kind::kOp;
        step.task = 0;
        step.op = kOps[below(std::size(kOps))];
      }
      if (below(4) != 0) step.failure = {};
      for (PowerCut& cut : step.cuts)
        if (below(2) == 0) cut.after %= 4, cut.promises %= 2, cut.lost.clear();
    }
    return finding;
  }

 private:
  RandomFindings random_;
};

void change_bytes(std::string& text, LikelyFindings& random) {
  for (size_t n = 1 + random.below(4); n > 0 && !text.empty(); --n) {
    const size_t at = random.below(text.size());
    switch (random.below(4)) {
      case 0:
        text.erase(at, 1 + random.below(8));
        break;
      case 1:
        text.insert(at, text.substr(random.below(text.size()), random.below(20)));
        break;
      default:
        text[at] = static_cast<char>(1 + random.below(255));
    }
  }
}

TEST(HostileInputSlow, FiveThousandTokens) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    LikelyFindings random(seed);
    std::string token = make_token(random.next());
    if (seed % 3 == 0) change_bytes(token, random);
    if (token.empty()) continue;
    expect_code(run_soon("replay -- " + in_quotes(token)), {0, 1, 2},
                "seed " + std::to_string(seed) + ": " + token);
  }
}

TEST(HostileInputSlow, ThreeThousandFindings) {
  const TemporaryDirectory dir;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    LikelyFindings random(seed + 100'000);
    std::string text = text_of(to_json(random.next()));
    if (seed % 2 == 0) change_bytes(text, random);
    const Answer answer = run_soon("replay " + dir.write("finding.json", text));
    expect_code(answer, {0, 1, 2}, "seed " + std::to_string(seed) + ": " + text);
  }
}

TEST(HostileInputSlow, FiveThousandCheckpoints) {
  const TemporaryDirectory dir;
  const std::vector<std::string> good = real_checkpoints();
  for (uint64_t seed = 1000; seed < 6000; ++seed) {
    const Answer answer =
        resume_briefly(dir.write("run.checkpoint", Forger(seed).forge(good[seed % good.size()])));
    EXPECT_EQ(complaint_of(answer), "") << "seed " << seed << ": " << answer.text;
  }
}

TEST(HostileInputSlow, FiveHundredMuseumFiles) {
  const TemporaryDirectory dir;
  const std::string shipped = content_of(std::string(SISYFS_SOURCE_DIR) + "/museum/exhibits.toml");
  ASSERT_FALSE(shipped.empty());
  for (uint64_t seed = 0; seed < 500; ++seed) {
    LikelyFindings random(seed + 200'000);
    std::string text = shipped.substr(0, 2000 + random.below(8000));
    change_bytes(text, random);
    const Answer answer = run_soon("museum --list --exhibits " + dir.write("exhibits.toml", text));
    expect_code(answer, {0, 2}, "seed " + std::to_string(seed));
  }
}

TEST(HostileInputSlow, FiveHundredCommandLines) {
  static constexpr const char* kWords[] = {"check",
                                           "resume",
                                           "replay",
                                           "targets",
                                           "link",
                                           "index",
                                           "f2fs",
                                           "journal",
                                           "flash",
                                           "verifs1",
                                           "--set",
                                           "files=1",
                                           "blocks=2",
                                           "order=naive",
                                           "--depth",
                                           "1",
                                           "2",
                                           "-1",
                                           "0",
                                           "x",
                                           "--states",
                                           "10",
                                           "18446744073709551616",
                                           "--memory",
                                           "64MiB",
                                           "1",
                                           "--threads",
                                           "3",
                                           "--search",
                                           "dfs",
                                           "recovery",
                                           "rare",
                                           "--dedup",
                                           "shape",
                                           "none",
                                           "--all",
                                           "--first",
                                           "--only",
                                           "M2",
                                           "R3",
                                           "--json",
                                           "-",
                                           "--via",
                                           "disk",
                                           "--walk",
                                           "5",
                                           "--seed",
                                           "--help",
                                           "--version",
                                           "--",
                                           "\x1b[31m",
                                           "\xff\xfe",
                                           "s2:link::M2::0000",
                                           "/dev/zero",
                                           "/",
                                           "--symmetry"};
  const TemporaryDirectory dir;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    LikelyFindings random(seed + 300'000);
    std::string line = seed % 2 == 0 ? "check link" : "";
    for (size_t n = 1 + random.below(7); n > 0; --n)
      line += " " + in_quotes(kWords[random.below(std::size(kWords))]);
    if (line.starts_with("check")) line += " --time 1s --progress off";
    const Answer answer =
        run_line("cd " + dir.file("") + " && timeout -s KILL 60 '" + SISYFS_PROGRAM + "' " + line);
    expect_code(answer, {0, 1, 2, 3}, "seed " + std::to_string(seed) + ": " + line);
  }
}

}  // namespace
}  // namespace sisyfs::hostile_input_slow_test
