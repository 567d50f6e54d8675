#include "tree/tree_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace sisyfs {
namespace {

const char* word(FileType type) {
  switch (type) {
    case FileType::kFile:
      return "file";
    case FileType::kDirectory:
      return "directory";
    case FileType::kSymlink:
      return "symbolic link";
  }
  return "?";
}

struct PathNode {
  NodeId node;
  std::string first;  // the first path that leads to the same node
};

void collect(const Tree& tree, NodeId directory, const std::string& prefix,
             std::map<NodeId, std::string>* first, std::map<std::string, PathNode>* out) {
  for (const Tree::Entry& e : tree.children(directory)) {
    const std::string path = prefix + "/" + std::string(e.name());
    out->emplace(path, PathNode{e.node, first->emplace(e.node, path).first->second});
    if (tree.node(e.node).type == FileType::kDirectory) collect(tree, e.node, path, first, out);
  }
}

std::map<std::string, PathNode> nodes_by_path(const Tree& tree) {
  std::map<std::string, PathNode> out{{"/", {kRootNode, "/"}}};
  std::map<NodeId, std::string> first;
  collect(tree, kRootNode, "", &first, &out);
  return out;
}

std::string content_difference(const std::string& what, const FileData& got, const FileData& expected) {
  if (got.size() != expected.size())
    return fmt::format("{}: size {}, expected {}", what, got.size(), expected.size());
  const uint64_t at = got.first_difference(expected);
  std::byte a{}, b{};
  got.read(at, {&a, 1});
  expected.read(at, {&b, 1});
  return fmt::format("{}: byte {} is 0x{:02x}, expected 0x{:02x}", what, at, static_cast<unsigned>(a),
                     static_cast<unsigned>(b));
}

// The difference between two sets of attributes, which must not be equal.
std::string xattr_difference(const std::string& what, const Xattrs& got, const Xattrs& expected) {
  const auto name = [&](const Xattrs::Cell* at) {
    return fmt::format("{}: attribute {}", what, at->name.text());
  };
  const Xattrs::Cell *g = got.first(), *e = expected.first();
  while (g != nullptr && e != nullptr && g->name.text() == e->name.text() && g->value == e->value)
    g = g->after(), e = e->after();
  if (e == nullptr || (g != nullptr && g->name.text() < e->name.text())) return name(g) + ": not expected";
  if (g == nullptr || e->name.text() < g->name.text()) return name(e) + ": missing";
  return content_difference(name(g), g->value, e->value);
}

// The difference between two nodes that have the same path, link counts aside; empty if there is none.
std::string node_difference(const std::string& path, const Tree& got_tree, const PathNode& got_node,
                            const Tree& expected_tree, const PathNode& expected_node) {
  const Tree::Node& got = got_tree.node(got_node.node);
  const Tree::Node& expected = expected_tree.node(expected_node.node);
  if (got.type != expected.type)
    return fmt::format("{}: a {}, expected a {}", path, word(got.type), word(expected.type));
  const std::string what = fmt::format("{} {}", word(got.type), path);
  if (got.type == FileType::kSymlink && !(got.data == expected.data)) {
    return fmt::format("{}: leads to '{}', expected '{}'", what, got.data.text(), expected.data.text());
  }
  if (!(got.data == expected.data)) return content_difference(what, got.data, expected.data);
  if (got.mode != expected.mode)
    return fmt::format("{}: mode {:o}, expected {:o}", what, got.mode, expected.mode);
  if (!(got.xattrs == expected.xattrs)) return xattr_difference(what, got.xattrs, expected.xattrs);
  if (got_node.first != expected_node.first) {
    if (got_node.first == path)
      return fmt::format("{}: a file of its own, expected {}", what, expected_node.first);
    if (expected_node.first == path)
      return fmt::format("{}: is {}, expected a file of its own", what, got_node.first);
    return fmt::format("{}: is {}, expected {}", what, got_node.first, expected_node.first);
  }
  return {};
}

// The first handle through which something else can be read.
std::string handle_difference(const Tree& got, const Tree& expected) {
  for (uint32_t handle = 0; handle < Tree::kHandles; ++handle) {
    const NodeId a = got.behind(handle), b = expected.behind(handle);
    if (a == kNoNode && b == kNoNode) continue;
    const std::string what = fmt::format("handle @{}", handle + 1);
    if (a == kNoNode || b == kNoNode) return what + (a == kNoNode ? ": not open" : ": open");
    const FileData &one = got.node(a).data, &other = expected.node(b).data;
    if (!(one == other)) return content_difference(what, one, other);
  }
  return {};
}

}  // namespace

std::string first_difference(const Tree& got, const Tree& expected) {
  if (got == expected) return handle_difference(got, expected);
  const std::map<std::string, PathNode> all_got = nodes_by_path(got), all_expected = nodes_by_path(expected);
  auto g = all_got.begin();
  auto e = all_expected.begin();
  std::string links;  // a wrong link count is reported only if nothing else differs
  while (g != all_got.end() || e != all_expected.end()) {
    if (e == all_expected.end() || (g != all_got.end() && g->first < e->first)) {
      return fmt::format("{} {}: not expected", word(got.node(g->second.node).type), g->first);
    }
    if (g == all_got.end() || e->first < g->first) {
      return fmt::format("{} {}: missing", word(expected.node(e->second.node).type), e->first);
    }
    const std::string difference = node_difference(g->first, got, g->second, expected, e->second);
    if (!difference.empty()) return difference;
    const Tree::Node &a = got.node(g->second.node), &b = expected.node(e->second.node);
    if (links.empty() && a.links != b.links) {
      links = fmt::format("{} {}: links {}, expected {}", word(a.type), g->first, a.links, b.links);
    }
    ++g, ++e;
  }
  SISYFS_ASSERT(!links.empty(), "trees with different digests differ somewhere");
  return links;
}

std::string listing(const Tree& tree) {
  const std::map<std::string, PathNode> all = nodes_by_path(tree);
  size_t width = 8;
  for (const auto& [path, at_path] : all) width = std::max(width, path.size());
  std::string out;
  for (const auto& [path, at_path] : all) {
    const Tree::Node& node = tree.node(at_path.node);
    std::string line;
    if (node.type == FileType::kDirectory) {
      line = fmt::format("dir  {}", path);
    } else if (at_path.first != path) {
      line = fmt::format("file {:{}}  is {}", path, width, at_path.first);
    } else if (node.type == FileType::kSymlink) {
      line = fmt::format("link {:{}}  -> {}", path, width, node.data.text());
    } else {
      line = fmt::format("file {:{}}  {} byte{}, {:08x}", path, width, node.data.size(),
                         node.data.size() == 1 ? "" : "s", static_cast<uint32_t>(node.data.digest().lo));
    }
    if (node.mode != kNewModes[static_cast<size_t>(node.type)]) line += fmt::format(", mode {:o}", node.mode);
    if (node.type != FileType::kDirectory && node.links != node.names)
      line += fmt::format(", {} links", node.links);
    for (const Xattrs::Cell* at = node.xattrs.first(); at != nullptr && at_path.first == path;
         at = at->after())
      line +=
          fmt::format("; {} {} byte{}", at->name.text(), at->value.size(), at->value.size() == 1 ? "" : "s");
    out += line + "\n";
  }
  for (uint32_t handle = 0; handle < Tree::kHandles; ++handle) {
    const NodeId node = tree.behind(handle);
    if (node == kNoNode) continue;
    const uint64_t size = tree.node(node).data.size();
    out += fmt::format("@{}   {}, {} byte{}\n", handle + 1,
                       tree.is_nameless(node) ? std::string("a file without a name") : tree.path_of(node),
                       size, size == 1 ? "" : "s");
  }
  return out;
}

}  // namespace sisyfs
