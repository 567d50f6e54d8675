// Chunks of states, the currency between workers.
//
// States travel in chunks so that nothing is paid for each of them: a worker fills a chunk that only it
// sees, and hands it over whole. The buffers of chunks are recycled through a pool as soon as their last
// state is expanded, so that a search holds one layer of states and not two.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "explore/team.h"

namespace sisyfs {

template <class Entry>
inline constexpr uint32_t kChunkItems = std::clamp<uint32_t>(32768 / sizeof(Entry), 16, 1024);

// A pool of buffers of kChunkItems entries each. A worker takes those first that it gave back last: they are
// in its cache, and those of others in theirs.
template <class Entry>
class BufferPool {
 public:
  using Buffer = std::unique_ptr<Entry[]>;
  explicit BufferPool(Team& team) : team_(team), shelves_(team.size()) {}

  // Only by `worker`.
  Buffer get(unsigned worker) {
    if (Buffer buffer = pop(shelves_[worker].free)) return buffer;
    {
      const std::lock_guard lock(mutex_);
      if (Buffer buffer = pop(free_)) return buffer;
    }
    team_.use_memory(kChunkItems<Entry> * sizeof(Entry));
    return Buffer(new Entry[kChunkItems<Entry>]);
  }
  void put(unsigned worker, Buffer buffer) {
    std::vector<Buffer>& mine = shelves_[worker].free;
    if (mine.size() < kShelf) {
      mine.push_back(std::move(buffer));
      return;
    }
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  static constexpr size_t kShelf = 16;  // buffers, of some 32 KiB each: a part of a core's own cache
  struct alignas(128) Shelf {
    std::vector<Buffer> free;
  };
  static Buffer pop(std::vector<Buffer>& from) {
    if (from.empty()) return nullptr;
    Buffer buffer = std::move(from.back());
    from.pop_back();
    return buffer;
  }

  Team& team_;
  std::vector<Shelf> shelves_;  // for each worker what it gave back
  std::mutex mutex_;
  std::vector<Buffer> free_;  // what has no place there
};

template <class Entry>
struct Chunk {
  explicit Chunk(std::unique_ptr<Entry[]> buffer) : items(std::move(buffer)) {}
  bool full() const { return size == kChunkItems<Entry>; }

  uint32_t size = 0;
  std::unique_ptr<Entry[]> items;
  std::atomic<uint32_t> claimed{0};  // items that some worker has taken
  std::atomic<uint32_t> done{0};     // items that were expanded
};

// One layer of a breadth-first search: for each worker the chunks that it made. Workers claim small
// ranges without locks, first of their own chunks, then of those of others.
template <class Entry>
class Layer {
 public:
  explicit Layer(unsigned workers) : lists_(workers) {}

  // Only by `worker`, and only while the layer is being made.
  Chunk<Entry>& add(unsigned worker, std::unique_ptr<Entry[]> buffer) {
    return *lists_[worker].chunks.emplace_back(std::make_unique<Chunk<Entry>>(std::move(buffer)));
  }

  struct Range {
    Chunk<Entry>* chunk = nullptr;
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  // The next range for this worker; its chunk is null when the whole layer has been claimed.
  Range claim(unsigned worker, uint32_t grain) {
    for (size_t i = 0; i < lists_.size(); ++i) {
      List& list = lists_[(worker + i) % lists_.size()];
      for (size_t at = list.first.load(std::memory_order_relaxed); at < list.chunks.size(); ++at) {
        Chunk<Entry>& chunk = *list.chunks[at];
        const uint32_t begin = chunk.claimed.fetch_add(grain, std::memory_order_relaxed);
        if (begin < chunk.size) return {&chunk, begin, std::min(begin + grain, chunk.size)};
        list.first.store(at + 1, std::memory_order_relaxed);
      }
    }
    return {};
  }
  // Says that a claimed range is expanded; the last one gives the chunk's buffer back.
  void finish(unsigned worker, const Range& range, BufferPool<Entry>& pool) {
    const uint32_t n = range.end - range.begin;
    if (range.chunk->done.fetch_add(n, std::memory_order_acq_rel) + n == range.chunk->size)
      pool.put(worker, std::move(range.chunk->items));
  }

  uint64_t count() const {
    uint64_t n = 0;
    for (const List& list : lists_)
      for (const auto& chunk : list.chunks) n += chunk->size;
    return n;
  }
  void clear(unsigned worker, BufferPool<Entry>& pool) {
    for (List& list : lists_) {
      for (auto& chunk : list.chunks)
        if (chunk->items) pool.put(worker, std::move(chunk->items));
      list.chunks.clear();
      list.first.store(0, std::memory_order_relaxed);
    }
  }
  void swap(Layer& other) {
    for (size_t i = 0; i < lists_.size(); ++i) lists_[i].chunks.swap(other.lists_[i].chunks);
  }

 private:
  struct alignas(128) List {
    std::vector<std::unique_ptr<Chunk<Entry>>> chunks;
    std::atomic<size_t> first{0};
  };
  std::vector<List> lists_;
};

}  // namespace sisyfs
