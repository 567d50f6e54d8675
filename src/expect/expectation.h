// Expectation: which trees are right, now and after a power cut.
//
// It follows a run: the tree that each call should lead to, and the promises that the system has made. While
// the system runs, exactly one tree is right. After a power cut a set of trees is right. The contract selects
// that set from the window: the trees from the last promise that covers everything to now.
//
//   Expectation e(Contract::kAtomic, tree);
//   e.begin_op(after);                        // a power cut now may leave the tree before or after the op
//   if (!e.crash_allowed(recovered)) report(e.why_not(recovered));
//   e.end_op(result.error);
//   e.promise_all();                          // sync returned: older trees are not allowed any more
//
// Copying costs two or three reference counts. The caller computes the trees: this room does not know ops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/shared.h"
#include "expect/broken_promise.h"
#include "expect/contract.h"
#include "expect/history.h"
#include "tree/tree.h"

namespace sisyfs {

class Expectation {
 public:
  // All of `start` is promised, as after a mount.
  Expectation(Contract contract, Tree start, const ContractRules& rules = {});

  Contract contract() const { return contract_; }
  const ContractRules& rules() const { return rules_; }
  // The tree that a running system must have now. During a call: the tree when the call began.
  const Tree& now() const { return now_; }
  // The trees of the window before now(), oldest first. Under `atomic` each tree appears once. Under
  // `ordered` and `fsync` every step appears, also if it repeats a tree. `structure` keeps none.
  std::span<const Tree> older() const;

  // The call that begins next may be cut off in parts: a power cut from now on may leave this tree, which has
  // the first parts of the call. Parts come in order, before begin_op(). now() is the last part until
  // end_op(); a call that fails has no parts.
  void reach_part(Tree part);
  // A call begins that leads to `after` if it succeeds. Calls do not nest.
  void begin_op(Tree after);
  // The call returned. With 0 the tree is now `after`, otherwise it is unchanged.
  // `refused`: the call was refused because of a failure and may have taken effect; the tree of before the
  // call.
  void end_op(int error, const Tree* refused = nullptr);
  bool in_op() const { return in_op_; }
  // Number of calls that returned 0 since the start or the last power cut. Reports name a promise by the
  // number of the call that made it. Not part of the digest.
  uint32_t calls() const { return calls_; }

  // The call that returned reported that the device had failed a write: what was not durable then may be
  // lost, although a later promise covers it. Real systems mark such data as written. A later promise covers
  // only what has changed since, until the system says that it is stable or is_read_back(). Without a path
  // the whole system is in doubt, with one (fsync) this object. Comes after end_op().
  void fail_device();
  void fail_device(std::string_view path);
  // Whether a later promise does not cover something for that reason.
  bool is_in_doubt() const { return older_ && !older_->doubts.empty(); }
  // The system was unmounted and mounted and had this tree then: it is durable.
  void is_read_back(Tree tree);

  // Everything up to now() is durable: sync or unmount returned, or any call of a system whose calls are
  // durable when they return. Must not be called during a call: end_op() comes before the call's promise.
  void promise_all();
  // The system says that it is stable, although no call asked for it. Reports attribute the promise to call
  // `by`, the one in flight. Like promise_all() this covers the calls that have returned, so for a call in
  // flight it comes before begin_op().
  void promise_stable(std::optional<uint32_t> by = {}) {
    promise_window();
    if (by) covered_by_ = *by;
  }

  // Promises about single objects. The path must exist in now(); the last symbolic link is followed, as by
  // open. It may be a handle (tree.h); then nothing is promised of a file without a name. Like promise_all()
  // they come after end_op(). Only the contract `fsync` uses them. If the fsync of a target covers more than
  // its file, promise_all() is called instead.
  void promise_file(std::string_view path);  // fsync: its content, and with fsync_names its name
  void promise_data(std::string_view path);  // fdatasync: its bytes, and the size needed to read them
  // A write with O_SYNC: these bytes, the size needed to read them, and with fsync_names the name of the
  // file. Does not cover other writes to the file.
  void promise_write(std::string_view path, uint64_t offset, uint64_t length);
  void promise_dir(std::string_view path);  // fsync: its entries, and with fsync_names its name
  // A call that is durable when it returns, although others are not: what it has changed since older() had so
  // many trees. Under `atomic` that is everything, under `ordered` all but the data of other calls.
  void promise_changes(size_t since);

  // Whether a power cut now may leave this tree.
  bool crash_allowed(const Tree& recovered) const;
  // Why the tree is not allowed, as text for a report; empty if it is allowed. `past` may list trees from
  // before the window, oldest first. If one of them came back, the text calls it lost durability.
  std::string why_not(const Tree& recovered, std::span<const Tree> past = {}) const;
  // The earliest promise that this tree breaks. Nothing if the tree is allowed, or if no single promise is
  // broken.
  std::optional<BrokenPromise> broken_promise(const Tree& recovered) const;

  // The system came back with this tree. It is the only right tree now, and all of it is durable.
  void collapse(Tree recovered);

  // Equal for expectations that allow the same trees now and after every future power cut.
  Digest digest() const;

 private:
  // From here on what has not changed is in doubt.
  struct Doubt {
    ObjectId object = kNoObject;  // kNoObject: the whole system
    size_t since = 0;
  };
  struct Window {
    Digest sum;  // covers the trees, which objects they have in common, the promises and the doubts
    std::vector<Tree> trees;
    std::vector<Promise> promises;
    std::vector<Doubt> doubts;
    std::vector<size_t>
        undone;        // positions of trees of calls that were refused: the next tree is that of before
    size_t floor = 0;  // trees from this position on satisfy all promises
  };

  // Whether two trees are one step of the window. Where objects are judged one by one, what an open file
  // without a name holds makes a difference too: its deletion may be lost, and its data not.
  bool are_one(const Tree& a, const Tree& b) const;
  bool by_object() const {
    return contract_ == Contract::kOrdered || contract_ == Contract::kFsync ||
           contract_ == Contract::kNames || is_narrow(contract_);
  }
  // Whether the contract heeds what fsync, fdatasync and O_SYNC promise of this kind.
  bool heeds(PromiseKind kind) const;
  void advance(Tree next);
  void promise(std::string_view path, PromiseKind kind, uint64_t offset = 0, uint64_t end = 0);
  void promise(Promise made);
  void promise_window();
  void promise_each();
  void promise_file_changes(const Tree& before, const Tree::Node& node, ObjectId object);
  void promise_name_changes(const Tree& before, const Tree::Node& directory, ObjectId object);
  void doubt(ObjectId object);
  static Digest doubt_term(const Doubt& doubt, const Tree& then);
  size_t doubt_of(ObjectId object, PromiseKind kind) const;
  // A view of the window with its promises.
  History history() const;
  std::string why_not_by_object(const Tree& recovered) const;

  Contract contract_;
  bool in_op_ = false;
  uint32_t calls_ = 0;
  uint32_t covered_by_ = 0;  // number of the call that last promised everything
  ContractRules rules_;
  Tree now_;
  Tree after_;            // valid only with in_op_
  Shared<Window> older_;  // empty if there are no older trees
};

}  // namespace sisyfs
