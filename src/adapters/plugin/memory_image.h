// MemoryImage: the memory of a plug-in at one moment, as a value. ImageCursor moves a memory between images.
//
// Consecutive images differ in a few pieces, and most loads go to a recent image. So an image is stored as a
// step from an earlier one: the changed pieces with their content before and after. To move from one image to
// another, the cursor undoes steps up to the common ancestor and applies the steps from there. A step is one
// small block of pooled memory; a persistent tree would copy a path for each piece.
//
// Some images are stored whole, as a disk/image.h, and drop the steps before them: those that are loaded
// after many steps. If no steps connect two images, the nearest whole images are compared; they share equal
// parts.
//
//   ImageCursor cursor(geometry);
//   cursor.change(7, make_block(bytes));
//   const MemoryImage image = cursor.commit();
//   cursor.move_to(other, [&](size_t piece, const Block* block) { copy it });
//
// Images may be copied and destroyed on any thread. A cursor, and the images it moves to, belong to one
// thread.
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
    mutable uint32_t length = 0;  // upper bound of the steps back to a whole image
    uint64_t depth = 0;           // steps from the first of all
    Digest digest;
    // Exactly one of the two is set. Both describe the same image.
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
  // Starts at an image of zeros. The pieces are the blocks of the geometry.
  explicit ImageCursor(const Geometry& geometry);
  ~ImageCursor();
  ImageCursor(const ImageCursor&) = delete;
  ImageCursor& operator=(const ImageCursor&) = delete;

  // At most once for each piece between two commits.
  void change(size_t piece, BlockRef block);
  // The image with all changes until now.
  MemoryImage commit();
  // Calls apply(piece, block) for each piece that has to change; for some several times, the last call
  // counts. All changes must be committed before.
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
  // Stores the current image whole.
  void make_whole();

  MemoryImage current_;
  BlockRef* blocks_ = nullptr;  // the pieces of the current image
  size_t pieces_;
  std::vector<MemoryImage::Change> changes_;
  Digest change_digest_;
  std::vector<const MemoryImage::Step*> path_;
};

}  // namespace sisyfs
