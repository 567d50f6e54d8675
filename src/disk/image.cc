#include "disk/image.h"

#include <cstring>
#include <new>
#include <utility>

#include "base/assert.h"
#include "disk/pool.h"

namespace sisyfs {

struct Image::Node {
  RefCount refs;
  union Child {
    Node* node;
    const Block* block;
  };
  Child child[kFanout];
};

Image::Node* Image::new_node() {
  Node* node = new (pool_take(sizeof(Node))) Node;
  for (Node::Child& child : node->child) child.node = nullptr;
  return node;
}

Image::Node* Image::copy_node(const Node* node, unsigned level) {
  Node* copy = new (pool_take(sizeof(Node))) Node;
  std::memcpy(copy->child, node->child, sizeof(node->child));
  for (const Node::Child& child : copy->child) {
    if (level == 0) {
      if (child.block != nullptr) child.block->refs.take();
    } else {
      if (child.node != nullptr) child.node->refs.take();
    }
  }
  return copy;
}

void Image::drop(Node* node, unsigned level) {
  if (node == nullptr || !node->refs.drop()) return;
  for (const Node::Child& child : node->child) {
    if (level == 0) {
      if (child.block != nullptr && child.block->refs.drop()) Block::destroy(child.block);
    } else {
      drop(child.node, level - 1);
    }
  }
  node->~Node();
  pool_give(node, sizeof(Node));
}

Image::Image(const Geometry& geometry) : geometry_(geometry), levels_(1), digest_(geometry.digest()) {
  SISYFS_ASSERT(geometry.block_size >= 1 && geometry.block_count.value >= 1, "a disk has bytes");
  for (uint64_t last = (geometry.block_count.value - 1) >> kFanoutBits; last != 0; last >>= kFanoutBits)
    levels_++;
}

Image::Image(const Image& o)
    : geometry_(o.geometry_), levels_(o.levels_), root_(o.root_), digest_(o.digest_) {
  if (root_ != nullptr) root_->refs.take();
}

// What was moved from is an all-zero disk of the same shape.
Image::Image(Image&& o) noexcept
    : geometry_(o.geometry_),
      levels_(o.levels_),
      root_(std::exchange(o.root_, nullptr)),
      digest_(std::exchange(o.digest_, o.geometry_.digest())) {}

Image& Image::operator=(Image o) noexcept {
  std::swap(geometry_, o.geometry_);
  std::swap(levels_, o.levels_);
  std::swap(root_, o.root_);
  std::swap(digest_, o.digest_);
  return *this;
}

Image::~Image() { drop(root_, levels_ - 1); }

const Block* Image::block(BlockAddress address) const {
  SISYFS_ASSERT(address.value < geometry_.block_count.value, "the block lies on the disk");
  const Node* node = root_;
  for (unsigned level = levels_ - 1; node != nullptr && level > 0; level--) {
    node = node->child[slot_at(address, level)].node;
  }
  return node == nullptr ? nullptr : node->child[slot_at(address, 0)].block;
}

void Image::set(BlockAddress address, BlockRef block) {
  SISYFS_ASSERT(!block || block->size == geometry_.block_size, "a block is of the disk's block size");
  const Block* old = this->block(address);
  if (same_content(old, block.get())) return;  // before any node is copied
  digest_ += contribution(address, block.get()) - contribution(address, old);

  Node** link = &root_;
  for (unsigned level = levels_ - 1;; level--) {
    if (*link == nullptr) {
      *link = new_node();
    } else if (!(*link)->refs.only()) {
      Node* copy = copy_node(*link, level);
      drop(*link, level);
      *link = copy;
    }
    Node::Child& child = (*link)->child[slot_at(address, level)];
    if (level == 0) {
      BlockRef::adopt(std::exchange(child.block, block.detach()));  // drops the old block
      return;
    }
    link = &child.node;
  }
}

void Image::read(BlockAddress first, std::span<std::byte> out) const {
  const size_t size = geometry_.block_size;
  SISYFS_ASSERT(out.size() % size == 0, "whole blocks are read");
  for (uint64_t i = 0; i < out.size() / size; i++) {
    const Block* b = block(first + BlockCount(i));
    if (b == nullptr) {
      std::memset(out.data() + i * size, 0, size);
    } else {
      std::memcpy(out.data() + i * size, b->bytes().data(), size);
    }
  }
}

void Image::write(BlockAddress first, std::span<const std::byte> bytes) {
  const size_t size = geometry_.block_size;
  SISYFS_ASSERT(bytes.size() % size == 0, "whole blocks are written");
  for (uint64_t i = 0; i < bytes.size() / size; i++) {
    set(first + BlockCount(i), make_block(bytes.subspan(i * size, size)));
  }
}

std::vector<std::byte> Image::bytes() const {
  std::vector<std::byte> out(geometry_.offset_of(BlockAddress(geometry_.block_count.value)).value);
  read(BlockAddress(0), out);
  return out;
}

}  // namespace sisyfs
