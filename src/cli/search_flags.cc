// Turns the flags of a search into SearchOptions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <thread>

#include "cli/cli.h"
#include "report/search_names.h"

namespace sisyfs::cli {

void SearchFlags::add_order_to(CLI::App& app, const std::vector<std::string>& orders, bool shape) {
  static const std::map<std::string, std::string> kSays = {
      {"bfs", "bfs (shortest findings)"},
      {"dfs", "dfs"},
      {"recovery", "recovery (first the states whose recovery did the most work)"},
      {"rare", "rare (first the states that did the rarest things)"},
      {"coverage", "coverage (first the states that reached new edges of an instrumented plug-in)"}};
  std::vector<std::string> says;
  says.reserve(orders.size());
  for (const std::string& name : orders) says.push_back(kSays.at(name));
  order_ = app.add_option("--search", search, fmt::format("order of the search: {}", fmt::join(says, ", ")))
               ->check(CLI::IsMember(orders))
               ->capture_default_str();
  std::vector<std::string> dedups = {"exact", "bitstate", "none"};
  if (shape) dedups.insert(dedups.begin() + 1, {"shape", "tree"});
  app.add_option(
         "--dedup", dedup,
         fmt::format(
             "how equal states are recognized: exact, {}bitstate (a few bits of a hash) or none; {}bitstate "
             "can miss states, so a run without findings has the verdict unknown",
             shape ? "shape (isomorphic trees after the same last ops are merged), tree (equal trees and "
                     "expectations after the same last ops are merged, whatever disk and memory hold), "
                   : "",
             shape ? "shape, tree and " : ""))
      ->check(CLI::IsMember(dedups))
      ->capture_default_str();
  if (shape)
    shape_ops_ = app.add_option("--shape-ops", shape_ops,
                                "number of last ops that --dedup shape and tree compare, 0 to 8")
                     ->capture_default_str();
  app.add_option("--depth", depth, "maximum number of steps from the start");
}

void SearchFlags::add_walk_to(CLI::App& app) {
  auto* walks = app.add_option(
      "--walk", walk,
      "number of random walks to do instead of a search; they can find bugs, but prove nothing");
  if (order_ != nullptr) walks->excludes(order_);
  app.add_option("--walk-length", walk_length, "number of steps of a walk")
      ->needs(walks)
      ->capture_default_str();
  app.add_flag("--swarm", swarm,
               "in each step of a walk try one op only, and in each walk only some kinds of op")
      ->needs(walks);
  seed_ = app.add_option("--seed", seed, "seed of random walks: the same seed gives the same walks")
              ->capture_default_str();
}

void SearchFlags::add_bounds_to(CLI::App& app) {
  app.add_option("--states", states,
                 "maximum number of states; the search stops after the batch that reaches it");
  app.add_option("--time", time, "maximum time, such as 90s or 30m");
  app.add_option("--memory", memory, "maximum memory for visited states and frontier, such as 4GiB")
      ->capture_default_str();
  app.add_option("--threads", threads, "worker threads (default: all cores)");
  app.add_option("--progress", progress, "auto, line, plain, json or off")
      ->check(CLI::IsMember({"auto", "line", "plain", "json", "off"}))
      ->capture_default_str();
}

Status SearchFlags::put_walk(SearchOptions& o) const {
  const auto walks = parse_count("--walk", walk);
  if (!walks) return walks.error();
  const auto length = parse_count("--walk-length", walk_length);
  if (!length) return length.error();
  if (*length > UINT32_MAX) return bad_input(fmt::format("--walk-length takes at most {}", UINT32_MAX));
  if (!depth.empty()) return bad_input("--depth cannot be used with --walk: use --walk-length");
  o.order = SearchOrder::kWalk;
  o.walk = {.walks = *walks, .length = static_cast<uint32_t>(*length), .seed = o.walk.seed, .swarm = swarm};
  return {};
}

Status SearchFlags::put_bounds(SearchOptions& o) const {
  o.interrupt = &interrupted();
  o.threads = std::max(1u, std::thread::hardware_concurrency());
  if (!states.empty()) {
    const auto n = parse_count("--states", states);
    if (!n) return n.error();
    o.bounds.states = *n;
  }
  if (!threads.empty()) {
    const auto n = parse_count("--threads", threads);
    if (!n) return n.error();
    if (*n > 256) return bad_input("--threads takes at most 256");
    o.threads = static_cast<unsigned>(*n);
  }
  if (!time.empty()) {
    const auto t = parse_time("--time", time);
    if (!t) return t.error();
    o.bounds.time = *t;
  }
  if (memory.empty()) return {};
  const auto bytes = parse_bytes("--memory", memory);
  if (!bytes) return bytes.error();
  if (*bytes < (size_t{16} << 20)) return bad_input("--memory takes at least 16MiB");
  o.bounds.memory_bytes = *bytes;
  return {};
}

bool SearchFlags::seeded() const { return seed_ != nullptr && seed_->count() != 0; }

Result<SearchOptions> SearchFlags::options() const {
  SearchOptions o;
  o.order = find_order(search).value_or(SearchOrder::kBreadthFirst);
  o.dedup = find_dedup(dedup).value_or(Dedup::kExact);
  const bool digit = shape_ops.size() == 1 && shape_ops[0] >= '0' && shape_ops[0] <= '8';
  if (!digit) return bad_input(fmt::format("--shape-ops takes a number from 0 to 8, not '{}'", shape_ops));
  o.shape_ops = static_cast<uint32_t>(shape_ops[0] - '0');
  if (shape_ops_ != nullptr && shape_ops_->count() != 0 && !is_coarse(o.dedup))
    return bad_input("--shape-ops needs --dedup shape or tree");
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), o.walk.seed);
  if (error != std::errc() || end != seed.data() + seed.size())
    return bad_input(fmt::format("--seed takes a whole number, not '{}'", seed));
  if (!walk.empty())
    if (Status s = put_walk(o); !s) return s.error();
  if (!depth.empty()) {
    const auto n = parse_count("--depth", depth);
    if (!n) return n.error();
    // A breadth-first search knows the depth of its layer; other orders store two bytes for each state.
    const uint64_t most = o.order == SearchOrder::kBreadthFirst ? SearchBounds::kNoDepth - 1 : 65533;
    if (*n > most)
      return bad_input(
          fmt::format("--depth {} is more than {}, the maximum of --search {}", *n, most, search));
    o.bounds.depth = static_cast<uint32_t>(*n);
  }
  if (Status s = put_bounds(o); !s) return s.error();
  if (o.dedup == Dedup::kNone && depth.empty() && o.order != SearchOrder::kWalk)
    return bad_input("--dedup none never ends without a depth bound: add --depth N");
  return o;
}

}  // namespace sisyfs::cli
