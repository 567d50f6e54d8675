#include "adapters/app/keeper_wire.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sisyfs::keeper_wire_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class KeeperWireTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0); }
  void TearDown() override {
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  int ends_[2] = {-1, -1};
};

TEST_F(KeeperWireTest, WordsArriveAsTheyWereSent) {
  const std::vector<std::string> words{"run", "", "two words", "line\nline", "=\x01\xff"};
  ASSERT_TRUE(send_message(ends_[0], words));
  const auto got = receive_message(ends_[1]);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->words, words);
  EXPECT_THAT(got->descriptors, IsEmpty());
}

TEST_F(KeeperWireTest, MessagesStayApart) {
  ASSERT_TRUE(send_message(ends_[0], {"one"}));
  ASSERT_TRUE(send_message(ends_[0], {"two", "three"}));
  EXPECT_THAT(receive_message(ends_[1])->words, ElementsAre("one"));
  EXPECT_THAT(receive_message(ends_[1])->words, ElementsAre("two", "three"));
}

TEST_F(KeeperWireTest, MessageMayBeLargerThanTheSocketHolds) {
  const std::vector<std::string> words{std::string(900'000, 'a'), "end"};
  std::jthread sender([&] { EXPECT_TRUE(send_message(ends_[0], words)); });
  const auto got = receive_message(ends_[1]);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->words, words);
}

TEST_F(KeeperWireTest, DescriptorsAreOfTheSameFilesAndAreClosedOnExec) {
  const int file = memfd_create("file", MFD_CLOEXEC), other = memfd_create("other", MFD_CLOEXEC);
  ASSERT_EQ(write(file, "file", 4), 4);
  ASSERT_EQ(write(other, "other", 5), 5);
  ASSERT_TRUE(send_message(ends_[0], {"run"}, {file, other}));
  const auto got = receive_message(ends_[1]);
  ASSERT_TRUE(got);
  ASSERT_THAT(got->descriptors, SizeIs(2));
  char bytes[8] = {};
  EXPECT_EQ(pread(got->descriptors[0], bytes, sizeof bytes, 0), 4);
  EXPECT_EQ(pread(got->descriptors[1], bytes, sizeof bytes, 0), 5);
  EXPECT_NE(fcntl(got->descriptors[0], F_GETFD) & FD_CLOEXEC, 0);
  for (const int fd : {file, other, got->descriptors[0], got->descriptors[1]}) close(fd);
}

TEST_F(KeeperWireTest, EndOfTheOtherSideIsSeenAndKillsNobody) {
  close(std::exchange(ends_[0], -1));
  EXPECT_FALSE(receive_message(ends_[1]));
  EXPECT_FALSE(send_message(ends_[1], {"run"}));
}

TEST_F(KeeperWireTest, EndWithinAMessageIsAnEnd) {
  const uint32_t size = 100;
  ASSERT_EQ(write(ends_[0], &size, sizeof size), static_cast<ssize_t>(sizeof size));
  ASSERT_EQ(write(ends_[0], "half", 4), 4);
  close(std::exchange(ends_[0], -1));
  EXPECT_FALSE(receive_message(ends_[1]));
}

TEST_F(KeeperWireTest, SizeThatCannotBeIsRefused) {
  const uint32_t size = UINT32_MAX;
  ASSERT_EQ(write(ends_[0], &size, sizeof size), static_cast<ssize_t>(sizeof size));
  EXPECT_FALSE(receive_message(ends_[1]));
}

}  // namespace
}  // namespace sisyfs::keeper_wire_test
