// Image: the content of a disk, or of all disks of one system, at a moment, as a value.
//
// Copying is O(1), changing one block is O(log n), and the digest of the whole is always known. Copies are
// independent: a write to one does not change the other.
//
//   Image empty(geometry);
//   Image written = empty;
//   written.write(BlockAddress(3), bytes);  // `empty` still holds zeros there
//   bool same = written == empty;           // compares digests: no block is read
//
// An image is a radix tree of fan-out 4 over blocks. A node is changed in place while this image is its
// only owner, and copied when it is shared, so a burst of writes copies a path once. A missing child
// stands for zeros. The digest is the sum of contribution(address, block) over all blocks, on top of
// the digest of the geometry; a write subtracts the old contribution and adds the new one. An image that
// began with given blocks has one digest for all of them, so images are compared only if they began alike.
//
// Threads: distinct images that share content may be used on distinct threads; one image object belongs
// to one thread at a time. docs/design/images.md has the reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/digest.h"
#include "disk/block.h"
#include "disk/geometry.h"

namespace sisyfs {

class Image {
 public:
  // All blocks zero.
  explicit Image(const Geometry& geometry);
  // Block n holds blocks[n % blocks.size()]. Either there is one for each block of the disk, or their number
  // is a power of 4. Memory and time are those of the given blocks, whatever the size of the disk.
  Image(const Geometry& geometry, std::span<const BlockRef> blocks);
  Image(const Image& o) : geometry_(o.geometry_), levels_(o.levels_), root_(o.root_), digest_(o.digest_) {
    if (root_ != nullptr) root_->refs.take();
  }
  // The image that was moved from is all zero and has the same shape.
  Image(Image&& o) noexcept
      : geometry_(o.geometry_),
        levels_(o.levels_),
        root_(std::exchange(o.root_, nullptr)),
        digest_(std::exchange(o.digest_, o.geometry_.digest())) {}
  Image& operator=(Image o) noexcept {
    std::swap(geometry_, o.geometry_);
    std::swap(levels_, o.levels_);
    std::swap(root_, o.root_);
    std::swap(digest_, o.digest_);
    return *this;
  }
  ~Image() { drop(root_, levels_ - 1); }

  const Geometry& geometry() const { return geometry_; }
  const Digest& digest() const { return digest_; }
  friend bool operator==(const Image& a, const Image& b) { return a.digest_ == b.digest_; }

  // The block at an address, null if it is zero. The pointer lives until this image changes or dies.
  // The address lies on the disk (in all calls here: callers check what comes from a target).
  const Block* block(BlockAddress address) const {
    SISYFS_ASSERT(geometry_.stores(address), "the block lies on the disk");
    const Node* node = root_;
    for (unsigned level = levels_ - 1; node != nullptr && level > 0; level--) {
      node = node->child[slot_at(address, level)].node;
    }
    return node == nullptr ? nullptr : node->child[slot_at(address, 0)].block;
  }

  // Copies the blocks from `first` on into `out`, which is a whole number of blocks long.
  void read(BlockAddress first, std::span<std::byte> out) const;

  // Replaces one block, or several when `bytes` is several blocks long.
  void write(BlockAddress first, std::span<const std::byte> bytes);

  // Replaces one block by one that exists already: no byte is copied or hashed.
  void set(BlockAddress address, BlockRef block);

  // Calls visit(address, block) for each block of `other`, an image of the same geometry, that differs from
  // the block here, by rising address. Shared subtrees are skipped, so the cost is that of the writes since
  // one was copied from the other.
  template <class Visit>
  void differences(const Image& other, Visit&& visit) const {
    SISYFS_ASSERT(geometry_ == other.geometry_, "the images have the same shape");
    differences(root_, other.root_, levels_ - 1, 0, visit);
  }

  // Never frees the content of this image, and does not count references to it any more: for content that
  // all threads share. Copies share it; what they change is freed as ever.
  void make_permanent() { make_permanent(root_, levels_ - 1); }

  // The same content in memory of its own, except for what is permanent. Threads that work on images with a
  // common origin slow each other down by counting references to it.
  Image unshared() const;

  // The whole content, for export and tests.
  std::vector<std::byte> bytes() const;

 private:
  static constexpr unsigned kFanoutBits = 2;  // measured: docs/design/images.md
  static constexpr unsigned kFanout = 1u << kFanoutBits;

  struct Node {
    RefCount refs;
    union Child {
      Node* node;
      const Block* block;
    };
    Child child[kFanout];
  };

  static Node* new_node();
  static Node* repeat(std::span<const BlockRef> blocks, unsigned level, uint64_t first);
  static Node* copy_node(const Node* node, unsigned level);
  static void drop(Node* node, unsigned level) {
    if (node != nullptr && node->refs.drop()) destroy(node, level);
  }
  static void destroy(Node* node, unsigned level);
  static void make_permanent(Node* node, unsigned level);
  static Node* unshared(Node* node, unsigned level);
  template <class Visit>
  static void differences(const Node* mine, const Node* other, unsigned level, uint64_t first, Visit& visit) {
    if (mine == other) return;
    static constexpr Node kZeros{};
    if (mine == nullptr) mine = &kZeros;
    if (other == nullptr) other = &kZeros;
    for (uint64_t slot = 0; slot < kFanout; ++slot) {
      const Node::Child &a = mine->child[slot], &b = other->child[slot];
      const uint64_t address = first + (slot << (level * kFanoutBits));
      if (level > 0)
        differences(a.node, b.node, level - 1, address, visit);
      else if (!same_content(a.block, b.block))
        visit(BlockAddress(address), b.block);
    }
  }
  static unsigned slot_at(BlockAddress address, unsigned level) {
    return (address.value >> (level * kFanoutBits)) % kFanout;
  }

  Geometry geometry_;
  unsigned levels_;       // the root is at level levels_ - 1; children of level 0 are blocks
  Node* root_ = nullptr;  // null: all zero
  Digest digest_;
};

}  // namespace sisyfs
