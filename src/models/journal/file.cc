#include <algorithm>

#include "models/journal/core.h"
#include "tree/file_data.h"

namespace sisyfs::journal {

// An address that a pointer holds: 0 if there is none, or if it leads nowhere, which is an I/O error.
Address Core::good_address(Address address) {
  if (address == 0 || layout_.is_data(address)) return address;
  failed_ = EIO;
  return 0;
}

Address Core::block_of(const Inode& inode, unsigned block) {
  if (block < kDirectPointers) return good_address(inode.direct[block]);
  const Address indirect = good_address(inode.indirect);
  if (indirect == 0 || block >= kMaxFileBlocks) return 0;
  return good_address(read_as<IndirectBlock>(indirect).address[block - kDirectPointers]);
}

// The same, and a new block where there is none.
Address Core::make_block(Inode& inode, unsigned block) {
  if (const Address there = block_of(inode, block); there != 0 || failed_ != 0) return there;
  if (block >= kDirectPointers && inode.indirect == 0) {
    inode.indirect = take_block();
    if (inode.indirect != 0) edit(inode.indirect, Kind::kIndirect, true);
  }
  const Address fresh = take_block();
  if (failed_ != 0) return 0;
  if (block < kDirectPointers) {
    inode.direct[block] = fresh;
  } else {
    auto indirect = read_as<IndirectBlock>(inode.indirect);
    indirect.address[block - kDirectPointers] = fresh;
    put(inode.indirect, Kind::kIndirect, indirect);
  }
  edit(fresh, Kind::kData, true);
  return fresh;
}

// Gives up the blocks from `first` on, and the indirect block with the last that it leads to.
void Core::free_blocks(Inode& inode, unsigned first) {
  for (unsigned b = first; b < kDirectPointers; ++b) {
    free_block(good_address(inode.direct[b]));
    inode.direct[b] = 0;
  }
  const Address at = good_address(inode.indirect);
  if (at == 0) return;
  auto indirect = read_as<IndirectBlock>(at);
  bool changed = false, left = false;
  for (unsigned b = 0; b < kIndirectPointers; ++b) {
    if (b + kDirectPointers < first) {
      left = left || indirect.address[b] != 0;
    } else if (indirect.address[b] != 0) {
      free_block(good_address(indirect.address[b]));
      indirect.address[b] = 0;
      changed = true;
    }
  }
  if (!left) {
    free_block(at);
    inode.indirect = 0;
  } else if (changed) {
    put(at, Kind::kIndirect, indirect);
  }
}

// A file grows from here: its last block may hold bytes behind the end, of a write whose data came to the
// disk and whose transaction did not.
void Core::zero_tail(const Inode& inode) {
  const unsigned rest = inode.size % kBlockSize;
  const Address address = rest == 0 ? Address{0} : block_of(inode, inode.size / kBlockSize);
  if (address != 0) std::memset(edit(address, Kind::kData) + rest, 0, kBlockSize - rest);
}

int Core::open(std::string_view path) {
  failed_ = 0;
  const Found at = find(path, Last::kFollow);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  if (inode(at.node).type == Type::kDirectory) return EISDIR;
  if ((memory_.open & only(at.node)) != 0) return EBUSY;
  if (failed_ != 0) return failed_;
  memory_.open |= only(at.node);
  return 0;
}

int Core::close(std::string_view path) {
  failed_ = 0;
  const Found at = find(path, Last::kFollow);
  if (failed_ != 0) return failed_;
  return at.error != 0 || at.node == 0 ? EBADF : close(at.node);
}

int Core::close(Ino ino) {
  failed_ = 0;
  if (ino >= config_.inodes || (memory_.open & only(ino)) == 0) return EBADF;
  if ((memory_.orphans & only(ino)) != 0) {
    if (const int error = reserve({.metadata = 4})) return error;
  }
  begin();
  memory_.open &= static_cast<InoSet>(~only(ino));
  if ((memory_.orphans & only(ino)) != 0) {
    marks_ |= kOrphanFreed;
    free_inode(ino);
  }
  return end();
}

int Core::write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes, bool o_sync) {
  failed_ = 0;
  const Found at = find(path, Last::kFollow);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  Inode file = inode(at.node);
  if (file.type == Type::kDirectory) return EISDIR;
  if (file.type != Type::kFile) return EIO;
  if (offset > FileData::kMaxSize) return EINVAL;
  if (bytes.empty()) return 0;
  if (offset > max_file_size() || bytes.size() > max_file_size() - offset) {
    marks_ |= kFileTooBig;
    return EFBIG;
  }
  const auto first = static_cast<unsigned>(offset / kBlockSize);
  const auto last = static_cast<unsigned>((offset + bytes.size() - 1) / kBlockSize);
  if (last + 1 == kMaxFileBlocks) marks_ |= kFileTooBig;
  Needs needs{.metadata = 3, .data = last - first + 2};
  for (unsigned b = first; b <= last; ++b) needs.blocks += block_of(file, b) == 0 ? 1 : 0;
  if (last >= kDirectPointers && file.indirect == 0) ++needs.blocks;
  if (const int error = reserve(needs)) return error;

  begin();
  if (offset + bytes.size() > file.size) zero_tail(file);
  for (unsigned b = first; b <= last && failed_ == 0; ++b) {
    const uint64_t start = std::max<uint64_t>(offset, uint64_t{b} * kBlockSize);
    const uint64_t stop = std::min<uint64_t>(offset + bytes.size(), uint64_t{b + 1} * kBlockSize);
    const Address address = make_block(file, b);
    if (address == 0) break;
    std::byte* page = edit(address, Kind::kData, stop - start == kBlockSize);
    std::memcpy(page + start % kBlockSize, bytes.data() + (start - offset), stop - start);
  }
  file.size = static_cast<uint16_t>(std::max<uint64_t>(file.size, offset + bytes.size()));
  if (const Inode before = inode(at.node); std::memcmp(&before, &file, sizeof file) != 0)
    put_inode(at.node, file);
  return end(o_sync ? Ending::kWriteSync : Ending::kWrite);
}

int Core::truncate(std::string_view path, uint64_t size) {
  if (size > FileData::kMaxSize) return EINVAL;
  failed_ = 0;
  const Found at = find(path, Last::kFollow);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  Inode file = inode(at.node);
  if (file.type == Type::kDirectory) return EISDIR;
  if (file.type != Type::kFile) return EIO;
  if (size > max_file_size()) {
    marks_ |= kFileTooBig;
    return EFBIG;
  }
  if (file.size == size) return failed_;
  if (const int error = reserve({.metadata = 3, .data = 1})) return error;

  begin();
  if (size < file.size) {
    const auto keep = static_cast<unsigned>((size + kBlockSize - 1) / kBlockSize);
    free_blocks(file, keep);
    file.size = static_cast<uint16_t>(size);
    // What is cut off of the last block would come back with the next write into it.
    zero_tail(file);
  } else {
    zero_tail(file);
    file.size = static_cast<uint16_t>(size);
  }
  put_inode(at.node, file);
  return end();
}

int Core::read(Ino ino, uint64_t offset, uint64_t length, std::span<const std::byte>* out) {
  const Inode file = inode(ino);
  *out = {};
  if (failed_ != 0 || file.size > max_file_size()) return EIO;
  if (offset >= file.size) return 0;
  length = std::min<uint64_t>(length, file.size - offset);
  const auto first = static_cast<unsigned>(offset / kBlockSize);
  for (unsigned b = first; uint64_t{b} * kBlockSize < offset + length; ++b) {
    std::byte* to = buffer_.data() + size_t{b - first} * kBlockSize;
    if (const Address address = block_of(file, b); address != 0)
      read_block(address, to);
    else
      std::memset(to, 0, kBlockSize);
  }
  *out = std::span<const std::byte>(buffer_).subspan(offset % kBlockSize, length);
  return failed_;
}

}  // namespace sisyfs::journal
