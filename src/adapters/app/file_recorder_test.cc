#include "adapters/app/file_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "adapters/app/random_recording_for_test.h"

namespace sisyfs::file_recorder_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

FilePageRef page_in(const StoredFile* file, uint64_t page) {
  if (file == nullptr || !file->pages.contains(page)) return nullptr;
  return file->pages.at(page);
}
bool same_page(const FilePageRef& one, const FilePageRef& other) {
  static const FilePage kZeros{};
  return (one == nullptr ? kZeros : *one) == (other == nullptr ? kZeros : *other);
}

// Whether the store has what the version says.
void expect_value(FileStore& files, const FileLog& log, SlotId id, uint64_t value) {
  const Slot& slot = log.slot_of(id);
  const StoredFile* const file = files.find(slot.object);
  switch (slot.kind) {
    case SlotKind::kEntry:
      EXPECT_EQ(file == nullptr ? kNoFile : files.lookup(slot.object, slot.name), value) << slot.name;
      break;
    case SlotKind::kSize:
      EXPECT_EQ(file == nullptr ? 0 : file->size, value);
      break;
    case SlotKind::kPage:
      EXPECT_TRUE(same_page(page_in(file, slot.page), log.contents().page_of(value)));
      break;
    case SlotKind::kMode:
      EXPECT_EQ(file == nullptr ? value : file->mode, value);  // of a new object: that of its create
      break;
    case SlotKind::kAttribute: {
      const bool has = file != nullptr && file->attributes.contains(slot.name);
      EXPECT_EQ(has, value != 0);
      EXPECT_EQ(has ? "=" + file->attributes.at(slot.name) : "", log.contents().text_of(value));
    }
  }
}

TEST(FileRecorderTest, FirstVersionsAreTheStartAndLastVersionsTheEnd) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    RandomRecording recording(seed);
    const FileLog& log = recording.files.log;
    ASSERT_GT(log.slots(), 5U);
    for (SlotId slot = 0; slot < log.slots(); ++slot) {
      expect_value(recording.files.start, log, slot, log.versions(slot).front().value);
      expect_value(recording.files.last, log, slot, log.versions(slot).back().value);
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(FileRecorderTest, EachStepOfACallIsAVersionOfThatCall) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const RandomRecording recording(seed);
    const FileLog& log = recording.files.log;
    for (EventId e = 0; e < log.events().size(); ++e)
      for (const FileStep& step : log.events()[e].steps)
        EXPECT_EQ(log.versions(step.slot)[step.version].event, e);
  }
}

class RecordedFilesTest : public testing::Test {
 protected:
  RecordedFilesTest() : recorder_(files_, log_) { files_.observe(&recorder_); }

  FileId make(const std::string& name, FileId folder = kRootFile, mode_t type = S_IFREG) {
    FileStore::New wanted;
    wanted.mode = type | 0644;
    FileId made = kNoFile;
    EXPECT_EQ(files_.create(call(type == S_IFDIR ? FileEventKind::kMkdir : FileEventKind::kCreate), folder,
                            name, wanted, made),
              0);
    return made;
  }
  static FileEvent call(FileEventKind kind) {
    FileEvent event;
    event.kind = kind;
    return event;
  }
  const std::string& last_text() const { return log_.events().back().text; }

  FileStore files_;
  FileLog log_;
  FileRecorder recorder_;
};

TEST_F(RecordedFilesTest, CallsAreToldWithThePathsThatProgramsSee) {
  const FileId folder = make("folder", kRootFile, S_IFDIR);
  EXPECT_THAT(last_text(), AllOf(HasSubstr("mkdir"), HasSubstr("folder")));
  const FileId file = make("file", folder);
  EXPECT_THAT(last_text(), AllOf(HasSubstr("create"), HasSubstr("folder/file")));
  files_.rename(call(FileEventKind::kRename), kRootFile, "folder", kRootFile, "moved", 0);
  EXPECT_THAT(last_text(), AllOf(HasSubstr("rename"), HasSubstr("folder"), HasSubstr("moved")));
  files_.truncate(call(FileEventKind::kTruncate), file, 77);
  EXPECT_THAT(last_text(), AllOf(HasSubstr("truncate"), HasSubstr("moved/file"), HasSubstr("77")));
  EXPECT_EQ(recorder_.path_of(file), "moved/file");
  EXPECT_EQ(recorder_.path_of(kRootFile), ".");
}

TEST_F(RecordedFilesTest, FailedCallsAreNotRecorded) {
  make("a");
  const size_t events = log_.events().size();
  FileId made = kNoFile;
  EXPECT_NE(files_.create(call(FileEventKind::kCreate), kRootFile, "a", {}, made), 0);
  EXPECT_NE(files_.unlink(call(FileEventKind::kUnlink), kRootFile, "b"), 0);
  EXPECT_NE(files_.rename(call(FileEventKind::kRename), kRootFile, "b", kRootFile, "c", 0), 0);
  EXPECT_EQ(log_.events().size(), events);
}

TEST_F(RecordedFilesTest, RenameOverAFileTellsWhatWasReplaced) {
  const FileId a = make("a"), b = make("b");
  files_.rename(call(FileEventKind::kRename), kRootFile, "a", kRootFile, "b", 0);
  EXPECT_EQ(log_.events().back().object, a);
  EXPECT_EQ(log_.events().back().replaced, b);
  ASSERT_EQ(log_.events().back().steps.size(), 2U);
  EXPECT_EQ(log_.slot_of(log_.events().back().steps.front().slot).name, "b");
}

TEST_F(RecordedFilesTest, CloseCountsOnlyBehindATruncationToNothing) {
  const FileId a = make("a");
  files_.closed(call(FileEventKind::kClose), a);
  files_.truncate(call(FileEventKind::kTruncate), a, 10);
  files_.closed(call(FileEventKind::kClose), a);
  EXPECT_EQ(log_.events().back().kind, FileEventKind::kTruncate);
  files_.truncate(call(FileEventKind::kTruncate), a, 0);
  files_.closed(call(FileEventKind::kClose), a);
  EXPECT_EQ(log_.events().back().kind, FileEventKind::kClose);
  const size_t events = log_.events().size();
  files_.closed(call(FileEventKind::kClose), a);
  EXPECT_EQ(log_.events().size(), events);
}

TEST_F(RecordedFilesTest, AcknowledgementsAreEventsWithTheirWords) {
  recorder_.acknowledge(FileEventKind::kAck, "saved", 42);
  EXPECT_EQ(log_.events().back().kind, FileEventKind::kAck);
  EXPECT_EQ(last_text(), "saved");
  EXPECT_EQ(log_.events().back().thread, 42U);
  EXPECT_TRUE(log_.events().back().steps.empty());
}

}  // namespace
}  // namespace sisyfs::file_recorder_test
