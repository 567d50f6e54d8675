// History: the trees of a window in order, with the promises about single objects.
//
// An object is a file, directory or symbolic link through all of its renames. It exists in consecutive trees
// of the window, without a gap. Tree::birth() identifies an object; find_object() gives its node in a tree.
//
//   const Tree::Node* node = object_in(history[i], object);   // null if it did not exist at i
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tree/tree.h"

namespace sisyfs {

using ObjectId = uint32_t;
inline constexpr ObjectId kRootObject = 0;
inline constexpr ObjectId kNoObject = UINT32_MAX;

enum class PromiseKind : uint8_t {
  kContent,  // fsync: the content of the object
  kData,     // fdatasync: its bytes, and the size needed to read them
  kName,     // the object is reachable; each of its names then holds what it held then or later
  kEntries,  // fsync of a directory: its entries, and that their objects are reachable
  kWritten,  // O_SYNC: the bytes of one write, and the size needed to read them
  // What a call promises that is durable when it returns:
  kSize,        // the size, and the bytes from `offset` to before `end`: the file was cut
  kEntry,       // what a name of the directory leads to, and that this comes back; or that it is free
  kAttributes,  // the extended attributes
  kTree,        // names, types, modes, links, sizes and attributes of the whole tree (under `ordered`)
  kMode,        // the permission bits
};

// The position of no tree.
inline constexpr size_t kNoDoubt = SIZE_MAX;

struct Promise {
  size_t since = 0;  // position of the tree for which it was made
  ObjectId object = kNoObject;
  PromiseKind kind = PromiseKind::kContent;
  uint64_t offset = 0, end = 0;  // kWritten, kSize: the bytes from offset to before end
  uint32_t call = 0;             // for reports: Expectation::calls() when the promising call returned
  // A failure of the device was reported for the object when it had this tree. What has not changed from then
  // until `since` may have been given up by the system: the promise does not cover it.
  size_t doubt = kNoDoubt;
  std::string_view name = {};  // kEntry: lives in a tree of the window

  // Whether both promise the same, ignoring the call.
  bool same(const Promise& other) const {
    return since == other.since && object == other.object && kind == other.kind && offset == other.offset &&
           end == other.end && doubt == other.doubt && name == other.name;
  }
};

// A view of an expectation, valid until the expectation changes.
struct History {
  std::span<const Tree> older;
  const Tree* now = nullptr;
  const Tree* after = nullptr;  // null without a call in flight
  std::span<const Promise> promises;
  // Positions of the trees of calls that were refused because of a failure, and may have taken effect. The
  // tree behind each is that of before the call.
  std::span<const size_t> undone;
  uint32_t covered_by = 0;  // the call that promised the whole first tree, as Promise::call
  bool sees_all = true;     // ContractRules::sees_all

  size_t size() const { return older.size() + (after ? 2 : 1); }
  size_t last() const { return size() - 1; }
  const Tree& operator[](size_t i) const {
    return i < older.size() ? older[i] : (i == older.size() ? *now : *after);
  }
  // Whether the promise does not cover this entry, because of a failure of the device after which the entry
  // has not changed.
  bool in_doubt(const Promise& promise, ObjectId directory, std::string_view name) const;
  // Position of the latest promise of this kind about the object; 0 if there is none.
  size_t since(PromiseKind kind, ObjectId object) const;
};

// The node of the object in the tree, or kNoNode.
NodeId find_object(const Tree& tree, ObjectId object);
const Tree::Node* object_in(const Tree& tree, ObjectId object);
// The same, also if the object is an open file that has lost its last name. Its content may come back under
// a name that it had, where the deletion is lost and what was written later is not.
const Tree::Node* version_in(const Tree& tree, ObjectId object);
// The object that has this name in the directory, or kNoObject.
ObjectId entry_of(const Tree& tree, const Tree::Node& directory, std::string_view name);
// Whether the directory exists and has an entry for the object.
bool holds(const Tree& tree, ObjectId directory, ObjectId object);
// Whether the object is the directory or lies below it.
bool is_within(const Tree& tree, const Tree::Node& directory, ObjectId object);
// Whether a promise of a name covers this entry, so that the entry is not from an earlier time. It covers all
// names of the object at the time of the promise. It covers the entry of a directory above the object if that
// directory never had another name: a rename of the directory is not promised with the file.
bool binds_entry(const History& history, const Promise& promise, ObjectId directory, std::string_view name);
// A path of the object in the tree; "" if it does not exist there.
std::string path_of(const Tree& tree, ObjectId object);

// Whether each name leads to the same object in two equal trees. An exchange of two equal files is a change
// of the objects alone.
bool same_objects(const Tree& a, const Tree& b);

// Digest of which object of `next` was which object of `previous`, identified by paths and not by numbers,
// and of open files without a name in `next`. Objects whose paths did not change contribute nothing.
Digest descent(const Tree& previous, const Tree& next);

}  // namespace sisyfs
