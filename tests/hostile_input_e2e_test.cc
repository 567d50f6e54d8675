// Input that nobody would give on purpose: files that are none, or without end; text that plays with the
// terminal; output that cannot be written; too little memory. Each is answered in one line and with the right
// exit code, at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "program.h"

namespace sisyfs::hostile_input_e2e_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// 137 is the code of a killed process.
Answer run_soon(const std::string& arguments) {
  return run_line(std::string("timeout -s KILL 20 '") + SISYFS_PROGRAM + "' " + arguments);
}

bool is_one_line(const std::string& text) { return text.find('\n') + 1 == text.size(); }

TEST(HostileInput, WhatIsNoRegularFileIsRefusedAtOnce) {
  const TemporaryDirectory dir;
  const std::string fifo = dir.file("fifo"), folder = dir.file("folder.so"), huge = dir.file("huge");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::filesystem::create_directory(folder);
  dir.write("huge", "");
  std::filesystem::resize_file(huge, uintmax_t{1} << 40);  // without blocks
  for (const std::string& path : {std::string("/dev/zero"), fifo, folder, huge}) {
    for (const char* command : {"replay ", "museum --exhibits ", "resume ", "check ", "targets "}) {
      const Answer answer = run_soon(command + path);
      EXPECT_EQ(answer.code, 2) << command << path << ": " << answer.text;
      EXPECT_TRUE(is_one_line(answer.text)) << command << path << ": " << answer.text;
    }
  }
}

TEST(HostileInput, AKeyWithVeryManyDotsIsRefused) {
  const TemporaryDirectory dir;
  std::string key = "a";
  for (int i = 0; i < 200'000; ++i) key += ".a";
  for (const std::string& text :
       {key + " = 1\n", "[" + key + "]\n", "[[" + key + "]]\n", "x = {" + key + " = 1}"}) {
    const Answer answer = run_soon("museum --exhibits " + dir.write("dots.toml", "# one\n" + text));
    EXPECT_EQ(answer.code, 2);
    EXPECT_THAT(answer.text, HasSubstr("dots.toml:2: a key has too many dots"));
    EXPECT_TRUE(is_one_line(answer.text));
  }
}

TEST(HostileInput, FullOutputIsNoticedInSearchesOfPlugInsToo) {
  for (const char* target : {"link --depth 2", "libext2fs --depth 1"}) {
    const Answer answer = run_soon(std::string("check ") + target + " --progress off > /dev/full");
    EXPECT_EQ(answer.code, 4) << target << ": " << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("standard output"));
  }
}

TEST(HostileInput, TooLittleMemoryIsASentence) {
  for (const char* kib : {"200000", "300000", "400000"}) {
    for (const char* search : {"check journal --depth 9 --threads 4 --memory 64MiB --time 10s",
                               "check link --set blocks=5 --threads 4 --memory 128MiB --time 5s",
                               "check f2fs --depth 9 --threads 3 --memory 32MiB --search dfs --time 5s"}) {
      const Answer answer = run_line(std::string("ulimit -v ") + kib + "; timeout -s KILL 60 '" +
                                     SISYFS_PROGRAM + "' " + search + " --progress off");
      EXPECT_TRUE(answer.code >= 0 && answer.code <= 4) << kib << " " << search << ": " << answer.text;
      EXPECT_FALSE(answer.text.empty());
      EXPECT_THAT(answer.text, Not(HasSubstr("terminate called")));
    }
  }
}

TEST(HostileInput, ControlCharactersDoNotReachTheTerminal) {
  const TemporaryDirectory dir;
  const std::string evil = "$(printf 'a\\033[2Jb\\177\\302\\233c\\342\\200\\256d\\377')";
  const std::string safe = "a\\x1b[2Jb\\x7f\\xc2\\x9bc\\xe2\\x80\\xaed\\xff";
  for (const std::string& command :
       {"\"" + evil + "\"", "check \"" + evil + "\"", "check ./\"" + evil + ".so\"",
        "replay \"s2:" + evil + "\"", "resume \"" + evil + "\"", "museum --exhibits \"" + evil + "\"",
        "check link \"" + evil + "\"", "check link --set \"" + evil + "=1\"",
        "check link --depth \"" + evil + "\"", "check link --json ./no/\"" + evil + "\"",
        "targets \"" + evil + "\""}) {
    const Answer answer = run_soon(command);
    EXPECT_EQ(answer.code, 2) << command << answer.text;
    for (const char c : answer.text)
      EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << command << answer.text;
  }
  EXPECT_THAT(run_soon("check \"" + evil + "\"").text, HasSubstr(safe));
}

TEST(HostileInput, LongArgumentsAreCutInMessages) {
  const std::string word(20'000, 'x');
  for (const char* command : {"", "check ", "check link --set ", "check link --depth ", "check link ",
                              "resume ", "replay ", "museum --only ", "targets "}) {
    const Answer answer = run_soon(command + word);
    EXPECT_EQ(answer.code, 2) << command;
    EXPECT_LT(answer.text.size(), 2000u) << command << answer.text.substr(0, 300);
  }
}

}  // namespace
}  // namespace sisyfs::hostile_input_e2e_test
