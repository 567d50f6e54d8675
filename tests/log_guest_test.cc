// A log of writes to ext4 is recorded in a guest, and checked as a user would check it: as it was recorded it
// passes. Without the flushes, without a write, and with other files it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

#include "adapters/recorded/log_writer_for_test.h"
#include "guest_for_test.h"
#include "program.h"

namespace sisyfs::log_guest_test {
namespace {

using guest::Call;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const FileSystem& ext4() { return *file_system("ext4"); }

// A disk that notes its requests in a log.
class RecordingDisk : public ToyDisk {
 public:
  explicit RecordingDisk(const std::vector<std::byte>& content) : ToyDisk(content) {}
  LogWriter log;

  int write(uint32_t disk, uint64_t offset, std::span<const std::byte> bytes, bool fua) override {
    log.write(offset, bytes, fua ? WriteLog::kFua : 0);
    return ToyDisk::write(disk, offset, bytes, fua);
  }
  int flush(uint32_t disk) override {
    log.flush();
    return ToyDisk::flush(disk);
  }
  int discard(uint32_t disk, uint64_t offset, uint64_t length, bool zeroes) override {
    log.discard(offset, length);
    return ToyDisk::discard(disk, offset, length, zeroes);
  }
};

// What was recorded, once for all tests.
struct Recorded {
  std::vector<std::byte> base;
  LogWriter log;
  size_t unmounting = 0;  // entries before the unmount
};

Recorded record() {
  Recorded out;
  GuestWithDisk one(ext4());
  if (!one.booted()) return out;
  out.base.resize(ext4().kibibytes * 1024);
  EXPECT_EQ(one.disk().read(0, 0, out.base), 0);
  RecordingDisk disk(out.base);
  one.guest().attach(&disk);
  EXPECT_EQ(one.mount(), 0);
  EXPECT_EQ(one.create("/a"), 0);
  EXPECT_EQ(one.write("/a", std::string(5000, 'a')), 0);
  EXPECT_EQ(one.call(Call::kFsync, "/a"), 0);
  disk.log.mark("sync a");
  EXPECT_EQ(one.call(Call::kMkdir, "/d", "", 0755), 0);
  EXPECT_EQ(one.create("/d/b"), 0);
  EXPECT_EQ(one.call(Call::kRename, "/a", "/d/a"), 0);
  EXPECT_EQ(one.call(Call::kSync), 0);
  disk.log.mark("sync all");
  out.unmounting = disk.log.entries.size();
  EXPECT_EQ(one.call(Call::kUnlink, "/d/b"), 0);
  EXPECT_EQ(one.unmount(), 0);
  disk.log.mark("the end");
  out.log = disk.log;
  return out;
}

class LogGuestTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (why_no_guest(&ext4()).empty()) recorded_ = new Recorded(record());
  }
  static void TearDownTestSuite() {
    delete recorded_;
    recorded_ = nullptr;
  }
  void SetUp() override {
    if (const std::string why = why_no_guest(&ext4()); !why.empty()) GTEST_SKIP() << why;
    put("base", recorded_->base);
  }
  void put(const std::string& name, const std::vector<std::byte>& bytes) const {
    std::ofstream(at_.file(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::string files() const { return "--log " + at_.file("log") + " --base " + at_.file("base") + " "; }
  Answer check(const LogWriter& log, const std::string& arguments) const {
    put("log", log.bytes());
    return run("check ext4 " + files() + "--progress off " + arguments);
  }

  static Recorded* recorded_;
  TemporaryDirectory at_;
};
Recorded* LogGuestTest::recorded_ = nullptr;

TEST_F(LogGuestTest, WhatWasRecordedPasses) {
  for (const char* how : {"crash=lazy", "crash=prefixes", "crash=subsets --set recovery=checked"}) {
    const Answer answer = check(recorded_->log, std::string("--set ") + how);
    EXPECT_EQ(answer.code, 0) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("PASS: ext4")) << how;
  }
  const Answer persisted = check(recorded_->log, "--set crash=persisted");
  EXPECT_EQ(persisted.code, 3) << "it proves nothing: " << persisted.text;
  EXPECT_THAT(persisted.text, HasSubstr("UNKNOWN: ext4"));
}

// The same log on a device that was never told to flush: what was written in one order need not have arrived
// in it, and what a mark promises may be lost.
TEST_F(LogGuestTest, WithoutItsFlushesAPromiseIsBroken) {
  LogWriter log = recorded_->log;
  std::erase_if(log.entries, [](const LogWriter::Entry& entry) { return entry.flags == WriteLog::kFlush; });
  for (LogWriter::Entry& entry : log.entries) entry.flags &= ~WriteLog::kFua;
  const Answer answer = check(log, "--set crash=prefixes");
  EXPECT_EQ(answer.code, 1) << answer.text;
  const std::string text = on_one_line(answer.text);
  EXPECT_THAT(text, AllOf(HasSubstr("(R3)"), HasSubstr("the mark 'sync a'"),
                          HasSubstr("of the log, a write at sector")));
  EXPECT_THAT(text, HasSubstr("was durable and is gone"));

  const std::string token = token_in(answer.text);
  ASSERT_NE(token, "") << answer.text;
  const Answer again = run("replay " + token + " --image " + at_.file("image"));
  EXPECT_EQ(again.code, 1) << again.text;
  EXPECT_THAT(on_one_line(again.text), HasSubstr("was durable and is gone"));
  EXPECT_EQ(content_of(at_.file("image")).size(), recorded_->base.size());

  // The finding is one of these files.
  log.entries.back().text = "another end";
  put("log", log.bytes());
  const Answer other = run("replay " + token);
  EXPECT_EQ(other.code, 2) << other.text;
  EXPECT_THAT(on_one_line(other.text), HasSubstr("is not the file of the finding or saved search"));
}

// What the marks say is not asked for under the contract 'structure'.
TEST_F(LogGuestTest, StructureAsksForNoPromise) {
  LogWriter log = recorded_->log;
  std::erase_if(log.entries, [](const LogWriter::Entry& entry) { return entry.flags == WriteLog::kFlush; });
  const Answer answer = check(log, "--set crash=prefixes --set contract=structure");
  EXPECT_EQ(answer.code, 0) << answer.text;
}

// One of the writes of the unmount, which ends the journal, is missing.
TEST_F(LogGuestTest, AWriteThatWasDroppedIsFound) {
  size_t found = 0, tried = 0;
  for (size_t i = recorded_->unmounting; i < recorded_->log.entries.size() && tried < 12; ++i) {
    if (recorded_->log.entries[i].sectors == 0) continue;
    LogWriter log = recorded_->log;
    log.entries.erase(log.entries.begin() + static_cast<ptrdiff_t>(i));
    ++tried;
    const Answer answer = check(log, "--set crash=prefixes --set recovery=checked");
    if (answer.code == 1) ++found;
    EXPECT_LE(answer.code, 1) << answer.text;
  }
  EXPECT_GT(found, 0u) << "of " << tried;
}

// A log may begin on an empty disk, and make the file system first.
TEST_F(LogGuestTest, TheCheckBeginsBehindAMark) {
  LogWriter log;
  for (uint64_t at = 0; at < recorded_->base.size(); at += 65536)
    log.write(at,
              std::span(recorded_->base).subspan(at, std::min<size_t>(65536, recorded_->base.size() - at)));
  log.mark("mkfs");
  for (const LogWriter::Entry& entry : recorded_->log.entries) log.entries.push_back(entry);
  put("base", std::vector<std::byte>(recorded_->base.size()));
  const Answer early = check(log, "");
  EXPECT_EQ(early.code, 2) << early.text;
  EXPECT_THAT(on_one_line(early.text), AllOf(HasSubstr("does not mount"), HasSubstr("--set from=MARK")));
  const Answer behind = check(log, "--set crash=prefixes --set from=mkfs");
  EXPECT_EQ(behind.code, 0) << behind.text;
  const Answer nowhere = check(log, "--set from=nowhere");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(on_one_line(nowhere.text), HasSubstr("the log has no such mark; it has mkfs, sync a"));
}

TEST_F(LogGuestTest, WrongFilesAreRefused) {
  std::vector<std::byte> cut = recorded_->log.bytes();
  cut.resize(cut.size() - 700);
  put("log", cut);
  const auto refused = [](const std::string& arguments, const char* why) {
    const Answer answer = run("check ext4 --progress off " + arguments);
    EXPECT_EQ(answer.code, 2) << answer.text;
    EXPECT_THAT(on_one_line(answer.text), HasSubstr(why));
  };
  refused(files(), "the log ends here, and byte 16 says that it has");
  refused("--log " + at_.file("log"), "--log needs --base");
  refused("--base " + at_.file("base"), "--base needs --log");
  refused("--log " + at_.file("no") + " --base " + at_.file("base"), "cannot be opened: ENOENT");
  refused("--log " + at_.file("base") + " --base " + at_.file("base"),
          "is no log of dm-log-writes or blklogwrites");
  put("log", recorded_->log.bytes());
  put("base", std::vector<std::byte>(4096));
  refused(files(), "reach beyond the base image");
  put("base", recorded_->base);
  refused(files() + "--script /dev/null", "a log is played as it is");
  refused(files() + "--set contract=atomic", "only 'promised' and 'structure'");
  refused(files() + "--set start=aged", "start cannot be set");
}

// A search of a log is saved and continued like any other.
TEST_F(LogGuestTest, ASearchCanBeContinued) {
  const std::string saved = at_.file("saved");
  const Answer begun = check(recorded_->log, "--set crash=prefixes --states 3 --checkpoint " + saved);
  ASSERT_EQ(begun.code, 3) << begun.text;
  const Answer done = run("resume " + saved + " --states 100000 --progress off");
  EXPECT_EQ(done.code, 0) << done.text;
  EXPECT_THAT(done.text, HasSubstr("PASS"));
}

// QEMU makes the same requests, and writes the log.
TEST_F(LogGuestTest, ALogOfQemuIsRead) {
  if (find_tool("qemu-io").empty()) GTEST_SKIP() << "qemu-io is not installed (package qemu-utils)";
  put("disk", recorded_->base);
  put("log", {});
  std::string commands;
  size_t number = 0;
  for (const LogWriter::Entry& entry : recorded_->log.entries) {
    if (entry.flags == WriteLog::kFlush) commands += "flush\n";
    if (entry.bytes.empty()) continue;
    const std::string name = "w" + std::to_string(number++);
    put(name, entry.bytes);
    commands += "write " + std::string(entry.flags == WriteLog::kFua ? "-f " : "") + "-s " + at_.file(name) +
                " " + std::to_string(entry.sector * 512) + " " + std::to_string(entry.bytes.size()) + "\n";
  }
  const Answer written =
      run_line("qemu-io --image-opts driver=blklogwrites,file.driver=file,file.filename=" + at_.file("disk") +
               ",log.driver=file,log.filename=" + at_.file("log") + " < " + at_.write("commands", commands));
  ASSERT_EQ(written.code, 0) << written.text;
  ASSERT_GT(content_of(at_.file("log")).size(), 512u) << written.text;
  for (const char* crash : {"prefixes", "lazy"}) {
    const Answer answer = run("check ext4 " + files() + "--progress off --set crash=" + crash);
    EXPECT_EQ(answer.code, 0) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("PASS: ext4"));
  }
}

}  // namespace
}  // namespace sisyfs::log_guest_test
