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
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "tree/shared.h"
#include "tree/tree.h"

namespace sisyfs {

// What a system promises to keep over a power cut. All contracts also demand that it mounts, that it
// can be walked, and that its own check is clean, which others judge.
enum class Contract : uint8_t {
  kAtomic,     // the tree is one that it was in the window, or that the call in flight leads to
  kStructure,  // any tree
};

const char* contract_name(Contract contract);

class Expectation {
 public:
  // All of `start` is promised, as after a mount.
  Expectation(Contract contract, Tree start);

  Contract contract() const { return contract_; }
  // What a running system must hold now. With a call in flight: what it held when the call began.
  const Tree& now() const { return now_; }
  // The trees before now() that a power cut may still bring back, each once, the oldest first. Without a
  // contract that looks at them there are none.
  std::span<const Tree> older() const;

  // A call begins that leads to `after` if it succeeds. Calls do not nest.
  void begin_op(Tree after);
  // It returned: with 0 the tree is now `after`, otherwise it is as before.
  void end_op(int error);
  bool in_op() const { return in_op_; }

  // Everything up to now() is durable: sync or unmount returned, or any call of a system whose calls are
  // durable when they return. Not while a call is in flight; a promise that a call makes follows its end.
  void promise_all();

  // Whether a power cut now may leave this tree.
  bool crash_allowed(const Tree& recovered) const;
  // Why not, as text for a report; empty if it is allowed. The caller may give trees that were there
  // before the window, the oldest first: one of them coming back is lost durability and is called so.
  std::string why_not(const Tree& recovered, std::span<const Tree> past = {}) const;

  // The system came back with this tree: it is what counts from here on, and all of it is durable.
  void collapse(Tree recovered);

  // Equal for expectations that allow the same now and after every power cut from here on.
  Digest digest() const;

 private:
  struct Window {
    Digest sum;  // over its trees
    std::vector<Tree> trees;
  };

  void advance(Tree next);

  Contract contract_;
  bool in_op_ = false;
  Tree now_;
  Tree after_;            // with in_op_; otherwise whatever
  Shared<Window> older_;  // holds nothing if there are none
};

}  // namespace sisyfs
