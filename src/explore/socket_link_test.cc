#include "explore/socket_link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace sisyfs::socket_link_test {
namespace {

using std::chrono::milliseconds;

struct Ends {
  Ends() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0); }
  int fds[2] = {-1, -1};
};

std::vector<std::byte> bytes_of(size_t size, uint8_t value) { return {size, std::byte{value}}; }

TEST(SocketLinkTest, MessagesArriveWholeAndInOrder) {
  const Ends ends;
  SocketLink here(ends.fds[0]), there(ends.fds[1]);
  EXPECT_TRUE(here.send(bytes_of(3, 1)));
  EXPECT_TRUE(here.send({}));
  EXPECT_TRUE(here.send(bytes_of(5, 2)));
  std::vector<std::byte> got;
  for (const auto& wanted : {bytes_of(3, 1), bytes_of(0, 0), bytes_of(5, 2)}) {
    ASSERT_EQ(there.receive(got, milliseconds(1000)), Receipt::kMessage);
    EXPECT_EQ(got, wanted);
  }
  EXPECT_EQ(there.receive(got, milliseconds(0)), Receipt::kNothing);
}

TEST(SocketLinkTest, AMessageMayBeLargerThanTheBufferOfTheSystem) {
  const Ends ends;
  SocketLink here(ends.fds[0]), there(ends.fds[1]);
  const std::vector<std::byte> large = bytes_of(size_t{5} << 20, 7);
  std::jthread sender([&] { EXPECT_TRUE(here.send(large)); });
  std::vector<std::byte> got;
  ASSERT_EQ(there.receive(got, milliseconds(10000)), Receipt::kMessage);
  EXPECT_EQ(got, large);
}

TEST(SocketLinkTest, BothEndsMaySendAtOnce) {
  const Ends ends;
  SocketLink here(ends.fds[0]), there(ends.fds[1]);
  const std::vector<std::byte> large = bytes_of(size_t{5} << 20, 7);
  const std::vector<std::byte> other = bytes_of(size_t{3} << 20, 8);
  std::vector<std::byte> here_got, there_got;
  std::jthread second([&] {
    EXPECT_TRUE(there.send(other));
    EXPECT_EQ(there.receive(there_got, milliseconds(10000)), Receipt::kMessage);
  });
  EXPECT_TRUE(here.send(large));
  EXPECT_EQ(here.receive(here_got, milliseconds(10000)), Receipt::kMessage);
  second.join();
  EXPECT_EQ(here_got, other);
  EXPECT_EQ(there_got, large);
}

TEST(SocketLinkTest, SendingHasALimitIfTheOtherEndTakesNothing) {
  const Ends ends;
  SocketLink here(ends.fds[0], milliseconds(20)), there(ends.fds[1]);
  EXPECT_FALSE(here.send(bytes_of(size_t{5} << 20, 7)));
}

TEST(SocketLinkTest, TheOtherEndMayBeGone) {
  const Ends ends;
  SocketLink here(ends.fds[0]);
  {
    SocketLink there(ends.fds[1]);
    EXPECT_TRUE(there.send(bytes_of(1, 1)));
  }
  std::vector<std::byte> got;
  EXPECT_EQ(here.receive(got, milliseconds(1000)), Receipt::kMessage) << "what was sent before arrives";
  EXPECT_EQ(here.receive(got, milliseconds(1000)), Receipt::kGone);
  EXPECT_FALSE(here.send(bytes_of(1, 1)));
}

TEST(SocketLinkTest, ALengthThatNobodySendsEndsTheConnection) {
  const Ends ends;
  SocketLink here(ends.fds[0]);
  const uint32_t length = UINT32_MAX;
  ASSERT_EQ(write(ends.fds[1], &length, sizeof length), ssize_t{sizeof length});
  std::vector<std::byte> got;
  EXPECT_EQ(here.receive(got, milliseconds(1000)), Receipt::kGone);
  close(ends.fds[1]);
}

}  // namespace
}  // namespace sisyfs::socket_link_test
