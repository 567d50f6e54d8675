// The three ways to know a state again, with one face for the search.
//
// `exact` keeps fingerprints, `bitstate` keeps bits, `none` keeps nothing and explores the tree of all
// paths. Each answers insert(fingerprint, depth) and says what its answer is worth.
#pragma once

#include "explore/search.h"
#include "explore/visited.h"

namespace sisyfs {

// `kByDepth`: a state that comes back at a smaller depth is new again (depth-bounded depth-first search).
template <bool kByDepth>
class ExactDedup {
 public:
  // Whether a state that was just seen may be forgotten at once (see BatchSink).
  static constexpr bool kOnce = !kByDepth;

  explicit ExactDedup(const SearchOptions& options)
      : set_(options.bounds.memory_bytes, kByDepth, options.threads == 1) {}
  bool ok() const { return set_.ok(); }
  void prefetch(const Digest& d) const { set_.prefetch(d); }
  Seen insert(const Digest& d, uint32_t depth) {
    if constexpr (kByDepth) return set_.insert_at(d, static_cast<uint16_t>(depth));
    return set_.insert(d);
  }
  bool grow(size_t limit, unsigned threads) { return set_.grow(limit, threads); }
  bool at_limit() const { return set_.at_limit(); }
  bool crowded(uint64_t states) const { return set_.crowded(states); }
  size_t bytes() const { return set_.bytes(); }
  // Adds what the set knows better than the workers' counts.
  void conclude(SearchResult& result, const SearchOptions& options) const {
    if (options.digest_visited) result.visited = set_.digest();
    if constexpr (kByDepth) {  // workers may have met a state at the bound that has a shorter way
      result.unexpanded = set_.count_at(static_cast<uint16_t>(options.bounds.depth));
      result.exhausted = result.stopped == Stop::kNo && result.unexpanded == 0;
    }
    result.merge_probability = VisitedSet::merge_probability(result.states);
  }

 private:
  VisitedSet set_;
};

class BitstateDedup {
 public:
  static constexpr bool kOnce = true;

  explicit BitstateDedup(const SearchOptions& options) : set_(options.bounds.memory_bytes / 2) {}
  bool ok() const { return set_.ok(); }
  void prefetch(const Digest& d) const { set_.prefetch(d); }
  Seen insert(const Digest& d, uint32_t) { return set_.insert(d); }
  bool grow(size_t, unsigned) { return true; }
  bool at_limit() const { return false; }
  bool crowded(uint64_t) const { return false; }
  size_t bytes() const { return set_.bytes(); }
  void conclude(SearchResult& result, const SearchOptions&) const {
    result.merge_probability = 1;
    result.exhausted = false;  // a state may have been taken for another
  }

 private:
  BitstateSet set_;
};

class NoDedup {
 public:
  static constexpr bool kOnce = false;

  explicit NoDedup(const SearchOptions&) {}
  bool ok() const { return true; }
  void prefetch(const Digest&) const {}
  Seen insert(const Digest&, uint32_t) { return Seen::kNew; }
  bool grow(size_t, unsigned) { return true; }
  bool at_limit() const { return false; }
  bool crowded(uint64_t) const { return false; }
  size_t bytes() const { return 0; }
  void conclude(SearchResult&, const SearchOptions&) const {}
};

}  // namespace sisyfs
