// AceWorkload: all bounded workloads in the manner of ACE (Mohan et al., OSDI 2018), as the ops that may
// follow in each state.
//
// A workload is a few core ops over a few names: /foo and /bar, and the same two in the directories /A and
// /B. After each core op comes a persistence point or none, and one after the last: fsync of a file or
// directory that the op has touched, fdatasync of such a file, or sync. What the core ops need is made
// beforehand and is durable when the first of them begins. A file that is made so has one unit of data.
//
//   Result<AceWorkload> ace = AceWorkload::make(bounds, 2);
//   std::vector<AceWorkload::Next> all;                       // reused from state to state
//   ace->from(position, tree, &all);                          // position 0: the start
//   for (const AceWorkload::Next& next : all) use(next.op, next.position);
//
// Names are interchangeable: of workloads that differ only in them, one is generated. So the first directory
// that a workload names is /A, and the first file in a directory is foo. What is made beforehand is what the
// core ops name, and nothing else, except that a directory may be renamed with files in it.
//
// A position is a number, so a state of a search holds its place in its workload as one integer. It has what
// was made beforehand and was not yet named, what was named, what the last core op has touched, and the
// number of core ops.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "workload/workload.h"

namespace sisyfs {

class AceWorkload {
 public:
  static constexpr uint32_t kMostOps = 6;
  // Nothing follows: the end of a workload, and what comes back from a power cut.
  static constexpr uint32_t kEnd = UINT32_MAX >> 1;
  static constexpr uint32_t kMostCounted = 3;

  struct Next {
    Op op;
    uint32_t position = 0;  // behind the op
    // The power may go during it. Not while things are made beforehand.
    bool may_cut = true;
  };

  // Kinds of op, sizes and the limits of files and depth come from the bounds, all else is ACE's own. Bad
  // input where `core_ops` is out of range, or there are no two names.
  static Result<AceWorkload> make(const Bounds& bounds, uint32_t core_ops);

  // Sets `out` to the ops that may follow, each of which succeeds on the tree.
  void from(uint32_t position, const Tree& tree, std::vector<Next>* out) const;

  uint32_t core_ops() const { return core_ops_; }
  // The number of workloads from this tree, those with fewer core ops included. None beyond kMostCounted core
  // ops, which would take long to count.
  std::optional<uint64_t> count(const Tree& start) const;

 private:
  // The names: two directories, then two files in the root and in each of them; and the root.
  static constexpr uint32_t kA = 0, kB = 1, kFiles = 2, kObjects = 8, kRoot = 8;
  struct Place {
    bool core = false;         // core ops have begun; otherwise things are made beforehand
    uint32_t done = 0;         // core ops so far
    uint32_t touched = 0;      // by the last of them, if there was no persistence point since
    uint32_t left = 0;         // made beforehand, and not named by a core op
    uint32_t named = 0;        // by core ops
    uint32_t next_object = 0;  // beforehand: those before it are made, or are left out
    bool needs_data = false;   // beforehand: the file before that one is still empty
  };
  // The part of a set that an op names, in order.
  struct Names {
    uint32_t first;
    uint32_t second = kObjects;  // none
  };

  explicit AceWorkload(Bounds bounds) : bounds_(std::move(bounds)) {}
  static uint32_t pack(const Place& place);
  static Place unpack(uint32_t position);
  static bool is_file(uint32_t object) { return object >= kFiles; }
  // The directory of an object: kA, kB or kRoot.
  static uint32_t directory_of(uint32_t object) { return object < 4 ? kRoot : (object - 4) / 2; }
  static bool add_name(uint32_t object, uint32_t& named);

  // Whether the target can have it.
  bool exists(uint32_t object) const {
    return has_directories_ || (is_file(object) && directory_of(object) == kRoot);
  }
  bool has(OpKind kind) const { return bounds_.ops.has(kind); }
  bool can_be_named(uint32_t left, uint32_t ops) const;
  void add_beforehand(const Place& at, const Tree& tree, std::vector<Next>* out) const;
  void add_core(const Place& at, const Tree& tree, std::vector<Next>* out) const;
  void add_of_file(const Place& at, uint32_t file, const Tree& tree, std::vector<Next>* out) const;
  void add_pairs(const Place& at, const Tree& tree, std::vector<Next>* out) const;
  void add_core_op(const Place& at, const Tree& tree, const Op& op, Names names,
                   std::vector<Next>* out) const;
  void add_persistence(const Place& at, const Tree& tree, std::vector<Next>* out) const;
  const Tree::Node* node_at(const Tree& tree, uint32_t object) const;
  bool can_persist() const;

  using Counted = std::map<std::pair<uint32_t, Digest>, uint64_t>;
  uint64_t count_from(uint32_t position, const Tree& tree, Counted& known) const;

  Bounds bounds_;
  uint32_t core_ops_ = 0;
  uint32_t unit_ = 1;
  bool has_directories_ = false;
  std::array<Path, kObjects + 1> paths_;
};

}  // namespace sisyfs
