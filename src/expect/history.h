// History: the trees of a window in order, with what was promised of single objects on the way.
//
// An object is a file, directory or symbolic link through all of its renames; it exists from one tree of
// the window to another without a gap. Tree::birth() tells objects apart, and find_object() is the one
// place that says which node of a tree an object is.
//
//   const Tree::Node* node = object_in(history[i], object);   // null if it was not there at i
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tree/tree.h"

namespace sisyfs {

using ObjectId = uint32_t;
inline constexpr ObjectId kRootObject = 0;
inline constexpr ObjectId kNoObject = UINT32_MAX;

enum class PromiseKind : uint8_t {
  kContent,  // fsync: what the object holds
  kData,     // fdatasync: its bytes, and the size needed to read them
  kName,     // that it can be reached, by a name of then or later
  kEntries,  // fsync of a directory: its entries, and that what they lead to can be reached
  kWritten,  // O_SYNC: the bytes of one write, and the size needed to read them
};

struct Promise {
  size_t since = 0;  // the position of the tree at which it was made
  ObjectId object = kNoObject;
  PromiseKind kind = PromiseKind::kContent;
  uint64_t offset = 0, end = 0;  // kWritten: the bytes from offset to before end
  uint32_t call = 0;             // which call made it, for reports: Expectation::calls() at its return

  // Whether it promises the same, whoever made it.
  bool same(const Promise& other) const {
    return since == other.since && object == other.object && kind == other.kind && offset == other.offset &&
           end == other.end;
  }
};

// A view: lives as long as the expectation that it came from does not change.
struct History {
  std::span<const Tree> older;
  const Tree* now = nullptr;
  const Tree* after = nullptr;  // null without a call in flight
  std::span<const Promise> promises;
  uint32_t covered_by = 0;  // the call that promised all of the first tree, as Promise::call

  size_t size() const { return older.size() + (after ? 2 : 1); }
  size_t last() const { return size() - 1; }
  const Tree& operator[](size_t i) const {
    return i < older.size() ? older[i] : (i == older.size() ? *now : *after);
  }
  // From where on a promise of this kind holds for the object; 0 if there is none.
  size_t since(PromiseKind kind, ObjectId object) const;
};

// The node that this object is, or kNoNode.
NodeId find_object(const Tree& tree, ObjectId object);
const Tree::Node* object_in(const Tree& tree, ObjectId object);
// What the directory holds under that name: an object, or kNoObject.
ObjectId entry_of(const Tree& tree, const Tree::Node& directory, std::string_view name);
// Whether the directory is there and has a name for the object.
bool holds(const Tree& tree, ObjectId directory, ObjectId object);
// A path of the object in the tree; "" if it is not there.
std::string path_of(const Tree& tree, ObjectId object);

// Stands for which objects of `next` were which ones of `previous`, told by places and not by numbers.
// Objects that kept their places do not show.
Digest descent(const Tree& previous, const Tree& next);

}  // namespace sisyfs
