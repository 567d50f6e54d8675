#include "expect/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "expect/fsync.h"
#include "expect/names.h"
#include "expect/narrow.h"
#include "expect/ordered.h"
#include "tree/tree_text.h"

namespace sisyfs {
namespace {

// The role of a tree in the digest of an expectation.
enum Role : uint64_t {
  kOlder = 1,
  kNow,
  kAfter,
  kOpenNow,
  kOpenAfter,
  kDescent,
  kPromise,
  kDoubted,
  kUndone,
  kPosition = 16
};

Digest term(Role role, const Tree& tree) { return digest_at(role, tree.digest()); }

// The term of a tree at its position, with which of its objects the next tree still has.
Digest step_term(size_t position, const Tree& tree, const Tree& next) {
  return digest_at(kPosition + position, term(kOlder, tree) + digest_at(kDescent, descent(tree, next)));
}

// Object numbers differ from run to run, so the digest identifies an object by its paths at the promise.
Digest promise_term(const Promise& promise, const Tree& then) {
  const Digest paths = object_in(then, promise.object)->path_digest;
  const uint64_t kind = static_cast<uint64_t>(promise.kind);
  Digest what = digest_at(kind, paths);
  if (promise.end != 0) what += Digest{promise.offset, promise.end};
  if (promise.doubt != kNoDoubt) what += digest_at(kDoubted, Digest{promise.doubt, 1});
  if (!promise.name.empty()) what += digest_of(promise.name.data(), promise.name.size());
  return digest_at(kPromise, digest_at(promise.since, what));
}

// Whether every object that the directory held then, and that still exists, is still in the directory.
bool holds_all_of(const Tree& then, const Tree& now, ObjectId directory) {
  for (const Tree::Entry& e : then.children(*object_in(then, directory))) {
    const ObjectId object = then.birth(e.node);
    if (object_in(now, object) && !holds(now, directory, object)) return false;
  }
  return true;
}

// Whether all names of the object then are still its names, in the same directories.
bool has_all_names_of(const Tree& then, const Tree& now, ObjectId object) {
  const NodeId node = find_object(then, object);
  for (uint32_t id = 0; id < then.node_limit(); ++id) {
    if (!then.has_node(NodeId{id})) continue;
    for (const Tree::Entry& e : then.children(NodeId{id})) {
      if (e.node != node) continue;
      const ObjectId directory = then.birth(NodeId{id});
      const Tree::Node* still = object_in(now, directory);
      if (still == nullptr || entry_of(now, *still, e.name()) != object) return false;
      if (directory != kRootObject && !has_all_names_of(then, now, directory)) return false;
    }
  }
  return true;
}

// Whether a promise made at `now` includes everything that an earlier one promised. A second promise of data
// does not: the first may need a larger size. A second promise of entries does not if an entry has been moved
// out of the directory since: the first promise still covers that entry. A second promise of a name does not
// if the object has lost a name since, or one of its directories was moved: the first promise still binds
// that entry.
bool covers(const Promise& made, const Tree& now, const Promise& earlier, const Tree& then) {
  if (made.object != earlier.object) return false;
  if (made.same(earlier) || mutant(Mutant::kLastPromiseCounts)) return true;
  // After a failure of the device a promise covers less than one from before it.
  if (made.doubt != kNoDoubt && made.doubt != earlier.doubt) return false;
  switch (earlier.kind) {
    case PromiseKind::kContent:
      return made.kind == earlier.kind;
    case PromiseKind::kName:
      return made.kind == earlier.kind && has_all_names_of(then, now, made.object) &&
             holds_all_of(then, now, made.object);
    case PromiseKind::kData:
    case PromiseKind::kWritten:
    case PromiseKind::kSize:
      return made.kind == PromiseKind::kContent;
    case PromiseKind::kEntries:
      return made.kind == PromiseKind::kEntries && holds_all_of(then, now, made.object);
    case PromiseKind::kEntry:
      return made.kind == earlier.kind && made.name == earlier.name &&
             entry_of(now, *object_in(now, made.object), made.name) ==
                 entry_of(then, *object_in(then, made.object), made.name);
    case PromiseKind::kAttributes:
    case PromiseKind::kMode:
      return made.kind == earlier.kind || made.kind == PromiseKind::kContent ||
             made.kind == PromiseKind::kEntries;
    case PromiseKind::kTree:
      return made.kind == earlier.kind;
  }
  return false;
}

}  // namespace

Expectation::Expectation(Contract contract, Tree start, const ContractRules& rules)
    : contract_(contract), rules_(rules), now_(std::move(start)), after_(now_) {
  SISYFS_ASSERT(rules.data_unit > 0, "a data unit has bytes");
}

std::span<const Tree> Expectation::older() const {
  return older_ ? std::span<const Tree>(older_->trees) : std::span<const Tree>();
}

bool Expectation::are_one(const Tree& a, const Tree& b) const {
  if (!(a == b)) return false;
  if (!by_object()) return true;
  if (!same_objects(a, b) && !mutant(Mutant::kExchangeIsNoStep)) return false;
  if (!a.has_nameless() && !b.has_nameless()) return true;
  return a.open_digest() == b.open_digest();
}

void Expectation::reach_part(Tree part) {
  SISYFS_ASSERT(!in_op_, "parts come before their call begins");
  if (!are_one(part, now_)) advance(std::move(part));
}

void Expectation::begin_op(Tree after) {
  SISYFS_ASSERT(!in_op_, "one call is in flight at a time");
  in_op_ = true;
  after_ = std::move(after);
}

// To the window a call that was refused was done and undone.
void Expectation::end_op(int error, const Tree* refused) {
  SISYFS_ASSERT(in_op_, "a call ends after it began");
  in_op_ = false;
  if (error == 0) ++calls_;
  if (error == 0 && are_one(after_, now_))
    now_ = after_;  // equal trees may differ in open files
  else if (error == 0)
    advance(after_);
  after_ = now_;
  if (refused == nullptr) return;
  ++calls_;
  if (are_one(*refused, now_)) {
    now_ = after_ = *refused;  // equal trees may differ in open files
    return;
  }
  const size_t position = older().size();
  advance(*refused);
  after_ = now_;
  if (!by_object()) return;
  Window& window = older_.edit();
  window.undone.push_back(position);
  window.sum += digest_at(kUndone, Digest{0, position});
}

void Expectation::advance(Tree next) {
  const Tree previous = std::exchange(now_, std::move(next));
  if (contract_ == Contract::kStructure) return;
  if (!older_) older_ = Shared<Window>(Window{});
  Window& window = older_.edit();
  if (by_object()) {
    window.sum += step_term(window.trees.size(), previous, now_);
    window.trees.push_back(previous);
    return;
  }
  // The window is a set: the current tree is removed from the older ones.
  if (const auto again = std::find(window.trees.begin(), window.trees.end(), now_);
      again != window.trees.end()) {
    window.sum -= term(kOlder, now_);
    window.trees.erase(again);
  }
  window.sum += term(kOlder, previous);
  window.trees.push_back(previous);
}

void Expectation::promise_all() {
  if (is_in_doubt()) return promise_each();
  promise_window();
}

void Expectation::promise_window() {
  SISYFS_ASSERT(!in_op_, "a promise is made when its call has returned");
  if (mutant(Mutant::kForgetSync)) return;
  older_ = Shared<Window>();
  covered_by_ = calls_;
}

void Expectation::is_read_back(Tree tree) {
  now_ = after_ = std::move(tree);
  promise_window();
}

// Promises of single objects which together cover everything. Under `atomic` and `ordered` parts cannot be
// promised: the window stays.
void Expectation::promise_each() {
  if (contract_ != Contract::kFsync && contract_ != Contract::kNames) return;
  for (uint32_t id = 0; id < now_.node_limit(); ++id) {
    if (!now_.has_node(NodeId{id})) continue;
    const ObjectId object = now_.birth(NodeId{id});
    const bool directory = now_.node(NodeId{id}).type == FileType::kDirectory;
    const PromiseKind kind = directory ? PromiseKind::kEntries : PromiseKind::kContent;
    if (heeds(kind)) promise(Promise{.object = object, .kind = kind});
    if (object != kRootObject && heeds(PromiseKind::kName))
      promise(Promise{.object = object, .kind = PromiseKind::kName});
  }
}

void Expectation::fail_device() { doubt(kNoObject); }

void Expectation::fail_device(std::string_view path) {
  Stat stat;
  // Trees of `atomic` and `ordered` are whole: what one object has lost takes along what came after it.
  const bool single = contract_ == Contract::kFsync || contract_ == Contract::kNames;
  const bool found = now_.stat(path, &stat) == 0;
  // Nothing is promised of a file without a name, but what else was to be written is not known.
  const bool one = single && found && !now_.is_nameless(stat.node);
  doubt(one ? now_.birth(stat.node) : kNoObject);
}

Digest Expectation::doubt_term(const Doubt& doubt, const Tree& then) {
  const Digest paths = doubt.object == kNoObject ? Digest{1, 1} : object_in(then, doubt.object)->path_digest;
  return digest_at(kDoubted, digest_at(doubt.since, paths));
}

void Expectation::doubt(ObjectId object) {
  SISYFS_ASSERT(!in_op_, "a call reports an error when it returns");
  // Without older trees all is durable.
  if (!older_) return;
  Window& window = older_.edit();
  std::erase_if(window.doubts, [&](const Doubt& d) {
    const bool replaced = object == kNoObject || d.object == object;
    if (replaced) window.sum -= doubt_term(d, d.since < window.trees.size() ? window.trees[d.since] : now_);
    return replaced;
  });
  window.doubts.push_back({object, window.trees.size()});
  window.sum += doubt_term(window.doubts.back(), now_);
}

// From when on a promise about the object is in doubt. Names of several objects are written together, so a
// failure for one object puts all names in doubt. What a durable call has changed is new: it is not in doubt.
size_t Expectation::doubt_of(ObjectId object, PromiseKind kind) const {
  size_t since = kNoDoubt;
  const bool of_names = kind == PromiseKind::kName || kind == PromiseKind::kEntries;
  if (!of_names && kind != PromiseKind::kContent && kind != PromiseKind::kData) return since;
  for (const Doubt& d : older_->doubts) {
    const bool covers = of_names || d.object == kNoObject || d.object == object;
    if (covers && (since == kNoDoubt || d.since > since)) since = d.since;
  }
  return since;
}

void Expectation::promise_file(std::string_view path) {
  Stat stat;
  SISYFS_ASSERT(now_.stat(path, &stat) == 0, "what is promised exists");
  if (stat.type == FileType::kDirectory) return promise_dir(path);
  promise(path, PromiseKind::kContent);
  if (rules_.fsync_names) promise(path, PromiseKind::kName);
}

void Expectation::promise_data(std::string_view path) {
  Stat stat;
  SISYFS_ASSERT(now_.stat(path, &stat) == 0, "what is promised exists");
  if (stat.type == FileType::kDirectory) return promise_dir(path);
  promise(path, mutant(Mutant::kStrictFdatasync) ? PromiseKind::kContent : PromiseKind::kData);
}

void Expectation::promise_write(std::string_view path, uint64_t offset, uint64_t length) {
  promise(path, mutant(Mutant::kSyncWholeFile) ? PromiseKind::kContent : PromiseKind::kWritten, offset,
          offset + length);
  if (rules_.fsync_names) promise(path, PromiseKind::kName);
}

void Expectation::promise_dir(std::string_view path) {
  promise(path, PromiseKind::kEntries);
  if (rules_.fsync_names) promise(path, PromiseKind::kName);
}

bool Expectation::heeds(PromiseKind kind) const {
  if (contract_ == Contract::kFsync) return kind != PromiseKind::kTree;
  // The names are those of now in any case.
  if (contract_ == Contract::kPromised) return kind != PromiseKind::kTree;
  if (contract_ == Contract::kNames)
    return kind == PromiseKind::kContent || kind == PromiseKind::kData || kind == PromiseKind::kWritten;
  return false;
}

void Expectation::promise(std::string_view path, PromiseKind kind, uint64_t offset, uint64_t end) {
  SISYFS_ASSERT(!in_op_, "a promise is made when its call has returned");
  Stat stat;
  SISYFS_ASSERT(now_.stat(path, &stat) == 0, "what is promised exists");
  if (now_.is_nameless(stat.node)) return;
  if (heeds(kind))
    promise(Promise{.object = now_.birth(stat.node), .kind = kind, .offset = offset, .end = end});
}

void Expectation::promise(Promise made) {
  // The first tree of the window is completely promised already.
  if (!older_ || mutant(Mutant::kForgetFsync)) return;
  Window& window = older_.edit();
  made.since = window.trees.size();
  made.call = calls_;
  made.doubt = doubt_of(made.object, made.kind);
  std::erase_if(window.promises, [&](const Promise& p) {
    const Tree& then = p.since < window.trees.size() ? window.trees[p.since] : now_;
    const bool covered = covers(made, now_, p, then);
    if (covered) window.sum -= promise_term(p, then);
    return covered;
  });
  window.sum += promise_term(made, now_);
  window.promises.push_back(made);
  window.floor = mutant(Mutant::kAcceptAncestors) ? 0 : window.trees.size();
}

void Expectation::promise_changes(size_t since) {
  SISYFS_ASSERT(!in_op_, "a promise is made when its call has returned");
  if (mutant(Mutant::kForgetDurableCalls)) return;
  if (contract_ == Contract::kAtomic) return promise_all();
  if (!by_object() || !older_ || since >= older_->trees.size()) return;
  const Tree before = older_->trees[since];
  if (contract_ == Contract::kOrdered) promise(Promise{.object = kRootObject, .kind = PromiseKind::kTree});
  for (uint32_t id = 0; id < now_.node_limit(); ++id) {
    if (!now_.has_node(NodeId{id})) continue;
    const Tree::Node& node = now_.node(NodeId{id});
    const ObjectId object = now_.birth(NodeId{id});
    if (node.type == FileType::kFile) promise_file_changes(before, node, object);
    if (contract_ != Contract::kFsync) continue;
    if (node.type == FileType::kDirectory) promise_name_changes(before, node, object);
    const Tree::Node* then = object_in(before, object);
    if (then ? !(then->xattrs == node.xattrs) : !node.xattrs.empty())
      promise(Promise{.object = object, .kind = PromiseKind::kAttributes});
    if (then ? then->mode != node.mode : node.mode != kNewModes[static_cast<size_t>(node.type)])
      promise(Promise{.object = object, .kind = PromiseKind::kMode});
  }
}

void Expectation::promise_file_changes(const Tree& before, const Tree::Node& node, ObjectId object) {
  const Tree::Node* then = object_in(before, object);
  if (!then || then->data == node.data) return;
  const uint64_t size = node.data.size();
  const bool shorter = then->data.size() > size;
  FileData old = then->data, now = node.data;
  const uint64_t longest = std::max(old.size(), size);
  old.resize(longest), now.resize(longest);
  uint64_t end = size == then->data.size() ? 0 : longest;
  uint64_t first = longest;
  std::vector<std::byte> unit(rules_.data_unit);
  for (uint64_t at = old.first_difference(now); at < longest; at = old.first_difference(now)) {
    first = std::min(first, at);
    const uint64_t offset = at / unit.size() * unit.size();
    const size_t count = now.read(offset, unit);
    end = std::max<uint64_t>(end, offset + count);
    old.write(offset, std::span(unit).first(count));
  }
  if (size != then->data.size()) first = std::min({first, size, then->data.size()});
  promise(Promise{.object = object,
                  .kind = shorter ? PromiseKind::kSize : PromiseKind::kWritten,
                  .offset = first,
                  .end = end});
}

void Expectation::promise_name_changes(const Tree& before, const Tree::Node& directory, ObjectId object) {
  const Tree::Node* then = object_in(before, object);
  const auto bind = [&](std::string_view name) {
    promise(Promise{.object = object, .kind = PromiseKind::kEntry, .name = name});
  };
  for (const Tree::Entry& e : now_.children(directory))
    if (!then || entry_of(before, *then, e.name()) != now_.birth(e.node)) bind(e.name());
  if (!then) return;
  for (const Tree::Entry& e : before.children(*then))
    if (entry_of(now_, directory, e.name()) == kNoObject) bind(e.name());
}

History Expectation::history() const {
  History out;
  out.older = older();
  out.now = &now_;
  if (in_op_ && !are_one(after_, now_)) out.after = &after_;
  if (older_) out.promises = older_->promises;
  if (older_) out.undone = older_->undone;
  out.covered_by = covered_by_;
  out.sees_all = rules_.sees_all;
  return out;
}

bool Expectation::crash_allowed(const Tree& recovered) const {
  if (contract_ == Contract::kStructure) return true;
  const bool half_done = in_op_ && recovered == after_ && !mutant(Mutant::kRefuseHalfDone);
  if (recovered == now_ || half_done) return true;
  if (contract_ == Contract::kNames) return names_allows(history(), rules_, recovered, nullptr);
  const std::span<const Tree> trees = older().subspan(older_ ? std::min(older_->floor, older().size()) : 0);
  if (std::find(trees.begin(), trees.end(), recovered) != trees.end()) return true;
  if (contract_ == Contract::kOrdered) return ordered_allows(history(), rules_, recovered, nullptr);
  if (contract_ == Contract::kFsync) return fsync_allows(history(), rules_, recovered, nullptr);
  if (is_narrow(contract_)) return narrow_allows(contract_, history(), recovered, nullptr);
  return false;
}

std::string Expectation::why_not_by_object(const Tree& recovered) const {
  std::string why;
  if (contract_ == Contract::kOrdered) {
    ordered_allows(history(), rules_, recovered, &why);
  } else if (contract_ == Contract::kNames) {
    names_allows(history(), rules_, recovered, &why);
  } else if (is_narrow(contract_)) {
    narrow_allows(contract_, history(), recovered, &why);
  } else {
    fsync_allows(history(), rules_, recovered, &why);
  }
  return why;
}

std::string Expectation::why_not(const Tree& recovered, std::span<const Tree> past) const {
  if (crash_allowed(recovered)) return {};
  const std::string from_now = first_difference(recovered, now_);
  // What the call in flight leads to may be nearer.
  std::string from_after;
  if (in_op_ && !(after_ == now_)) {
    if (std::string text = first_difference(recovered, after_); text != from_now)
      from_after = "; against what the call leads to: " + std::move(text);
  }
  const size_t allowed = older().size() + 1 + (in_op_ && !(after_ == now_) ? 1 : 0);
  if (const auto at = std::find(past.rbegin(), past.rend(), recovered); at != past.rend()) {
    const auto back = at - past.rbegin() + 1;
    return fmt::format("lost durability: the tree {} before what was promised came back; {}{}",
                       back == 1 ? std::string("just") : fmt::format("{} changes", back), from_now,
                       from_after);
  }
  if (by_object()) return why_not_by_object(recovered);
  if (allowed == 1) return fmt::format("not the tree that was promised: {}", from_now);
  std::string reason =
      fmt::format("none of the {} allowed trees; against the tree now: {}", allowed, from_now);
  if (in_op_ && !(after_ == now_)) {
    reason += fmt::format("; against what the call leads to: {}", first_difference(recovered, after_));
  }
  return reason;
}

std::optional<BrokenPromise> Expectation::broken_promise(const Tree& recovered) const {
  if (crash_allowed(recovered)) return std::nullopt;
  return first_broken_promise(contract_, history(), rules_, recovered);
}

void Expectation::collapse(Tree recovered) {
  in_op_ = false;
  calls_ = covered_by_ = 0;
  now_ = std::move(recovered);
  after_ = now_;
  older_ = Shared<Window>();
}

Digest Expectation::digest() const {
  Digest sum = term(kNow, now_) + Digest{0, static_cast<uint64_t>(contract_)};
  if (older_ && !mutant(Mutant::kDigestWithoutWindow)) sum += older_->sum;
  if (in_op_) sum += term(kAfter, after_);
  // Open files do not survive a power cut, but they decide which ops may come next.
  if (now_.open_count() != 0) sum += digest_at(kOpenNow, now_.open_digest());
  if (in_op_ && after_.open_count() != 0) sum += digest_at(kOpenAfter, after_.open_digest());
  if (!by_object()) return sum;
  if (in_op_) sum += digest_at(kAfter, descent(now_, after_));
  sum += Digest{rules_.data_unit, uint64_t{rules_.fsync_names} << 8 | uint64_t{rules_.rename_both} << 9};
  return sum;
}

}  // namespace sisyfs
