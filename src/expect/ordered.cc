#include "expect/ordered.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "expect/same_shape.h"
#include "expect/units.h"
#include "tree/tree_text.h"

namespace sisyfs {
namespace {

// Whether each unit of the files may be what came back.
bool data_allowed(const History& history, const ContractRules& rules, const Tree& tree,
                  const SameShape& shape, const Tree& recovered, std::string* why) {
  for (uint32_t id = 0; id < recovered.node_limit(); ++id) {
    const NodeId partner = shape.partner(NodeId{id});
    if (partner == kNoNode) continue;
    const Tree::Node& node = recovered.node(NodeId{id});
    if (node.type != FileType::kFile) continue;
    const ObjectId object = tree.birth(partner);
    const auto wrong = first_wrong_unit(history, object, node.data, rules);
    if (!wrong || mutant(Mutant::kIgnoreData)) continue;
    if (why) {
      const uint64_t end = std::min<uint64_t>(*wrong + rules.data_unit, node.data.size());
      *why = fmt::format("bytes {}..{} of {} were never written there in the window", *wrong, end - 1,
                         path_of(tree, object));
    }
    return false;
  }
  return true;
}

}  // namespace

bool ordered_allows(const History& history, const ContractRules& rules, const Tree& recovered,
                    std::string* why) {
  if (why) {
    *why = fmt::format(
        "names, types, links and sizes are of none of the {} trees of the window; "
        "against the tree now: {}",
        history.size(), first_difference(recovered, *history.now));
  }
  // A durable call leaves no older names, sizes and so on.
  const size_t floor = history.since(PromiseKind::kTree, kRootObject);
  for (size_t i = history.size(); i-- > floor;) {
    const SameShape shape(history[i], recovered, SameShape::Sizes::kEqual);
    if (shape.holds() && data_allowed(history, rules, history[i], shape, recovered, why)) return true;
  }
  return false;
}

}  // namespace sisyfs
