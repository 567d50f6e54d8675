#include "adapters/recorded/write_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "adapters/recorded/log_writer_for_test.h"

namespace sisyfs::write_log_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kDisk = 64 * 4096;

Result<WriteLog> read(const std::vector<std::byte>& bytes) { return WriteLog::read(source_of(bytes), kDisk); }

std::string message_of(const std::vector<std::byte>& bytes) {
  const Result<WriteLog> log = read(bytes);
  if (log) return "it is read";
  EXPECT_EQ(log.error().kind, ErrorKind::kBadInput);
  return log.error().message;
}

LogWriter example() {
  LogWriter log;
  log.fill(8, 8, 'a');
  log.fill(16, 8, 'b', WriteLog::kFua | WriteLog::kMetadata);
  log.flush();
  log.mark("sync one");
  log.discard(8 * 512, 4096);
  log.fill(24, 8, 'c', WriteLog::kFlush);
  return log;
}

TEST(WriteLogTest, TellsWhatTheEntriesAre) {
  const std::vector<std::byte> bytes = example().bytes();
  const Result<WriteLog> log = read(bytes);
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_EQ(log->sector_size(), 512u);
  ASSERT_EQ(log->entries().size(), 6u);
  EXPECT_EQ(log->entries()[0].sector, 8u);
  EXPECT_EQ(log->entries()[0].sectors, 8u);
  EXPECT_TRUE(log->entries()[1].fua);
  EXPECT_TRUE(log->entries()[2].flush);
  EXPECT_EQ(log->entries()[3].text, "sync one");
  EXPECT_TRUE(log->entries()[4].discard);
  EXPECT_TRUE(log->entries()[5].flush && log->entries()[5].writes());
}

// The events are those that a disk gets from the same requests.
TEST(WriteLogTest, IsPlayedAsTheRequestsWereMade) {
  const std::vector<std::byte> bytes = example().bytes();
  Result<WriteLog> log = read(bytes);
  ASSERT_TRUE(log);
  ASSERT_EQ(log->block_size(4096), 4096u);
  ASSERT_TRUE(log->load(source_of(bytes), 4096));
  const Geometry geometry{.block_size = 4096, .block_count = BlockCount(64)};
  Media played{Image(geometry)}, direct{Image(geometry)};
  log->play(0, 6, played);
  const auto all = [](char letter) { return std::vector<std::byte>(4096, static_cast<std::byte>(letter)); };
  (void)direct.write(BlockAddress(1), all('a'));
  (void)direct.write(BlockAddress(2), all('b'), {.fua = true});
  (void)direct.flush();
  (void)direct.discard(BlockAddress(1), BlockCount(1));
  (void)direct.flush();
  (void)direct.write(BlockAddress(3), all('c'));
  EXPECT_EQ(played.state().digest(), direct.state().digest());
  EXPECT_EQ(played.state().current, direct.state().current);
  EXPECT_THAT(log->names(0, 6), testing::ElementsAre("entry 1 of the log, a write at sector 8, 8 sectors",
                                                     "entry 2 of the log, a write at sector 16, 8 sectors",
                                                     "entry 5 of the log, a discard at sector 8, 8 sectors",
                                                     "entry 6 of the log, a write at sector 24, 8 sectors"));
}

TEST(WriteLogTest, BlocksAreAsLargeAsTheEntriesAllow) {
  LogWriter log;
  log.fill(8, 8, 'a');
  EXPECT_EQ(read(log.bytes())->block_size(4096), 4096u);
  log.fill(2, 2, 'b');
  EXPECT_EQ(read(log.bytes())->block_size(4096), 1024u);
  log.fill(3, 1, 'b');
  EXPECT_EQ(read(log.bytes())->block_size(4096), 512u);
  LogWriter large(4096);
  large.fill(1, 1, 'a');
  EXPECT_EQ(read(large.bytes())->block_size(4096), 4096u);
}

TEST(WriteLogTest, ALongWriteIsSeveral) {
  LogWriter log;
  const uint64_t sectors = 3 * WriteLog::kPiece / 512 / 2;
  log.fill(0, sectors, 'a');
  const std::vector<std::byte> bytes = log.bytes();
  Result<WriteLog> read = WriteLog::read(source_of(bytes), sectors * 512);
  ASSERT_TRUE(read);
  ASSERT_TRUE(read->load(source_of(bytes), 4096));
  Media media{Image(Geometry{.block_size = 4096, .block_count = BlockCount(sectors / 8)})};
  read->play(0, 1, media);
  EXPECT_EQ(media.state().log.size(), 2u);
  EXPECT_EQ(read->names(0, 1).size(), 2u);
  EXPECT_EQ(media.state().current.bytes(), log.entries[0].bytes);
}

TEST(WriteLogTest, TheDigestCoversBytesAndOrder) {
  const auto digest = [](const LogWriter& log) {
    const std::vector<std::byte> bytes = log.bytes();
    Result<WriteLog> read = WriteLog::read(source_of(bytes), kDisk);
    EXPECT_TRUE(read && read->load(source_of(bytes), 512));
    return read->digest();
  };
  LogWriter other_byte = example(), other_order = example(), other_mark = example(), less = example();
  other_byte.entries[0].bytes[7] = std::byte{'x'};
  std::swap(other_order.entries[0], other_order.entries[1]);
  other_mark.entries[3].text = "sync two";
  less.entries[1].flags = 0;
  EXPECT_EQ(digest(example()), digest(example()));
  for (const LogWriter& log : {other_byte, other_order, other_mark, less})
    EXPECT_NE(digest(log), digest(example()));
}

// Each with the place, and what is wrong there.
TEST(WriteLogTest, SaysWhereALogIsWrong) {
  const auto changed = [](size_t at, uint64_t number, size_t size = 8) {
    std::vector<std::byte> bytes = example().bytes();
    LogWriter::put(bytes, at, number, size);
    return message_of(bytes);
  };
  EXPECT_THAT(message_of({}), HasSubstr("is no log of dm-log-writes or blklogwrites: it ends within"));
  EXPECT_THAT(changed(0, 7), AllOf(HasSubstr("is no log"), HasSubstr("byte 0 has the number 0x7")));
  EXPECT_THAT(changed(8, 2), HasSubstr("byte 8: the log has version 2"));
  EXPECT_THAT(changed(24, 513, 4), HasSubstr("byte 24: a sector of 513 bytes"));
  EXPECT_THAT(changed(24, 0, 4), HasSubstr("byte 24: a sector of 0 bytes"));
  EXPECT_THAT(changed(16, 0), HasSubstr("byte 16: the log has no entries"));
  // The example ends at 512 + 6 * 512 + 3 * 4096.
  EXPECT_THAT(changed(16, 7),
              HasSubstr("entry 7 at byte 15872: the log ends here, and byte 16 says that it has 7"));
  EXPECT_THAT(changed(16, UINT64_MAX), HasSubstr("entry 7 at byte 15872: the log ends here"));
  EXPECT_THAT(changed(512, 505),
              HasSubstr("entry 1 at byte 512: 8 sectors of 512 bytes at sector 505 reach beyond"));
  EXPECT_THAT(changed(512, UINT64_MAX), HasSubstr("reach beyond the base image, which has 512"));
  EXPECT_THAT(changed(520, UINT64_MAX), HasSubstr("reach beyond the base image"));
  EXPECT_THAT(changed(528, 32), HasSubstr("entry 1 at byte 528: unknown flags 0x20"));
  EXPECT_THAT(changed(528, WriteLog::kMark), HasSubstr("entry 1 at byte 520: a mark that writes sectors"));
  EXPECT_THAT(changed(528, WriteLog::kMark | WriteLog::kFua), HasSubstr("a mark that is something else too"));
  EXPECT_THAT(changed(536, 1), HasSubstr("entry 1 at byte 536: data_len is 1"));
  // The mark is entry 4, behind two writes of 4096 bytes and a flush.
  const size_t mark = 512 + 3 * 512 + 2 * 4096;
  EXPECT_THAT(changed(mark + 24, 481), HasSubstr("data_len is 481, and here it is at most 480"));
  EXPECT_THAT(changed(mark + 24, UINT64_MAX), HasSubstr("and here it is at most 480"));
  EXPECT_THAT(changed(mark + 16, 0), HasSubstr("data_len is 8"));
  EXPECT_THAT(changed(mark - 512 + 16, 0), HasSubstr("entry 3 at byte 9728: an entry that does nothing"));
  std::vector<std::byte> cut = example().bytes();
  cut.resize(cut.size() - 1);
  EXPECT_THAT(message_of(cut),
              HasSubstr("entry 6 at byte 11272: the log ends at byte 15871, within the 4096 bytes"));
}

// What is read of a damaged log is a message or a log that can be played.
TEST(WriteLogTest, NoMutationHarmsTheReader) {
  std::mt19937 random(1);
  const std::vector<std::byte> whole = example().bytes();
  size_t read_well = 0, refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes = whole;
    for (uint32_t changes = 1 + random() % 4; changes > 0; --changes) {
      // Mostly in what is no content.
      const size_t entry = std::vector<size_t>{0, 512, 5120, 9728, 10240, 10752, 11264}[random() % 7];
      const size_t at = random() % 8 == 0 ? random() % bytes.size() : entry + random() % 40;
      if (at >= bytes.size()) continue;
      const uint32_t how = random() % 3;
      bytes[at] = how == 0   ? static_cast<std::byte>(random())
                  : how == 1 ? bytes[at] ^ static_cast<std::byte>(1u << random() % 8)
                             : std::byte{0xff};
    }
    if (random() % 8 == 0) bytes.resize(random() % (bytes.size() + 1));
    Result<WriteLog> log = read(bytes);
    if (!log) {
      ++refused;
      ASSERT_FALSE(log.error().message.empty());
      ASSERT_EQ(log.error().message.find('\n'), std::string::npos);
      continue;
    }
    ++read_well;
    const uint32_t block = log->block_size(4096);
    ASSERT_TRUE(log->load(source_of(bytes), block));
    Media media{Image(Geometry{.block_size = block, .block_count = BlockCount(kDisk / block)})};
    log->play(0, log->entries().size(), media);
    ASSERT_EQ(media.state().log.strays(), 0u) << round;
  }
  EXPECT_GT(read_well, 1000u);
  EXPECT_GT(refused, 1000u);
}

// A log can say that it discards the disk again and again, in a few bytes each time.
TEST(WriteLogTest, WhatItAsksForIsBounded) {
  constexpr uint64_t kLarge = uint64_t{1} << 40;
  LogWriter log;
  for (int i = 0; i < 3; ++i) log.discard(0, kLarge);
  const std::vector<std::byte> bytes = log.bytes();
  Result<WriteLog> read = WriteLog::read(source_of(bytes), kLarge);
  ASSERT_TRUE(read);
  const Status loaded = read->load(source_of(bytes), 4096);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message,
              HasSubstr("entry 1: the log writes and discards more than 16777216 blocks"));
}

}  // namespace
}  // namespace sisyfs::write_log_test
