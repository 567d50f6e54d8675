// The names of search orders and kinds of dedup, the same in flags, reports and checkpoints.
//
//   name_of(SearchOrder::kRarest);   // "rare"
//   find_order("rare");              // SearchOrder::kRarest
#pragma once

#include <optional>
#include <string_view>

#include "explore/search.h"

namespace sisyfs {

std::string_view name_of(SearchOrder order);
std::string_view name_of(Dedup dedup);

// Nothing for a name that is none.
std::optional<SearchOrder> find_order(std::string_view name);
std::optional<Dedup> find_dedup(std::string_view name);

}  // namespace sisyfs
