#include "disk/image.h"

#include <cstring>
#include <new>
#include <utility>

#include "base/assert.h"
#include "disk/pool.h"

namespace sisyfs {

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

void Image::destroy(Node* node, unsigned level) {
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

void Image::make_permanent(Node* node, unsigned level) {
  if (node == nullptr || node->refs.is_permanent()) return;
  node->refs.make_permanent();
  for (const Node::Child& child : node->child) {
    if (level > 0)
      make_permanent(child.node, level - 1);
    else if (child.block != nullptr)
      child.block->refs.make_permanent();
  }
}

Image::Node* Image::unshared(Node* node, unsigned level) {
  if (node == nullptr || node->refs.is_permanent()) return node;
  Node* copy = new_node();
  for (unsigned slot = 0; slot < kFanout; ++slot) {
    const Node::Child& from = node->child[slot];
    if (level > 0)
      copy->child[slot].node = unshared(from.node, level - 1);
    else
      copy->child[slot].block = copy_of(from.block).detach();
  }
  return copy;
}

Image Image::unshared() const {
  Image copy(geometry_);
  copy.root_ = unshared(root_, levels_ - 1);
  copy.digest_ = digest_;
  return copy;
}

Image::Image(const Geometry& geometry) : geometry_(geometry), levels_(1), digest_(geometry.digest()) {
  SISYFS_ASSERT(geometry.block_size >= 1 && geometry.block_count.value >= 1, "a disk has bytes");
  SISYFS_ASSERT(geometry.disks >= 1 && geometry.block_count.value % geometry.disks == 0,
                "all disks have the same number of blocks");
  for (uint64_t last = (geometry.stored_blocks() - 1) >> kFanoutBits; last != 0; last >>= kFanoutBits)
    levels_++;
}

Image::Image(const Geometry& geometry, std::span<const BlockRef> blocks) : Image(geometry) {
  const auto is_power = [](uint64_t n) {
    while (n % kFanout == 0) n /= kFanout;
    return n == 1;
  };
  SISYFS_ASSERT(blocks.size() == geometry.block_count.value || is_power(blocks.size()),
                "the blocks repeat with the nodes of the tree");
  for (uint64_t i = 0; i < blocks.size(); ++i) digest_ += contribution(BlockAddress(i), blocks[i].get());
  root_ = repeat(blocks, levels_ - 1, 0);
}

// Where whole rounds of the blocks lie below each child, all children are one node.
Image::Node* Image::repeat(std::span<const BlockRef> blocks, unsigned level, uint64_t first) {
  Node* node = new_node();
  const uint64_t below = uint64_t{1} << (level * kFanoutBits);
  for (uint64_t slot = 0; slot < kFanout; ++slot) {
    const uint64_t address = first + slot * below;
    Node::Child& child = node->child[slot];
    if (level == 0) {
      child.block = BlockRef(blocks[address % blocks.size()]).detach();
    } else if (slot != 0 && below % blocks.size() == 0) {
      child.node = node->child[0].node;
      child.node->refs.take();
    } else {
      child.node = repeat(blocks, level - 1, address);
    }
  }
  return node;
}

void Image::set(BlockAddress address, BlockRef block) {
  SISYFS_ASSERT(!block || block->size == geometry_.block_size || address.value >= geometry_.block_count.value,
                "a block is of the disk's block size");
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
  size_t at = 0;
  for (BlockAddress address = first; at < out.size(); address = address + BlockCount(1), at += size) {
    SISYFS_ASSERT(at + size <= out.size(), "whole blocks are read");
    copy_bytes(block(address), out.subspan(at, size));
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
