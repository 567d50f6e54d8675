#include "disk/block.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "disk/pool.h"

namespace sisyfs {
namespace {

constexpr size_t kCacheSlots = 1024;

// The recent blocks of this thread, by digest. Each slot owns a reference.
struct Cache {
  BlockRef slots[kCacheSlots];
};

// A plain pointer is read without the guard that a thread_local with a constructor needs. CacheOwner frees
// the cache at the end of the thread. Blocks made after that are not cached.
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

// The block with this digest, from the cache if it has it.
BlockRef shared(std::span<const std::byte> bytes, const Digest& digest) {
  BlockRef* slot = cache_slot(digest);
  if (slot == nullptr) return copy_of(bytes, digest);
  if (!*slot || (*slot)->digest != digest || (*slot)->size != bytes.size()) *slot = copy_of(bytes, digest);
  return *slot;
}

// `size` bytes of one value, in memory of this thread that is reused.
std::span<const std::byte> run_of(uint32_t size, std::byte value) {
  thread_local std::vector<std::byte> run;
  run.assign(size, value);
  return run;
}

}  // namespace

void Block::destroy(const Block* block) {
  const size_t bytes = sizeof(Block) + block->size;
  block->~Block();
  pool_give(const_cast<Block*>(block), bytes);
}

BlockRef make_block(std::span<const std::byte> bytes) {
  if (all_zero(bytes)) return {};
  return shared(bytes, digest_of(bytes));
}

BlockRef make_block(std::span<const std::byte> bytes, const Digest& digest) {
  if (all_zero(bytes)) return {};
  BlockRef block = shared(bytes, digest);
  const bool same = std::memcmp(block->bytes().data(), bytes.data(), bytes.size()) == 0;
  return same ? block : copy_of(bytes, digest);
}

BlockRef copy_of(const Block* block) {
  if (block == nullptr || block->refs.is_permanent()) return BlockRef::share(block);
  return copy_of(block->bytes(), block->digest);
}

BlockRef filled_block(uint32_t size, std::byte value) { return make_block(run_of(size, value)); }

BlockRef unreadable_block(uint32_t size) { return shared(run_of(size, std::byte{0xEE}), kUnreadableDigest); }

BlockRef programmed_over(const Block* old, std::span<const std::byte> bytes) {
  thread_local std::vector<std::byte> page;
  page.resize(bytes.size());
  copy_bytes(old, page);
  for (size_t i = 0; i < page.size(); ++i) page[i] &= bytes[i];
  return make_block(page);
}

bool asks_for_bits(const Block* old, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::byte there = old == nullptr ? std::byte{0} : old->bytes()[i];
    if (bytes[i] != kErased && (bytes[i] & ~there) != std::byte{0}) return true;
  }
  return false;
}

bool is_erased(const Block* block) {
  return block != nullptr && block->readable() &&
         std::ranges::all_of(block->bytes(), [](std::byte b) { return b == kErased; });
}

}  // namespace sisyfs
