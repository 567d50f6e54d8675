#include "expect/same_shape.h"

#include "base/mutant.h"

namespace sisyfs {

SameShape::SameShape(const Tree& tree, const Tree& recovered, Sizes sizes)
    : tree_(tree), recovered_(recovered), sizes_(sizes) {
  partner_.assign(recovered.node_limit(), kNoNode);
  taken_.assign(tree.node_limit(), false);
  holds_ = same(kRootNode, kRootNode);
}

bool SameShape::same(NodeId mine, NodeId theirs) {
  // A further name of a file: both nodes must have been met before, as partners of each other.
  NodeId& partner = partner_[static_cast<uint32_t>(theirs)];
  const size_t slot = static_cast<uint32_t>(mine);
  if (partner != kNoNode || taken_[slot]) return partner == mine;
  partner = mine;
  taken_[slot] = true;
  const Tree::Node& a = tree_.node(mine);
  const Tree::Node& b = recovered_.node(theirs);
  if (a.type != b.type || a.links != b.links || a.mode != b.mode) return false;
  const bool size_counts = a.type == FileType::kSymlink || sizes_ == Sizes::kEqual;
  if (size_counts && a.data.size() != b.data.size() && !mutant(Mutant::kIgnoreSizes)) return false;
  if (a.type == FileType::kSymlink && !(a.data == b.data)) return false;
  if (!(a.xattrs == b.xattrs)) return false;
  const Tree::Children ours = tree_.children(a), came = recovered_.children(b);
  auto x = ours.begin();
  auto y = came.begin();
  for (; x != ours.end() && y != came.end(); ++x, ++y) {
    if (x->name() != y->name() || !same(x->node, y->node)) return false;
  }
  return x == ours.end() && y == came.end();
}

}  // namespace sisyfs
