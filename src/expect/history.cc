#include "expect/history.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/mutant.h"

namespace sisyfs {

size_t History::since(PromiseKind kind, ObjectId object) const {
  size_t since = 0;
  for (const Promise& p : promises) {
    if (p.kind == kind && p.object == object) since = std::max(since, p.since);
  }
  return since;
}

bool History::in_doubt(const Promise& promise, ObjectId directory, std::string_view name) const {
  if (promise.doubt == kNoDoubt || mutant(Mutant::kNoDoubts)) return false;
  const Tree::Node* then = object_in((*this)[promise.since], directory);
  const ObjectId occupant = then ? entry_of((*this)[promise.since], *then, name) : kNoObject;
  for (size_t i = promise.doubt; i < promise.since; ++i) {
    const Tree::Node* node = object_in((*this)[i], directory);
    if (!node || entry_of((*this)[i], *node, name) != occupant) return false;
  }
  return true;
}

NodeId find_object(const Tree& tree, ObjectId object) { return tree.born(object); }

const Tree::Node* object_in(const Tree& tree, ObjectId object) {
  const NodeId id = find_object(tree, object);
  return id == kNoNode ? nullptr : &tree.node(id);
}

const Tree::Node* version_in(const Tree& tree, ObjectId object) {
  if (mutant(Mutant::kForgetNameless)) return object_in(tree, object);
  const NodeId id = tree.born_or_nameless(object);
  return id == kNoNode ? nullptr : &tree.node(id);
}

ObjectId entry_of(const Tree& tree, const Tree::Node& directory, std::string_view name) {
  for (const Tree::Entry& e : tree.children(directory)) {
    if (e.name() == name) return tree.birth(e.node);
  }
  return kNoObject;
}

bool holds(const Tree& tree, ObjectId directory, ObjectId object) {
  const Tree::Node* node = object_in(tree, directory);
  if (!node) return false;
  for (const Tree::Entry& e : tree.children(*node)) {
    if (tree.birth(e.node) == object) return true;
  }
  return false;
}

bool is_within(const Tree& tree, const Tree::Node& directory, ObjectId object) {
  for (const Tree::Entry& e : tree.children(directory)) {
    if (tree.birth(e.node) == object || is_within(tree, tree.node(e.node), object)) return true;
  }
  return false;
}

bool binds_entry(const History& history, const Promise& promise, ObjectId directory, std::string_view name) {
  if (promise.kind != PromiseKind::kName || mutant(Mutant::kUnboundNames)) return false;
  const auto occupant_at = [&](size_t i) {
    const Tree::Node* node = object_in(history[i], directory);
    return node ? entry_of(history[i], *node, name) : kNoObject;
  };
  const Tree& then = history[promise.since];
  const ObjectId occupant = occupant_at(promise.since);
  if (occupant == kNoObject || occupant == promise.object) return occupant != kNoObject;
  if (!is_within(then, *object_in(then, occupant), promise.object)) return false;
  for (size_t i = 0; i < promise.since; ++i) {
    if (object_in(history[i], occupant) && occupant_at(i) != occupant) return false;
  }
  return true;
}

namespace {

bool find_path(const Tree& tree, NodeId at, ObjectId object, std::string& path) {
  for (const Tree::Entry& e : tree.children(at)) {
    const size_t length = path.size();
    (path += "/") += e.name();
    if (tree.birth(e.node) == object || find_path(tree, e.node, object, path)) return true;
    path.resize(length);
  }
  return false;
}

}  // namespace

std::string path_of(const Tree& tree, ObjectId object) {
  if (object == kRootObject) return "/";
  std::string path;
  find_path(tree, kRootNode, object, path);
  return path;
}

namespace {

// Which handles lead to the node.
uint64_t handles_of(const Tree& tree, NodeId node) {
  uint64_t handles = 0;
  for (uint32_t i = 0; i < Tree::kHandles; ++i) handles |= uint64_t{tree.behind(i) == node} << i;
  return handles;
}

// A file without a name is identified by its handles, and before its deletion by its paths.
Digest nameless_descent(const Tree& previous, const Tree& next) {
  Digest sum = digest_at(1, next.open_digest());
  for (uint32_t id = 0; id < next.node_limit(); ++id) {
    if (!next.is_nameless(NodeId{id})) continue;
    const NodeId before = previous.born_or_nameless(next.birth(NodeId{id}));
    const Digest was = before == kNoNode                  ? Digest{}
                       : previous.node(before).names != 0 ? previous.node(before).path_digest
                                                          : Digest{handles_of(previous, before), 1};
    sum += digest_at(0x100 | handles_of(next, NodeId{id}), was);
  }
  return sum;
}

}  // namespace

bool same_objects(const Tree& a, const Tree& b) {
  for (uint32_t id = 0; id < b.node_limit(); ++id) {
    if (!b.has_node(NodeId{id})) continue;
    const Tree::Node* node = a.has_node(NodeId{id}) && a.birth(NodeId{id}) == b.birth(NodeId{id})
                                 ? &a.node(NodeId{id})
                                 : object_in(a, b.birth(NodeId{id}));
    if (node == nullptr || !(node->path_digest == b.node(NodeId{id}).path_digest)) return false;
  }
  return true;
}

Digest descent(const Tree& previous, const Tree& next) {
  Digest sum;
  for (uint32_t id = 0; id < next.node_limit(); ++id) {
    if (!next.has_node(NodeId{id})) continue;
    const Tree::Node& node = next.node(NodeId{id});
    // Shortcut: an object usually keeps its slot. The result is the same without it.
    NodeId before = NodeId{id};
    if (!previous.has_node(before) || previous.birth(before) != next.birth(NodeId{id}))
      before = find_object(previous, next.birth(NodeId{id}));
    const Digest paths = before == kNoNode ? Digest{} : previous.node(before).path_digest;
    if (paths == node.path_digest) continue;
    const Digest pair[] = {node.path_digest, paths};
    sum += digest_of(pair, sizeof pair);
  }
  return next.has_nameless() ? sum + nameless_descent(previous, next) : sum;
}

}  // namespace sisyfs
