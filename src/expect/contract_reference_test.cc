// All short histories of two names against a reference that tries everything: every match of files to
// objects, every time for every entry, every version of every byte. It is slow, and plain enough to be
// read beside docs/contracts.md. One byte is a data unit here.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "expect/expectation.h"
#include "tree/tree_text.h"

namespace sisyfs::contract_reference_test {
namespace {

enum class Call : uint8_t {
  kCreateA,
  kCreateB,
  kWriteX,
  kWriteY,
  kCutA,
  kUnlinkA,
  kUnlinkB,
  kRenameAB,
  kRenameBA,
  kLinkAB,
  kFsyncA,
  kFsyncB,
  kFdatasyncA,
  kFsyncRoot,
  kSync,
  kWriteXSync,
  // The device fails: an fsync, and a call that could touch anything.
  kFailedFsyncA,
  kFailedCall,
};
constexpr uint8_t kCalls = 16;  // without a failing device
const char* const kText[] = {"create a",     "create b",      "write x",     "write y",    "cut a",
                             "unlink a",     "unlink b",      "rename a b",  "rename b a", "link a b",
                             "fsync a",      "fsync b",       "fdatasync a", "fsync /",    "sync",
                             "write_sync x", "fsync a fails", "a call fails"};

int put(Tree& tree, uint64_t offset, char byte) {
  return tree.write("/a", offset, std::as_bytes(std::span(&byte, 1)));
}

int exists(const Tree& tree, const char* path) {
  Stat stat;
  return tree.stat(path, &stat);
}

int apply_call(Call call, Tree& tree) {
  switch (call) {
    case Call::kCreateA:
      return tree.create("/a");
    case Call::kCreateB:
      return tree.create("/b");
    case Call::kWriteX:
    case Call::kWriteXSync:
      return put(tree, 1, 'x');
    case Call::kWriteY:
      return put(tree, 0, 'y');
    case Call::kCutA:
      return tree.truncate("/a", 0);
    case Call::kUnlinkA:
      return tree.unlink("/a");
    case Call::kUnlinkB:
      return tree.unlink("/b");
    case Call::kRenameAB:
      return tree.rename("/a", "/b");
    case Call::kRenameBA:
      return tree.rename("/b", "/a");
    case Call::kLinkAB:
      return tree.link("/a", "/b");
    case Call::kFsyncA:
    case Call::kFdatasyncA:
    case Call::kFailedFsyncA:
      return exists(tree, "/a");
    case Call::kFsyncB:
      return exists(tree, "/b");
    case Call::kFsyncRoot:
    case Call::kSync:
    case Call::kFailedCall:
      return 0;
  }
  return 0;
}

constexpr uint32_t kNobody = UINT32_MAX;

// The object that has the name in the root directory.
NodeId node_at(const Tree& tree, const std::string& name) {
  for (const Tree::Entry& e : tree.children(kRootNode)) {
    if (e.name() == name) return e.node;
  }
  return kNoNode;
}
uint32_t object_at(const Tree& tree, const std::string& name) {
  const NodeId id = node_at(tree, name);
  return id == kNoNode ? kNobody : tree.birth(id);
}
const std::string kNames[] = {"a", "b"};

// The content of a file at one time; absent if the file did not exist.
struct Version {
  bool there = false;
  std::string text;
  char byte(size_t at) const { return at < text.size() ? text[at] : '\0'; }
};
Version version_of(const Tree& tree, uint32_t object) {
  for (const std::string& name : kNames) {
    if (object_at(tree, name) == object) return {true, tree.node(node_at(tree, name)).data.text()};
  }
  return {};
}

class Reference {
 public:
  Reference(Tree start, const ContractRules& rules) : window{std::move(start)}, rules_(rules) {}

  struct Given {
    Call call;
    size_t since;
    uint32_t object;  // kNobody: the root directory
    // What has not changed from here to `since` is not covered: a failure of the device was reported here.
    size_t doubt = SIZE_MAX;
    size_t names_doubt = SIZE_MAX;  // likewise of names
  };
  std::vector<Tree> window;
  std::vector<Given> given;

  // Whether the promise covers something although a failure was reported before it.
  template <class Same>
  static bool covers(const Given& g, size_t doubt, Same same_as_promised) {
    if (doubt == SIZE_MAX) return true;
    for (size_t i = doubt; i < g.since; ++i)
      if (!same_as_promised(i)) return true;
    return false;
  }

  void give(Call call, uint32_t object) {
    Given g{call, window.size() - 1, object};
    for (const auto& [whose, since] : doubts_) {
      if (g.names_doubt == SIZE_MAX || since > g.names_doubt) g.names_doubt = since;
      if (whose != kNobody && whose != object) continue;
      if (g.doubt == SIZE_MAX || since > g.doubt) g.doubt = since;
    }
    given.push_back(g);
  }

  void returned(Call call) {
    const size_t now = window.size() - 1;
    if (call == Call::kSync && doubts_.empty()) {
      window = {window.back()};
      given.clear();
    } else if (call == Call::kSync) {
      // As if each file and the directory had been synced, names included.
      for (const std::string& name : kNames)
        if (object_at(window[now], name) != kNobody) give(Call::kSync, object_at(window[now], name));
      give(Call::kFsyncRoot, kNobody);
    }
    if (call == Call::kFailedFsyncA && window.size() > 1)
      doubts_.emplace_back(object_at(window[now], "a"), now);
    if (call == Call::kFailedCall && window.size() > 1) doubts_.emplace_back(kNobody, now);
    if (call == Call::kFsyncA || call == Call::kFdatasyncA) give(call, object_at(window[now], "a"));
    if (call == Call::kWriteXSync) give(call, object_at(window[now], "a"));
    // It has just written what it promises.
    if (call == Call::kWriteXSync) given.back().doubt = SIZE_MAX;
    if (call == Call::kFsyncB) give(call, object_at(window[now], "b"));
    if (call == Call::kFsyncRoot) give(call, kNobody);
  }

  bool atomic(const Tree& got) const { return std::find(window.begin(), window.end(), got) != window.end(); }

  bool ordered(const Tree& got) const {
    return std::any_of(window.begin(), window.end(), [&](const Tree& tree) {
      return same_files(got, tree, [&](uint32_t object, const std::string& text) {
        return version_of(tree, object).text.size() == text.size() && bytes_known(object, text, false);
      });
    });
  }

  // In flight: the last tree is what the call leads to.
  bool names(const Tree& got, bool in_flight) const {
    return std::any_of(window.end() - (in_flight ? 2 : 1), window.end(), [&](const Tree& tree) {
      return same_files(got, tree,
                        [&](uint32_t object, const std::string& text) { return was_whole(object, text); });
    });
  }

  bool fsync(const Tree& got) const {
    const NodeId a = node_at(got, "a");
    const NodeId b = node_at(got, "b");
    for (uint32_t x : a == kNoNode ? std::vector<uint32_t>{kNobody} : objects()) {
      for (uint32_t y : b == kNoNode ? std::vector<uint32_t>{kNobody} : objects()) {
        if (a != kNoNode && b != kNoNode && (a == b) != (x == y)) continue;
        if (holds(got, a, x) && holds(got, b, y) && present(x, y) && timed(x, y)) return true;
      }
    }
    return false;
  }

 private:
  // Whether both have the same names and links, and each file of `got` is right as that object.
  template <class Right>
  static bool same_files(const Tree& got, const Tree& tree, Right right) {
    bool same = (node_at(got, "a") == node_at(got, "b")) == (node_at(tree, "a") == node_at(tree, "b"));
    for (const std::string& name : kNames) {
      const NodeId mine = node_at(tree, name);
      const NodeId theirs = node_at(got, name);
      same = same && (mine == kNoNode) == (theirs == kNoNode);
      if (!same || mine == kNoNode) continue;
      same = tree.node(mine).links == got.node(theirs).links &&
             right(tree.birth(mine), got.node(theirs).data.text());
    }
    return same;
  }

  std::vector<uint32_t> objects() const {
    std::vector<uint32_t> out;
    for (const Tree& tree : window) {
      for (const std::string& name : kNames) {
        if (object_at(tree, name) != kNobody) out.push_back(object_at(tree, name));
      }
    }
    return out;
  }

  bool is_fsync(const Given& g, uint32_t object) const {
    return g.object == object &&
           (g.call == Call::kFsyncA || g.call == Call::kFsyncB || g.call == Call::kSync);
  }
  static bool is_of_data(const Given& g) {
    return g.call == Call::kFdatasyncA || g.call == Call::kWriteXSync;
  }

  // Whether the promise excludes that a byte is as it was at i, before it.
  bool byte_excluded(const Given& g, uint32_t object, size_t i, size_t at) const {
    if (i >= g.since || g.object != object || !(is_fsync(g, object) || is_of_data(g))) return false;
    const Version then = version_of(window[g.since], object);
    const bool covered = covers(g, g.doubt, [&](size_t k) {
      const Version v = version_of(window[k], object);
      return v.there && v.byte(at) == then.byte(at);
    });
    if (!covered || is_fsync(g, object)) return covered;
    if (g.call == Call::kWriteXSync && at != 1) return false;
    return at < then.text.size() && then.byte(at) != version_of(window[i], object).byte(at);
  }

  // Likewise the size.
  bool size_excluded(const Given& g, uint32_t object, size_t i) const {
    if (i >= g.since || g.object != object || !(is_fsync(g, object) || is_of_data(g))) return false;
    const size_t size = version_of(window[i], object).text.size();
    const Version then = version_of(window[g.since], object);
    const bool covered = covers(g, g.doubt, [&](size_t k) {
      const Version v = version_of(window[k], object);
      return v.there && v.text.size() == then.text.size();
    });
    if (covered && is_fsync(g, object)) return true;
    size_t needed = g.call == Call::kWriteXSync ? 2 : then.text.size();
    for (size_t at = then.text.size(); !covered && at-- > 0;) {
      needed = at + 1;
      if (covers(g, g.doubt,
                 [&](size_t k) { return version_of(window[k], object).byte(at) == then.byte(at); }))
        break;
      needed = at;
    }
    return needed > size;
  }

  bool bytes_known(uint32_t object, const std::string& text, bool promises) const {
    for (size_t at = 0; at < text.size(); ++at) {
      bool known = false;
      for (size_t i = 0; i < window.size() && !known; ++i) {
        const Version v = version_of(window[i], object);
        known = v.there && v.byte(at) == text[at];
        for (const Given& g : given) known = known && !(promises && byte_excluded(g, object, i, at));
      }
      if (!known) return false;
    }
    return true;
  }

  bool holds(const Tree& got, NodeId node, uint32_t object) const {
    if (node == kNoNode) return true;
    if (got.node(node).links != got.node(node).names) return false;
    const std::string text = got.node(node).data.text();
    bool size_known = false;
    for (size_t i = 0; i < window.size() && !size_known; ++i) {
      const Version v = version_of(window[i], object);
      size_known = v.there && v.text.size() == text.size();
      for (const Given& g : given) size_known = size_known && !size_excluded(g, object, i);
    }
    return size_known && bytes_known(object, text, true);
  }

  // Whether the file was like this as a whole, at a time that no promise excludes.
  bool was_whole(uint32_t object, const std::string& text) const {
    for (size_t i = 0; i < window.size(); ++i) {
      const Version v = version_of(window[i], object);
      bool fits = v.there && v.text == text;
      for (const Given& g : given) {
        fits = fits && !size_excluded(g, object, i);
        for (size_t at = 0; at < 2; ++at) fits = fits && !byte_excluded(g, object, i, at);
      }
      if (fits) return true;
    }
    return false;
  }

  // Whether this call promises the names that its file had then.
  bool names_promised(const Given& g) const {
    const bool waited = g.call == Call::kFsyncA || g.call == Call::kFsyncB || g.call == Call::kWriteXSync;
    return (rules_.fsync_names && waited) || g.call == Call::kSync;
  }
  bool covers_entry(const Given& g, const std::string& name) const {
    return covers(g, g.names_doubt,
                  [&](size_t k) { return object_at(window[k], name) == object_at(window[g.since], name); });
  }

  bool present(uint32_t x, uint32_t y) const {
    for (const uint32_t object : objects()) {
      if (object == x || object == y) continue;
      // It was durable under a name: from the start, by its own promise, or by a promise of the directory.
      std::vector<size_t> points = {0};
      for (const Given& g : given) {
        const bool own = names_promised(g) && g.object == object;
        if (!own && g.call != Call::kFsyncRoot) continue;
        for (const std::string& name : kNames)
          if (object_at(window[g.since], name) == object && covers_entry(g, name)) points.push_back(g.since);
      }
      for (const size_t point : points) {
        bool always = true;
        for (size_t i = point; i < window.size(); ++i) always = always && version_of(window[i], object).there;
        if (always) return false;
      }
    }
    return true;
  }

  bool entry_fits(const std::string& name, uint32_t object, size_t time) const {
    if (object_at(window[time], name) != object) return false;
    for (const Given& g : given) {
      if (time >= g.since || !covers_entry(g, name)) continue;
      if (g.call == Call::kFsyncRoot) return false;
      if (!names_promised(g)) continue;
      if (object != kNobody && g.object == object) return false;
      if (object_at(window[g.since], name) == g.object) return false;
    }
    return true;
  }

  bool timed(uint32_t x, uint32_t y) const {
    for (size_t ta = 0; ta < window.size(); ++ta) {
      for (size_t tb = 0; tb < window.size(); ++tb) {
        if (!entry_fits("a", x, ta) || !entry_fits("b", y, tb)) continue;
        bool whole = true;
        for (size_t i = 0; i + 1 < window.size(); ++i)
          whole = whole && rename_whole("a", ta, "b", tb, i) && rename_whole("b", tb, "a", ta, i);
        if (whole) return true;
      }
    }
    return false;
  }

  bool rename_whole(const std::string& from, size_t from_time, const std::string& to, size_t to_time,
                    size_t i) const {
    const uint32_t moved = object_at(window[i], from);
    const bool renamed = moved != kNobody && object_at(window[i + 1], to) == moved &&
                         object_at(window[i], to) != moved && object_at(window[i + 1], from) != moved;
    if (!renamed) return true;
    const bool old_stays = from_time <= i;
    const bool new_there = to_time > i;
    if (!old_stays && !new_there) return false;
    return !(old_stays && new_there) || rules_.rename_both;
  }

  ContractRules rules_;
  std::vector<std::pair<uint32_t, size_t>> doubts_;  // whose, kNobody: of all; and from when on
};

Tree start() {
  Tree tree;
  EXPECT_EQ(tree.create("/a"), 0);
  const char x = 'x';
  EXPECT_EQ(tree.write("/a", 0, std::as_bytes(std::span(&x, 1))), 0);
  return tree;
}

std::vector<Tree> candidates() {
  std::vector<std::string> texts = {""};
  const char bytes[] = {'\0', 'x', 'y'};
  for (char c : bytes) texts.push_back(std::string(1, c));
  for (char c : bytes) {
    for (char d : bytes) texts.push_back(std::string{c, d});
  }
  const auto make = [](Tree& tree, const char* path, const std::string& text) {
    EXPECT_EQ(tree.create(path), 0);
    EXPECT_EQ(tree.write(path, 0, std::as_bytes(std::span(text))), 0);
  };
  std::vector<Tree> out;
  for (size_t a = 0; a <= texts.size(); ++a) {
    for (size_t b = 0; b <= texts.size() + 1; ++b) {
      Tree tree;
      if (a < texts.size()) make(tree, "/a", texts[a]);
      if (b < texts.size()) make(tree, "/b", texts[b]);
      if (b == texts.size() + 1 && tree.link("/a", "/b") != 0) continue;
      out.push_back(tree);
    }
  }
  // Correct except for a link count that does not match the names.
  Tree odd = start();
  EXPECT_EQ(odd.set_links("/a", 2), 0);
  out.push_back(odd);
  return out;
}

struct Run {
  Expectation e;
  Reference reference;
  std::string text;
};

class Walk {
 public:
  Walk(Contract contract, const ContractRules& rules, std::vector<Call> calls)
      : contract_(contract), rules_(rules), calls_(std::move(calls)) {}

  void all(size_t depth) {
    walk({Expectation(contract_, start(), rules_), Reference(start_of_, rules_), ""}, depth);
  }
  size_t checked = 0, allowed = 0;

 private:
  void walk(const Run& from, size_t depth) {
    if (depth == 0 || testing::Test::HasFailure()) return;
    std::vector<Digest> next;
    for (const Call call : calls_) {
      Run run = from;
      Tree tree = run.e.now();
      if (apply_call(call, tree) != 0) continue;
      run.text += std::string(run.text.empty() ? "" : "; ") + kText[static_cast<size_t>(call)];
      const bool changes = !(tree == run.e.now());
      run.e.begin_op(tree);
      if (changes) run.reference.window.push_back(tree);
      in_flight_ = changes;
      compare(run, " (in flight)");
      in_flight_ = false;
      run.e.end_op(0);
      run.reference.returned(call);
      promise(run.e, call);
      compare(run, "");
      next.push_back(run.e.digest());
      walk(run, depth - 1);
    }
    const auto [known, fresh] = futures_.emplace(from.e.digest(), next);
    EXPECT_TRUE(fresh || known->second == next) << "equal digests part again: " << from.text;
  }

  static void promise(Expectation& e, Call call) {
    if (call == Call::kSync) e.promise_all();
    if (call == Call::kFsyncA) e.promise_file("/a");
    if (call == Call::kFsyncB) e.promise_file("/b");
    if (call == Call::kFdatasyncA) e.promise_data("/a");
    if (call == Call::kFsyncRoot) e.promise_dir("/");
    if (call == Call::kWriteXSync) e.promise_write("/a", 1, 1);
    if (call == Call::kFailedFsyncA) e.fail_device("/a");
    if (call == Call::kFailedCall) e.fail_device();
  }

  bool right(const Run& run, const Tree& tree) const {
    switch (contract_) {
      case Contract::kAtomic:
        return run.reference.atomic(tree);
      case Contract::kOrdered:
        return run.reference.ordered(tree);
      case Contract::kFsync:
        return run.reference.fsync(tree);
      case Contract::kNames:
        return run.reference.names(tree, in_flight_);
      default:  // structure; narrow_test.cc has the narrow ones
        return true;
    }
  }

  void compare(const Run& run, const char* when) {
    std::vector<bool> answers;
    for (const Tree& tree : candidates_) {
      const bool got = run.e.crash_allowed(tree);
      answers.push_back(got);
      ++checked;
      allowed += got;
      if (got == right(run, tree)) continue;
      ADD_FAILURE() << contract_name(contract_) << ": " << run.text << when << ": allowed " << got << "\n"
                    << listing(tree) << run.e.why_not(tree);
      return;
    }
    // Expectations with equal digests must allow the same trees.
    const auto [known, fresh] = by_digest_.emplace(run.e.digest(), answers);
    EXPECT_TRUE(fresh || known->second == answers) << "equal digests: " << run.text << when;
  }

  Contract contract_;
  ContractRules rules_;
  bool in_flight_ = false;
  std::vector<Call> calls_;
  Tree start_of_ = start();
  std::vector<Tree> candidates_ = candidates();
  std::map<Digest, std::vector<bool>> by_digest_;
  std::map<Digest, std::vector<Digest>> futures_;  // what each call leads to from there
};

std::vector<Call> all_calls() {
  std::vector<Call> calls;
  for (uint8_t c = 0; c < kCalls; ++c) calls.push_back(Call{c});
  return calls;
}

void check(Contract contract, bool fsync_names, bool rename_both, size_t depth,
           const std::vector<Call>& calls = all_calls()) {
  Walk walk(contract, {.data_unit = 1, .fsync_names = fsync_names, .rename_both = rename_both}, calls);
  walk.all(depth);
  EXPECT_GT(walk.allowed, 0u);
  EXPECT_EQ(walk.allowed == walk.checked, contract == Contract::kStructure);
  testing::Test::RecordProperty("checked", std::to_string(walk.checked));
}

// Without promises about single objects, which only fsync uses, each contract allows all that a stricter one
// does.
void each_allows_more(const std::vector<Expectation>& stricter_first, const std::vector<Tree>& trees,
                      size_t depth) {
  for (const Tree& tree : trees) {
    for (size_t i = 0; i + 1 < stricter_first.size(); ++i) {
      ASSERT_LE(stricter_first[i].crash_allowed(tree), stricter_first[i + 1].crash_allowed(tree))
          << contract_name(stricter_first[i].contract()) << "\n"
          << listing(tree);
    }
  }
  for (uint8_t c = 0; c < kCalls && depth > 0; ++c) {
    const Call call{c};
    Tree after = stricter_first[0].now();
    if ((call >= Call::kFsyncA && call != Call::kSync) || apply_call(call, after) != 0) continue;
    std::vector<Expectation> next = stricter_first;
    for (Expectation& e : next) {
      e.begin_op(after);
      e.end_op(0);
      if (call == Call::kSync) e.promise_all();
    }
    each_allows_more(next, trees, depth - 1);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(ContractReferenceTest, EachContractAllowsWhatAStricterOneDoes) {
  std::vector<Expectation> all;
  for (const Contract c : {Contract::kAtomic, Contract::kOrdered, Contract::kFsync, Contract::kStructure})
    all.emplace_back(c, start(), ContractRules{.data_unit = 1});
  each_allows_more(all, candidates(), 3);
}

TEST(ContractReferenceTest, AtomicAgreesWithTheReference) { check(Contract::kAtomic, false, false, 3); }
TEST(ContractReferenceTest, StructureAllowsEverything) { check(Contract::kStructure, false, false, 2); }
TEST(ContractReferenceTest, OrderedAgreesWithTheReference) { check(Contract::kOrdered, false, false, 3); }
TEST(ContractReferenceTest, FsyncAgreesWithTheReference) { check(Contract::kFsync, false, false, 3); }
TEST(ContractReferenceTest, FsyncWithNamesAgrees) { check(Contract::kFsync, true, false, 3); }
TEST(ContractReferenceTest, FsyncWithBothNamesOfARenameAgrees) { check(Contract::kFsync, false, true, 3); }
// A new file that is durable through its directory and then moved needs longer sequences of fewer kinds of
// calls.
TEST(ContractReferenceTest, FsyncOfTheDirectoryAgrees) {
  check(Contract::kFsync, false, false, 5,
        {Call::kCreateA, Call::kUnlinkA, Call::kUnlinkB, Call::kRenameAB, Call::kLinkAB, Call::kFsyncRoot});
}
// Regression: a synced file was allowed to be gone once another file was renamed to its name, although the
// rename had not happened.
TEST(ContractReferenceTest, FsyncOfNamesThatAreReplacedAgrees) {
  check(Contract::kFsync, true, false, 6,
        {Call::kCreateA, Call::kCreateB, Call::kUnlinkA, Call::kRenameBA, Call::kFsyncA, Call::kFsyncB});
  check(Contract::kFsync, true, false, 5,
        {Call::kCreateA, Call::kUnlinkA, Call::kUnlinkB, Call::kRenameAB, Call::kRenameBA, Call::kLinkAB,
         Call::kFsyncA, Call::kFsyncB});
}
TEST(ContractReferenceTest, NamesAgreesWithTheReference) { check(Contract::kNames, false, false, 3); }
// What was promised before the device failed stays promised. Later promises cover what has changed since.
TEST(ContractReferenceTest, FsyncAfterAFailureAgrees) {
  const std::vector<Call> on_data = {Call::kWriteX,     Call::kWriteY,       Call::kCutA,       Call::kFsyncA,
                                     Call::kFdatasyncA, Call::kFailedFsyncA, Call::kFailedCall, Call::kSync};
  check(Contract::kFsync, false, false, 4, on_data);
  check(Contract::kNames, false, false, 4, on_data);
  const std::vector<Call> on_names = {
      Call::kCreateA, Call::kUnlinkA,   Call::kRenameAB,     Call::kRenameBA,   Call::kFsyncA,
      Call::kFsyncB,  Call::kFsyncRoot, Call::kFailedFsyncA, Call::kFailedCall, Call::kSync};
  check(Contract::kFsync, true, false, 4, on_names);
  check(Contract::kFsync, false, false, 4, on_names);
}
TEST(ContractReferenceTest, FsyncWithAllRulesAgrees) { check(Contract::kFsync, true, true, 3); }

}  // namespace
}  // namespace sisyfs::contract_reference_test
