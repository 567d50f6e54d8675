#include "explore/generation_search.h"

#include <algorithm>

namespace sisyfs {

GenerationSearch::GenerationSearch(const SearchOptions& options, Team& team)
    : options_(options),
      team_(team),
      tree_(options.bounds.memory_bytes),
      candidates_(options.bounds.memory_bytes, options.threads, options.dedup != Dedup::kNone) {
  // Only one thread at a time inserts: the one that makes nodes of candidates.
  if (options.dedup != Dedup::kNone) visited_.emplace(options.bounds.memory_bytes, false, true);
  for (unsigned worker = 0; worker < options.threads; ++worker)
    harvesters_.push_back(std::make_unique<Harvester>(worker, options.order, visited(), candidates_, team));
}

bool GenerationSearch::begin(const Digest& initial) {
  if (!tree_.ok() || !candidates_.ok() || (visited_ && !visited_->ok())) return false;
  tree_.add(0, Choice{});
  if (visited_) visited_->insert(initial);
  size_ = 1;
  open_ = options_.bounds.depth != 0;
  unexpanded_ = open_ ? 0 : 1;
  tree_bytes_.store(tree_.bytes(), std::memory_order_relaxed);
  set_candidate_limit();
  team_.set_states_before(1);
  return true;
}

bool GenerationSearch::claim(unsigned worker) {
  const uint64_t begin = cursor_.fetch_add(grain_, std::memory_order_relaxed);
  if (begin >= size_) return false;
  harvesters_[worker]->next = static_cast<uint32_t>(begin);
  harvesters_[worker]->end = static_cast<uint32_t>(std::min<uint64_t>(begin + grain_, size_));
  return true;
}

void GenerationSearch::maintain() { candidates_.make_room(); }

void GenerationSearch::next_generation() {
  open_ = false;
  if (team_.stopping()) return;
  if (!harvest()) {
    team_.stop(Stop::kMemory);
    return;
  }
  advance();
  ended_ = size_ == 0;
  if (ended_) return;
  team_.heed(sum().tally.findings);
  unexpanded_ = depth_ >= options_.bounds.depth ? size_ : 0;
  open_ = !team_.stopping() && unexpanded_ == 0;
}

void GenerationSearch::advance() {
  first_ += size_;
  size_ = tree_.size() - first_;
  depth_ += size_ != 0;
  cursor_.store(0, std::memory_order_relaxed);
  // Small ranges share the work well; neighbours in a range share their ancestors.
  grain_ = std::clamp<uint32_t>(size_ / (options_.threads * 8), 1, 32);
  candidates_.clear();
  set_candidate_limit();
}

// Makes nodes of the candidates, in order. False where memory does not suffice; what is left can still be
// harvested when there is more.
bool GenerationSearch::harvest() {
  const uint64_t more = candidates_.alive();
  if (!tree_.fits(more)) return false;
  const uint64_t states = tree_.size() + more;
  while (visited_ && states * 8 > visited_->capacity() * 7)
    if (!visited_->grow(left_of_bound(states * sizeof(StateTree::Node)), options_.threads)) break;
  if (bytes() + more * sizeof(StateTree::Node) > options_.bounds.memory_bytes) return false;
  bool all = true;
  candidates_.take_in_order([&](const Candidate& candidate) { return all = keep(candidate); });
  tree_bytes_.store(tree_.bytes(), std::memory_order_relaxed);
  return all;
}

bool GenerationSearch::keep(const Candidate& candidate) {
  if (visited_) {
    Seen seen = visited_->insert(candidate.print);
    while (seen == Seen::kNoRoom) {
      if (!visited_->grow(left_of_bound(tree_.bytes()), options_.threads)) return false;
      seen = visited_->insert(candidate.print);
    }
    if (seen == Seen::kBefore) return true;
  }
  tree_.add(node_at(candidate.position()), candidate.choice);
  return true;
}

// What the visited set or the candidates may have, beside a tree of `tree_bytes` and each other.
size_t GenerationSearch::left_of_bound(size_t tree_bytes) const {
  const size_t used = tree_bytes + candidates_.bytes();
  return options_.bounds.memory_bytes > used ? options_.bounds.memory_bytes - used : 0;
}

void GenerationSearch::set_candidate_limit() {
  const size_t used = tree_.bytes() + (visited_ ? visited_->bytes() : 0);
  candidates_.set_limit(options_.bounds.memory_bytes > used ? options_.bounds.memory_bytes - used : 0);
}

void GenerationSearch::break_at(uint32_t node) {
  uint64_t least = broken_.load(std::memory_order_relaxed);
  while (node < least && !broken_.compare_exchange_weak(least, node, std::memory_order_relaxed)) {
  }
  team_.stop(Stop::kBroken);
}

Yield GenerationSearch::sum() const {
  Yield all;
  for (const auto& harvester : harvesters_) all.add(harvester->yield());
  return all;
}

size_t GenerationSearch::bytes() const {
  return (visited_ ? visited_->bytes() : 0) + candidates_.bytes() +
         tree_bytes_.load(std::memory_order_relaxed);
}

void GenerationSearch::conclude(SearchResult& result) const {
  const Yield all = sum();
  all.tally.merge_into(result);
  const uint64_t candidates = candidates_.alive();
  result.states = tree_.size() + candidates;
  result.depth = depth_ + (candidates != 0);
  result.unexpanded = unexpanded_;
  result.exhausted = !team_.stopping() && ended_ && unexpanded_ == 0;
  for (uint32_t kind = 0; kind < SearchResult::kKinds; ++kind) {
    if ((all.tally.findings & options_.watched) >> kind & 1) {
      Trace trace = tree_.trace_to(all.first[kind].parent);
      trace.push_back(all.first[kind].choice);
      result.traces.push_back({kind, std::move(trace)});
    }
  }
  std::stable_sort(result.traces.begin(), result.traces.end(),
                   [](const FoundTrace& a, const FoundTrace& b) { return a.trace.size() < b.trace.size(); });
  if (result.stopped == Stop::kBroken)
    result.broken = tree_.trace_to(static_cast<uint32_t>(broken_.load(std::memory_order_relaxed)));
  if (visited_) {
    if (options_.digest_visited) result.visited = visited_->digest();
    result.merge_probability = VisitedSet::merge_probability(result.states);
  }
}

}  // namespace sisyfs
