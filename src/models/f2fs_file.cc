// Files of the F2FS model: from an index to a block, writing, cutting, fsync.
#include <cerrno>

#include "models/f2fs_core.h"
#include "tree/file_data.h"

namespace sisyfs::f2fs {

// The nid of a node of the file; kNoNid if it has none there.
Nid F2fs::node_of(const NodeBlock& inode, unsigned offset) {
  if (offset == 0) return inode.footer.nid;
  if (offset == 1) return inode.inode.direct;
  if (offset == 2 || inode.inode.indirect == kNoNid) return inode.inode.indirect;
  NodeBlock indirect;
  return read_node(inode.inode.indirect, &indirect) ? indirect.nodes[offset - 3] : kNoNid;
}

Blk F2fs::block_at(const NodeBlock& inode, unsigned index) {
  const FilePlace place = file_place(index);
  if (place.node == 0) return inode.inode.data[place.entry];
  const Nid nid = node_of(inode, place.node);
  NodeBlock node;
  return nid != kNoNid && read_node(nid, &node) ? node.data[place.entry] : kNoBlk;
}

// What a reader sees: the page, the block, or zeros where there is none.
bool F2fs::read_block(const NodeBlock& inode, unsigned index, Block* out) {
  *out = {};
  if (const int page = page_of(data_key(inode.footer.ino, index)); page >= 0) {
    *out = m_.pages[page];
    return true;
  }
  const Blk at = block_at(inode, index);
  if (failed_) return false;
  if (at == kNoBlk) return true;
  if (!in_main(at)) return failed_ = true, false;
  return read_main(at, out);
}

// The pointer to a block of the file, to be changed, in the page of its node, which is made if need be.
Blk* F2fs::edit_pointer(Nid ino, unsigned index, Nid* owner) {
  const FilePlace place = file_place(index);
  NodeBlock* node = edit_node(ino);
  if (node == nullptr) return nullptr;
  *owner = ino;
  if (place.node == 0) return &node->inode.data[place.entry];
  const bool directory = node->footer.directory != 0;
  Nid* below = &node->inode.direct;
  if (place.node >= 3) {
    if (node->inode.indirect == kNoNid) {
      const Nid nid = take_nid();
      node->inode.indirect = nid;
      new_node(nid, ino, NodeKind::kIndirect, 2, directory);
    }
    NodeBlock* indirect = edit_node(node->inode.indirect);
    if (indirect == nullptr) return nullptr;
    below = &indirect->nodes[place.node - 3];
  }
  if (*below == kNoNid) {
    *below = take_nid();
    new_node(*below, ino, NodeKind::kDirect, place.node, directory);
  }
  NodeBlock* direct = edit_node(*below);
  *owner = *below;
  return direct == nullptr ? nullptr : &direct->data[place.entry];
}

// Writes a block of a file to the log and its place into the node.
void F2fs::store(Nid ino, unsigned index, const void* bytes) {
  Nid owner = kNoNid;
  Blk* pointer = edit_pointer(ino, index, &owner);
  if (pointer == nullptr) return;
  const Blk old = *pointer;
  const int page = page_of(node_key(owner));
  const bool directory = reinterpret_cast<const NodeBlock*>(m_.pages[page].data())->footer.directory != 0;
  const Blk at = take_block(directory ? kHotData : kWarmData, {owner, file_place(index).entry});
  if (at == kNoBlk) return;
  write_place(config_.main_at() + at, bytes, directory ? Kind::kDentry : Kind::kData);
  *pointer = at;
  if (old == kNoBlk)
    ++m_.used;
  else
    drop_block(old);
}

// New blocks and nids that writing these indexes takes.
void F2fs::count_need(const NodeBlock& inode, unsigned first, unsigned last, unsigned* blocks,
                      unsigned* nids) {
  unsigned nodes = 0;
  for (unsigned i = first; i <= last; ++i) {
    *blocks += block_at(inode, i) == kNoBlk;
    nodes |= 1u << file_place(i).node;
  }
  if (nodes >> 3 != 0) nodes |= 1u << 2;
  for (unsigned offset = 1; offset < kFileNodes; ++offset)
    *nids += (nodes >> offset & 1) != 0 && node_of(inode, offset) == kNoNid;
  *blocks += *nids;
}

int F2fs::begin_write(Nid ino, uint64_t offset, uint64_t length, bool* cached) {
  constexpr uint64_t kMax = uint64_t{kMaxFileBlocks} * kBlockBytes;
  if (offset > kMax || length > kMax - offset) return marks_ |= kMarkMaxFile, EFBIG;
  const auto first = static_cast<unsigned>(offset / kBlockBytes);
  const auto last = static_cast<unsigned>((offset + length - 1) / kBlockBytes);
  NodeBlock inode;
  if (!read_node(ino, &inode)) return done();
  unsigned blocks = 0, nids = 0;
  count_need(inode, first, last, &blocks, &nids);
  if (m_.used + blocks > config_.user_blocks()) return marks_ |= kMarkNoSpace, ENOSPC;
  if (!make_room(last - first + 1, nids, false)) return failed_ ? done() : ENOSPC;
  *cached = (m_.open >> ino & 1) != 0 && kPages - dirty_pages() >= kPagesForOp + (last - first + 1);
  return done();
}

// Into a page if the file is open and there are enough, else straight to the log.
bool F2fs::put_block(Nid ino, unsigned index, const Block& bytes, bool cached) {
  if (const int page = page_of(data_key(ino, index)); page >= 0) {
    m_.pages[page] = bytes;
    m_.changed = static_cast<uint16_t>(m_.changed | bit_of(ino));
    return true;
  }
  if (!cached) return store(ino, index, &bytes), !failed_;
  Nid owner = kNoNid;
  Blk* pointer = edit_pointer(ino, index, &owner);
  if (pointer == nullptr) return false;
  if (*pointer == kNoBlk) *pointer = kNewBlk, ++m_.used;
  std::memcpy(add_page(data_key(ino, index)), bytes.data(), bytes.size());
  return true;
}

int F2fs::end_write(Nid ino, uint64_t size) {
  NodeBlock* inode = edit_node(ino);
  if (inode == nullptr) return done();
  if (size > inode->inode.size) inode->inode.size = static_cast<uint32_t>(size);
  if ((m_.open >> ino & 1) == 0) write_pages(ino);
  return done();
}

// Gives up all blocks of the file from number `blocks` on, and the nodes that named only those.
void F2fs::cut(Nid ino, unsigned blocks) {
  NodeBlock inode;
  if (!read_node(ino, &inode)) return;
  for (unsigned i = blocks; i < kMaxFileBlocks; ++i) {
    const Blk at = block_at(inode, i);
    if (at == kNoBlk) continue;
    Nid owner = kNoNid;
    Blk* pointer = edit_pointer(ino, i, &owner);
    if (pointer == nullptr) return;
    *pointer = kNoBlk;
    drop_page(data_key(ino, i));
    drop_block(at);
    --m_.used;
  }
  for (unsigned offset = kFileNodes - 1; offset > 0; --offset) {
    if (blocks > first_index(offset == 2 ? 3 : offset)) continue;
    const Nid nid = node_of(inode, offset);
    if (nid >= kNids) continue;
    free_node(nid);
    if (offset >= 3) {
      if (NodeBlock* indirect = edit_node(inode.inode.indirect)) indirect->nodes[offset - 3] = kNoNid;
    } else if (NodeBlock* node = edit_node(ino)) {
      (offset == 1 ? node->inode.direct : node->inode.indirect) = kNoNid;
    }
  }
}

// Touches no page: nothing of the file is written any more.
void F2fs::free_file(Nid ino) {
  NodeBlock inode;
  if (!read_node(ino, &inode)) return;
  Nid nodes[kFileNodes];
  for (unsigned offset = 0; offset < kFileNodes; ++offset) nodes[offset] = node_of(inode, offset);
  for (unsigned i = 0; i < kMaxFileBlocks; ++i) {
    const Blk at = block_at(inode, i);
    if (at == kNoBlk) continue;
    drop_page(data_key(ino, i));
    drop_block(at);
    --m_.used;
  }
  for (const Nid nid : nodes) {
    if (nid < kNids && m_.nat[nid] != kNoBlk) free_node(nid);
  }
}

int F2fs::file_at(std::string_view path, Nid* ino, uint64_t* size) {
  const Where at = find(path);
  if (at.error != 0) return at.error;
  if (at.node == kNoNid) return ENOENT;
  if (at.type == Type::kDirectory) return EISDIR;
  NodeBlock inode;
  if (!read_node(at.node, &inode)) return done();
  *ino = at.node;
  *size = inode.inode.size;
  return 0;
}

int F2fs::read(Nid ino, uint64_t offset, std::span<std::byte> out) {
  NodeBlock inode;
  if (!read_node(ino, &inode)) return done();
  for (size_t at = 0; at < out.size();) {
    const uint64_t index = (offset + at) / kBlockBytes, skip = (offset + at) % kBlockBytes;
    const size_t count = std::min<size_t>(kBlockBytes - skip, out.size() - at);
    Block bytes;
    if (index >= kMaxFileBlocks) failed_ = true;
    if (failed_ || !read_block(inode, static_cast<unsigned>(index), &bytes)) return done();
    std::memcpy(out.data() + at, bytes.data() + skip, count);
    at += count;
  }
  return done();
}

int F2fs::truncate(std::string_view path, uint64_t size) {
  if (size > FileData::kMaxSize) return EINVAL;
  Nid ino = kNoNid;
  uint64_t old = 0;
  if (const int error = file_at(path, &ino, &old)) return error;
  if (size > uint64_t{kMaxFileBlocks} * kBlockBytes) return marks_ |= kMarkMaxFile, EFBIG;
  if (size == old) return 0;
  if (!make_room(0, 0, true)) return failed_ ? done() : ENOSPC;
  if (size < old) {
    const auto blocks = static_cast<unsigned>((size + kBlockBytes - 1) / kBlockBytes);
    cut(ino, blocks);
    NodeBlock inode;
    Block bytes;
    // What lies behind the end of a file is zero, so that growing it again shows nothing old.
    if (size % kBlockBytes != 0 && read_node(ino, &inode) && block_at(inode, blocks - 1) != kNoBlk &&
        read_block(inode, blocks - 1, &bytes)) {
      std::fill(bytes.begin() + static_cast<ptrdiff_t>(size % kBlockBytes), bytes.end(), std::byte{});
      put_block(ino, blocks - 1, bytes, false);
    }
  }
  NodeBlock* inode = edit_node(ino);
  if (inode == nullptr) return done();
  inode->inode.size = static_cast<uint32_t>(size);
  if ((m_.open >> ino & 1) == 0) write_pages(ino);
  return done();
}

int F2fs::open(std::string_view path) {
  Nid ino = kNoNid;
  uint64_t size = 0;
  if (const int error = file_at(path, &ino, &size)) return error;
  m_.open = static_cast<uint16_t>(m_.open | bit_of(ino));
  return 0;
}

int F2fs::close(std::string_view path) {
  Nid ino = kNoNid;
  uint64_t size = 0;
  if (const int error = file_at(path, &ino, &size)) return error;
  m_.open = static_cast<uint16_t>(m_.open & ~bit_of(ino));
  if (!make_room(0, 0, true)) return ENOSPC;
  write_pages(ino);
  return done();
}

// Whether roll-forward, which starts from the last checkpoint, would bring the file back under the path that
// it has now: neither it nor a directory above it was renamed, no directory above is new, and a new name is
// not one that the directory of the checkpoint may still have for another file.
bool F2fs::rolls_forward(Nid ino) {
  if ((m_.moved & bit_of(ino)) != 0) return false;
  NodeBlock inode;
  if (!read_node(ino, &inode)) return false;
  const bool fresh = (m_.fresh & bit_of(ino)) != 0;
  if (fresh && (m_.shrunk & bit_of(inode.inode.parent)) != 0) return false;
  for (unsigned steps = 0; inode.footer.nid != kRoot; ++steps) {
    const Nid parent = inode.inode.parent;
    if (steps > kNids || !read_node(parent, &inode)) return false;
    if (((m_.moved | m_.fresh) & bit_of(parent)) != 0) return false;
  }
  return true;
}

// Data and inner nodes first, then a flush, then the inode with the mark: who finds the mark finds the rest.
// An indirect node that was written since the checkpoint is in another log, and is written to this one again.
int F2fs::fsync(std::string_view path) {
  const Where at = find(path);
  if (at.error != 0) return at.error;
  if (at.node == kNoNid) return ENOENT;
  const Nid ino = at.node;
  if (at.type == Type::kFile && (m_.changed & bit_of(ino)) == 0) return 0;
  if (!make_room(0, 0, true)) return ENOSPC;
  if (at.type == Type::kDirectory || !rolls_forward(ino)) {
    failed_ = false;
    marks_ |= kMarkFsyncCheckpoint;
    checkpoint();
    return done();
  }
  if ((m_.changed & bit_of(ino)) == 0) return done();  // making room wrote a checkpoint
  NodeBlock inode;
  for (unsigned i = 0; i < kPages; ++i) {
    const PageKey key = m_.keys[i];
    if (key != 0 && !is_node(key) && nid_of(key) == ino) write_data_page(key);
  }
  if (edit_node(ino) == nullptr || !read_node(ino, &inode)) return done();
  for (unsigned offset = kFileNodes - 1; offset > 0; --offset) {
    const Nid nid = node_of(inode, offset);
    if (nid == kNoNid) continue;
    if (offset == 2 && (m_.changed & bit_of(nid)) != 0) (void)edit_node(nid);
    if (page_of(node_key(nid)) >= 0) write_node(nid, true, false, false);
  }
  flush_disk();
  write_node(ino, true, true, (m_.fresh & bit_of(ino)) != 0);
  flush_disk();
  return done();
}

}  // namespace sisyfs::f2fs
