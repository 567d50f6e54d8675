#include "disk/block.h"

#include <cstring>
#include <new>

#include "disk/pool.h"

namespace sisyfs {
namespace {

constexpr size_t kCacheSlots = 1024;

// The recent blocks of this thread, by digest. Each slot owns a reference.
struct Cache {
  BlockRef slots[kCacheSlots];
};

// A plain pointer is read without the guard of a thread_local with a constructor; the owner below
// frees the cache at the end of the thread, after which blocks are made without one.
constinit thread_local Cache* cache = nullptr;
constinit thread_local bool cache_closed = false;

struct CacheOwner {
  CacheOwner() { cache = new Cache; }
  ~CacheOwner() {
    cache_closed = true;
    delete cache;
    cache = nullptr;
  }
};

BlockRef* cache_slot(const Digest& digest) {
  if (cache == nullptr) {
    if (cache_closed) return nullptr;
    thread_local CacheOwner owner;
    (void)&owner;  // the mention constructs it
  }
  return &cache->slots[digest.lo % kCacheSlots];
}

bool all_zero(std::span<const std::byte> bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

BlockRef copy_of(std::span<const std::byte> bytes, const Digest& digest) {
  void* memory = pool_take(sizeof(Block) + bytes.size());
  Block* block = new (memory) Block;
  block->size = static_cast<uint32_t>(bytes.size());
  block->digest = digest;
  std::memcpy(static_cast<std::byte*>(memory) + sizeof(Block), bytes.data(), bytes.size());
  return BlockRef::adopt(block);
}

}  // namespace

void Block::destroy(const Block* block) {
  const size_t bytes = sizeof(Block) + block->size;
  block->~Block();
  pool_give(const_cast<Block*>(block), bytes);
}

BlockRef make_block(std::span<const std::byte> bytes) {
  if (all_zero(bytes)) return {};
  const Digest digest = digest_of(bytes);
  BlockRef* slot = cache_slot(digest);
  if (slot == nullptr) return copy_of(bytes, digest);
  if (!*slot || (*slot)->digest != digest || (*slot)->size != bytes.size()) *slot = copy_of(bytes, digest);
  return *slot;
}

}  // namespace sisyfs
