#include "adapters/guest/initrd.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace sisyfs::initrd_test {
namespace {

struct Member {
  std::string name, data;
  unsigned long inode = 0, mode = 0, links = 0;

  friend bool operator==(const Member&, const Member&) = default;
};

// Reads an archive as the kernel does (init/initramfs.c): heads of 110 characters, all on a multiple of four.
std::vector<Member> members_of(std::string_view archive) {
  std::vector<Member> all;
  for (size_t at = 0; at + 110 <= archive.size();) {
    const auto field = [&](size_t number) {
      return std::strtoul(std::string(archive.substr(at + 6 + number * 8, 8)).c_str(), nullptr, 16);
    };
    EXPECT_EQ(at % 4, 0u);
    EXPECT_EQ(archive.substr(at, 6), "070701");
    const size_t name = field(11), bytes = field(6);
    Member member{std::string(archive.substr(at + 110, name - 1)), "", field(0), field(1), field(4)};
    EXPECT_EQ(archive[at + 110 + name - 1], '\0');
    at = (at + 110 + name + 3) / 4 * 4;
    member.data = archive.substr(at, bytes);
    at = (at + bytes + 3) / 4 * 4;
    all.push_back(member);
  }
  return all;
}

std::vector<Member> members_of(const std::vector<std::byte>& archive) {
  return members_of(std::string_view(reinterpret_cast<const char*>(archive.data()), archive.size()));
}

TEST(InitrdTest, AnArchiveHoldsWhatWasAdded) {
  for (const std::string data : {"", "1", "12", "123", "1234", "12345"}) {
    Initrd root;
    root.add_directory("dev");
    root.add_file("modules/a", std::as_bytes(std::span(data)));
    const std::vector<Member> all = members_of(root.finish());
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0], (Member{"dev", "", 1, 040755, 1}));
    EXPECT_EQ(all[1], (Member{"modules/a", data, 2, 0100755, 1}));
    EXPECT_EQ(all[2].name, "TRAILER!!!") << "ends an archive";
  }
}

TEST(InitrdTest, AnEmptyArchiveHasItsEnd) {
  Initrd root;
  EXPECT_EQ(members_of(root.finish()).size(), 1u);
}

TEST(InitrdTest, WhatIsTheSameGivesTheSameBytes) {
  const auto make = [] {
    Initrd root;
    root.add_directory("dev");
    root.add_file("init", std::as_bytes(std::span("abc")));
    return root.finish();
  };
  EXPECT_EQ(make(), make());
}

}  // namespace
}  // namespace sisyfs::initrd_test
