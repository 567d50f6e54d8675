#include "expect/ordered.h"

#include <fmt/format.h>

#include <vector>

#include "base/mutant.h"
#include "expect/units.h"
#include "tree/tree_text.h"

namespace sisyfs {
namespace {

// Compares one tree of the window with the recovered tree, walking both in parallel.
class Compare {
 public:
  Compare(const History& history, const ContractRules& rules, const Tree& tree, const Tree& recovered)
      : history_(history), rules_(rules), tree_(tree), recovered_(recovered) {
    partner_.assign(recovered.node_limit(), kNoNode);
    taken_.assign(tree.node_limit(), false);
  }

  // Names, types, links, sizes, attributes and targets of symbolic links.
  bool same_shape(NodeId mine = kRootNode, NodeId theirs = kRootNode) {
    // A further name of a file: both nodes must have been met before, as partners of each other.
    NodeId& partner = partner_[static_cast<uint32_t>(theirs)];
    const size_t slot = static_cast<uint32_t>(mine);
    if (partner != kNoNode || taken_[slot]) return partner == mine;
    partner = mine;
    taken_[slot] = true;
    const Tree::Node& a = tree_.node(mine);
    const Tree::Node& b = recovered_.node(theirs);
    if (a.type != b.type || a.links != b.links) return false;
    if (a.data.size() != b.data.size() && !mutant(Mutant::kIgnoreSizes)) return false;
    if (a.type == FileType::kSymlink && !(a.data == b.data)) return false;
    if (!(a.xattrs == b.xattrs)) return false;
    const Tree::Children ours = tree_.children(a), came = recovered_.children(b);
    auto x = ours.begin();
    auto y = came.begin();
    for (; x != ours.end() && y != came.end(); ++x, ++y) {
      if (x->name() != y->name() || !same_shape(x->node, y->node)) return false;
    }
    return x == ours.end() && y == came.end();
  }

  // Called after same_shape().
  bool data_allowed(std::string* why) const {
    for (uint32_t id = 0; id < partner_.size(); ++id) {
      if (partner_[id] == kNoNode) continue;
      const Tree::Node& node = recovered_.node(NodeId{id});
      if (node.type != FileType::kFile) continue;
      const ObjectId object = tree_.birth(partner_[id]);
      const auto wrong = first_wrong_unit(history_, object, node.data, rules_);
      if (!wrong || mutant(Mutant::kIgnoreData)) continue;
      if (why) {
        const uint64_t end = std::min<uint64_t>(*wrong + rules_.data_unit, node.data.size());
        *why = fmt::format("bytes {}..{} of {} were never written there in the window", *wrong, end - 1,
                           path_of(tree_, object));
      }
      return false;
    }
    return true;
  }

 private:
  const History& history_;
  const ContractRules& rules_;
  const Tree& tree_;
  const Tree& recovered_;
  std::vector<NodeId> partner_;  // by node of recovered_
  std::vector<bool> taken_;      // by node of tree_
};

}  // namespace

bool ordered_allows(const History& history, const ContractRules& rules, const Tree& recovered,
                    std::string* why) {
  if (why) {
    *why = fmt::format(
        "names, types, links and sizes are of none of the {} trees of the window; "
        "against the tree now: {}",
        history.size(), first_difference(recovered, *history.now));
  }
  for (size_t i = history.size(); i-- > 0;) {
    Compare compare(history, rules, history[i], recovered);
    if (compare.same_shape() && compare.data_allowed(why)) return true;
  }
  return false;
}

}  // namespace sisyfs
