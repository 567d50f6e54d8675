// MemoryImage: the memory of a plug-in at a moment, as a value; and ImageCursor, which knows where the memory
// is among its images.
//
// Images of a memory come one after the other, each with a few pieces changed, and most loads go to the image
// before or to one near. So an image is a step from an earlier one: the pieces that changed, with what they
// held before and after. To go from one image to another is to undo steps up to the one that both come from,
// and to do those from there. A step is one small piece of pooled memory, where a tree would copy a path for
// each piece.
//
// Now and then an image is kept whole, as a disk/image.h, and forgets the steps before it: when it is loaded
// after many steps, as it is then likely to be where many new ones begin. Between images that no steps
// connect the two whole ones are compared, which share what is equal.
//
//   ImageCursor cursor(geometry);
//   cursor.change(7, make_block(bytes));
//   const MemoryImage image = cursor.commit();
//   cursor.move_to(other, [&](size_t piece, const Block* block) { copy it });
//
// Images may be copied and dropped on any thread. The cursor, and what it is asked to move to, belong to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/digest.h"
#include "base/ref.h"
#include "disk/block.h"
#include "disk/image.h"

namespace sisyfs {

class MemoryImage {
 public:
  const Digest& digest() const { return step_->digest; }
  friend bool operator==(const MemoryImage& a, const MemoryImage& b) { return a.digest() == b.digest(); }

 private:
  friend class ImageCursor;

  struct Change {
    size_t piece;
    BlockRef before, after;
  };
  struct Step {
    RefCount refs;
    uint32_t count = 0;           // of changes, which follow this header
    mutable uint32_t length = 0;  // steps back to one that is kept whole, or more
    uint64_t depth = 0;           // steps from the first of all
    Digest digest;
    // One of the two. They can be exchanged, since they say the same.
    mutable const Step* before = nullptr;
    mutable std::optional<Image> whole;

    const Change* changes() const { return reinterpret_cast<const Change*>(this + 1); }
    static void destroy(const Step* step);
  };

  explicit MemoryImage(Ref<Step> step) : step_(std::move(step)) {}
  Ref<Step> step_;
};

class ImageCursor {
 public:
  // At an image of zeros; pieces are the blocks of the geometry.
  explicit ImageCursor(const Geometry& geometry);
  ~ImageCursor();
  ImageCursor(const ImageCursor&) = delete;
  ImageCursor& operator=(const ImageCursor&) = delete;

  // Once at most for each piece between two commits.
  void change(size_t piece, BlockRef block);
  // The image with all changes until now.
  MemoryImage commit();
  // Calls apply(piece, block) for what has to change, some pieces perhaps several times. There are no changes
  // that were not committed.
  template <class Apply>
  void move_to(const MemoryImage& wanted, Apply&& apply) {
    using Step = MemoryImage::Step;
    SISYFS_ASSERT(changes_.empty(), "changes are committed before the cursor moves");
    const auto put = [&](size_t piece, const Block* block) {
      blocks_[piece] = BlockRef::share(block);
      apply(piece, block);
    };
    const Step* at = current_.step_.get();
    const Step* back = wanted.step_.get();
    path_.clear();
    while (at != back) {
      if (back->before != nullptr && (at->before == nullptr || back->depth >= at->depth)) {
        path_.push_back(back);
        back = back->before;
      } else if (at->before != nullptr) {
        for (uint32_t i = 0; i < at->count; ++i) put(at->changes()[i].piece, at->changes()[i].before.get());
        at = at->before;
      } else {
        at->whole->differences(*back->whole,
                               [&](BlockAddress a, const Block* block) { put(a.value, block); });
        break;
      }
    }
    for (; !path_.empty(); path_.pop_back())
      for (uint32_t i = 0; i < path_.back()->count; ++i)
        put(path_.back()->changes()[i].piece, path_.back()->changes()[i].after.get());
    current_ = wanted;
    if (current_.step_->length > kMaxLoaded) make_whole();
  }

 private:
  static constexpr uint32_t kMaxLoaded = 24, kMaxSaved = 512;  // steps

  static MemoryImage first(const Geometry& geometry);
  // Keeps the current image whole.
  void make_whole();

  MemoryImage current_;
  BlockRef* blocks_ = nullptr;  // the pieces of the current image
  size_t pieces_;
  std::vector<MemoryImage::Change> changes_;
  Digest change_digest_;
  std::vector<const MemoryImage::Step*> path_;
};

}  // namespace sisyfs
