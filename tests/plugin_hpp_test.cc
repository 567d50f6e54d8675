// The header for plug-ins in C++: a class with open files and modes gets their functions in its table, and
// one without gets null pointers.
#include <gtest/gtest.h>

#include <array>
#include <sisyfs/plugin.hpp>

namespace sisyfs::plugin_hpp_test {
namespace {

struct Plain {
  static constexpr Plugin kPlugin{.name = "plain"};
  static int format(const sisyfs_disk&) { return 0; }
  explicit Plain(const sisyfs_disk&) {}
  int mount() { return 0; }
  int unmount() { return 0; }
  int readdir(std::string_view, const std::function<void(std::string_view)>&) { return 0; }
  int stat(std::string_view, sisyfs_stat&) { return 0; }
};

struct Open : Plain {
  using Plain::Plain;
  int open(std::string_view path, void*& handle) { return handle = this, path == "/a" ? 0 : -ENOENT; }
  int close(void* handle) { return handle == this ? 0 : -EBADF; }
  int64_t write_handle(void*, uint64_t offset, std::span<const std::byte> bytes) {
    return static_cast<int64_t>(offset + bytes.size());
  }
  int64_t read_handle(void*, uint64_t offset, std::span<std::byte> bytes) {
    return static_cast<int64_t>(offset + bytes.size());
  }
  int truncate_handle(void*, uint64_t size) { return static_cast<int>(size); }
  int fsync_handle(void*) { return 1; }
  int fdatasync_handle(void*) { return 2; }
  int stat_handle(void*, sisyfs_stat& out) { return out.size = 7, 0; }
  int chmod(std::string_view, uint32_t mode) { return static_cast<int>(mode); }
  int mode(std::string_view, uint32_t& mode) { return mode = 0600, 0; }
};

TEST(PluginHppTest, FunctionsOfTheClassAreInItsTable) {
  constexpr sisyfs_plugin kTable = plugin_detail::table<Open>();
  Open fs{sisyfs_disk{}};
  void* handle = nullptr;
  EXPECT_EQ(kTable.open(&fs, "/b", &handle), -ENOENT);
  ASSERT_EQ(kTable.open(&fs, "/a", &handle), 0);
  EXPECT_EQ(handle, &fs);
  std::array<char, 4> bytes{};
  EXPECT_EQ(kTable.write_handle(&fs, handle, 8, bytes.data(), 4), 12);
  EXPECT_EQ(kTable.read_handle(&fs, handle, 16, bytes.data(), 3), 19);
  EXPECT_EQ(kTable.truncate_handle(&fs, handle, 5), 5);
  EXPECT_EQ(kTable.fsync_handle(&fs, handle), 1);
  EXPECT_EQ(kTable.fdatasync_handle(&fs, handle), 2);
  sisyfs_stat stat{};
  EXPECT_EQ(kTable.stat_handle(&fs, handle, &stat), 0);
  EXPECT_EQ(stat.size, 7u);
  EXPECT_EQ(kTable.close(&fs, handle), 0);
  EXPECT_EQ(kTable.chmod(&fs, "/a", 0755), 0755);
  uint32_t mode = 0;
  EXPECT_EQ(kTable.mode(&fs, "/a", &mode), 0);
  EXPECT_EQ(mode, 0600u);
}

TEST(PluginHppTest, WhatTheClassDoesNotHaveIsNull) {
  constexpr sisyfs_plugin kTable = plugin_detail::table<Plain>();
  EXPECT_EQ(kTable.open, nullptr);
  EXPECT_EQ(kTable.read_handle, nullptr);
  EXPECT_EQ(kTable.chmod, nullptr);
  EXPECT_EQ(kTable.mode, nullptr);
}

}  // namespace
}  // namespace sisyfs::plugin_hpp_test
