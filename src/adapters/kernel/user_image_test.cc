#include "adapters/kernel/user_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace sisyfs::user_image_test {
namespace {

using testing::HasSubstr;

class UserImageTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return testing::TempDir() + "/user_image_" + name; }
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  static std::string why(const std::string& path) {
    const auto read = read_user_image(path);
    EXPECT_FALSE(read) << path;
    return read ? "" : read.error().message;
  }
};

TEST_F(UserImageTest, TheContentIsRead) {
  const auto read = read_user_image(file("some", std::string("a\0b", 3)));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ((*read)[2], std::byte{'b'});
}

TEST_F(UserImageTest, WhatCannotBeReadIsRefusedWithTheReason) {
  EXPECT_THAT(why("/nonexistent"),
              HasSubstr("start=/nonexistent does not exist: the start is new, aged, full"));
  EXPECT_THAT(why("/"), HasSubstr("is not a file"));
  EXPECT_THAT(why("/dev/zero"), HasSubstr("is not a file"));
  EXPECT_THAT(why(file("empty", "")), HasSubstr("is empty"));
  const std::string pipe = path("pipe");
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(why(pipe), HasSubstr("is not a file"));
  std::filesystem::remove(pipe);
  if (geteuid() != 0) {
    const std::string secret = file("secret", "x");
    ASSERT_EQ(chmod(secret.c_str(), 0), 0);
    EXPECT_THAT(why(secret), HasSubstr("cannot be read"));
    std::filesystem::remove(secret);
  }
}

TEST_F(UserImageTest, AHugeFileIsRefusedBeforeItIsRead) {
  const std::string huge = file("huge", "x");
  ASSERT_EQ(truncate(huge.c_str(), int64_t{1} << 40), 0);
  EXPECT_THAT(why(huge), HasSubstr("has 1048576 MiB, and an image has 1024 MiB at most"));
  std::filesystem::remove(huge);
}

TEST_F(UserImageTest, MoreThanMemoryHoldsIsRefused) {
  EXPECT_EQ(why_too_large(64 << 20, 256 << 20), "");
  EXPECT_THAT(why_too_large(65 << 20, 256 << 20), HasSubstr("256 MiB are free"));
}

TEST_F(UserImageTest, ADigestTellsImagesApart) {
  const std::vector<std::byte> one(4096), other(4097);
  EXPECT_EQ(image_digest(one), image_digest(std::vector<std::byte>(4096)));
  EXPECT_NE(image_digest(one), image_digest(other));
  EXPECT_EQ(image_digest(one).size(), 32u);
}

TEST_F(UserImageTest, WhatIsNoWordIsAPath) {
  for (const char* word : {"new", "aged", "full"}) EXPECT_FALSE(is_image_path(word));
  EXPECT_TRUE(is_image_path("disk.img"));
}

}  // namespace
}  // namespace sisyfs::user_image_test
