#include "tree/tree.h"

#include <algorithm>
#include <cerrno>
#include <type_traits>

#include "tree/lookup.h"

namespace sisyfs {
namespace {

// What a path contributes to the digest: a chain over its names, so that a place tells its whole path.
Digest place_in(const Digest& directory, std::string_view name) {
  return digest_at(XXH3_64bits(name.data(), name.size()), directory);
}

// What a node contributes to the digest. A file with two names has one term, over the sum of both
// places: which names are the same file is told apart from equal files.
Digest term(const Tree::Node& node) {
  struct Content {
    Digest places;
    Digest data;
    uint64_t size;
    uint32_t links;
    uint32_t type;
  };
  static_assert(std::has_unique_object_representations_v<Content>);
  const Content content{node.places, node.data.digest(), node.data.size(), node.links,
                        static_cast<uint32_t>(node.type)};
  return digest_of(&content, sizeof content);
}

int stat_of(const Tree& tree, NodeId id, Stat* out) {
  if (id == kNoNode) return ENOENT;
  const Tree::Node& node = tree.node(id);
  *out = {node.type, node.links, node.data.size(), id};
  return 0;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

Tree::Tree() {
  Node root;
  root.type = FileType::kDirectory;
  root.names = 1;
  root.links = 2;
  root.parent = kRootNode;
  root.places = digest_of("/", 1);
  Body body;
  body.digest = term(root);
  body.counts[static_cast<size_t>(FileType::kDirectory)] = 1;
  body.nodes.emplace_back(std::move(root));
  body_ = Shared<Body>(std::move(body));
}

template <class Change>
void Tree::edit(NodeId id, Change change) {
  Body& body = body_.edit();
  Node& node = body.nodes[static_cast<uint32_t>(id)].edit();
  body.digest -= term(node);
  change(node);
  body.digest += term(node);
}

bool Tree::lies_in(NodeId id, NodeId ancestor) const {
  for (; id != ancestor; id = node(id).parent) {
    if (id == kRootNode) return false;
  }
  return true;
}

NodeId Tree::take_slot() {
  std::vector<Shared<Node>>& nodes = body_.edit().nodes;
  const auto slot = std::find_if(nodes.begin(), nodes.end(), [](const Shared<Node>& n) { return !n; });
  const auto id = static_cast<uint32_t>(slot - nodes.begin());
  if (slot == nodes.end()) nodes.emplace_back();
  return NodeId{id};
}

void Tree::add_name(NodeId parent, std::string_view name, NodeId id) {
  const bool directory = is_directory(id);
  const Digest place = place_in(node(parent).places, name);
  edit(parent, [&](Node& n) {
    n.entries.insert(Lookup::entry(n, name), Entry{std::string(name), id});
    if (directory) ++n.links;
  });
  edit(id, [&](Node& n) {
    n.places += place;
    ++n.names;
    if (directory) {
      n.parent = parent;
    } else {
      ++n.links;
    }
  });
}

void Tree::drop_name(NodeId parent, std::string_view name, NodeId id) {
  const bool directory = is_directory(id);
  const Digest place = place_in(node(parent).places, name);
  edit(parent, [&](Node& n) {
    n.entries.erase(Lookup::entry(n, name));
    if (directory) --n.links;
  });
  edit(id, [&](Node& n) {
    n.places -= place;
    --n.names;
    if (!directory) --n.links;
  });
  if (node(id).names != 0) return;
  Body& body = body_.edit();
  Shared<Node>& slot = body.nodes[static_cast<uint32_t>(id)];
  body.digest -= term(*slot);
  --body.counts[static_cast<size_t>(slot->type)];
  slot = Shared<Node>();
}

int Tree::add(std::string_view path, FileType type, std::string_view data) {
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (at.found()) return EEXIST;
  const NodeId id = take_slot();
  Node fresh;
  fresh.type = type;
  if (type == FileType::kDirectory) fresh.links = 2;
  fresh.data.write(0, bytes_of(data));
  Body& body = body_.edit();
  fresh.birth = ++body.births;
  ++body.counts[static_cast<size_t>(type)];
  body.digest += term(fresh);
  body.nodes[static_cast<uint32_t>(id)] = Shared<Node>(std::move(fresh));
  add_name(at.parent(), at.name(), id);
  return 0;
}

int Tree::create(std::string_view path) { return add(path, FileType::kFile, ""); }

int Tree::mkdir(std::string_view path) { return add(path, FileType::kDirectory, ""); }

int Tree::symlink(std::string_view target, std::string_view path) {
  return target.empty() ? ENOENT : add(path, FileType::kSymlink, target);
}

int Tree::unlink(std::string_view path) {
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (is_directory(at.node())) return EISDIR;
  drop_name(at.parent(), at.name(), at.node());
  return 0;
}

int Tree::rmdir(std::string_view path) {
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (!at.named()) return EBUSY;
  if (!is_directory(at.node())) return ENOTDIR;
  if (!node(at.node()).entries.empty()) return ENOTEMPTY;
  drop_name(at.parent(), at.name(), at.node());
  return 0;
}

int Tree::link(std::string_view from, std::string_view path) {
  const Lookup source(*this, from, Lookup::kKeep);
  if (source.error()) return source.error();
  if (!source.found()) return ENOENT;
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (at.found()) return EEXIST;
  if (is_directory(source.node())) return EPERM;
  add_name(at.parent(), at.name(), source.node());
  return 0;
}

void Tree::move_places(NodeId id, const Digest& by) {
  const Digest before = node(id).places;
  edit(id, [&](Node& n) { n.places += by; });
  const Node& directory = node(id);
  for (const Entry& e : directory.entries) {
    move_places(e.node, place_in(directory.places, e.name) - place_in(before, e.name));
  }
}

int Tree::rename(std::string_view from, std::string_view to) {
  const Lookup source(*this, from, Lookup::kKeep);
  if (source.error()) return source.error();
  const Lookup target(*this, to, Lookup::kKeep);
  if (target.error()) return target.error();
  if (!source.named() || !target.named()) return EBUSY;
  if (!source.found()) return ENOENT;

  const NodeId moved = source.node();
  const bool directory = is_directory(moved);
  if (directory && lies_in(target.parent(), moved)) return EINVAL;
  if (target.found()) {
    const NodeId replaced = target.node();
    if (is_directory(replaced) && lies_in(source.parent(), replaced)) return ENOTEMPTY;
    if (moved == replaced) return 0;  // POSIX: two names of one file both stay
    if (directory && !is_directory(replaced)) return ENOTDIR;
    if (!directory && is_directory(replaced)) return EISDIR;
    if (!node(replaced).entries.empty()) return ENOTEMPTY;
    drop_name(target.parent(), target.name(), replaced);
  }

  const Digest by = place_in(node(target.parent()).places, target.name()) -
                    place_in(node(source.parent()).places, source.name());
  edit(source.parent(), [&](Node& n) {
    n.entries.erase(Lookup::entry(n, source.name()));
    if (directory) --n.links;
  });
  edit(target.parent(), [&](Node& n) {
    n.entries.insert(Lookup::entry(n, target.name()), Entry{std::string(target.name()), moved});
    if (directory) ++n.links;
  });
  if (directory) edit(moved, [&](Node& n) { n.parent = target.parent(); });
  move_places(moved, by);
  return 0;
}

int Tree::write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes) {
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (is_directory(at.node())) return EISDIR;
  if (offset > FileData::kMaxSize) return EINVAL;
  if (bytes.empty()) return 0;
  if (bytes.size() > FileData::kMaxSize - offset) return EFBIG;
  edit(at.node(), [&](Node& n) { n.data.write(offset, bytes); });
  return 0;
}

int Tree::truncate(std::string_view path, uint64_t size) {
  if (size > FileData::kMaxSize) return EINVAL;
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (is_directory(at.node())) return EISDIR;
  if (node(at.node()).data.size() != size) edit(at.node(), [&](Node& n) { n.data.resize(size); });
  return 0;
}

int Tree::read(std::string_view path, uint64_t offset, std::span<std::byte> out, size_t* count) const {
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (is_directory(at.node())) return EISDIR;
  if (offset > FileData::kMaxSize) return EINVAL;
  *count = node(at.node()).data.read(offset, out);
  return 0;
}

int Tree::stat(std::string_view path, Stat* out) const {
  const Lookup at(*this, path, Lookup::kFollow);
  return at.error() ? at.error() : stat_of(*this, at.node(), out);
}

int Tree::lstat(std::string_view path, Stat* out) const {
  const Lookup at(*this, path, Lookup::kKeep);
  return at.error() ? at.error() : stat_of(*this, at.node(), out);
}

int Tree::readlink(std::string_view path, std::string* target) const {
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (node(at.node()).type != FileType::kSymlink) return EINVAL;
  *target = node(at.node()).data.text();
  return 0;
}

int Tree::readdir(std::string_view path, std::span<const Entry>* entries) const {
  const Lookup at(*this, path, Lookup::kFollow);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  if (!is_directory(at.node())) return ENOTDIR;
  *entries = node(at.node()).entries;
  return 0;
}

int Tree::set_links(std::string_view path, uint32_t links) {
  const Lookup at(*this, path, Lookup::kKeep);
  if (at.error()) return at.error();
  if (!at.found()) return ENOENT;
  edit(at.node(), [&](Node& n) { n.links = links; });
  return 0;
}

}  // namespace sisyfs
