#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <set>

#include "models/mapping/check.h"
#include "models/mapping/story.h"

namespace sisyfs::mapping::mapping_test {
namespace {

// The cells of the verdict matrix: a model, an order, a cache, a number of tasks.
struct Cell {
  Model model;
  bool naive, cache;
  unsigned tasks;
  uint64_t states, transitions;               // where the cell is clean, at 4 files and 3 blocks
  uint64_t symmetric, symmetric_transitions;  // the same, files and tasks without names, at 4 blocks
};

std::ostream& operator<<(std::ostream& out, const Cell& c) {
  return out << (c.model == Model::kLink ? "link" : "index") << (c.naive ? "Naive" : "Pointed")
             << (c.cache ? "Cache" : "NoCache") << c.tasks;
}

Config config(const Cell& cell, unsigned files, unsigned blocks) {
  Config c;
  c.files = files;
  c.blocks = blocks;
  c.tasks = cell.tasks;
  c.naive = cell.naive;
  c.cache = cell.cache;
  return c;
}

SearchResult run(Model model, const Config& c, unsigned threads = 1,
                 SearchOrder order = SearchOrder::kBreadthFirst) {
  SearchOptions o;
  o.threads = threads;
  o.order = order;
  return make_steps_check(model, c)->search(o, {});
}

constexpr uint32_t kCriticalKinds = kLostBlock | kDoublePointer | kContentError;

// At 4 files and 6 blocks, files and tasks without names, until each critical kind was found.
struct Wrong : Cell {
  std::array<uint32_t, 3> lengths;  // of the shortest trace to each
};

class CleanCell : public testing::TestWithParam<Cell> {};
class WrongCell : public testing::TestWithParam<Wrong> {};

TEST_P(WrongCell, HasItsPinnedNumberOfStatesOnOneThreadAndOnTwo) {
  const Wrong& cell = GetParam();
  Config c = config(cell, 4, 6);
  c.symmetry = true;
  for (const unsigned threads : {1u, 2u}) {
    SearchOptions o;
    o.threads = threads;
    o.stop = StopRule::kEach;
    o.watched = kCriticalKinds;
    const SearchResult r = make_steps_check(cell.model, c)->search(o, {});
    EXPECT_EQ(r.states, cell.symmetric);
    EXPECT_EQ(r.transitions, cell.symmetric_transitions);
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(r.least_depth[i + 1], cell.lengths[i]);
  }
}

// The counts are those of an independent model of the same definition under SPIN's pan, which stores whole
// states (tests/spin_e2e_test.cc compares them anew). A change that cannot be explained is a bug.
TEST_P(CleanCell, HasItsPinnedNumberOfStatesOnOneThreadAndOnTwo) {
  const Cell& cell = GetParam();
  const SearchResult one = run(cell.model, config(cell, 4, 3), 1);
  EXPECT_EQ(one.states, cell.states);
  EXPECT_EQ(one.transitions, cell.transitions);
  EXPECT_EQ(one.findings, 0u);
  EXPECT_TRUE(one.exhausted);
  const SearchResult two = run(cell.model, config(cell, 4, 3), 2);
  EXPECT_EQ(two.states, one.states);
  EXPECT_EQ(two.transitions, one.transitions);
  EXPECT_EQ(two.visited, one.visited);
  EXPECT_EQ(two.marks, one.marks);
}

TEST_P(CleanCell, DepthFirstVisitsTheSameStates) {
  const Cell& cell = GetParam();
  const SearchResult bfs = run(cell.model, config(cell, 3, 3), 2);
  const SearchResult dfs = run(cell.model, config(cell, 3, 3), 2, SearchOrder::kDepthFirst);
  EXPECT_EQ(dfs.visited, bfs.visited);
  EXPECT_EQ(dfs.states, bfs.states);
  EXPECT_EQ(dfs.transitions, bfs.transitions);
}

TEST_P(CleanCell, SymmetryKeepsTheVerdictAndHasItsPinnedNumberOfStates) {
  const Cell& cell = GetParam();
  Config c = config(cell, 4, 4);
  c.symmetry = true;
  const SearchResult r = run(cell.model, c, 2);
  EXPECT_EQ(r.states, cell.symmetric);
  EXPECT_EQ(r.transitions, cell.symmetric_transitions);
  EXPECT_EQ(r.findings, 0u);
  EXPECT_TRUE(r.exhausted);
}

TEST_P(CleanCell, DeadBlocksAreRepairedExactlyWhereAnOpIsNotAtomic) {
  const Cell& cell = GetParam();
  Config c = config(cell, 3, 3);
  const bool atomic = cell.cache && cell.tasks == 1;  // FLUSH at the end of the only op in flight
  EXPECT_EQ((run(cell.model, c).marks & kDeadRepaired) != 0, !atomic);
  c.report_dead = true;
  const SearchResult r = run(cell.model, c);
  EXPECT_EQ(r.findings, atomic ? 0u : uint32_t{kDeadBlock}) << "asked to, it reports them";
}

TEST_P(WrongCell, ShowsEveryCriticalKindAndEachTraceIsConfirmed) {
  const Cell& cell = GetParam();
  const auto check = make_steps_check(cell.model, config(cell, 4, 3));
  SearchOptions o;
  o.stop = StopRule::kEach;
  o.watched = kCriticalKinds;
  const SearchResult r = check->search(o, {});
  EXPECT_EQ(r.findings, kCriticalKinds);
  const auto found = check->find_traces(o, r.findings).traces;
  ASSERT_EQ(found.size(), 3u);
  for (const FoundTrace& f : found) {
    EXPECT_EQ(f.trace.size(), r.least_depth[f.kind]);
    const Result<Story> story = check->tell(f.trace);
    ASSERT_TRUE(story) << story.error().message;
    EXPECT_TRUE(story->shows(check->kinds()[f.kind]));
    ASSERT_FALSE(story->steps.back().observed.empty());
    bool named = false;
    for (const Observation& seen : story->steps.back().observed)
      named |= static_cast<uint32_t>(seen.kind) == f.kind;
    EXPECT_TRUE(named) << "the story says what was seen";
  }
}

TEST_P(WrongCell, FindsTheSameAtTheSameDepthOnTwoThreads) {
  const Cell& cell = GetParam();
  const auto check = make_steps_check(cell.model, config(cell, 4, 3));
  SearchOptions o;
  o.stop = StopRule::kEach;
  o.watched = kCriticalKinds;
  const SearchResult one = check->search(o, {});
  o.threads = 2;
  const SearchResult two = check->search(o, {});
  EXPECT_EQ(two.states, one.states);
  EXPECT_EQ(two.visited, one.visited);
  EXPECT_EQ(two.least_depth, one.least_depth);
  EXPECT_EQ(two.times_found, one.times_found);
}

// The table calls block 0 free, and two inodes lead there: "whether allocated or not" (thesis, 4.4), it is
// lost twice and double.
TEST(MappingTest, ABlockThatIsReferencedTwiceIsDoubleEvenIfItIsFree) {
  for (const Model model : {Model::kLink, Model::kIndex}) {
    Config c;
    c.naive = true;
    c.cache = false;
    const Trace trace = {Move::op(0, Move::kCreate, 0), Move::step(0), Move::crash(),
                         Move::op(0, Move::kCreate, 2), Move::step(0), Move::crash()};
    const Result<Story> story = make_steps_check(model, c)->tell(trace);
    ASSERT_TRUE(story) << story.error().message;
    EXPECT_EQ(story->findings, (std::vector{FindingKind::kLostBlock, FindingKind::kDoublePointer}));
  }
}

// A repair for one file changed the chain that was then followed for another. The numbers are those of the
// Promela model (tests/spin_e2e_test.cc).
TEST(MappingTest, FilesThatShareBlocksAreCheckedBeforeAnythingIsRepaired) {
  Config c;
  c.files = 2;
  c.blocks = 3;
  c.naive = true;
  c.cache = false;
  const SearchResult r = run(Model::kLink, c, 2);
  EXPECT_EQ(r.states, 48537u);
  EXPECT_EQ(r.transitions, 125849u);
}

constexpr Model L = Model::kLink, X = Model::kIndex;
INSTANTIATE_TEST_SUITE_P(Matrix, CleanCell,
                         testing::Values(Cell{L, true, true, 1, 7801, 18629, 9448, 22719},
                                         Cell{L, false, true, 1, 7801, 18629, 9448, 22719},
                                         Cell{L, false, true, 2, 1067137, 3651273, 783980, 2706816},
                                         Cell{L, false, false, 1, 16921, 41765, 20693, 51334},
                                         Cell{L, false, false, 2, 596601, 2103889, 420027, 1502771},
                                         Cell{X, true, true, 1, 7609, 18197, 3100, 7527},
                                         Cell{X, false, true, 1, 7609, 18197, 3112, 7551},
                                         Cell{X, false, true, 2, 981985, 3374025, 251961, 875679},
                                         Cell{X, false, false, 1, 16753, 41381, 6917, 17254},
                                         Cell{X, false, false, 2, 536937, 1903825, 142488, 509946}),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Matrix, WrongCell,
                         testing::Values(Wrong{{L, true, false, 1, 0, 0, 85, 164}, {3, 6, 8}},
                                         Wrong{{L, true, false, 2, 0, 0, 855, 1992}, {3, 6, 8}},
                                         Wrong{{L, true, true, 2, 0, 0, 1874, 4436}, {7, 10, 11}},
                                         Wrong{{X, true, false, 1, 0, 0, 56, 117}, {3, 6, 8}},
                                         Wrong{{X, true, false, 2, 0, 0, 318, 873}, {3, 6, 8}},
                                         Wrong{{X, true, true, 2, 0, 0, 1103, 2891}, {7, 10, 12}}),
                         testing::PrintToStringParamName());

template <class State>
std::string bytes_of(const State& s) {
  return {reinterpret_cast<const char*>(&s), sizeof s};
}

// All states that can be reached, with every byte of every state kept.
template <class Core, bool kCounter = false>
auto whole_states(const Config& c) {
  using System = MappingSystem<Core, kCounter>;
  using State = typename System::State;
  struct Collector : detail::FullSink<System> {
    State& next() { return built; }
    void commit(Choice, Outcome) {
      if (seen.insert(bytes_of(built)).second) queue.push_back(built);
    }
    State built;
    std::set<std::string> seen;
    std::vector<State> queue;
  };
  const System system(c);
  Collector sink;
  system.initial(sink.built);
  sink.commit(Choice{}, {});
  for (size_t i = 0; i < sink.queue.size(); ++i) {
    const State s = sink.queue[i];
    system.expand(s, sink);
  }
  return sink.queue;
}

// Fingerprints against whole states: a search that keeps every byte of every state counts the same.
template <class Core, bool kCounter = false>
uint64_t count_whole_states(const Config& c) {
  return whole_states<Core, kCounter>(c).size();
}

TEST(MappingTest, FingerprintsCountAsManyStatesAsWholeStatesDo) {
  Config c;
  c.files = 3;
  c.blocks = 3;
  for (unsigned tasks : {1u, 2u})
    for (bool naive : {false, true}) {
      c.tasks = tasks;
      c.naive = naive;
      if (naive && tasks == 2) c.files = 2, c.blocks = 2;
      EXPECT_EQ(run(Model::kLink, c).states, count_whole_states<LinkCore>(c));
      EXPECT_EQ(run(Model::kIndex, c).states, count_whole_states<IndexCore>(c));
    }
}

// Renames the files and swaps the tasks of reachable states at random: the canonical form must not move,
// also in damaged systems and where freed blocks keep their content.
template <class Core>
void expect_canonical_forms(const Config& c) {
  using System = MappingSystem<Core, false>;
  using State = typename System::State;
  struct Walker : detail::FullSink<System> {
    State& next() { return built.emplace_back(); }
    void commit(Choice, Outcome) {}
    std::vector<State> built;
  };
  const System system(c);
  std::mt19937 random(7);
  for (int walk = 0; walk < 60; ++walk) {
    State s;
    system.initial(s);
    for (int step = 0; step < 60; ++step) {
      Walker sink;
      system.expand(s, sink);
      s = sink.built[random() % sink.built.size()];
      Renaming to{0, 1, 2, 3};
      do std::shuffle(to.begin(), to.end(), random);
      while (!is_symmetry(Core{}, c, to));
      State other = renamed_state<Core>(c, s, to);
      if (c.tasks == 2 && random() % 2 == 0) std::swap(other.tasks[0], other.tasks[1]);
      const State a = canonical_form<Core>(c, s), b = canonical_form<Core>(c, other);
      ASSERT_EQ(std::memcmp(&a, &b, sizeof a), 0) << "walk " << walk << " step " << step;
    }
  }
}

TEST(MappingTest, CanonicalFormDependsOnTheClassAlone) {
  Config c;
  c.blocks = 5;
  for (unsigned tasks : {1u, 2u})
    for (unsigned files : {2u, 3u, 4u})
      for (bool naive : {false, true})
        for (bool cache : {false, true})
          for (bool fill : {false, true}) {
            c.tasks = tasks;
            c.files = files;
            c.naive = naive;
            c.cache = cache;
            c.fill = fill;
            expect_canonical_forms<LinkCore>(c);
            expect_canonical_forms<IndexCore>(c);
          }
}

template <class Core>
uint64_t count_classes(const Config& c) {
  std::set<std::string> classes;
  for (const auto& s : whole_states<Core>(c)) classes.insert(bytes_of(canonical_form<Core>(c, s)));
  return classes.size();
}

// In damaged systems files were not interchangeable: recovery repaired one file before it looked at the next,
// and where data was taken for an indirect block, the number of its file was taken for that of a block. Which
// classes were met then hung on which member of a class came first.
TEST(MappingTest, SymmetryMeetsTheSameClassesInEveryOrder) {
  Config c;
  c.files = 2;
  c.blocks = 3;
  c.naive = true;
  c.cache = false;
  c.symmetry = true;
  for (Model model : {Model::kLink, Model::kIndex}) {
    const SearchResult layers = run(model, c);
    const SearchResult deep = run(model, c, 2, SearchOrder::kDepthFirst);
    EXPECT_EQ(layers.states, deep.states);
    EXPECT_EQ(layers.transitions, deep.transitions);
    EXPECT_EQ(layers.visited, deep.visited);
    EXPECT_EQ(layers.states,
              model == Model::kLink ? count_classes<LinkCore>(c) : count_classes<IndexCore>(c));
  }
}

// What a file should hold is part of the state with data=counter, and of what a recovery depends on: a search
// that remembered recoveries by less lost states here.
TEST(MappingTest, CounterDataLosesNoStates) {
  Config c;
  c.files = 2;
  c.blocks = 3;
  c.counter = true;
  c.values = 2;
  for (bool fill : {true, false}) {
    c.fill = fill;
    const uint64_t whole = count_whole_states<LinkCore, true>(c);
    EXPECT_EQ(run(Model::kLink, c, 1).states, whole);
    EXPECT_EQ(run(Model::kLink, c, 2).states, whole);
  }
}

TEST(MappingTest, BothOptimisationsOfTheThesisReduceTheStates) {
  for (Model model : {Model::kLink, Model::kIndex}) {
    Config c;
    c.files = 2;
    c.blocks = 3;
    const uint64_t both = run(model, c).states;
    c.fill = false;
    const uint64_t hash_only = run(model, c).states;
    c.counter = true;
    const SearchResult none = run(model, c);
    EXPECT_LT(both, hash_only);
    EXPECT_LT(hash_only, none.states);
    EXPECT_EQ(none.findings, 0u) << "content is checked against what was written, and right";
  }
}

// With data=counter what a file should hold is remembered, so the check must still see a wrong content.
TEST(MappingTest, CounterDataStillShowsContentErrors) {
  Config c;
  c.files = 2;
  c.blocks = 3;
  c.naive = true;
  c.cache = false;
  c.counter = true;
  SearchOptions o;
  o.stop = StopRule::kFirst;
  o.watched = kContentError;
  EXPECT_EQ(make_steps_check(Model::kLink, c)->search(o, {}).findings, uint32_t{kContentError});
}

TEST(MappingTest, TellsTheDoublePointerOfTheNaiveLinkModel) {
  Config c;
  c.naive = true;
  c.cache = false;
  const auto check = make_steps_check(Model::kLink, c);
  SearchOptions o;
  const auto found = check->find_traces(o, kDoublePointer).traces;
  ASSERT_EQ(found.size(), 1u);
  const Result<Story> story = check->tell(found[0].trace);
  ASSERT_TRUE(story);
  EXPECT_EQ(story->ops(), 2u);
  EXPECT_EQ(story->crashes(), 2u);
  ASSERT_EQ(story->writes.size(), 2u);
  for (const WriteRecord& write : story->writes) EXPECT_EQ(write.label, "inodes of file0 and file1");
  EXPECT_NE(story->steps[2].text.find("not written yet: table of links"), std::string::npos)
      << story->steps[2].text;
  std::vector<std::string> seen;
  for (const Observation& one : story->steps.back().observed) seen.push_back(one.text);
  EXPECT_EQ(seen,
            (std::vector<std::string>{"block 0 of file0 is disk block 0, which is free",
                                      "block 0 of file1 is disk block 0, which is also block 0 of file0",
                                      "block 0 of file1 is disk block 0, which is free"}));
}

// With data=counter every block was told as content, also one that lists others.
TEST(MappingTest, TellsWhatAnIndirectBlockListsWhateverFilesHold) {
  Config c;
  c.counter = true;
  Trace trace = {Move::op(0, Move::kCreate, 0)};
  trace.insert(trace.end(), 3, Move::step(0));
  for (const size_t steps : {3u, 4u, 5u}) {
    trace.push_back(Move::op(0, Move::kAppend, 0));
    trace.insert(trace.end(), steps, Move::step(0));
  }
  const Result<Story> story = make_steps_check(Model::kIndex, c)->tell(trace);
  ASSERT_TRUE(story) << story.error().message;
  std::vector<std::string> contents;
  for (const WriteRecord& write : story->writes)
    if (write.label.find("data block") != std::string::npos) contents.push_back(write.content);
  EXPECT_EQ(contents,
            (std::vector<std::string>{"content 0", "content 1", "content 2", "entries 2 none none none"}));
}

TEST(MappingTest, ATraceOfAnotherConfigurationIsRefused) {
  const auto check = make_steps_check(Model::kLink, Config{});
  const Result<Story> story = check->tell({Choice{16}});
  ASSERT_FALSE(story);
  EXPECT_EQ(story.error().kind, ErrorKind::kBadInput);
}

}  // namespace
}  // namespace sisyfs::mapping::mapping_test
