#include "explore/visited.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sisyfs {

Reservation::Reservation(size_t bytes, bool large_pages) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return;
  if (large_pages) madvise(p, bytes, MADV_HUGEPAGE);  // a wish; without it a probe costs one more miss
  data_ = static_cast<std::byte*>(p);
  size_ = bytes;
}

Reservation::~Reservation() {
  if (data_ != nullptr) munmap(data_, size_);
}

Reservation::Reservation(Reservation&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

VisitedSet::VisitedSet(size_t max_bytes, bool with_depth, bool alone)
    : with_depth_(with_depth), alone_(alone) {
  const size_t per_word = with_depth ? 10 : 8;
  bytes_.store(capacity() * per_word, std::memory_order_relaxed);
  const size_t words = std::max<size_t>(max_bytes / per_word, capacity());
  words_ = Reservation(words * 8);
  if (with_depth) {
    depths_ = Reservation(words * 2);
    if (depths_.data() == nullptr) words_ = Reservation();
  }
}

void VisitedSet::move_regions(uint64_t first, uint64_t end, uint64_t old_lines, uint64_t new_lines) {
  const uint64_t old_size = old_lines * kLine, new_size = new_lines * kLine;
  auto* table = reinterpret_cast<uint64_t*>(words_.data());
  auto* depth_table = reinterpret_cast<uint16_t*>(depths_.data());
  std::vector<uint64_t> words(old_size);
  std::vector<uint16_t> depths(with_depth_ ? old_size : 0);
  std::vector<uint8_t> used(new_lines);  // words in each new line
  for (uint64_t region = end; region-- > first;) {
    std::memcpy(words.data(), table + region * old_size, old_size * 8);
    uint64_t* const to = table + region * new_size;
    std::memset(to, 0, new_size * 8);
    if (with_depth_) {
      std::memcpy(depths.data(), depth_table + region * old_size, old_size * 2);
      std::memset(depth_table + region * new_size, 0, new_size * 2);
    }
    std::fill(used.begin(), used.end(), uint8_t{0});
    for (uint64_t i = 0; i < old_size; ++i) {
      if (mutant(Mutant::kGrowLosesStates) && words[i] % 64 == 1) continue;
      if (words[i] == 0) {  // a line is filled from its front
        i |= kLine - 1;
        continue;
      }
      auto line = static_cast<uint64_t>((static_cast<Uint128>(words[i]) * new_lines) >> 64);
      while (used[line] == kLine) line = line + 1 == new_lines ? 0 : line + 1;
      const uint64_t at = line * kLine + used[line]++;
      to[at] = words[i];
      if (with_depth_) depth_table[region * new_size + at] = depths[i];
    }
  }
}

bool VisitedSet::grow(size_t limit, unsigned threads) {
  // Small tables double; the larger ones grow by less, so that less of them stands empty.
  const uint64_t wanted = is_small()                         ? lines_ * 2
                          : capacity() < (uint64_t{1} << 26) ? lines_ + lines_ / 2
                                                             : lines_ + lines_ / 4;
  const uint64_t most = std::min(words_.size() / 8, limit / (with_depth_ ? 10 : 8)) / (kRegions * kLine);
  const uint64_t new_lines = std::min(wanted, most);
  if (new_lines <= lines_ + lines_ / 16) {
    at_limit_ = true;
    return false;
  }
  if (capacity() < (uint64_t{1} << 20)) threads = 1;
  // From the last region down, in stretches whose new places lie beyond all old places that are still to
  // be moved; the regions of a stretch can move at once.
  for (uint64_t end = kRegions; end > 0;) {
    if (end < kRegions / 16) threads = 1;  // what is left moves sooner than a thread starts
    const uint64_t first = threads == 1 ? 0 : std::min(end - 1, (end * lines_ + new_lines - 1) / new_lines);
    const uint64_t share = (end - first + threads - 1) / threads;
    std::vector<std::jthread> helpers;
    uint64_t from = first;
    try {
      for (; from + share < end; from += share)
        helpers.emplace_back([=, this] { move_regions(from, from + share, lines_, new_lines); });
    } catch (const std::system_error&) {  // no more threads: what is left is moved here
    }
    move_regions(from, end, lines_, new_lines);
    end = first;
  }
  lines_ = new_lines;
  bytes_.store(capacity() * (with_depth_ ? 10 : 8), std::memory_order_relaxed);
  return true;
}

Digest VisitedSet::digest() const {
  Digest sum;
  for (uint64_t i = 0; i < capacity(); ++i) {
    const uint64_t word = slot(i).load(std::memory_order_relaxed);
    if (word != 0) sum += digest_at(i / (lines_ * kLine), Digest{word, ~word});
  }
  return sum;
}

uint64_t VisitedSet::count() const {
  uint64_t n = 0;
  for (uint64_t i = 0; i < capacity(); ++i) n += slot(i).load(std::memory_order_relaxed) != 0;
  return n;
}

uint64_t VisitedSet::count_at(uint16_t depth) const {
  uint64_t n = 0;
  for (uint64_t i = 0; i < capacity(); ++i)
    n += depth_slot(i).load(std::memory_order_relaxed) == static_cast<uint16_t>(depth + 1);
  return n;
}

double VisitedSet::merge_probability(uint64_t states) {
  const double n = static_cast<double>(states);
  return std::min(1.0, std::ldexp(n * n, -77));
}

BitstateSet::BitstateSet(size_t max_bytes) : bits_(max_bytes & ~size_t{7}, false), words_(max_bytes / 8) {}

}  // namespace sisyfs
