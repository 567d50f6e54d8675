// VisitedSet: the states seen so far, as fingerprints, shared by all workers without locks.
//
// An open-addressing table of 64-bit words in huge pages, eight to a cache line. A fingerprint has 128
// bits; 12 of them select one of 4096 regions of the table, and 64 others are the word that is stored,
// which also gives the home line inside the region. So 76 bits decide equality: with n states the
// probability that any two of them were taken for one is at most n² / 2^77 (a billion states: 7e-6).
// A probe scans its home line and moves on to the next line of the region when it is full.
//
// Growth. The address range for the largest table is reserved at the start and pages are committed as
// they are touched. To grow, all workers must be outside (see Safepoint); regions then move, the last
// one first, to their wider places in the same range: the new place of a region never covers an old
// place that has not been moved yet. So no second table is needed, and the cost in memory is what the
// table holds: 8 bytes over a load of up to seven eighths (in small tables five).
//
// Depth. A depth-bounded depth-first search must visit a state again when it comes by a shorter way.
// With `with_depth` a second array keeps the least depth at which each state was reached.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/assert.h"
#include "base/digest.h"
#include "base/mutant.h"

namespace sisyfs {

// What an insertion found.
enum class Seen : uint8_t {
  kNew,     // not seen before
  kSooner,  // with depth: seen before, but at greater depths only
  kBefore,  // seen before
  kNoRoom,  // the table has to grow first; nothing was inserted
};

// A range of zeroed address space that is committed as it is touched. Movable, not copyable.
class Reservation {
 public:
  Reservation() = default;
  // Reserves `bytes`; data() is null where the system refuses. Large pages serve what is filled densely.
  explicit Reservation(size_t bytes, bool large_pages = true);
  ~Reservation();
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

class VisitedSet {
 public:
  // A set that will never use more than `max_bytes`. Ready to use if ok().
  // `alone` says that only one thread will insert, which saves a locked instruction for each new state.
  explicit VisitedSet(size_t max_bytes, bool with_depth = false, bool alone = false);
  bool ok() const { return words_.data() != nullptr; }

  void prefetch(const Digest& d) const { __builtin_prefetch(&slot(region_of(d) + home_of(tag_of(d))), 1); }

  // Whether a fingerprint is there. Safe to call from many threads; never while grow() runs.
  bool contains(const Digest& d) const;
  // Calls each(fingerprint) for all of them; of a fingerprint the bits that the set keeps, the rest zero.
  template <class Each>
  void for_each(Each each) const {
    for (uint64_t i = 0; i < capacity(); ++i) {
      const uint64_t word = slot(i).load(std::memory_order_relaxed);
      if (word != 0) each(Digest{(i / (lines_ * kLine)) << 52, word});
    }
  }

  // Inserts a fingerprint. Safe to call from many threads; never while grow() runs.
  Seen insert(const Digest& d) {
    size_t index;
    return find_or_insert(d, index);
  }
  // The same, for a state reached at `depth`. kSooner when all earlier visits were deeper.
  Seen insert_at(const Digest& d, uint16_t depth);

  // Makes room, without occupying more than `limit` bytes. False when there is not enough to gain; the
  // set then takes what still fits and answers kNoRoom after that. Only while no worker inserts.
  // Large sets are moved by `threads` threads.
  bool grow(size_t limit = std::numeric_limits<size_t>::max(), unsigned threads = 1);

  // Whether it is time to grow, given the number of states inserted. Room in a small table costs less than
  // the probes that do not end in their first line.
  bool crowded(uint64_t states) const { return states * 8 > capacity() * (is_small() ? 5 : 7) && !at_limit_; }
  bool at_limit() const { return at_limit_; }  // grow() has refused
  uint64_t capacity() const { return kRegions * lines_ * kLine; }
  static constexpr uint32_t kDeepest = 65533;  // that insert_at() takes
  // What the table occupies now. May be asked at any time.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // The order-independent digest of all fingerprints: equal for equal sets of visited states.
  Digest digest() const;
  uint64_t count() const;
  // With depth: how many states have this least depth.
  uint64_t count_at(uint16_t depth) const;

  // An upper bound on the probability that any two of `states` states were merged.
  static double merge_probability(uint64_t states);

 private:
  static constexpr uint64_t kRegions = 4096;
  static constexpr uint64_t kLine = 8;  // words to a cache line

  static uint64_t tag_of(const Digest& d) {
    if (mutant(Mutant::kShortTags)) return d.lo >> 48 | 1;
    return d.lo + (d.lo == 0);
  }
  uint64_t region_of(const Digest& d) const { return (d.hi >> 52) * lines_ * kLine; }
  uint64_t home_of(uint64_t tag) const {
    return static_cast<uint64_t>((static_cast<Uint128>(tag) * lines_) >> 64) * kLine;
  }
  std::atomic<uint64_t>& slot(uint64_t i) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(words_.data())[i];
  }
  std::atomic<uint16_t>& depth_slot(uint64_t i) const {
    return reinterpret_cast<std::atomic<uint16_t>*>(depths_.data())[i];
  }
  bool is_small() const { return capacity() < uint64_t{1} << 24; }
  Seen find_or_insert(const Digest& d, size_t& index);
  void move_regions(uint64_t first, uint64_t end, uint64_t old_lines, uint64_t new_lines);

  Reservation words_;
  Reservation depths_;
  uint64_t lines_ = 16;  // lines in each region
  bool with_depth_ = false;
  bool alone_ = false;
  bool at_limit_ = false;
  std::atomic<size_t> bytes_{0};
};

namespace detail {

struct LineScan {
  uint32_t same, empty;  // which of the eight words are the tag, and which are zero
};

// Reads a whole line without branches. Each word is read as a whole (aligned lanes of a vector load are,
// on every processor that has them), and in no particular order with the others, as relaxed loads are. And
// once: were a line compared with the tag as it is and with zero as it is a moment later, a word that another
// thread stored between would be neither, and its state new to both. So the loads are volatile, which keeps
// the compiler from making two of one.
inline LineScan scan_line(const std::atomic<uint64_t>* line, uint64_t tag) {
#if defined(__AVX512F__) && !defined(__SANITIZE_THREAD__)
  const __m512i words = *reinterpret_cast<const volatile __m512i*>(line);
  return {_mm512_cmpeq_epi64_mask(words, _mm512_set1_epi64(static_cast<int64_t>(tag))),
          _mm512_testn_epi64_mask(words, words)};
#elif defined(__AVX2__) && !defined(__SANITIZE_THREAD__)
  const auto* const halves = reinterpret_cast<const volatile __m256i*>(line);
  const __m256i low = halves[0], high = halves[1];
  const __m256i wanted = _mm256_set1_epi64x(static_cast<int64_t>(tag)), zero = _mm256_setzero_si256();
  const auto mask = [](__m256i a, __m256i b) {
    return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b))));
  };
  return {mask(low, wanted) | mask(high, wanted) << 4, mask(low, zero) | mask(high, zero) << 4};
#else
  LineScan scan{0, 0};
  for (uint32_t i = 0; i < 8; ++i) {
    const uint64_t word = line[i].load(std::memory_order_relaxed);
    scan.same |= static_cast<uint32_t>(word == tag) << i;
    scan.empty |= static_cast<uint32_t>(word == 0) << i;
  }
  return scan;
#endif
}

}  // namespace detail

inline Seen VisitedSet::find_or_insert(const Digest& d, size_t& index) {
  const uint64_t tag = tag_of(d), region = region_of(d), size = lines_ * kLine;
  uint64_t at = home_of(tag);
  for (uint64_t scanned = 0; scanned < size; scanned += kLine) {
    std::atomic<uint64_t>* const line = &slot(region + at);
    auto [same, empty] = detail::scan_line(line, tag);
    if (same != 0) {
      index = region + at + static_cast<size_t>(std::countr_zero(same));
      return Seen::kBefore;
    }
    for (; empty != 0; empty &= empty - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(empty));
      uint64_t found = 0;
      if (alone_) line[i].store(tag, std::memory_order_relaxed);
      const bool taken = alone_ || line[i].compare_exchange_strong(found, tag, std::memory_order_relaxed);
      if (!taken && found != tag) continue;  // another thread put another state there
      index = region + at + i;
      return taken ? Seen::kNew : Seen::kBefore;
    }
    at = at + kLine == size ? 0 : at + kLine;
  }
  return Seen::kNoRoom;
}

inline bool VisitedSet::contains(const Digest& d) const {
  const uint64_t tag = tag_of(d), region = region_of(d), size = lines_ * kLine;
  uint64_t at = home_of(tag);
  for (uint64_t scanned = 0; scanned < size; scanned += kLine) {
    const auto [same, empty] = detail::scan_line(&slot(region + at), tag);
    if (same != 0) return true;
    if (empty != 0) return false;  // an insertion would have taken this place
    at = at + kLine == size ? 0 : at + kLine;
  }
  return false;
}

inline Seen VisitedSet::insert_at(const Digest& d, uint16_t depth) {
  size_t index = 0;
  const Seen seen = find_or_insert(d, index);
  if (seen == Seen::kNoRoom) return seen;
  // Depths are stored plus one: the zeroed array means "not reached yet".
  const auto mine = static_cast<uint16_t>(depth + 1);
  std::atomic<uint16_t>& least = depth_slot(index);
  uint16_t known = least.load(std::memory_order_relaxed);
  while (known == 0 || mine < known)
    if (least.compare_exchange_weak(known, mine, std::memory_order_relaxed))
      return known == 0 ? Seen::kNew : Seen::kSooner;
  return Seen::kBefore;
}

// BitstateSet: a lossy stand-in that keeps three bits for each state, as SPIN's supertrace does. It may
// take a new state for an old one; a search that uses it can find, but never prove.
class BitstateSet {
 public:
  explicit BitstateSet(size_t max_bytes);
  bool ok() const { return bits_.data() != nullptr; }
  void prefetch(const Digest& d) const { __builtin_prefetch(&word(d.lo), 1); }
  Seen insert(const Digest& d) {
    bool fresh = false;
    uint64_t h = d.lo;
    for (int i = 0; i < 3; ++i, h += d.hi | 1) {
      const uint64_t bit = uint64_t{1} << ((h >> 3) & 63);
      fresh |= (word(h).fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
    }
    return fresh ? Seen::kNew : Seen::kBefore;
  }
  size_t bytes() const { return bits_.size(); }

 private:
  std::atomic<uint64_t>& word(uint64_t h) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(
        bits_.data())[static_cast<uint64_t>((static_cast<Uint128>(h) * words_) >> 64)];
  }
  Reservation bits_;
  uint64_t words_ = 0;
};

}  // namespace sisyfs
