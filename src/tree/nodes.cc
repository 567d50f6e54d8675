// Implementation of Tree: its block of memory, its lists, its digest and its shapes.
//
// Each change first calls own(), which copies the block if it is shared, and then changes the block in place.
// References into the block are therefore taken after own() and are invalid after the next own().
#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>

#include "base/assert.h"
#include "disk/pool.h"
#include "tree/tree.h"

namespace sisyfs {
namespace {

constexpr uint32_t kLeastCapacity = 8;

uint32_t index_of(NodeId id) { return static_cast<uint32_t>(id); }

// The digest of a path: chained over its names, so it covers the whole path.
Digest path_in(const Digest& directory, std::string_view name) {
  return digest_at(XXH3_64bits(name.data(), name.size()), directory);
}

// The term of a node in the digest of the tree. A file with two names has one term, which covers the sum of
// its path digests. So two names of one file differ from two equal files.
Digest term(const Tree::Node& node) {
  struct Content {
    Digest path_digest;
    Digest data;
    uint64_t size;
    uint32_t links;
    uint32_t type;
  };
  static_assert(std::has_unique_object_representations_v<Content>);
  const Content content{node.path_digest, node.data.digest(), node.data.size(), node.links,
                        static_cast<uint32_t>(node.type)};
  const Digest plain = digest_of(&content, sizeof content);
  if (node.xattrs.empty()) return plain;
  const Digest both[] = {plain, node.xattrs.digest()};
  return digest_of(both, sizeof both);
}

// The term of a child with this shape in the sum of its directory. It is mixed, so that sums of many terms
// behave like sums of random numbers.
Digest as_child(const Digest& shape) { return digest_at(0x63, shape); }

}  // namespace

// The algorithm of Aho, Hopcroft and Ullman compares sorted strings, which are equal if and only if the
// multisets of the children's codes are equal. A sum does not depend on the order either. Two different
// multisets have equal sums only by a collision of 128-bit codes, a risk that every fingerprint has. Unlike a
// sorted string, a sum can be updated for one child.
Digest Tree::shape_of(const Node& node) {
  const uint64_t kind = uint64_t{node.xattrs.size()} << 40 | uint64_t{node.links} << 8 |
                        static_cast<uint64_t>(node.type) << 1 | (node.open ? 1 : 0);
  switch (node.type) {
    case FileType::kDirectory:
      return digest_at(kind, node.below);
    case FileType::kFile:
      return digest_at(kind, {node.data.size(), 1});
    case FileType::kSymlink:
      break;  // the target consists of names, which a shape ignores
  }
  return digest_at(kind, {0, 2});
}

Tree::Body* Tree::Body::make(uint32_t capacity) {
  Body* body = new (pool_take(sizeof(Body) + capacity * (sizeof(Node) + sizeof(Entry)))) Body;
  body->capacity = capacity;
  return body;
}

Tree::Body* Tree::Body::copy(const Body& from, uint32_t capacity) {
  Body* body = make(capacity);
  body->node_limit = from.node_limit;
  body->entry_limit = from.entry_limit;
  body->entry_count = from.entry_count;
  body->next_birth = from.next_birth;
  body->open_count = from.open_count;
  std::copy_n(from.counts, kFileTypes, body->counts);
  body->digest = from.digest;
  std::uninitialized_copy_n(from.nodes(), from.node_limit, body->nodes());
  std::uninitialized_copy_n(from.entries(), from.entry_limit, body->entries());
  return body;
}

void Tree::Body::destroy(const Body* body) {
  Body* gone = const_cast<Body*>(body);
  std::destroy_n(gone->nodes(), gone->node_limit);
  std::destroy_n(gone->entries(), gone->entry_limit);
  pool_give(gone, sizeof(Body) + gone->capacity * (sizeof(Node) + sizeof(Entry)));
}

Tree::Tree() {
  static const Digest kRootPath = digest_of("/", 1);
  Body* body = Body::make(kLeastCapacity);
  body_ = Ref<Body>::adopt(body);
  Node* root = new (body->nodes()) Node;
  body->node_limit = body->counts[static_cast<size_t>(FileType::kDirectory)] = body->next_birth = 1;
  root->type = FileType::kDirectory;
  root->names = 1;
  root->links = 2;
  root->parent = kRootNode;
  root->path_digest = kRootPath;
  body->digest = term(*root);
}

Tree::Body& Tree::own(uint32_t more) {
  Body* body = const_cast<Body*>(body_.get());
  const uint32_t needed = std::max(body->node_count(), body->entry_count) + more;
  const bool fits = needed <= body->capacity;
  if (fits && body->refs.only()) return *body;
  // Slots keep their positions, so the capacity never shrinks below the limits.
  body = Body::copy(*body, fits ? body->capacity : std::max(needed, body->capacity + body->capacity / 2));
  body_ = Ref<Body>::adopt(body);
  return *body;
}

template <class Change>
void Tree::edit(Body& body, NodeId id, Change change) {
  Node& node = body.node(id);
  const Digest shape = shape_of(node);
  body.digest -= term(node);
  change(node);
  body.digest += term(node);
  const Digest changed = shape_of(node);
  if (changed == shape) return;
  const Digest by = as_child(changed) - as_child(shape);
  for (uint32_t e = node.name; e != kNoEntry; e = body.entries()[e].next_name) {
    add_shape(body, body.entries()[e].parent, by);
  }
}

void Tree::add_shape(Body& body, NodeId directory, Digest by) {
  while (true) {
    Node& node = body.node(directory);
    const Digest shape = shape_of(node);
    node.below += by;
    if (directory == kRootNode) return;
    by = as_child(shape_of(node)) - as_child(shape);
    directory = node.parent;
  }
}

uint32_t Tree::find(const Body& body, NodeId directory, std::string_view name) {
  for (uint32_t e = body.nodes()[index_of(directory)].first; e != kNoEntry; e = body.entries()[e].next) {
    if (body.entries()[e].name() == name) return e;
  }
  return kNoEntry;
}

NodeId Tree::child(NodeId directory, std::string_view name) const {
  const uint32_t entry = find(*body_, directory, name);
  return entry == kNoEntry ? kNoNode : body_->entries()[entry].node;
}

size_t Tree::Children::size() const {
  size_t count = 0;
  for (auto at = begin(); at != end(); ++at) ++count;
  return count;
}

void Tree::enlist(Body& body, uint32_t entry) {
  Entry* entries = body.entries();
  uint32_t* link = &body.node(entries[entry].parent).first;
  while (*link != kNoEntry && entries[*link].name() < entries[entry].name()) link = &entries[*link].next;
  entries[entry].next = *link;
  *link = entry;
}

void Tree::delist(Body& body, uint32_t entry) {
  Entry* entries = body.entries();
  uint32_t* link = &body.node(entries[entry].parent).first;
  while (*link != entry) link = &entries[*link].next;
  *link = entries[entry].next;
}

NodeId Tree::make(NodeId directory, std::string_view name, FileType type) {
  Body& body = own(1);
  Node* nodes = body.nodes();
  uint32_t at = body.node_limit;
  if (body.node_count() < at) {
    at = 0;
    while (nodes[at].names != 0) ++at;
  } else {
    new (nodes + body.node_limit++) Node;
  }
  nodes[at].type = type;
  nodes[at].links = type == FileType::kDirectory ? 2 : 0;
  nodes[at].birth = body.next_birth++;
  ++body.counts[static_cast<size_t>(type)];
  body.digest += term(nodes[at]);  // add_name() subtracts this term again
  add_name(NodeId{at}, directory, name);
  return NodeId{at};
}

void Tree::add_name(NodeId id, NodeId directory, std::string_view name) {
  SISYFS_ASSERT(is_directory(directory) && find(*body_, directory, name) == kNoEntry,
                "a new name goes to a directory that has none like it");
  Body& body = own(node(id).names == 0 ? 0 : 1);
  Entry* entries = body.entries();
  uint32_t at = body.entry_limit;
  if (body.entry_count < at) {
    at = 0;
    while (entries[at].node != kNoNode) ++at;
  } else {
    new (entries + body.entry_limit++) Entry;
  }
  ++body.entry_count;
  const bool is_dir = body.node(id).type == FileType::kDirectory;
  SISYFS_ASSERT(!is_dir || body.node(id).names == 0, "a directory has one name");
  const Digest path = path_in(body.node(directory).path_digest, name);
  edit(body, id, [&](Node& n) {
    n.path_digest += path;
    ++n.names;
    if (is_dir) {
      n.parent = directory;
    } else {
      ++n.links;
    }
  });
  entries[at].node = id;
  entries[at].parent = directory;
  entries[at].text = Name(name);
  entries[at].next_name = std::exchange(body.node(id).name, at);
  enlist(body, at);
  if (is_dir) edit(body, directory, [](Node& n) { ++n.links; });
  add_shape(body, directory, as_child(shape_of(body.node(id))));
}

void Tree::drop_name(NodeId directory, std::string_view name) {
  Body& body = own();
  const uint32_t at = find(body, directory, name);
  Entry& entry = body.entries()[at];
  Node& node = body.node(entry.node);
  const bool is_dir = node.type == FileType::kDirectory;
  add_shape(body, directory, Digest{} - as_child(shape_of(node)));
  delist(body, at);
  uint32_t* link = &node.name;
  while (*link != at) link = &body.entries()[*link].next_name;
  *link = entry.next_name;
  if (is_dir) edit(body, directory, [](Node& n) { --n.links; });
  if (node.names == 1) {
    body.digest -= term(node);
    --body.counts[static_cast<size_t>(node.type)];
    node = Node();
  } else {
    const Digest path = path_in(body.node(directory).path_digest, name);
    edit(body, entry.node, [&](Node& n) {
      n.path_digest -= path;
      --n.names;
      --n.links;
    });
  }
  entry = Entry();
  --body.entry_count;
}

void Tree::move_paths(Body& body, NodeId id, const Digest& by) {
  Node& node = body.node(id);
  const Digest before = node.path_digest;
  body.digest -= term(node);
  node.path_digest += by;
  body.digest += term(node);
  for (uint32_t e = node.first; e != kNoEntry; e = body.entries()[e].next) {
    const Entry& entry = body.entries()[e];
    move_paths(body, entry.node, path_in(node.path_digest, entry.name()) - path_in(before, entry.name()));
  }
}

void Tree::move(uint32_t at, NodeId to, std::string_view name) {
  Body& body = own();
  Entry& entry = body.entries()[at];
  const NodeId from = entry.parent, id = entry.node;
  const Digest by =
      path_in(body.node(to).path_digest, name) - path_in(body.node(from).path_digest, entry.name());
  delist(body, at);
  entry.text = Name(name);
  entry.parent = to;
  enlist(body, at);
  if (from != to) {
    const Digest shape = as_child(shape_of(body.node(id)));
    add_shape(body, from, Digest{} - shape);
    add_shape(body, to, shape);
    if (body.node(id).type == FileType::kDirectory) {
      body.node(id).parent = to;
      edit(body, from, [](Node& n) { --n.links; });
      edit(body, to, [](Node& n) { ++n.links; });
    }
  }
  move_paths(body, id, by);
}

void Tree::write(NodeId id, uint64_t offset, std::span<const std::byte> bytes) {
  edit(own(), id, [&](Node& n) { n.data.write(offset, bytes); });
}

void Tree::resize(NodeId id, uint64_t size) {
  edit(own(), id, [&](Node& n) { n.data.resize(size); });
}

void Tree::set_links(NodeId id, uint32_t links) {
  edit(own(), id, [&](Node& n) { n.links = links; });
}

void Tree::set_xattr(NodeId id, std::string_view name, std::span<const std::byte> bytes) {
  edit(own(), id, [&](Node& n) { n.xattrs.set(name, bytes); });
}

void Tree::drop_xattr(NodeId id, std::string_view name) {
  edit(own(), id, [&](Node& n) { n.xattrs.remove(name); });
}

void Tree::set_open(NodeId id, bool open) {
  Body& body = own();
  if (open) {
    ++body.open_count;
  } else {
    --body.open_count;
  }
  edit(body, id, [&](Node& n) { n.open = open; });
}

void Tree::close_all() {
  for (uint32_t i = 0; i < node_limit() && open_count() != 0; ++i) {
    if (node(NodeId{i}).open) set_open(NodeId{i}, false);
  }
}

Digest Tree::open_digest() const {
  Digest sum;
  if (open_count() == 0) return sum;
  for (uint32_t i = 0; i < node_limit(); ++i) {
    if (node(NodeId{i}).open) sum += digest_at(0x6f, node(NodeId{i}).path_digest);
  }
  return sum;
}

NodeId Tree::born(uint32_t birth) const {
  for (uint32_t i = 0; i < node_limit(); ++i) {
    const Node& n = node(NodeId{i});
    if (n.names != 0 && n.birth == birth) return NodeId{i};
  }
  return kNoNode;
}

std::string Tree::path_of(NodeId id) const {
  if (id == kRootNode) return "/";
  std::string least;
  for (uint32_t e = node(id).name; e != kNoEntry; e = body_->entries()[e].next_name) {
    const Entry& entry = body_->entries()[e];
    std::string path = entry.parent == kRootNode ? std::string() : path_of(entry.parent);
    path.append("/").append(entry.name());
    if (least.empty() || path < least) least = std::move(path);
  }
  return least;
}

}  // namespace sisyfs
