// `sisyfs app`: the content of the directory without a check, and calls that are recorded right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "app_for_test.h"

namespace sisyfs::app_files_e2e_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class AppFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_fuse(); !why.empty()) GTEST_SKIP() << why;
  }
  AppRun at_;
};

// --- content without a check ------------------------------------------------------------------------------

class ReplaceTest : public AppFilesTest {
 protected:
  Answer replace(const std::string& how, const std::string& more = "") {
    at_.folder();
    at_.place.write("folder/f", std::string(6000, 'o'));
    at_.place.write("new", std::string(7000, 'n'));
    return at_.app("--ignore f.tmp " + more + " --run 'new=" + at_.place.file("new") + "; " + how + "'");
  }
};

TEST_F(ReplaceTest, OverwriteInPlaceLeavesNeitherOldNorNew) {
  const Answer a = replace("cp $new f");
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(at_.kinds(), ElementsAre("unknown-content"));
  // A flush afterwards does not help: the power may go before it.
  EXPECT_EQ(replace("cp $new f; sync f; sync .").code, 1);
}

TEST_F(ReplaceTest, AtomicReplaceIsAccepted) {
  const Answer a = replace("cp $new f.tmp; sync f.tmp; mv f.tmp f; sync .");
  EXPECT_EQ(a.code, 0) << a.text;
}

TEST_F(ReplaceTest, ReplaceWithoutSyncOfTheFileIsFoundUnlessTheFileSystemHelps) {
  const std::string how = "cp $new f.tmp; mv f.tmp f; sync .";
  const Answer a = replace(how);
  EXPECT_EQ(a.code, 1) << a.text;
  EXPECT_THAT(at_.result()["happens_under"], Contains("xfs"));
  EXPECT_THAT(at_.result()["does_not_happen_under"], Contains("ext4-ordered"));
  EXPECT_EQ(replace(how, "--contract ext4-ordered").code, 0);
}

TEST_F(ReplaceTest, ReplaceWithoutSyncOfTheDirectoryIsFound) {
  const Answer a = replace("cp $new f.tmp; sync f.tmp; mv f.tmp f");
  EXPECT_EQ(a.code, 1) << a.text;
  ASSERT_FALSE(at_.result()["would_help"].empty()) << a.text;
  EXPECT_EQ(at_.result()["would_help"][0][0]["fsync"], ".");
}

TEST_F(ReplaceTest, SyncOfEverythingCounts) {
  for (const char* sync : {"sync", "sync -f f.tmp"}) {
    const Answer a = replace("cp $new f.tmp; " + std::string(sync) + "; mv f.tmp f; sync");
    EXPECT_EQ(a.code, 0) << sync << "\n" << a.text;
  }
}

TEST_F(ReplaceTest, ContentAtEachAcknowledgementIsAllowed) {
  const Answer a = replace("echo one >g; sync g; sync .; sisyfs-ack one; echo two >h; sync h; sync .");
  EXPECT_EQ(a.code, 1) << "g may be there and empty\n" << a.text;
  const std::string put = "echo $i >f.tmp; sync f.tmp; mv f.tmp g$i; sync .; sisyfs-ack $i; ";
  const Answer b = replace("i=1; " + put + "i=2; " + put + "i=3; " + put);
  EXPECT_EQ(b.code, 0) << b.text;
}

// --- calls ------------------------------------------------------------------------------------------------

const std::string kTools = SISYFS_SOURCE_DIR "/tests/tools/";

class CallsTest : public AppFilesTest {
 protected:
  void SetUp() override {
    AppFilesTest::SetUp();
    if (IsSkipped()) return;
    std::filesystem::copy(kTools + "file_calls_check.sh", at_.place.file("check"));
    const Answer made =
        run_line("cc -O1 -pthread -o '" + at_.place.file("calls") + "' '" + kTools + "file_calls.c'");
    ASSERT_EQ(made.code, 0) << made.text;
  }
  Answer calls(const std::string& more, const std::string& contract) {
    return at_.app("--empty --run '" + at_.place.file("calls") + " " + more + "' --check " +
                   at_.place.file("check") + " --contract " + contract);
  }
};

TEST_F(CallsTest, WhatWasFlushedIsThereHoweverItWasWritten) {
  for (const char* contract : {"in-order", "posix", "ext4-ordered"}) {
    const Answer a = calls("", contract);
    EXPECT_EQ(a.code, 0) << contract << "\n" << a.text;
  }
}

TEST_F(CallsTest, ForgottenMsyncIsFound) {
  for (const char* contract : {"in-order", "posix"}) {
    const Answer a = calls("forget", contract);
    EXPECT_EQ(a.code, 1) << contract << "\n" << a.text;
    EXPECT_THAT(a.text, HasSubstr("wrong: mapped")) << contract;
  }
}

TEST_F(AppFilesTest, TmpfileIsRefusedByName) {
  at_.place.write("tmpfile.c", R"(#define _GNU_SOURCE
#include <fcntl.h>
int main(void) { return open(".", O_TMPFILE | O_RDWR, 0600) >= 0 ? 1 : 0; }
)");
  const std::string program = at_.place.file("tmpfile");
  ASSERT_EQ(run_line("cc -o '" + program + "' '" + program + ".c'").code, 0);
  const Answer a = at_.app("--empty -- " + program);
  EXPECT_EQ(a.code, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("O_TMPFILE"));
  EXPECT_THAT(at_.app("--empty -- true").text, Not(HasSubstr("O_TMPFILE")));
}

}  // namespace
}  // namespace sisyfs::app_files_e2e_test
