#include "adapters/plugin/memory_image.h"

#include <sys/mman.h>

#include <new>
#include <utility>

#include "disk/pool.h"

namespace sisyfs {

void MemoryImage::Step::destroy(const Step* step) {
  // In a loop: a long walk is a long row of steps.
  while (step != nullptr) {
    const Step* const before = step->before;
    const size_t bytes = sizeof(Step) + step->count * sizeof(Change);
    for (uint32_t i = 0; i < step->count; ++i) step->changes()[i].~Change();
    step->~Step();
    pool_give(const_cast<Step*>(step), bytes);
    step = before != nullptr && before->refs.drop() ? before : nullptr;
  }
}

MemoryImage ImageCursor::first(const Geometry& geometry) {
  auto* const step = new (pool_take(sizeof(MemoryImage::Step))) MemoryImage::Step;
  step->whole.emplace(geometry);
  step->digest = step->whole->digest();
  return MemoryImage(Ref<MemoryImage::Step>::adopt(step));
}

ImageCursor::ImageCursor(const Geometry& geometry)
    : current_(first(geometry)), pieces_(geometry.block_count.value) {
  // Large and mostly untouched. Zeros are null references.
  void* const memory = mmap(nullptr, pieces_ * sizeof *blocks_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  blocks_ = static_cast<BlockRef*>(memory);
}

ImageCursor::~ImageCursor() {
  for (size_t piece = 0; piece < pieces_; ++piece) blocks_[piece].~BlockRef();
  munmap(blocks_, pieces_ * sizeof *blocks_);
}

void ImageCursor::change(size_t piece, BlockRef block) {
  BlockRef old = std::exchange(blocks_[piece], block);
  const BlockAddress address(piece);
  change_digest_ += contribution(address, block.get()) - contribution(address, old.get());
  changes_.push_back({piece, std::move(old), std::move(block)});
}

MemoryImage ImageCursor::commit() {
  using Step = MemoryImage::Step;
  if (changes_.empty()) return current_;
  auto* const step = new (pool_take(sizeof(Step) + changes_.size() * sizeof(MemoryImage::Change))) Step;
  auto* out = reinterpret_cast<MemoryImage::Change*>(step + 1);
  for (MemoryImage::Change& change : changes_) new (out++) MemoryImage::Change(std::move(change));
  step->count = static_cast<uint32_t>(changes_.size());
  step->length = current_.step_->length + 1;
  step->depth = current_.step_->depth + 1;
  step->digest = current_.digest() + std::exchange(change_digest_, Digest());
  step->before = current_.step_.detach();
  current_.step_ = Ref<Step>::adopt(step);
  changes_.clear();
  if (step->length > kMaxSaved) make_whole();
  return current_;
}

void ImageCursor::make_whole() {
  using Step = MemoryImage::Step;
  const Step* const current = current_.step_.get();
  const Step* from = current;
  while (from->before != nullptr) from = from->before;
  Image whole = *from->whole;
  for (const Step* step = current; step->before != nullptr; step = step->before)
    for (uint32_t i = 0; i < step->count; ++i) {
      const size_t piece = step->changes()[i].piece;
      whole.set(BlockAddress(piece), blocks_[piece]);
    }
  SISYFS_ASSERT(whole.digest() == current->digest, "steps and whole images agree");
  current->whole = std::move(whole);
  current->length = 0;
  const Step* const before = std::exchange(current->before, nullptr);
  if (before->refs.drop()) Step::destroy(before);
}

}  // namespace sisyfs
