#include "adapters/kernel/kernel_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "tree/tree.h"

namespace sisyfs::kernel_calls_test {
namespace {

using guest::Call;
using guest::Command;

// Stands for a guest: keeps what it was told, and gives prepared answers.
struct Told {
  Command command;
  std::string first, second;
  std::vector<std::byte> bytes;

  Call call() const { return static_cast<Call>(command.number); }
};

class ToyGuest {
 public:
  std::vector<Guest::Reply> replies;  // in order; then success
  std::vector<Told> told;

  OpResult apply(const Op& op) {
    return calls.apply(op, [this](const Command& command, const Guest::Texts& texts,
                                  std::span<const std::byte> bytes) {
      told.push_back({command, std::string(texts[0]), std::string(texts[1]), {bytes.begin(), bytes.end()}});
      return told.size() <= replies.size() ? replies[told.size() - 1] : Guest::Reply{};
    });
  }
  KernelCalls calls;
};

Guest::Reply reply_of(int error, uint64_t number = 0, std::span<const std::byte> bytes = {}) {
  return {true, error, number, bytes, false};
}

TEST(KernelCallsTest, AnOpIsASystemCallWithItsPaths) {
  ToyGuest guest;
  EXPECT_EQ(guest.apply(Op::of(OpKind::kRename, Path("/a"), Path("/d/b"))), OpResult());
  ASSERT_EQ(guest.told.size(), 1u);
  EXPECT_EQ(guest.told[0].call(), Call::kRename);
  EXPECT_EQ(guest.told[0].first, "/a");
  EXPECT_EQ(guest.told[0].second, "/d/b");
  EXPECT_EQ(guest.told[0].command.flags, 0u);
  EXPECT_EQ(guest.told[0].command.handle, guest::kNoHandle);
}

TEST(KernelCallsTest, FlagsTellCallsApart) {
  const std::pair<OpKind, uint32_t> all[] = {
      {OpKind::kExchange, RENAME_EXCHANGE},
      {OpKind::kRenameNew, RENAME_NOREPLACE},
      {OpKind::kFallocateKeep, FALLOC_FL_KEEP_SIZE},
      {OpKind::kPunchHole, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE},
      {OpKind::kZeroRange, FALLOC_FL_ZERO_RANGE},
      {OpKind::kCreate, 0644},
      {OpKind::kMkdir, 0755},
      {OpKind::kWriteSync, O_SYNC},
      {OpKind::kWriteDirect, O_DIRECT},
  };
  for (const auto& [kind, flags] : all) {
    ToyGuest guest;
    (void)guest.apply(Op::of(kind, Path("/a"), Path("/b")));
    ASSERT_EQ(guest.told.size(), 1u);
    EXPECT_EQ(guest.told[0].command.flags, flags) << to_text(Op::of(kind, Path("/a"), Path("/b")));
  }
  ToyGuest guest;
  (void)guest.apply(Op::chmod(Path("/a"), 0600));
  EXPECT_EQ(guest.told[0].command.flags, 0600u);
}

TEST(KernelCallsTest, AWriteBringsTheBytesOfTheOp) {
  const Op op = Op::write(Path("/a"), 512, 64, 1);
  ToyGuest guest;
  guest.replies = {reply_of(0, 64)};
  EXPECT_EQ(guest.apply(op), (OpResult{0, 64, {}}));
  std::vector<std::byte> expected(64);
  fill_data(op, 512, expected);
  EXPECT_EQ(guest.told[0].bytes, expected);
  EXPECT_EQ(guest.told[0].command.offset, 512u);
  EXPECT_EQ(guest.told[0].command.length, 64u);
}

TEST(KernelCallsTest, AnAppendBringsTheBytesOfTheEndOfTheFile) {
  const Op op = Op::append(Path("/a"), 64);
  ToyGuest guest;
  guest.replies = {reply_of(0, 4096), reply_of(0, 64)};
  EXPECT_EQ(guest.apply(op), (OpResult{0, 64, {}}));
  ASSERT_EQ(guest.told.size(), 2u);
  EXPECT_EQ(guest.told[0].call(), Call::kStat);
  std::vector<std::byte> expected(64);
  fill_data(op, 4096, expected);
  EXPECT_EQ(guest.told[1].bytes, expected);
}

TEST(KernelCallsTest, AnAppendToNothingIsNotTried) {
  ToyGuest guest;
  guest.replies = {reply_of(ENOENT)};
  EXPECT_EQ(guest.apply(Op::append(Path("/a"), 64)), OpResult::of(ENOENT));
  EXPECT_EQ(guest.told.size(), 1u);
}

TEST(KernelCallsTest, AnErrorHasNoOtherAnswer) {
  ToyGuest guest;
  const std::string bytes = "xyz";
  guest.replies = {reply_of(EIO, 7, std::as_bytes(std::span(bytes)))};
  EXPECT_EQ(guest.apply(Op::read(Path("/a"), 0, 64)), OpResult::of(EIO));
}

TEST(KernelCallsTest, WhatWasReadIsTold) {
  ToyGuest guest;
  const std::string bytes = "xyz";
  guest.replies = {reply_of(0, 3, std::as_bytes(std::span(bytes)))};
  EXPECT_EQ(guest.apply(Op::read(Path("/a"), 0, 64)), OpResult::read(std::as_bytes(std::span(bytes))));
}

TEST(KernelCallsTest, NamesAreCountedInAnyOrder) {
  const auto listed = [](const std::string& bytes) {
    ToyGuest guest;
    guest.replies = {reply_of(0, 0, std::as_bytes(std::span(bytes)))};
    return guest.apply(Op::of(OpKind::kReaddir, Path("/")));
  };
  const std::string ab("\1\0\0\0a\2\0\0\0bc", 11), ba("\2\0\0\0bc\1\0\0\0a", 11);
  EXPECT_EQ(listed(ab), listed(ba));
  EXPECT_EQ(listed(ab).value, 2u);
  EXPECT_EQ(listed(ab.substr(0, 5)).value, 1u);
  EXPECT_EQ(listed(std::string("\377\377\377\377x", 5)).value, 0u) << "a length that lies";
  EXPECT_EQ(listed(std::string("\1\0", 2)).value, 0u);
}

TEST(KernelCallsTest, OpenHandlesAreKnown) {
  ToyGuest guest;
  guest.replies = {reply_of(0), reply_of(EBUSY), reply_of(0), reply_of(0)};
  const auto open = [](const char* handle) { return Op::of(OpKind::kOpenHandle, Path("/a"), Path(handle)); };
  (void)guest.apply(open("@2"));
  EXPECT_EQ(guest.told[0].command.handle, 1u);
  EXPECT_EQ(guest.calls.open_handles(), 2u);
  (void)guest.apply(open("@1"));
  EXPECT_EQ(guest.calls.open_handles(), 2u) << "it was refused";
  (void)guest.apply(Op::of(OpKind::kFsyncHandle, Path("@2")));
  EXPECT_EQ(guest.told[2].command.handle, 1u);
  (void)guest.apply(Op::of(OpKind::kCloseHandle, Path("@2")));
  EXPECT_EQ(guest.calls.open_handles(), 0u);
  (void)guest.apply(open("@4"));
  guest.calls.forget();
  EXPECT_EQ(guest.calls.open_handles(), 0u);
}

TEST(KernelCallsTest, AGuestThatDiesAnswersEio) {
  for (const Op& op : {Op::of(OpKind::kSync), Op::write(Path("/a"), 0, 8), Op::append(Path("/a"), 8)}) {
    ToyGuest guest;
    guest.replies = {{.alive = false}};
    EXPECT_EQ(guest.apply(op), OpResult::of(EIO));
    EXPECT_EQ(guest.told.size(), 1u);
  }
}

TEST(KernelCallsTest, AnOpWithoutASystemCallIsRefused) {
  ToyGuest guest;
  EXPECT_EQ(guest.apply(Op::of(OpKind::kFsck)), OpResult::of(ENOSYS));
  EXPECT_TRUE(guest.told.empty());
}

}  // namespace
}  // namespace sisyfs::kernel_calls_test
