#include "adapters/app/crash_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include "adapters/app/random_recording_for_test.h"
#include "crash/files/file_rules.h"
#include "crash/files/file_states.h"

namespace sisyfs::crash_files_test {
namespace {

FileTree newest_tree(const FileRecording& files, const FileRules& rules, EventId events) {
  const FileStates states(files.log, rules, events);
  FilePicks picks(states, 0);
  CrashFiles crash(files, picks);
  FileStore store(crash, files.last.next_object());
  return tree_of(store);
}

TEST(CrashFilesTest, NewestPicksAreWhatWasThereAtThatMoment) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const RandomRecording recording(seed);
    const FileRules& rules = all_file_rules()[seed % all_file_rules().size()];
    const auto events = static_cast<EventId>(recording.files.log.events().size());
    ASSERT_EQ(recording.trees.size(), events + 1);
    for (EventId moment = 0; moment <= events; ++moment)
      ASSERT_EQ(without_links(newest_tree(recording.files, rules, moment)),
                without_links(recording.trees[moment]))
          << seed << ", " << rules.name << ", after " << moment << " events";
  }
}

TEST(CrashFilesTest, LinksAreThoseOfTheEndWhereNothingIsLost) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const RandomRecording recording(seed);
    const auto events = static_cast<EventId>(recording.files.log.events().size());
    EXPECT_EQ(newest_tree(recording.files, *file_rules("posix"), events), recording.trees.back()) << seed;
  }
}

// The oldest picks: nothing but what was flushed is there. Reading decides nothing that was decided before.
TEST(CrashFilesTest, WhatIsReadTwiceIsTheSame) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const RandomRecording recording(seed);
    const FileLog& log = recording.files.log;
    const FileStates states(log, *file_rules("posix"), static_cast<EventId>(log.events().size()));
    std::mt19937 random(seed);
    // A path that picks some versions at random.
    FileRuns::Missing run{{}, states.all(), 0, {}};
    for (const SlotId slot : states.open_slots()) {
      const uint32_t low = states.low(run.ranges, slot), high = states.high(run.ranges, slot);
      const uint32_t version = low + static_cast<uint32_t>(random() % (high - low + 1));
      states.pick(run.ranges, slot, version);
      run.path.push_back({slot, states.value(slot, version)});
    }
    FilePicks picks(states, run);
    CrashFiles crash(recording.files, picks);
    FileStore store(crash, recording.files.last.next_object());
    const FileTree once = tree_of(store);
    EXPECT_EQ(tree_of(store), once);
    FilePicks again(states, run);
    CrashFiles same(recording.files, again);
    FileStore other(same, recording.files.last.next_object());
    EXPECT_EQ(tree_of(other), once) << seed;
  }
}

TEST(CrashFilesTest, OnlyWhatIsLookedAtIsDecided) {
  FileRecording files;
  FileStore store;
  FileRecorder recorder(store, files.log);
  files.start = store;
  store.observe(&recorder);
  FileId a = kNoFile, b = kNoFile;
  FileStore::New wanted;
  wanted.mode = S_IFREG | 0644;
  store.create({}, kRootFile, "a", wanted, a);
  store.create({}, kRootFile, "b", wanted, b);
  const std::string bytes(3 * kFilePageBytes, 'x');
  store.write({}, a, 0, std::as_bytes(std::span(bytes)));
  store.observe(nullptr);
  files.last = store;
  const FileStates states(files.log, *file_rules("posix"), 3);
  FilePicks picks(states, 0);
  CrashFiles crash(files, picks);
  FileStore seen(crash, files.last.next_object());
  EXPECT_TRUE(picks.reads().empty());
  EXPECT_EQ(seen.lookup(kRootFile, "a"), a);
  EXPECT_EQ(picks.reads().size(), 1U);
  std::vector<std::byte> page(10);
  seen.read(a, kFilePageBytes, page);
  EXPECT_EQ(picks.reads().size(), 3U) << "the name, the size and one page";
  EXPECT_EQ(seen.lookup(kRootFile, "nothing"), kNoFile);
  EXPECT_EQ(picks.reads().size(), 3U);
}

TEST(CrashFilesTest, RecoveryWritesOnTopOfWhatIsOpen) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const RandomRecording recording(seed);
    const auto events = static_cast<EventId>(recording.files.log.events().size());
    const FileStates states(recording.files.log, *file_rules("posix"), events);
    FilePicks picks(states, 0);
    CrashFiles crash(recording.files, picks);
    FileStore open(crash, recording.files.last.next_object());
    FileStore last = recording.files.last;
    // Nothing is lost, so that the same calls give the same files as behind the last event.
    std::mt19937 random(seed), same(seed);
    for (int i = 0; i < 40; ++i) {
      random_store_call(open, random);
      random_store_call(last, same);
    }
    EXPECT_EQ(without_links(tree_of(open)), without_links(tree_of(last))) << seed;
  }
}

}  // namespace
}  // namespace sisyfs::crash_files_test
