// The shape of a tree: the code of Aho, Hopcroft and Ullman for rooted unordered trees, as a digest.
//
// Their code of a node is the sorted list of its children's codes in brackets, so that trees are isomorphic
// exactly if their roots have the same code. Sorting makes a list stand for a multiset. A sum does that too:
// each child's code is 128 well mixed bits, addition does not mind the order, and two different multisets
// have the same sum only where a fixed combination of independent codes happens to vanish, which is as likely
// as any other collision of fingerprints. The sum is mixed once more to give the directory's own code, so
// that what lies deeper does not add up with what lies beside it.
#include "tree/tree.h"

namespace sisyfs {
namespace {

Digest code_of(const Tree& tree, NodeId id) {
  const Tree::Node& node = tree.node(id);
  const auto type = static_cast<uint64_t>(node.type);
  if (node.type != FileType::kDirectory) {
    const uint64_t size = node.type == FileType::kFile ? node.data.size() : 0;
    return digest_at(type, Digest{size, uint64_t{node.names} << 1 | (node.open ? 1 : 0)});
  }
  Digest children;
  for (const Tree::Entry& e : node.entries) children += code_of(tree, e.node);
  return digest_at(type, children);
}

}  // namespace

Digest Tree::shape() const { return code_of(*this, kRootNode); }

}  // namespace sisyfs
