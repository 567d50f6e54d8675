// A log that the f2fs model has written is played, and recovered by the f2fs model.
#include "adapters/recorded/recorded_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "adapters/recorded/log_writer_for_test.h"
#include "adapters/recorded/recorded_log.h"
#include "finding/disk_check.h"
#include "finding/shorten.h"
#include "judge/workload_options.h"
#include "models/f2fs/target.h"

namespace sisyfs::recorded_setup_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The requests to a disk, as a log.
void add_events(const Log& log, uint32_t block, LogWriter& out) {
  std::vector<const Event*> events;
  for (const Event* event : log.events(events)) {
    if (event->kind == EventKind::kFlush) out.flush();
    if (event->kind == EventKind::kDiscard)
      out.discard(event->first.value * block, event->count.value * block);
    if (event->kind != EventKind::kWrite) continue;
    std::vector<std::byte> bytes(event->count.value * block);
    for (uint64_t i = 0; i < event->count.value; ++i)
      copy_bytes(event->block(i), std::span(bytes).subspan(i * block, block));
    out.write(event->first.value * block, bytes, event->flags.fua ? WriteLog::kFua : 0);
  }
}

class RecordedSetupTest : public testing::Test {
 protected:
  RecordedSetupTest() : kind_(f2fs::kind_of(config())) {
    std::string pattern = (std::filesystem::temp_directory_path() / "sisyfs-log-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    const std::unique_ptr<Target> target = kind_.make();
    Media media{fresh_image(kind_.disks, FreshContent::kZeros)};
    EXPECT_EQ(target->format(media), 0);
    base_ = media.state().current.bytes();
    media.load(MediaState(media.state().current));
    EXPECT_EQ(target->mount(media), 0);
    const auto call = [&](const Op& op) { EXPECT_EQ(target->apply(op).error, 0) << to_text(op); };
    const auto mark = [&](const char* text) {
      add_events(media.state().log, kind_.disks.block_size, log_);
      media.load(MediaState(media.state().current));
      log_.mark(text);
    };
    call(Op::of(OpKind::kCreate, Path("/a")));
    call(Op::append(Path("/a"), kind_.disks.block_size));
    call(Op::of(OpKind::kSync));
    mark("sync one");
    call(Op::of(OpKind::kCreate, Path("/b")));
    call(Op::of(OpKind::kRename, Path("/a"), Path("/c")));
    call(Op::of(OpKind::kSync));
    mark("sync two");
    EXPECT_EQ(target->unmount(), 0);
    mark("the end");
  }
  ~RecordedSetupTest() override { std::filesystem::remove_all(directory_); }

  // With blocks that are sectors.
  static f2fs::Config config() {
    f2fs::Config config;
    config.block_size = 512;
    return config;
  }
  void put(const char* name, const std::vector<std::byte>& bytes) const {
    std::ofstream(directory_ + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  Result<std::unique_ptr<Check>> make(std::vector<std::string> settings) const {
    put("log", log_.bytes());
    put("base", base_);
    std::vector<OptionSpec> specs = log_specs();
    for (OptionSpec& spec : cut_specs("", "prefixes")) specs.push_back(std::move(spec));
    specs.push_back(
        OptionSpec::choice("contract", {"claimed", "structure", "atomic"}, "claimed", "contract"));
    settings.push_back("log=" + directory_ + "/log");
    settings.push_back("base=" + directory_ + "/base");
    const Result<Options> options = Options::parse(specs, settings);
    if (!options) return options.error();
    Result<std::optional<LogFiles>> files = LogFiles::open(*options, kind_.disks.block_size);
    if (!files) return files.error();
    EXPECT_TRUE((*files)->disk() == kind_.disks);
    DiskSetup setup;
    setup.kind = kind_;
    if (const std::string_view name = options->choice_text("contract"); name != "claimed")
      setup.kind.claims.contract = *parse_contract(name);
    set_cuts(*options, setup);
    if (Status s = play_log(*std::move(*files), *options, setup); !s) return s.error();
    return make_disk_check(std::move(setup));
  }
  SearchResult search(const Check& check) const {
    SearchOptions options;
    options.stop = StopRule::kNever;
    return check.search(options, nullptr);
  }
  // The story of the shortest trace of the finding, after steps that it does not need were left out.
  Story story_of(const Check& check, FindingKind kind) const {
    SearchOptions options;
    options.stop = StopRule::kNever;
    const FoundTraces found = check.find_traces(options, check.kinds().bit_or_none(kind), nullptr);
    EXPECT_EQ(found.traces.size(), 1u);
    if (found.traces.empty()) return {};
    Result<std::vector<Step>> steps = check.steps(found.traces[0].trace);
    EXPECT_TRUE(steps);
    const std::atomic<bool> stop{false};
    const Replayed replayed = check.replay(shorten(check, kind, *steps, stop));
    EXPECT_EQ(replayed.cannot_happen, "");
    return replayed.story;
  }

  TargetKind kind_;
  std::string directory_;
  std::vector<std::byte> base_;
  LogWriter log_;
};

TEST_F(RecordedSetupTest, WhatWasRecordedPasses) {
  for (const char* crash : {"prefixes", "lazy"}) {
    const auto check = make({std::string("crash=") + crash});
    ASSERT_TRUE(check) << check.error().message;
    const SearchResult result = search(**check);
    EXPECT_EQ(result.verdict, Verdict::kPass) << crash;
    EXPECT_EQ(result.findings, 0u) << crash;
  }
}

// Each way of building crash states judges as many of them.
TEST_F(RecordedSetupTest, LazyRunsStandForAllSubsets) {
  const SearchResult subsets = search(**make({"crash=subsets"})), lazy = search(**make({"crash=lazy"}));
  EXPECT_EQ(subsets.findings, 0u);
  EXPECT_EQ(subsets.crash_states + subsets.left_out, lazy.crash_states);
  EXPECT_EQ(lazy.left_out, 0u);
}

TEST_F(RecordedSetupTest, WithoutFlushesAPromiseIsBroken) {
  std::erase_if(log_.entries, [](const LogWriter::Entry& entry) { return entry.flags == WriteLog::kFlush; });
  const auto check = make({"crash=prefixes"});
  ASSERT_TRUE(check) << check.error().message;
  const SearchResult result = search(**check);
  ASSERT_TRUE((*check)->kinds().has(result.findings, FindingKind::kNotAllowed));
  const Story story = story_of(**check, FindingKind::kNotAllowed);
  ASSERT_EQ(story.steps.size(), 2u) << "one play, and the power cut";
  EXPECT_THAT(story.steps[0].text, HasSubstr("the mark 'sync one': all before it is durable"));
  ASSERT_FALSE(story.writes.empty());
  EXPECT_THAT(story.writes[0].label, HasSubstr("entry 1 of the log, a write at sector"));
  ASSERT_FALSE(story.steps[1].observed.empty());
  EXPECT_THAT(story.steps[1].observed[0].text, HasSubstr("file /a: missing"));

  EXPECT_EQ(search(**make({"crash=prefixes", "contract=structure"})).verdict, Verdict::kPass);
  EXPECT_EQ(search(**make({"crash=prefixes", "promise=never"})).verdict, Verdict::kPass);
}

TEST_F(RecordedSetupTest, ReplaysAreOfTheSameFiles) {
  const std::vector<std::string> settled = (*make({}))->settled();
  ASSERT_EQ(settled.size(), 2u);
  EXPECT_TRUE(make(settled));
  log_.entries[0].bytes[0] ^= std::byte{1};
  const auto other = make(settled);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("/log: is not the file of the finding or saved search"));
  log_.entries[0].bytes[0] ^= std::byte{1};
  base_.back() ^= std::byte{1};
  const auto another = make(settled);
  ASSERT_FALSE(another);
  EXPECT_THAT(another.error().message, HasSubstr("/base: is not the file of the finding or saved search"));
}

// A finding that was edited by hand is refused where it makes no sense.
TEST_F(RecordedSetupTest, PlaysGoForward) {
  const auto check = make({});
  const auto replay = [&](const std::vector<std::string>& ops) {
    std::vector<Step> steps;
    for (const std::string& op : ops) {
      steps.push_back({.id = static_cast<uint32_t>(steps.size() + 1), .op = op, .failure = {}, .cuts = {}});
    }
    return (*check)->replay(steps).cannot_happen;
  };
  const std::string all = std::to_string(log_.entries.size());
  EXPECT_EQ(replay({"play 3", "play " + all}), "");
  EXPECT_THAT(replay({"play 3", "play 2"}), HasSubstr("step 2: the log is played up to entry 3"));
  EXPECT_THAT(replay({"play 100000"}), HasSubstr("leads to 100000 of " + all));
  EXPECT_THAT(replay({"create /a"}), HasSubstr("a log has no op but play"));
}

TEST_F(RecordedSetupTest, TheBaseMustMountWhereTheCheckBegins) {
  const std::vector<std::byte> made = base_;
  LogWriter whole;
  whole.write(0, made);
  whole.mark("made");
  for (const LogWriter::Entry& entry : log_.entries) whole.entries.push_back(entry);
  log_ = whole;
  base_.assign(base_.size(), std::byte{0});
  const auto early = make({});
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(early.error().message, AllOf(HasSubstr("when the log begins"), HasSubstr("--set from=MARK")));
  const auto behind = make({"from=made"});
  ASSERT_TRUE(behind) << behind.error().message;
  EXPECT_EQ(search(**behind).verdict, Verdict::kPass);
  EXPECT_THAT(make({"from=nowhere"}).error().message,
              HasSubstr("no such mark; it has made, sync one, sync two"));
}

TEST(ContinuedTest, WhatStaysIsTheSameObject) {
  Tree before, walked;
  const auto bytes = [](const char* text) { return std::as_bytes(std::span(std::string_view(text))); };
  ASSERT_EQ(before.create("/a") + before.mkdir("/d") + before.create("/d/x") + before.create("/gone"), 0);
  ASSERT_EQ(before.mkdir("/e") + before.create("/e/f") + before.link("/a", "/also"), 0);
  ASSERT_EQ(before.write("/a", 0, bytes("old")), 0);
  // In another order, and not all of it.
  ASSERT_EQ(walked.create("/new") + walked.mkdir("/d") + walked.create("/a") + walked.create("/d/x"), 0);
  ASSERT_EQ(walked.create("/e") + walked.create("/also") + walked.symlink("a", "/s"), 0);
  ASSERT_EQ(walked.write("/a", 0, bytes("newer")) + walked.link("/d/x", "/x") + walked.chmod("/a", 0600), 0);
  const Tree after = continued(before, walked);
  EXPECT_EQ(after.digest(), walked.digest());
  const auto birth = [](const Tree& tree, const char* path) {
    Stat stat;
    EXPECT_EQ(tree.lstat(path, &stat), 0) << path;
    return tree.birth(stat.node);
  };
  for (const char* path : {"/a", "/d", "/d/x"}) EXPECT_EQ(birth(after, path), birth(before, path)) << path;
  EXPECT_EQ(birth(after, "/x"), birth(after, "/d/x"));
  EXPECT_NE(birth(after, "/also"), birth(after, "/a"));
  EXPECT_NE(birth(after, "/e"), birth(before, "/e")) << "it was a directory";
}

}  // namespace
}  // namespace sisyfs::recorded_setup_test
