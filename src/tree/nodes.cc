// Implementation of Tree: its block of memory, its lists, its digest and its shapes.
//
// Each change first calls own(), which copies the block if it is shared, and then changes the block in place.
// References into the block are therefore taken after own() and are invalid after the next own().
#include <algorithm>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

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
  // A mode counts if it is not that of a new node.
  const auto kind = static_cast<uint32_t>(node.type);
  const auto mode = static_cast<uint32_t>(node.mode ^ kNewModes[kind]);
  struct Content {
    Digest path_digest;
    Digest data;
    uint64_t size;
    uint32_t links;
    uint32_t type;
  };
  static_assert(std::has_unique_object_representations_v<Content>);
  const Content content{node.path_digest, node.data.digest(), node.data.size(), node.links, kind | mode << 8};
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
  const auto mode = static_cast<uint64_t>(node.mode ^ kNewModes[static_cast<size_t>(node.type)]);
  const uint64_t kind = mode << 52 | uint64_t{node.xattrs.size()} << 40 | uint64_t{node.links} << 8 |
                        uint64_t{node.handles} << 3 | static_cast<uint64_t>(node.type) << 1 |
                        (node.open ? 1 : 0);
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
  std::copy_n(from.handles, kHandles, body->handles);
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
  root->mode = kNewModes[static_cast<size_t>(FileType::kDirectory)];
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
  // What has no name is not in the digest.
  if (node.names != 0) body.digest -= term(node);
  change(node);
  if (node.names != 0) body.digest += term(node);
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
    while (nodes[at].names != 0 || nodes[at].handles != 0) ++at;
  } else {
    new (nodes + body.node_limit++) Node;
  }
  nodes[at].type = type;
  nodes[at].mode = kNewModes[static_cast<size_t>(type)];
  nodes[at].links = type == FileType::kDirectory ? 2 : 0;
  nodes[at].birth = body.next_birth++;
  ++body.counts[static_cast<size_t>(type)];
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
    if (node.handles != 0) {
      node.path_digest = {};
      node.names = node.links = 0;
    } else {
      --body.counts[static_cast<size_t>(node.type)];
      node = Node();
    }
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

void Tree::clear(NodeId id, uint64_t offset, uint64_t length) {
  edit(own(), id, [&](Node& n) { n.data.clear(offset, length); });
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

void Tree::set_mode(NodeId id, uint16_t mode) {
  edit(own(), id, [&](Node& n) { n.mode = mode; });
}

// The handles are few, so that their text has one digit.
uint32_t Tree::handle_in(std::string_view text) {
  const bool is_one = text.size() == 2 && text[0] == '@' && text[1] > '0' && text[1] <= '0' + int{kHandles};
  return is_one ? static_cast<uint32_t>(text[1] - '1') : kHandles;
}

void Tree::hold(uint32_t handle, NodeId id) {
  Body& body = own();
  body.handles[handle] = id;
  ++body.open_count;
  edit(body, id, [](Node& n) { ++n.handles; });
}

void Tree::release(uint32_t handle) {
  Body& body = own();
  const NodeId id = std::exchange(body.handles[handle], kNoNode);
  --body.open_count;
  edit(body, id, [](Node& n) { --n.handles; });
  Node& node = body.node(id);
  if (node.names != 0 || node.handles != 0) return;
  --body.counts[static_cast<size_t>(node.type)];
  node = Node();
}

NodeId Tree::make_nameless(uint32_t handle) {
  static constexpr std::string_view kNoName = " ";
  const NodeId id = make(kRootNode, kNoName, FileType::kFile);
  hold(handle, id);
  drop_name(kRootNode, kNoName);
  return id;
}

void Tree::close_all() {
  for (uint32_t i = 0; i < kHandles; ++i)
    if (behind(i) != kNoNode) release(i);
  for (uint32_t i = 0; i < node_limit() && open_count() != 0; ++i) {
    if (node(NodeId{i}).open) set_open(NodeId{i}, false);
  }
}

bool Tree::has_nameless() const {
  if (open_count() == 0) return false;
  return std::any_of(body_->handles, body_->handles + kHandles,
                     [&](NodeId id) { return id != kNoNode && node(id).names == 0; });
}

Digest Tree::open_digest() const {
  Digest sum;
  if (open_count() == 0) return sum;
  for (uint32_t i = 0; i < node_limit(); ++i) {
    const Node& n = node(NodeId{i});
    if (n.open) sum += digest_at(0x6f, n.path_digest);
    if (n.handles == 0) continue;
    uint64_t own = 0;  // which handles are its own
    for (uint32_t handle = 0; handle < kHandles; ++handle)
      own |= uint64_t{behind(handle) == NodeId{i}} << handle;
    sum += digest_at(0x100 | own, n.names != 0 ? n.path_digest : term(n));
  }
  return sum;
}

Digest Tree::handle_digest() const {
  Digest sum;
  for (uint32_t handle = 0; handle < kHandles; ++handle) {
    const NodeId id = behind(handle);
    if (id == kNoNode) continue;
    const FileData& data = node(id).data;
    sum += digest_at(0x200 | handle, data.digest() + Digest{data.size(), 1});
  }
  return sum;
}

Digest Tree::shape() const {
  Digest sum = shape_of(node(kRootNode));
  if (!has_nameless()) return sum;
  for (uint32_t i = 0; i < node_limit(); ++i)
    if (is_nameless(NodeId{i})) sum += digest_at(0x6e, shape_of(node(NodeId{i})));
  return sum;
}

NodeId Tree::born(uint32_t birth) const {
  for (uint32_t i = 0; i < node_limit(); ++i) {
    const Node& n = node(NodeId{i});
    if (n.names != 0 && n.birth == birth) return NodeId{i};
  }
  return kNoNode;
}

NodeId Tree::born_or_nameless(uint32_t birth) const {
  const NodeId named = born(birth);
  if (named != kNoNode || open_count() == 0) return named;
  for (const NodeId id : body_->handles)
    if (id != kNoNode && node(id).birth == birth) return id;
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
