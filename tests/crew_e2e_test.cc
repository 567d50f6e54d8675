// The crew of a search: worker processes that run the code of a plug-in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "running_program.h"

namespace sisyfs::crew_e2e_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kPebble = SISYFS_PLUGIN_DIR "/examples/libpebblefs.so";

// What must not depend on the number of workers, nor on what happened to them.
json outcome_of(const std::string& text) {
  const json whole = json::parse(text, nullptr, false);
  if (whole.is_discarded()) return text;
  json out;
  for (const char* name : {"target", "settings", "verdict", "exhausted", "depth", "states", "transitions",
                           "unexpanded", "crash_states", "left_out", "visited_digest", "marks", "findings"})
    out[name] = whole.value(name, json());
  return out;
}

json outcome_of_run(const std::string& arguments) {
  return outcome_of(run("check " + arguments + " --progress off --json - 2>/dev/null").text);
}

// The processes of the program that work for a search with this name in their command line.
std::vector<pid_t> workers_of(const std::string& plugin) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string words = content_of(entry.path().string() + "/cmdline");
    if (words.find("serve-search") != std::string::npos && words.find(plugin) != std::string::npos)
      found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

// A plug-in under a name that no other test uses, so that its workers can be told from others.
class OwnName {
 public:
  explicit OwnName(const std::string& plugin) : path_(dir_.file("libown.so")) {
    std::filesystem::copy_file(plugin, path_);
  }
  const std::string& path() const { return path_; }
  std::vector<pid_t> workers() const { return workers_of(path_); }
  bool none_left() const {
    for (int i = 0; i < 100 && !workers().empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return workers().empty();
  }

 private:
  TemporaryDirectory dir_;
  std::string path_;
};

TEST(CrewTest, ResultsDoNotDependOnTheNumberOfWorkers) {
  for (const std::string& search :
       {kPebble + " --depth 4",
        std::string(SISYFS_PLUGIN_DIR "/examples/libpebblefs_rename.so --depth 4 --all"),
        std::string(SISYFS_PLUGIN_DIR "/libslots_segfault.so --depth 3 --all"),
        std::string(SISYFS_PLUGIN_DIR "/libslots_smash.so --depth 3 --all"),
        kPebble + " --depth 4 --dedup shape", kPebble + " --depth 4 --dedup tree",
        kPebble + " --depth 4 --search rare",
        std::string("libext2fs --depth 2 --all --set crash=prefixes")}) {
    SCOPED_TRACE(search);
    const json one = outcome_of_run(search + " --threads 1");
    ASSERT_TRUE(one.is_object()) << one;
    EXPECT_GT(one["states"], 3);
    EXPECT_EQ(outcome_of_run(search + " --threads 2"), one);
    EXPECT_EQ(outcome_of_run(search + " --threads 4"), one);
  }
}

TEST(CrewTest, AWorkerThatIsKilledByHandIsReplaced) {
  const OwnName plugin(kPebble);
  const TemporaryDirectory dir;
  const std::string arguments = plugin.path() + " --depth 6 --threads 2";
  const json whole = outcome_of_run(arguments);
  Running search("check " + arguments + " --json " + dir.file("run.json"), dir.file("out"));
  int killed = 0;
  for (int i = 0; i < 200 && killed < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::vector<pid_t> workers = plugin.workers();
    if (workers.size() == 2) killed += kill(workers[static_cast<size_t>(killed % 2)], SIGKILL) == 0;
  }
  EXPECT_GE(killed, 2) << "the search ended before its workers could be killed";
  const int status = search.end();
  EXPECT_EQ(WEXITSTATUS(status), 0) << content_of(dir.file("out"));
  EXPECT_THAT(content_of(dir.file("out")), HasSubstr("another worker tries"));
  EXPECT_EQ(outcome_of(content_of(dir.file("run.json"))), whole);
  EXPECT_TRUE(plugin.none_left());
}

TEST(CrewTest, AWorkerThatIsStoppedIsReplaced) {
  const OwnName plugin(kPebble);
  const TemporaryDirectory dir;
  const std::string arguments = plugin.path() + " --depth 6 --threads 2 --set seconds=1";
  const json whole = outcome_of_run(arguments);
  Running search("check " + arguments + " --json " + dir.file("run.json"), dir.file("out"));
  bool stopped = false;
  for (int i = 0; i < 200 && !stopped; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (const pid_t worker : plugin.workers()) stopped = stopped || kill(worker, SIGSTOP) == 0;
  }
  ASSERT_TRUE(stopped);
  const int status = search.end();
  // Between two calls it is noticed after twenty seconds.
  EXPECT_EQ(WEXITSTATUS(status), 0) << content_of(dir.file("out"));
  EXPECT_EQ(outcome_of(content_of(dir.file("run.json"))), whole);
  EXPECT_TRUE(plugin.none_left());
}

TEST(CrewTest, ASearchThatIsKilledLeavesNoProcess) {
  const OwnName plugin(kPebble);
  const TemporaryDirectory dir;
  std::minstd_rand chance(7);
  for (int i = 0; i < 10; ++i) {
    Running search("check " + plugin.path() + " --depth 7", dir.file("out"));
    std::this_thread::sleep_for(std::chrono::milliseconds(chance() % 600));
    search.end(SIGKILL);
    EXPECT_TRUE(plugin.none_left()) << i;
  }
}

// A worker that gets no memory ends with a sentence, and so does the search.
TEST(CrewTest, AWorkerWithoutMemoryEndsTheSearchWithAReason) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more address space than any limit";
#endif
  const OwnName plugin(kPebble);
  bool refused = false;
  for (const char* kilobytes : {"150000", "300000", "600000", "1000000"}) {
    const Answer a = run_line("ulimit -v " + std::string(kilobytes) + "; '" SISYFS_PROGRAM "' check " +
                              plugin.path() + " --depth 6 --memory 64MiB --progress off");
    EXPECT_THAT(a.code, testing::AnyOf(0, 2, 3, 4)) << a.text;
    EXPECT_NE(a.text, "");
    refused = refused || a.code != 0;
    EXPECT_TRUE(plugin.none_left());
  }
  EXPECT_TRUE(refused);
}

// Stopped at 20 places and killed at 20, with one and two workers, and resumed with one to three.
void expect_resumed_like_whole(const std::string& library) {
  const OwnName plugin(library);
  const std::string search = plugin.path() + " --depth 5 --all";
  const json whole = outcome_of_run(search + " --threads 2");
  ASSERT_TRUE(whole.is_object()) << whole;
  const uint64_t states = whole["states"];
  const TemporaryDirectory dir;
  const auto resumed = [&](const std::string& file, int i) {
    return outcome_of(run("resume " + file + " --states 100000000 --threads " + std::to_string(1 + i % 3) +
                          " --progress off --json - 2>/dev/null")
                          .text);
  };
  const auto without_crashes = [](json outcome) {
    outcome.erase("crash_states");  // of this run only
    return outcome;
  };
  for (int i = 0; i < 20; ++i) {
    const std::string file = dir.file("stopped-" + std::to_string(i));
    const Answer stopped =
        run("check " + search + " --threads " + std::to_string(1 + i % 2) + " --progress off --checkpoint " +
            file + " --states " + std::to_string(1 + states * static_cast<uint64_t>(i) / 20));
    EXPECT_EQ(stopped.code == 1 || stopped.code == 3, true) << stopped.text;
    EXPECT_EQ(without_crashes(resumed(file, i)), without_crashes(whole)) << i;
  }
  std::minstd_rand chance(3);
  for (int i = 0; i < 20; ++i) {
    const std::string file = dir.file("killed-" + std::to_string(i));
    {
      Running killed("check " + search + " --threads " + std::to_string(1 + i % 2) + " --checkpoint " + file +
                         " --checkpoint-every 1ms",
                     dir.file("out"));
      while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(chance() % 500));
      killed.end(SIGKILL);
    }
    EXPECT_EQ(without_crashes(resumed(file, i)), without_crashes(whole)) << i;
  }
  EXPECT_TRUE(plugin.none_left());
}

TEST(CrewTest, AResumedSearchIsTheSearchThatWasNotStopped) {
  expect_resumed_like_whole(SISYFS_PLUGIN_DIR "/examples/libpebblefs.so");
}

TEST(CrewTest, AResumedSearchHasTheFindingsOfTheSearchThatWasNotStopped) {
  expect_resumed_like_whole(SISYFS_PLUGIN_DIR "/examples/libpebblefs_wrap.so");
}

}  // namespace
}  // namespace sisyfs::crew_e2e_test
