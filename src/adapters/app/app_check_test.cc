#include "adapters/app/app_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "adapters/app/app_audit.h"
#include "adapters/app/contents.h"
#include "adapters/app/random_recording_for_test.h"
#include "crash/files/all_file_states_for_test.h"
#include "crash/files/file_logs_for_test.h"

namespace sisyfs::app_check_test {
namespace {

FileEvent sync_of() {
  FileEvent event;
  event.kind = FileEventKind::kSync;
  event.promise = FilePromise::kEverything;
  return event;
}

// Random calls with acknowledgements, and the content at each of them. The content is compared, so that no
// program has to run.
AppRecording random_recording(std::mt19937& random) {
  AppRecording out;
  FileStore store;
  for (int i = 0; i < 4; ++i) random_store_call(store, random);
  out.files.start = store;
  FileRecorder recorder(store, out.files.log);
  store.observe(&recorder);
  out.contents.push_back(contents_of(store, {}));
  const auto acknowledge = [&](FileEventKind kind) {
    recorder.acknowledge(kind, "done", 0);
    out.files.acks.push_back(static_cast<EventId>(out.files.log.events().size() - 1));
    out.contents.push_back(contents_of(store, {}));
  };
  while (out.files.log.events().size() < 14 && assignments(out.files.log) < 400) {
    // Often right: a call, a flush of all, an acknowledgement.
    random_store_call(store, random);
    if (random() % 4 != 0) store.flush(sync_of(), kNoFile);
    if (random() % 4 != 0) acknowledge(FileEventKind::kAck);
  }
  acknowledge(FileEventKind::kExit);
  store.observe(nullptr);
  out.files.last = store;
  return out;
}

// Whether a power cut at any time leaves a content that it must not: one state after the other, after each
// call.
bool is_broken(const AppRecording& recording, const FileRules& rules) {
  const FileLog& log = recording.files.log;
  for (EventId events = 0; events <= log.events().size(); ++events) {
    const auto done = std::ranges::count_if(recording.files.acks, [&](EventId ack) { return ack < events; });
    const auto acked = static_cast<size_t>(done);
    // The next step may be done already if it has begun.
    std::vector<Digest> allowed{recording.contents[acked]};
    const bool has_begun = events > (acked == 0 ? 0 : recording.files.acks[acked - 1] + 1);
    if (has_begun && acked + 1 < recording.contents.size()) allowed.push_back(recording.contents[acked + 1]);
    const FileStates states(log, rules, events);
    const AllFileStates all(log, rules, events);
    for (const Versions& one : all.states()) {
      FileRuns::Missing whole{{}, states.all(), acked, {}};
      for (SlotId slot = 0; slot < log.slots(); ++slot)
        whole.path.push_back({slot, states.value(slot, one[slot])});
      FilePicks picks(states, whole);
      CrashFiles crash(recording.files, picks);
      FileStore files(crash, recording.files.last.next_object());
      if (std::ranges::find(allowed, contents_of(files, {})) == allowed.end()) return true;
    }
  }
  return false;
}

TEST(AppCheckTest, FindsSomethingExactlyWhereAStateAtSomeTimeIsWrong) {
  size_t broken = 0, right = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const AppRecording recording = random_recording(random);
    const FileRules& rules = all_file_rules()[seed % all_file_rules().size()];
    const AppPlan plan;
    AppCheck check(plan, recording);
    ASSERT_TRUE(check.try_without_power_cut(1)) << seed;
    AppSearch search;
    search.rules = &rules;
    const auto result = check.search(search);
    ASSERT_TRUE(result);
    const bool expected = is_broken(recording, rules);
    ASSERT_EQ(!result->findings.empty(), expected) << "seed " << seed << ", " << rules.name << "\n"
                                                   << text_of(recording.files.log);
    EXPECT_TRUE(expected || result->exhausted);
    ++(expected ? broken : right);
  }
  EXPECT_GT(broken, 50U);
  EXPECT_GT(right, 50U);
}

// What is said to help does help: the flushes are added to the log, and all states are judged one by one.
TEST(AppCheckTest, FlushesThatWouldHelpDo) {
  size_t helped = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const AppRecording recording = random_recording(random);
    const FileRules& rules = all_file_rules()[seed % all_file_rules().size()];
    const AppPlan plan;
    AppCheck check(plan, recording);
    ASSERT_TRUE(check.try_without_power_cut(1));
    AppSearch search;
    search.rules = &rules;
    const auto result = check.search(search);
    ASSERT_TRUE(result);
    if (result->findings.empty()) continue;
    const auto cures = missing_flushes(check, search, *result);
    ASSERT_TRUE(cures);
    for (const auto& cure : *cures) {
      const auto cured = check.search(search, {.dropped = {}, .added = cure});
      ASSERT_TRUE(cured);
      EXPECT_TRUE(cured->findings.empty()) << seed;
      // And none of them is one too many.
      for (size_t i = 0; i < cure.size() && cure.size() > 1; ++i) {
        FlushChanges fewer{.dropped = {}, .added = cure};
        fewer.added.erase(fewer.added.begin() + static_cast<ptrdiff_t>(i));
        EXPECT_FALSE(check.search(search, fewer)->findings.empty()) << seed;
      }
      ++helped;
    }
  }
  EXPECT_GT(helped, 10U);
}

}  // namespace
}  // namespace sisyfs::app_check_test
