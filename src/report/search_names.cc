#include "report/search_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sisyfs {
namespace {

constexpr std::pair<std::string_view, SearchOrder> kOrders[] = {
    {"bfs", SearchOrder::kBreadthFirst},      {"dfs", SearchOrder::kDepthFirst},
    {"recovery", SearchOrder::kMostRecovery}, {"rare", SearchOrder::kRarest},
    {"coverage", SearchOrder::kCoverage},     {"walk", SearchOrder::kWalk},
};
constexpr std::pair<std::string_view, Dedup> kDedups[] = {{"exact", Dedup::kExact},
                                                          {"shape", Dedup::kShape},
                                                          {"tree", Dedup::kTree},
                                                          {"bitstate", Dedup::kBitstate},
                                                          {"none", Dedup::kNone}};

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value) {
  const auto at =
      std::find_if(std::begin(table), std::end(table), [&](const auto& e) { return e.second == value; });
  return at == std::end(table) ? "" : at->first;
}

template <class Value, class Table>
std::optional<Value> find_in(const Table& table, std::string_view name) {
  const auto at =
      std::find_if(std::begin(table), std::end(table), [&](const auto& e) { return e.first == name; });
  if (at == std::end(table)) return std::nullopt;
  return at->second;
}

}  // namespace

std::string_view name_of(SearchOrder order) { return name_in(kOrders, order); }
std::string_view name_of(Dedup dedup) { return name_in(kDedups, dedup); }
std::optional<SearchOrder> find_order(std::string_view name) { return find_in<SearchOrder>(kOrders, name); }
std::optional<Dedup> find_dedup(std::string_view name) { return find_in<Dedup>(kDedups, name); }

}  // namespace sisyfs
