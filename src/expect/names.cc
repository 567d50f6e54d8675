#include "expect/names.h"

#include <fmt/format.h>

#include "base/mutant.h"
#include "expect/same_shape.h"
#include "expect/units.h"
#include "tree/tree_text.h"

namespace sisyfs {
namespace {

// Whether the object had these bytes, all of them at one time that no promise excludes.
bool content_allowed(const History& history, const ContractRules& rules, ObjectId object,
                     const FileData& data, bool* had) {
  for (size_t i = history.size(); i-- > 0;) {
    const Tree::Node* node = object_in(history[i], object);
    if (!node || !(node->data == data)) continue;
    *had = true;
    if (version_allowed(history, object, i, rules)) return true;
  }
  return false;
}

bool files_allowed(const History& history, const ContractRules& rules, const Tree& tree,
                   const SameShape& shape, const Tree& recovered, std::string* why) {
  for (uint32_t id = 0; id < recovered.node_limit(); ++id) {
    const NodeId partner = shape.partner(NodeId{id});
    if (partner == kNoNode || recovered.node(NodeId{id}).type != FileType::kFile) continue;
    const ObjectId object = tree.birth(partner);
    bool had = false;
    if (content_allowed(history, rules, object, recovered.node(NodeId{id}).data, &had)) continue;
    if (why)
      *why = fmt::format("{}: came back with {}", path_of(tree, object),
                         had ? "a content that is older than what was promised"
                             : "a content that it never had as a whole in the window");
    return false;
  }
  return true;
}

}  // namespace

bool names_allows(const History& history, const ContractRules& rules, const Tree& recovered,
                  std::string* why) {
  if (why) {
    *why = fmt::format("names, types, links and attributes are not those of the tree now: {}",
                       first_difference(recovered, *history.now));
    if (history.size() > history.older.size() + 1)
      *why += fmt::format("; nor those of what the call leads to: {}",
                          first_difference(recovered, history[history.size() - 1]));
  }
  const size_t first = mutant(Mutant::kOldNames) ? 0 : history.older.size();
  for (size_t i = history.size(); i-- > first;) {
    SameShape shape(history[i], recovered, SameShape::Sizes::kAny);
    if (shape.holds() && files_allowed(history, rules, history[i], shape, recovered, why)) return true;
  }
  return false;
}

}  // namespace sisyfs
