#include "adapters/app/contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "adapters/app/random_recording_for_test.h"

namespace sisyfs::contents_test {
namespace {

// What contents are: names, types, data and targets; neither modes, links, attributes nor which names are one
// file.
std::map<std::string, std::string> plain(const FileTree& tree) {
  std::map<std::string, std::string> out;
  for (const auto& [path, text] : tree) {
    const std::string type = text.substr(5, text.find(',') - 5 - 4);
    const size_t data = text.find(" bytes: ");
    out[path] =
        type + text.substr(text.rfind(", ", data), text.rfind(" attributes") - text.rfind(", ", data));
  }
  return out;
}

TEST(ContentsTest, AreEqualWhereTreesAreAndDifferWhereTheyDo) {
  size_t same = 0, different = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    FileStore files;
    for (int i = 0; i < 30; ++i) random_store_call(files, random);
    for (int i = 0; i < 60; ++i) {
      const auto before = plain(tree_of(files));
      const Digest contents = contents_of(files, {});
      random_store_call(files, random);
      const bool is_same = plain(tree_of(files)) == before;
      ASSERT_EQ(contents_of(files, {}) == contents, is_same) << seed << ", call " << i;
      ++(is_same ? same : different);
    }
  }
  EXPECT_GT(same, 300U);
  EXPECT_GT(different, 300U);
}

class NamedContentsTest : public testing::Test {
 protected:
  FileId make(const std::string& name, FileId folder = kRootFile, mode_t type = S_IFREG) {
    FileStore::New wanted;
    wanted.mode = type | 0700;
    FileId made = kNoFile;
    EXPECT_EQ(files_.create({}, folder, name, wanted, made), 0);
    return made;
  }
  FileStore files_;
};

TEST_F(NamedContentsTest, IgnoredNamesDoNotCountAnywhere) {
  const std::vector<std::string> ignored{"*.lock", "cache"};
  const FileId folder = make("folder", kRootFile, S_IFDIR);
  const Digest before = contents_of(files_, ignored), all_before = contents_of(files_, {});
  make("a.lock");
  make("b.lock", folder);
  make("inner", make("cache", folder, S_IFDIR));
  EXPECT_EQ(contents_of(files_, ignored), before);
  EXPECT_FALSE(contents_of(files_, {}) == all_before);
  make("a.locked");
  EXPECT_FALSE(contents_of(files_, ignored) == before);
}

TEST_F(NamedContentsTest, SameNameInAnotherFolderIsAnotherContent) {
  const FileId one = make("one", kRootFile, S_IFDIR), two = make("two", kRootFile, S_IFDIR);
  make("file", one);
  const Digest in_one = contents_of(files_, {});
  files_.rename({}, one, "file", two, "file", 0);
  EXPECT_FALSE(contents_of(files_, {}) == in_one);
}

TEST_F(NamedContentsTest, ZerosBehindTheEndAreNotDataAndZerosBeforeItAre) {
  const FileId file = make("file");
  const Digest empty = contents_of(files_, {});
  files_.truncate({}, file, 1);
  const Digest one = contents_of(files_, {});
  EXPECT_FALSE(one == empty);
  files_.truncate({}, file, 2 * kFilePageBytes);
  EXPECT_FALSE(contents_of(files_, {}) == one);
  files_.truncate({}, file, 1);
  EXPECT_EQ(contents_of(files_, {}), one);
}

}  // namespace
}  // namespace sisyfs::contents_test
