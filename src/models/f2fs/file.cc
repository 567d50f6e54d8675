#include <algorithm>

#include "models/f2fs/core.h"
#include "tree/file_data.h"

namespace sisyfs::f2fs {

int Core::open(std::string_view path) {
  failed_ = 0;
  const Found at = find(path);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  if (node(at.node).directory != 0) return EISDIR;
  memory_.open |= only(at.node);
  return 0;
}

int Core::close(std::string_view path) {
  failed_ = 0;
  const Found at = find(path);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  if (node(at.node).directory != 0) return EISDIR;
  begin();
  memory_.open &= static_cast<NidSet>(~only(at.node));
  flush_file(at.node);
  return end();
}

int Core::write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes) {
  failed_ = 0;
  const Found at = find(path);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  if (node(at.node).directory != 0) return EISDIR;
  if (offset > FileData::kMaxSize) return EINVAL;
  if (bytes.empty()) return 0;
  if (offset > max_file_size(config_) || bytes.size() > max_file_size(config_) - offset) {
    marks_ |= kFileTooBig;
    return EFBIG;
  }
  const Nid ino = at.node;
  const unsigned size = config_.block_size;
  const auto first = static_cast<unsigned>(offset / size);
  const auto last = static_cast<unsigned>((offset + bytes.size() - 1) / size);
  if (last + 1 == kMaxFileBlocks) marks_ |= kFileTooBig;
  const unsigned nodes = nodes_missing(ino, first, last);
  unsigned fresh = nodes;
  for (unsigned b = first; b <= last; ++b) fresh += pointer(slot_of(ino, b)) == kNoAddress;
  Needs needs{};
  needs[kWarmData] = last - first + 1;
  needs[kWarmNode] = 1 + (last - first + kTableEntries) / kTableEntries;
  needs[kColdNode] = last >= kInodeData + kTableEntries ? 1 : 0;
  if (failed_ != 0) return failed_;
  const bool cached = (memory_.open & only(ino)) != 0;
  // A write over blocks that are there needs no more of the capacity, and may end in the reserve: so it can
  // begin with room for its first block, and makes more between its blocks, as F2FS does for each page.
  const bool in_parts = fresh == 0 && !cached && first != last;
  if (const int error = reserve(needs, fresh, nodes, in_parts)) return error;
  if (in_parts) {
    Needs start{};
    start[kWarmData] = 1;
    start[kWarmNode] = needs[kWarmNode];
    if (const int error = reserve(start, 0, 0, false)) return error;
  }

  begin();
  std::array<std::byte, kMaxBlockSize> block;
  for (unsigned b = first; b <= last && failed_ == 0; ++b) {
    if (in_parts && b != first) balance(needs);
    --needs[kWarmData];
    if (failed_ != 0) break;
    const uint64_t start = std::max<uint64_t>(offset, uint64_t{b} * size);
    const uint64_t stop = std::min<uint64_t>(offset + bytes.size(), uint64_t{b + 1} * size);
    if (stop - start != size) read_data(ino, b, block.data());
    std::memcpy(block.data() + start % size, bytes.data() + (start - offset), stop - start);
    const Slot slot = make_slot(ino, b);
    const Address old = pointer(slot);
    if (slot.nid == 0 || failed_ != 0) break;
    if (old == kNoAddress) ++memory_.used_blocks;
    if (cached) {
      if (old == kNoAddress) set_pointer(slot, kNewAddress);
      std::memcpy(put_page(ino, b, kWarmData), block.data(), size);
      continue;
    }
    const Address address = allocate(kWarmData, slot.nid, slot.index);
    write_block(address, block.data(), size);
    set_invalid(old);
    set_pointer(slot, address);
  }
  InodeBody& inode = edit(ino).inode;
  inode.size = static_cast<uint32_t>(std::max<uint64_t>(inode.size, offset + bytes.size()));
  if (!cached && failed_ == 0) flush_file(ino);
  return end();
}

int Core::truncate(std::string_view path, uint64_t size) {
  if (size > FileData::kMaxSize) return EINVAL;
  failed_ = 0;
  const Found at = find(path);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  const Node before = node(at.node);
  if (before.directory != 0) return EISDIR;
  if (size > max_file_size(config_)) {
    marks_ |= kFileTooBig;
    return EFBIG;
  }
  if (before.inode.size == size) return failed_;
  const Nid ino = at.node;
  Needs needs{};
  needs[kWarmData] = 1;
  needs[kWarmNode] = 2;
  needs[kColdNode] = 1;
  if (const int error = reserve(needs, 0, 0, size < before.inode.size)) return error;

  begin();
  const bool cached = (memory_.open & only(ino)) != 0;
  const auto keep = static_cast<unsigned>((size + config_.block_size - 1) / config_.block_size);
  if (size < before.inode.size) {
    for (unsigned b = keep; b < kMaxFileBlocks; ++b) {
      if (slot_of(ino, b).nid != 0) drop_block(ino, b);
    }
    drop_nodes_from(ino, keep);
    // What is cut off of the last block must not come back when the file grows.
    const auto rest = static_cast<unsigned>(size % config_.block_size);
    const Address old = rest == 0 ? kNoAddress : pointer(slot_of(ino, keep - 1));
    if (old != kNoAddress) {
      std::array<std::byte, kMaxBlockSize> block;
      read_data(ino, keep - 1, block.data());
      std::memset(block.data() + rest, 0, config_.block_size - rest);
      std::memcpy(put_page(ino, keep - 1, kWarmData), block.data(), config_.block_size);
    }
  }
  edit(ino).inode.size = static_cast<uint32_t>(size);
  if (!cached && failed_ == 0) flush_file(ino);
  return end();
}

int Core::read(Nid ino, uint64_t offset, uint64_t length, std::span<const std::byte>* out) {
  const uint64_t size = node(ino).inode.size;
  *out = {};
  if (failed_ != 0 || size > max_file_size(config_)) return EIO;
  if (offset >= size) return 0;
  length = std::min(length, size - offset);
  const unsigned unit = config_.block_size;
  const auto first = static_cast<unsigned>(offset / unit);
  for (unsigned b = first; uint64_t{b} * unit < offset + length; ++b)
    read_data(ino, b, buffer_.data() + size_t{b - first} * unit);
  *out = std::span<const std::byte>(buffer_).subspan(offset % unit, length);
  return failed_;
}

// Whether roll-forward would find this file under the path that it has now: the directories above it are
// where the checkpoint has them, and either the file is too, or its entry can be made again without
// meeting one that is gone by now and would be back.
bool Core::path_is_checkpointed(Nid ino, const Node& inode) {
  if (((memory_.moved | memory_.cut) & only(ino)) != 0) return false;
  const bool known = (memory_.checkpointed & only(ino)) != 0;
  Nid at = inode.inode.parent;
  if (!known && (memory_.lost & only(static_cast<Nid>(at % kMaxNids))) != 0) return false;
  for (unsigned steps = 0; at != kRootNid; ++steps) {
    if (at == 0 || at >= config_.nids || steps == kMaxNids) return false;
    if ((memory_.checkpointed & only(at)) == 0 || (memory_.moved & only(at)) != 0) return false;
    at = node(at).inode.parent;
  }
  return true;
}

int Core::fsync(std::string_view path) {
  failed_ = 0;
  const Found at = find(path);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  const Node inode = node(at.node);
  if (failed_ != 0) return failed_;
  if (memory_.changed == 0) return 0;
  if (inode.directory != 0 || !path_is_checkpointed(at.node, inode)) return checkpoint();
  if ((memory_.unsynced & only(at.node)) == 0) return 0;
  Needs needs{};
  needs[kWarmNode] = 3;
  if (const int error = reserve(needs, 0, 0, true)) return error;
  if ((memory_.unsynced & only(at.node)) == 0) return 0;  // making room has written a checkpoint
  begin();
  const bool known = (memory_.checkpointed & only(at.node)) != 0;
  // The marked inode commits the rest, and so comes after it: with a flush between them, as in a checkpoint.
  flush_file(at.node);
  flush_disk();
  flush_node(at.node, static_cast<uint8_t>(kFsyncMark | (known ? 0 : kDentryMark)));
  flush_disk();
  memory_.unsynced &= static_cast<NidSet>(~only(at.node));
  return end();
}

}  // namespace sisyfs::f2fs
