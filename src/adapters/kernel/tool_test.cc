#include "adapters/kernel/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "adapters/kernel/file_systems.h"

namespace sisyfs::tool_test {
namespace {

using testing::HasSubstr;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

Result<ToolRun> run_shell(const std::string& line, const MemoryFile& image,
                          std::chrono::milliseconds deadline = 20s) {
  return run_tool({"/bin/sh", "-c", line}, image, deadline);
}

TEST(ToolTest, ExitCodeAndBothChannelsAreTold) {
  const Result<MemoryFile> image = MemoryFile::make(4096);
  ASSERT_TRUE(image);
  const Result<ToolRun> run = run_shell("echo out; echo err >&2; exit 3", *image);
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->ended);
  EXPECT_EQ(run->exit, 3);
  EXPECT_EQ(run->output, "out\nerr\n");
}

TEST(ToolTest, ASignalIsTold) {
  const Result<MemoryFile> image = MemoryFile::make(4096);
  const Result<ToolRun> run = run_tool({"/bin/sh", "-c", "ulimit -t 0; while :; do :; done"}, *image, 20s);
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->ended);
  EXPECT_THAT(run->how, HasSubstr("died of signal"));
}

// It and all that it has started.
TEST(ToolTest, AToolThatDoesNotEndIsKilled) {
  const Result<MemoryFile> image = MemoryFile::make(4096);
  const auto begun = std::chrono::steady_clock::now();
  const Result<ToolRun> run = run_shell("echo begun; sleep 1000 & sleep 1000", *image, 300ms);
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->ended);
  EXPECT_EQ(run->how, "was killed after 300 ms");
  EXPECT_EQ(run->output, "begun\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
}

// A tool may close its output, and go on.
TEST(ToolTest, AToolThatSaysNothingMoreIsKilledToo) {
  const Result<MemoryFile> image = MemoryFile::make(4096);
  const auto begun = std::chrono::steady_clock::now();
  const Result<ToolRun> run = run_shell("exec >&- 2>&-; sleep 1000", *image, 300ms);
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->ended);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
}

TEST(ToolTest, MuchOutputIsCutOff) {
  const Result<MemoryFile> image = MemoryFile::make(4096);
  const Result<ToolRun> run = run_shell("head -c 3000000 /dev/zero | tr '\\0' x; exit 1", *image);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->exit, 1);
  EXPECT_GE(run->output.size(), 64u << 10);
  EXPECT_LE(run->output.size(), 70u << 10);
}

TEST(ToolTest, AToolWorksOnTheImage) {
  const Result<MemoryFile> image = MemoryFile::make(4096);
  std::memcpy(image->bytes().data(), "before", 6);
  const Result<ToolRun> run = run_shell(std::string("head -c 6 ") + kToolImage +
                                            "; printf after | dd conv=notrunc status=none of=" + kToolImage,
                                        *image);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->output, "before");
  EXPECT_EQ(std::memcmp(image->bytes().data(), "after", 5), 0);
}

TEST(ToolTest, AProgramThatIsMissingIsAnError) {
  const Result<MemoryFile> image = MemoryFile::make(4096);
  const Result<ToolRun> run = run_tool({"mkfs.nothing", "-q"}, *image, 1s);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message, "the program mkfs.nothing is not installed");
  EXPECT_EQ(find_tool("mkfs.nothing"), "");
  EXPECT_EQ(find_tool("/nonexistent/sh"), "");
  EXPECT_EQ(find_tool("/bin/sh"), "/bin/sh");
  EXPECT_THAT(find_tool("sh"), HasSubstr("/sh"));
}

TEST(ToolTest, AnImageTooLargeIsAnError) {
  const Result<MemoryFile> image = MemoryFile::make(uint64_t{1} << 62);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::kSystem);
}

TEST(ToolTest, TimeStandsStill) {
  const Result<MemoryFile> image = MemoryFile::make(4096);
  const Result<ToolRun> run = run_shell("date +%s; sleep 1.1; date +%s", *image);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->output, "1800000000\n1800000000\n");
}

// mkfs asks for the time, for random numbers and for its own process number.
TEST(ToolTest, TwoRunsOfMkfsGiveTheSameBytes) {
  int made = 0;
  for (const FileSystem& fs : file_systems()) {
    if (fs.mkfs.empty() || find_tool(words_of(fs.mkfs).front()).empty()) continue;
    std::string images[2];
    for (std::string& bytes : images) {
      const Result<MemoryFile> image = MemoryFile::make(fs.kibibytes * 1024);
      ASSERT_TRUE(image);
      std::vector<std::string> words = words_of(fs.mkfs);
      words.emplace_back(kToolImage);
      const Result<ToolRun> run = run_tool(words, *image, 60s);
      ASSERT_TRUE(run) << fs.name;
      EXPECT_TRUE(run->ended && run->exit == 0) << fs.name << ": " << run->exit << run->how << run->output;
      bytes.assign(reinterpret_cast<const char*>(image->bytes().data()), image->bytes().size());
    }
    // mkfs.jfs fills the pages of its log, at the end of the disk, with what is on its stack.
    const auto end = images[0].end() - (fs.name == "jfs" ? 1 << 20 : 0);
    const auto where = std::mismatch(images[0].begin(), end, images[1].begin()).first;
    EXPECT_TRUE(where == end) << fs.name << ": at byte " << where - images[0].begin();
    ++made;
  }
  if (made == 0) GTEST_SKIP() << "no mkfs is installed";
}

}  // namespace
}  // namespace sisyfs::tool_test
