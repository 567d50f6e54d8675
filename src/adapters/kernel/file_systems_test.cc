#include "adapters/kernel/file_systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace sisyfs::file_systems_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FileSystemsTest, NamesAreWordsAndDiffer) {
  std::set<std::string_view> names;
  for (const FileSystem& fs : file_systems()) {
    EXPECT_TRUE(names.insert(fs.name).second) << fs.name;
    EXPECT_EQ(file_system(fs.name), &fs);
    for (const char c : fs.name)
      EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) != 0 ||
                  std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-')
          << fs.name;
  }
  EXPECT_EQ(file_system("ext5"), nullptr);
  EXPECT_EQ(file_system(""), nullptr);
}

TEST(FileSystemsTest, EachCanBeMadeAndMounted) {
  for (const FileSystem& fs : file_systems()) {
    EXPECT_FALSE(fs.summary.empty()) << fs.name;
    EXPECT_FALSE(fs.type.empty()) << fs.name;
    EXPECT_NE(fs.rare.make != nullptr, fs.mkfs.starts_with("mkfs.")) << fs.name << ": " << fs.mkfs;
    EXPECT_EQ(fs.mkfs.empty(), fs.package.empty()) << fs.name;
    EXPECT_GT(fs.kibibytes, 0u) << fs.name;
    EXPECT_LE(fs.block, 4096u) << fs.name;
    EXPECT_EQ(fs.block & (fs.block - 1), 0u) << fs.name;
    EXPECT_EQ(fs.kibibytes * 1024 % fs.block, 0u) << fs.name;
    EXPECT_GE(fs.max_name, 8u) << fs.name;
    if (fs.rare.erase_unit == 0) continue;
    EXPECT_EQ(fs.rare.erase_unit % fs.block, 0u) << fs.name;
    EXPECT_EQ(fs.kibibytes * 1024 % fs.rare.erase_unit, 0u) << fs.name;
  }
}

TEST(FileSystemsTest, EachIsBroughtBackSomehow) {
  for (const FileSystem& fs : file_systems()) {
    EXPECT_TRUE(fs.mount_recovers || !fs.fsck.empty() || fs.rare.mend != nullptr) << fs.name;
    EXPECT_TRUE(fs.fsck.empty() || fs.rare.mend == nullptr) << fs.name << ": one of the two is enough";
    // What repairs must also be able to only look, or nobody knows when it is needed.
    EXPECT_TRUE(fs.fsck.empty() || !fs.check.empty()) << fs.name;
  }
}

TEST(FileSystemsTest, NamesAndSummariesOfVariantsDiffer) {
  std::set<std::string_view> summaries;
  for (const FileSystem& fs : file_systems()) EXPECT_TRUE(summaries.insert(fs.summary).second) << fs.name;
}

TEST(FileSystemsTest, TheCommonOnesAreThere) {
  for (const char* name :
       {"ext2",           "ext3",    "ext4",  "ext4-journal", "ext4-writeback", "ext4-fast-commit",
        "ext4-nojournal", "xfs",     "btrfs", "jfs",          "reiserfs",       "f2fs-posix",
        "f2fs-strict",    "nilfs2",  "vfat",  "msdos",        "minix",          "udf",
        "hfsplus",        "overlay", "jffs2", "ubifs"})
    EXPECT_NE(file_system(name), nullptr) << name;
}

TEST(FileSystemsTest, WordsAreSplit) {
  EXPECT_THAT(words_of("mkfs.ext4 -q  -F "), ElementsAre("mkfs.ext4", "-q", "-F"));
  EXPECT_THAT(words_of("sync,noatime", ','), ElementsAre("sync", "noatime"));
  EXPECT_THAT(words_of(",,", ','), IsEmpty());
  EXPECT_THAT(words_of(""), IsEmpty());
}

}  // namespace
}  // namespace sisyfs::file_systems_test
