// Expectation: which trees are right, now and after a power cut.
//
// It follows a run: what each call should lead to, and what the system has promised to keep. While the
// system runs one tree is right. After a power cut, which set is right depends on the contract and on
// the window: the trees from the last promise that covers everything to now.
//
//   Expectation e(Contract::kAtomic, tree);
//   e.begin_op(after);                        // a power cut now may leave either
//   if (!e.crash_allowed(recovered)) report(e.why_not(recovered));
//   e.end_op(result.error);
//   e.promise_all();                          // sync returned: the past is gone
//
// Copying costs two or three reference counts. Trees are given, not computed: this room knows no ops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/shared.h"
#include "expect/contract.h"
#include "expect/explain.h"
#include "expect/history.h"
#include "tree/tree.h"

namespace sisyfs {

class Expectation {
 public:
  // All of `start` is promised, as after a mount.
  Expectation(Contract contract, Tree start, const ContractRules& rules = {});

  Contract contract() const { return contract_; }
  const ContractRules& rules() const { return rules_; }
  // What a running system must hold now. With a call in flight: what it held when the call began.
  const Tree& now() const { return now_; }
  // The trees of the window before now(), the oldest first. Under `atomic` each is there once; under
  // `ordered` and `fsync`, which look at single objects, they are all there. `structure` keeps none.
  std::span<const Tree> older() const;

  // A call begins that leads to `after` if it succeeds. Calls do not nest.
  void begin_op(Tree after);
  // It returned: with 0 the tree is now `after`, otherwise it is as before.
  void end_op(int error);
  bool in_op() const { return in_op_; }
  // Calls that returned with 0 since the start or the last power cut, for reports: promises are told by the
  // number of the call that made them. Does not go into the digest.
  uint32_t calls() const { return calls_; }

  // Everything up to now() is durable: sync or unmount returned, or any call of a system whose calls are
  // durable when they return. Not while a call is in flight; a promise that a call makes follows its end.
  void promise_all();
  // The system says that it is stable now, without a call that asked for it. In reports the promise is that
  // of call `by`: the one that was in flight. Like promise_all() this is for the calls that have returned, so
  // for one that is in flight it comes before begin_op().
  void promise_stable() { promise_all(); }
  void promise_stable(uint32_t by) {
    promise_all();
    covered_by_ = by;
  }

  // Promises of single objects, told by a path in now() that must exist; the last symbolic link is
  // followed, as open does. Like promise_all() they follow the end of their call. Only `fsync` looks at
  // them; a target whose fsync covers more than its file calls promise_all() instead.
  void promise_file(std::string_view path);  // fsync: what it holds, and its name under fsync_names
  void promise_data(std::string_view path);  // fdatasync: its bytes, and the size needed to read them
  // A write with O_SYNC: these bytes of the file, the size needed to read them, and its name under
  // fsync_names; not what was written elsewhere.
  void promise_write(std::string_view path, uint64_t offset, uint64_t length);
  void promise_dir(std::string_view path);  // fsync: its entries, and its name under fsync_names

  // Whether a power cut now may leave this tree.
  bool crash_allowed(const Tree& recovered) const;
  // Why not, as text for a report; empty if it is allowed. The caller may give trees that were there
  // before the window, the oldest first: one of them coming back is lost durability and is called so.
  std::string why_not(const Tree& recovered, std::span<const Tree> past = {}) const;
  // The first promise that was broken if this came back, by the order in which they were made. Nothing if it
  // is allowed, or wrong in a way that no single promise speaks of.
  std::optional<BrokenPromise> broken_promise(const Tree& recovered) const;

  // The system came back with this tree: it is what counts from here on, and all of it is durable.
  void collapse(Tree recovered);

  // Equal for expectations that allow the same now and after every power cut from here on.
  Digest digest() const;

 private:
  struct Window {
    Digest sum;  // over its trees, how they descend from each other, and the promises
    std::vector<Tree> trees;
    std::vector<Promise> promises;
    size_t floor = 0;  // from this position on a tree satisfies all promises
  };

  bool by_object() const { return contract_ == Contract::kOrdered || contract_ == Contract::kFsync; }
  void advance(Tree next);
  void promise(std::string_view path, PromiseKind kind, uint64_t offset = 0, uint64_t end = 0);
  // The trees from here to now() count, and nothing that was before.
  History history() const;
  std::string why_not_by_object(const Tree& recovered) const;

  Contract contract_;
  bool in_op_ = false;
  uint32_t calls_ = 0;
  uint32_t covered_by_ = 0;  // the call that made the last promise of everything
  ContractRules rules_;
  Tree now_;
  Tree after_;            // with in_op_; otherwise whatever
  Shared<Window> older_;  // holds nothing if there are none
};

}  // namespace sisyfs
