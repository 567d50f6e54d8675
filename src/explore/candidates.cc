#include "explore/candidates.h"

#include <algorithm>
#include <cstring>

namespace sisyfs {

Candidates::Candidates(size_t max_bytes, unsigned writers, bool merging)
    : records_(std::max<size_t>(max_bytes, size_t{1} << 20)),
      table_(merging ? std::bit_ceil(std::max<size_t>(max_bytes, size_t{1} << 20)) : 4096),
      logs_(writers),
      merging_(merging) {
  table_bytes_.store(words() * 8, std::memory_order_relaxed);
}

bool Candidates::take_block(Log& log) {
  uint32_t block = blocks_.load(std::memory_order_relaxed);
  do {
    if (block >= most_blocks_) {
      wants_room_.store(true, std::memory_order_relaxed);
      return false;
    }
  } while (!blocks_.compare_exchange_weak(block, block + 1, std::memory_order_relaxed));
  log.blocks.push_back(block);
  log.used = 0;
  return true;
}

void Candidates::set_limit(size_t bytes) {
  limit_ = std::min(bytes, records_.size());
  at_limit_ = false;
  const size_t for_records = limit_ > words() * 8 ? limit_ - words() * 8 : 0;
  most_blocks_ = static_cast<uint32_t>(std::min<uint64_t>(for_records / kBlockBytes, blocks_in_table()));
}

void Candidates::make_room() {
  if (!wants_room_.exchange(false, std::memory_order_relaxed)) return;
  if (blocks_ >= blocks_in_table() && words() * 16 + blocks_ * kBlockBytes < limit_) {
    std::memset(table_.data(), 0, words() * 8);
    --shift_;
    table_bytes_.store(words() * 8, std::memory_order_relaxed);
    for (const Log& log : logs_) {
      Cursor cursor{&log};
      while (const Candidate* const c = seek(cursor)) {
        uint64_t at = home_of(c->print);
        while (slot(at).load(std::memory_order_relaxed) != 0) at = (at + 1) & (words() - 1);
        const auto index = static_cast<uint32_t>(c - &record(0));
        slot(at).store(word_of(c->print, index), std::memory_order_relaxed);
      }
    }
    set_limit(limit_);
  }
  at_limit_ = blocks_ >= most_blocks_;
}

Candidate* Candidates::seek(Cursor& cursor) const {
  const Log& log = *cursor.log;
  while (cursor.block < log.blocks.size()) {
    const uint32_t end = cursor.block + 1 == log.blocks.size() ? log.used : kBlock;
    if (cursor.at == end) {
      ++cursor.block;
      cursor.at = 0;
      continue;
    }
    Candidate& candidate = record(log.blocks[cursor.block] * kBlock + cursor.at++);
    if (candidate.order != Candidate::kDead) return &candidate;
  }
  return nullptr;
}

uint64_t Candidates::alive() const {
  uint64_t n = 0;
  for (const Log& log : logs_) {
    Cursor cursor{&log};
    while (seek(cursor) != nullptr) ++n;
  }
  return n;
}

// After a small generation in a large table, only what was used is cleared: from the home of each record on
// to the next empty word, which covers every chain of full words from its beginning.
void Candidates::clear_table() {
  if (uint64_t{blocks_} * kBlock * 8 > words()) {
    std::memset(table_.data(), 0, words() * 8);
    return;
  }
  for (const Log& log : logs_) {
    for (size_t b = 0; b < log.blocks.size(); ++b) {
      const uint32_t end = b + 1 == log.blocks.size() ? log.used : kBlock;
      for (uint32_t i = 0; i < end; ++i) {
        uint64_t at = home_of(record(log.blocks[b] * kBlock + i).print);
        for (; slot(at).load(std::memory_order_relaxed) != 0; at = (at + 1) & (words() - 1))
          slot(at).store(0, std::memory_order_relaxed);
      }
    }
  }
}

void Candidates::clear() {
  if (merging_) clear_table();
  for (Log& log : logs_) {
    log.blocks.clear();
    log.used = kBlock;
  }
  widest_.store(std::max<uint32_t>(widest_, blocks_), std::memory_order_relaxed);
  blocks_.store(0, std::memory_order_relaxed);
}

}  // namespace sisyfs
