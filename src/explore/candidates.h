// Candidates: the new states of one generation, of which the first in order stands for each fingerprint.
//
// Which of two workers meets a state first is chance. So a successor that was not visited before is only a
// candidate, with an order number that does not depend on the workers: the place of its parent in the
// generation and the number of the commit. Of all candidates with the same fingerprint the one with the
// smallest order stays. When the generation is over they are had in order and become nodes.
//
// Each worker writes records into blocks of its own. An open-addressing table of words {tag, record} finds
// the record of a fingerprint; a smaller order takes the word over by one compare-and-swap and marks the
// other record dead. A worker meets positions in ascending order, so its records are sorted, and the whole
// order is a merge of the workers' lists, without a sort.
//
// Room is made at a safe point: a worker gets a new block only where the table has room for all of it, and
// asks for a pause otherwise. Without merging (no dedup) there is no table and every record stays.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>

#include "explore/system.h"
#include "explore/visited.h"

namespace sisyfs {

struct Candidate {
  static constexpr uint64_t kDead = ~uint64_t{0};

  Digest print;
  uint64_t order = kDead;  // position of the parent in the generation, then number of the commit
  Choice choice{};
  uint32_t value = 0;  // what a best-first search ranks by

  uint32_t position() const { return static_cast<uint32_t>(order >> 32); }
};

class Candidates {
 public:
  enum class Added : uint8_t { kNew, kKnown, kFirst };  // kFirst: known, but this one comes before

  // For `writers` workers; never more than `max_bytes`. Ready to use if ok().
  Candidates(size_t max_bytes, unsigned writers, bool merging);
  bool ok() const { return records_.data() != nullptr && table_.data() != nullptr; }

  void prefetch(const Digest& d) const {
    if (merging_) __builtin_prefetch(&slot(home_of(d)), 1);
  }
  // Requests the record that a probe will have to read.
  void prefetch_record(const Digest& d) const;

  // Whether this writer has a place for one more record. Where not, room must be made first.
  bool has_place(unsigned writer) { return logs_[writer].used < kBlock || take_block(logs_[writer]); }
  // Adds a candidate; only where has_place(). From many threads, each with its own writer.
  Added add(unsigned writer, const Candidate& candidate);

  // While no worker adds: says how many bytes may be used, and makes room if a worker has asked for it.
  void set_limit(size_t bytes);
  void make_room();
  bool at_limit() const { return at_limit_; }  // make_room() could not
  bool wants_room() const { return wants_room_.load(std::memory_order_relaxed); }

  // While no worker adds: calls take(candidate) for all that are alive, in ascending order, until it
  // answers false. A candidate for which it answered true is dead afterwards.
  template <class Take>
  void take_in_order(Take take);
  // The same, without taking anything.
  template <class Look>
  void look_in_order(Look look) const;
  uint64_t alive() const;

  // Forgets all, for the next generation.
  void clear();
  // What records and table occupy, at their largest. May be asked at any time.
  size_t bytes() const {
    const uint32_t blocks = std::max(widest_.load(std::memory_order_relaxed), blocks_.load());
    return table_bytes_.load(std::memory_order_relaxed) + size_t{blocks} * kBlockBytes;
  }

 private:
  static constexpr uint32_t kBlock = 256;  // records
  static constexpr size_t kBlockBytes = kBlock * sizeof(Candidate);
  struct alignas(128) Log {
    std::vector<uint32_t> blocks;
    uint32_t used = kBlock;  // records in the last block
  };
  // A place in a log, on the way through its live records.
  struct Cursor {
    const Log* log;
    size_t block = 0;
    uint32_t at = 0;
  };

  Candidate& record(uint32_t i) const { return reinterpret_cast<Candidate*>(records_.data())[i]; }
  std::atomic<uint64_t>& slot(uint64_t i) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(table_.data())[i];
  }
  static std::atomic_ref<uint64_t> order_of(Candidate& c) { return std::atomic_ref<uint64_t>(c.order); }
  static bool same(const Digest& a, const Digest& b) { return a.lo == b.lo && a.hi >> 52 == b.hi >> 52; }
  static uint64_t word_of(const Digest& d, uint32_t index) { return d.lo << 32 | (index + uint64_t{1}); }
  static uint32_t index_of(uint64_t word) { return static_cast<uint32_t>(word) - 1; }
  uint64_t home_of(const Digest& d) const { return d.lo >> shift_; }
  bool take_block(Log& log);
  Added put(uint32_t index);
  uint64_t words() const { return merging_ ? uint64_t{1} << (64 - shift_) : 0; }
  // The table is at most three quarters full.
  uint64_t blocks_in_table() const {
    constexpr uint64_t kMost = ~uint32_t{0} / kBlock;  // indices have 32 bits
    return merging_ ? std::min(words() / 4 * 3 / kBlock, kMost) : kMost;
  }
  void clear_table();
  // The next live record of a log, or null.
  Candidate* seek(Cursor& cursor) const;
  template <class Take>
  void merge(Take take) const;

  Reservation records_;
  Reservation table_;
  std::vector<Log> logs_;
  const bool merging_;
  int shift_ = 64 - 12;  // the table has 2^(64 - shift_) words
  size_t limit_ = 0;
  uint32_t most_blocks_ = 0;         // that table and limit have room for
  std::atomic<uint32_t> blocks_{0};  // taken
  std::atomic<uint32_t> widest_{0};  // most that were taken in an earlier generation
  std::atomic<bool> wants_room_{false};
  bool at_limit_ = false;
  std::atomic<size_t> table_bytes_{0};
};

inline Candidates::Added Candidates::add(unsigned writer, const Candidate& candidate) {
  Log& log = logs_[writer];
  const uint32_t index = log.blocks.back() * kBlock + log.used;
  record(index) = candidate;
  const Added added = merging_ ? put(index) : Added::kNew;
  log.used += added != Added::kKnown;
  return added;
}

inline void Candidates::prefetch_record(const Digest& d) const {
  if (!merging_) return;
  const uint64_t word = slot(home_of(d)).load(std::memory_order_relaxed);
  if (word >> 32 == static_cast<uint32_t>(d.lo)) __builtin_prefetch(&record(index_of(word)));
}

inline Candidates::Added Candidates::put(uint32_t index) {
  const Candidate& mine = record(index);
  const uint64_t order = mine.order, word = word_of(mine.print, index);
  const uint64_t mask = (uint64_t{1} << (64 - shift_)) - 1;
  for (uint64_t at = home_of(mine.print);; at = (at + 1) & mask) {
    std::atomic<uint64_t>& place = slot(at);
    uint64_t found = place.load(std::memory_order_acquire);
    if (found == 0) {
      if (place.compare_exchange_strong(found, word, std::memory_order_acq_rel, std::memory_order_acquire))
        return Added::kNew;
    }
    if (found >> 32 != word >> 32 || !same(record(index_of(found)).print, mine.print)) continue;
    for (;;) {
      Candidate& other = record(index_of(found));
      if (order_of(other).load(std::memory_order_relaxed) <= order) return Added::kKnown;
      if (place.compare_exchange_strong(found, word, std::memory_order_acq_rel, std::memory_order_acquire)) {
        // Whoever still looks at the other record sees an order after all others, and fails to swap.
        order_of(other).store(Candidate::kDead, std::memory_order_relaxed);
        return Added::kFirst;
      }
    }
  }
}

template <class Take>
void Candidates::merge(Take take) const {
  struct Head {
    Candidate* next;
    Cursor cursor;
  };
  const auto later = [](const Head& a, const Head& b) { return a.next->order > b.next->order; };
  std::vector<Head> heads;
  for (const Log& log : logs_) {
    Cursor cursor{&log};
    if (Candidate* const first = seek(cursor)) heads.push_back({first, cursor});
  }
  std::make_heap(heads.begin(), heads.end(), later);
  while (!heads.empty()) {
    std::pop_heap(heads.begin(), heads.end(), later);
    Head& head = heads.back();
    if (!take(*head.next)) return;
    head.next = seek(head.cursor);
    if (head.next == nullptr)
      heads.pop_back();
    else
      std::push_heap(heads.begin(), heads.end(), later);
  }
}

template <class Take>
void Candidates::take_in_order(Take take) {
  merge([&](Candidate& candidate) {
    if (!take(static_cast<const Candidate&>(candidate))) return false;
    candidate.order = Candidate::kDead;
    return true;
  });
}

template <class Look>
void Candidates::look_in_order(Look look) const {
  merge([&](const Candidate& candidate) {
    look(candidate);
    return true;
  });
}

}  // namespace sisyfs
