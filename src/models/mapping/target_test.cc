#include "models/mapping/target.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <set>
#include <string>

#include "finding/catalogue_bits_for_test.h"
#include "finding/disk_check.h"
#include "judge/disk_system.h"
#include "machine/marks.h"
#include "models/mapping/check.h"
#include "models/mapping/layout.h"
#include "models/mapping/system.h"

namespace sisyfs::mapping::target_test {
namespace {

// Every state that can be reached by the choices that `follow` says yes to.
template <class System, class Follow>
std::deque<typename System::State> reachable(const System& system, Follow follow) {
  using State = typename System::State;
  struct Sink : sisyfs::detail::FullSink<System> {
    Sink(const System& s, Follow f) : system(s), follow(f) {}
    State& next() { return built; }
    void commit(Choice choice, Outcome) {
      if (follow(choice)) keep();
    }
    void keep() {
      if (seen.insert(system.fingerprint(built)).second) states.push_back(built);
    }
    const System& system;
    Follow follow;
    State built;
    std::set<Digest> seen;
    std::deque<State> states;
  };
  Sink sink(system, follow);
  system.initial(sink.built);
  sink.keep();
  for (size_t i = 0; i < sink.states.size(); ++i) {
    const State from = sink.states[i];
    system.expand(from, sink);
  }
  return std::move(sink.states);
}

template <class Medium>
std::string bytes_of(const Medium& m) {
  return std::string(reinterpret_cast<const char*>(&m), sizeof m);
}

// What a data block holds, as the direct form has it: the bytes of an op are the hash of their place.
template <class Core>
unsigned content_of_block(const Config& c, unsigned b, const FieldBlock& bytes) {
  for (unsigned f = 0; f < c.files; ++f) {
    for (unsigned k = 0; k < Core::longest(c); ++k) {
      FieldBlock expected;
      fill_data(Op::append(Path("/file" + std::to_string(f)), kBlockBytes), k * kBlockBytes, expected);
      if (bytes == expected) return Core::content(c, f, b, k, 0);
    }
  }
  return from_fields(bytes);
}

// The disk of the adapter's state as the medium of the direct form.
template <class Core>
std::string medium_of(const Config& c, const DiskSystemState& state) {
  Media disk(state.disk);
  BlockIo io{disk};
  typename Core::Medium m;
  Core::format(c, m);
  read_inodes_and_table(Core{}, io, m);
  for (unsigned b = 0; b < c.blocks; ++b) {
    FieldBlock bytes;
    EXPECT_EQ(disk.read(BlockAddress(kFirstDataBlock + b), bytes), IoStatus::kOk);
    m.data[b] =
        static_cast<std::remove_reference_t<decltype(m.data[b])>>(content_of_block<Core>(c, b, bytes));
  }
  return bytes_of(m);
}

template <class Core>
std::set<std::string> media_via_disk(const Config& c, bool crashes) {
  DiskSetup setup;
  setup.kind = std::is_same_v<Core, LinkCore> ? link_kind_of(c) : index_kind_of(c);
  setup.bounds.max_files = kMaxFiles;
  setup.bounds.max_file_size = kMaxBlocks;
  setup.cuts.device.order = WriteOrder::kInOrder;
  setup.cuts.device.cache = c.cache ? WriteCache::kVolatile : WriteCache::kWriteThrough;
  setup.cuts.enabled = crashes;
  const Result<DiskSystem> system = DiskSystem::make(setup);
  EXPECT_TRUE(system);
  std::set<std::string> media;
  for (const DiskSystemState& state : reachable(*system, [](Choice) { return true; })) {
    EXPECT_FALSE(state.over);
    EXPECT_TRUE(state.disk.log.empty()) << "every op is durable when it returns";
    media.insert(medium_of<Core>(c, state));
  }
  return media;
}

template <class Core>
std::set<std::string> media_via_steps(const Config& c, bool crashes) {
  std::set<std::string> media;
  const MappingSystem<Core, false> system(c);
  for (const auto& state :
       reachable(system, [=](Choice choice) { return crashes || choice != Move::crash(); })) {
    if (state.tasks[0].op == 0) media.insert(bytes_of(state.disk));
  }
  return media;
}

Config small(bool naive, bool cache) {
  Config c;
  c.files = 2;
  c.blocks = 3;
  c.fill = false;  // a disk keeps what was in a freed block
  c.naive = naive;
  c.cache = cache;
  return c;
}

// Without power cuts both forms run the same ops on the same layout: between two ops they can hold the
// same disks and no others.
TEST(MappingTargetTest, BothFormsReachTheSameDisks) {
  for (const bool naive : {false, true}) {
    for (const bool cache : {false, true}) {
      const Config c = small(naive, cache);
      const auto link = media_via_disk<LinkCore>(c, false);
      EXPECT_EQ(link, media_via_steps<LinkCore>(c, false)) << naive << cache;
      EXPECT_EQ(link.size(), 1493u) << naive << cache;
      const auto index = media_via_disk<IndexCore>(c, false);
      EXPECT_EQ(index, media_via_steps<IndexCore>(c, false)) << naive << cache;
      EXPECT_EQ(index.size(), 937u) << naive << cache;
    }
  }
}

// With a device that writes through, a power cut keeps a prefix of the writes: the same as the power cut
// between two steps of the direct form. So in the safe order the disks are the same with crashes too.
// (In the naive order the adapter's paths end where the expectation is broken, those of the direct form go
// on.)
TEST(MappingTargetTest, BothFormsComeBackWithTheSameDisks) {
  const Config c = small(false, false);
  const auto link = media_via_disk<LinkCore>(c, true);
  EXPECT_EQ(link, media_via_steps<LinkCore>(c, true));
  EXPECT_EQ(link.size(), 1545u);
  const auto index = media_via_disk<IndexCore>(c, true);
  EXPECT_EQ(index, media_via_steps<IndexCore>(c, true));
  EXPECT_EQ(index.size(), 981u);
}

struct Cell {
  Model model;
  unsigned blocks;
  bool naive, cache;
  const char* cuts;
  FindingBits findings;
  uint64_t states, transitions;
};

constexpr FindingBits kLost = bit(FindingKind::kLostBlock);
constexpr FindingBits kTwice = bit(FindingKind::kDoublePointer);
constexpr FindingBits kEio = bit(FindingKind::kNotWalkable);
// Repair ends a chain where its file does; if another file's leads through there, that one is lost next time.
constexpr FindingBits kAgain = bit(FindingKind::kNotClean);
constexpr FindingBits kHarm = bit(FindingKind::kNotAllowed) | bit(FindingKind::kWrongEffect);

SearchResult run(const Cell& cell, unsigned threads = 1, bool impossible = false) {
  const std::vector<std::string> settings = {"files=2",
                                             "blocks=" + std::to_string(cell.blocks),
                                             cell.naive ? "order=naive" : "order=pointed",
                                             cell.cache ? "cache=flush" : "cache=off",
                                             std::string("crash=") + cell.cuts,
                                             impossible ? "impossible=on" : "impossible=off"};
  const Result<Options> options_given = Options::parse(option_specs(), settings);
  EXPECT_TRUE(options_given);
  const auto check = make_disk_check(disk_setup_of(cell.model, *options_given));
  EXPECT_TRUE(check);
  SearchOptions options;
  options.threads = threads;
  return catalogued_search(**check, options);
}

// What the steps form calls a content error is here what it is for any target: R3 where a power cut took or
// brought something, O2 where an op harmed a file that it does not name, R2 where a pointer leads nowhere.
//
// The naive order fails with a cache as well as without: the thesis takes FLUSH for one atomic step, and so
// does the steps form; but a device may be cut in the middle of emptying its cache, and then it has kept a
// prefix of the writes (the same as without a cache) or, if it reorders, any subset. The safe order
// lives from the order alone: it survives every prefix, and fails on a device that reorders between
// flushes, because its ops flush only at their end. A create whose inode persists and whose table does not
// is enough. Such a device needs a flush between what is pointed to and the pointer.
const Cell kCells[] = {
    {Model::kLink, 3, false, false, "prefixes", 0, 1545, 19882},
    {Model::kLink, 3, false, true, "prefixes", 0, 1545, 19882},
    {Model::kLink, 3, false, true, "subsets", kLost | kTwice | kHarm | kEio | kAgain, 4484, 75479},
    {Model::kLink, 3, false, false, "subsets", 0, 1545, 19882},  // written through: in order
    {Model::kLink, 3, true, false, "prefixes", kLost | kTwice | kHarm | kEio | kAgain, 4342, 57498},
    {Model::kLink, 3, true, true, "prefixes", kLost | kTwice | kHarm | kEio | kAgain, 4342, 57498},
    {Model::kLink, 3, true, false, "none", 0, 1493, 6854},
    {Model::kLink, 4, false, true, "prefixes", 0, 17501, 230100},
    {Model::kIndex, 3, false, false, "prefixes", 0, 981, 12540},
    {Model::kIndex, 3, false, true, "prefixes", 0, 981, 12540},
    {Model::kIndex, 3, false, true, "subsets", kLost | kTwice | kHarm, 3314, 53521},
    {Model::kIndex, 3, false, false, "subsets", 0, 981, 12540},
    {Model::kIndex, 3, true, false, "prefixes", kLost | kTwice | kHarm, 3140, 40582},
    {Model::kIndex, 3, true, true, "prefixes", kLost | kTwice | kHarm, 3140, 40582},
    {Model::kIndex, 3, true, false, "none", 0, 937, 4346},
    {Model::kIndex, 4, false, true, "prefixes", 0, 9347, 121094},
    // Four blocks are enough for a file with an indirect block, which can be lost.
    {Model::kIndex, 4, true, false, "prefixes", kLost | kTwice | kHarm | kEio, 31542, 412566},
};

TEST(MappingTargetTest, VerdictsAndCountsThroughADisk) {
  for (const Cell& cell : kCells) {
    const SearchResult result = run(cell);
    SCOPED_TRACE(testing::Message() << "cell " << &cell - kCells);
    EXPECT_EQ(result.findings, cell.findings);
    EXPECT_TRUE(result.exhausted);
    EXPECT_EQ(result.states, cell.states);
    EXPECT_EQ(result.transitions, cell.transitions);
  }
}

TEST(MappingTargetTest, OneAndTwoThreadsAgree) {
  for (const size_t i : {7, 10}) {
    const SearchResult one = run(kCells[i], 1), two = run(kCells[i], 2);
    EXPECT_EQ(one.visited, two.visited);
    EXPECT_EQ(one.states, two.states);
    EXPECT_EQ(one.transitions, two.transitions);
    EXPECT_EQ(one.findings, two.findings);
    EXPECT_EQ(one.times_found, two.times_found);
    EXPECT_EQ(one.least_depth, two.least_depth);
    EXPECT_EQ(one.marks, two.marks);
  }
}

// An op that cannot be must be refused with the right errno and change nothing: no state is added.
TEST(MappingTargetTest, ImpossibleOpsFailAndChangeNothing) {
  for (const size_t i : {1, 9}) {
    const SearchResult plain = run(kCells[i]), all = run(kCells[i], 1, true);
    EXPECT_EQ(all.findings, 0u);
    EXPECT_EQ(all.visited, plain.visited);
    EXPECT_GT(all.transitions, plain.transitions);
    EXPECT_NE(all.marks & kRefused, 0u);
    EXPECT_NE(all.marks & kNoSpace, 0u);
  }
}

TEST(MappingTargetTest, OptionsThatDoNotGoTogetherAreRefused) {
  const auto error = [](std::vector<std::string> settings) {
    const Result<Options> options = Options::parse(option_specs(), settings);
    EXPECT_TRUE(options);
    const auto check = make_check(Model::kLink, *options);
    return check ? std::string() : check.error().message;
  };
  for (const char* other : {"tasks=2", "symmetry=on", "data=counter"}) {
    EXPECT_EQ(error({"via=disk", other}),
              "via=disk runs whole ops of one task: tasks=2, symmetry=on and data=counter need via=steps");
  }
  for (const std::string other :
       {"crash=subsets", "crash=none", "device=disk", "atomic=512", "write_cache=through", "discarded=old",
        "samples=3", "sample_seed=1", "nesting=1", "impossible=on"}) {
    EXPECT_EQ(error({other}),
              other.substr(0, other.find('=')) + " is an option of the form with a disk: add via=disk");
    EXPECT_EQ(error({other, "via=disk"}), "");
  }
}

}  // namespace
}  // namespace sisyfs::mapping::target_test
