#include <algorithm>

#include "models/f2fs/core.h"

namespace sisyfs::f2fs {
namespace {

Address& entry_of(Node& node, unsigned index) {
  return node.kind == NodeKind::kInode ? node.inode.data[index % kInodeData]
                                       : node.data[index % kTableEntries];
}

}  // namespace

// --- nodes ---

Log Core::log_of(const Node& node) {
  if (node.kind == NodeKind::kIndirect) return kColdNode;
  return node.directory != 0 ? kHotNode : kWarmNode;
}

Node Core::node(Nid nid) {
  if (nid < config_.nids && (memory_.dirty_nodes & only(nid)) != 0) return memory_.nodes[nid];
  Node out{};
  const Address address = nid < config_.nids ? memory_.nat[nid].address : kNoAddress;
  if (layout_.is_main(address)) out = read_as<Node>(address);
  const bool good = out.magic == kNodeMagic && out.footer.nid == nid && out.kind <= NodeKind::kIndirect &&
                    out.footer.offset < kNodeOffsets && out.directory <= 1;
  if (good) return out;
  failed_ = EIO;
  return {};
}

Node& Core::edit(Nid nid) {
  nid = static_cast<Nid>(nid % kMaxNids);
  if ((memory_.dirty_nodes & only(nid)) == 0) {
    memory_.nodes[nid] = node(nid);
    NodeFooter& footer = memory_.nodes[nid].footer;
    footer = {nid, footer.ino, footer.offset, 0, 0, 0, 0};
    memory_.dirty_nodes |= only(nid);
  }
  memory_.unsynced |= only(static_cast<Nid>(memory_.nat[nid].ino % kMaxNids));
  memory_.changed = 1;
  return memory_.nodes[nid];
}

Nid Core::new_node(NodeKind kind, Nid ino, unsigned offset, bool directory) {
  for (Nid nid = kRootNid; nid < static_cast<Nid>(config_.nids); ++nid) {
    NatEntry& entry = memory_.nat[nid];
    if (entry.address != kNoAddress || (memory_.blocked & only(nid)) != 0) continue;
    entry.address = kNewAddress;
    entry.ino = kind == NodeKind::kInode ? nid : ino;
    Node fresh{};
    fresh.magic = kNodeMagic;
    fresh.kind = kind;
    fresh.directory = directory ? 1 : 0;
    fresh.footer.nid = nid;
    fresh.footer.ino = entry.ino;
    fresh.footer.offset = static_cast<uint8_t>(offset);
    memory_.nodes[nid] = fresh;
    memory_.dirty_nodes |= only(nid);
    memory_.nat_dirty = static_cast<uint16_t>(memory_.nat_dirty | 1u << nid / kTableEntries);
    memory_.unsynced |= only(entry.ino);
    memory_.changed = 1;
    ++memory_.used_blocks;
    return nid;
  }
  if (failed_ == 0) failed_ = ENOSPC;
  return 0;
}

void Core::free_node(Nid nid) {
  if (nid == 0 || nid >= config_.nids) {
    failed_ = EIO;
    return;
  }
  NatEntry& entry = memory_.nat[nid];
  set_invalid(entry.address);
  const bool known = entry.address != kNewAddress;
  entry = {kNoAddress, 0, static_cast<uint8_t>(entry.version + (known ? 1 : 0))};
  memory_.nodes[nid] = {};
  memory_.dirty_nodes &= static_cast<NidSet>(~only(nid));
  memory_.nat_dirty = static_cast<uint16_t>(memory_.nat_dirty | 1u << nid / kTableEntries);
  // A nid that was never on the disk can be used again: no chain of nodes tells of it.
  if (known) memory_.blocked |= only(nid);
  const auto others = static_cast<NidSet>(~only(nid));
  memory_.moved &= others;
  memory_.lost &= others;
  memory_.cut &= others;
  memory_.unsynced &= others;
  memory_.open &= others;
  memory_.changed = 1;
  --memory_.used_blocks;
}

void Core::flush_node(Nid nid, uint8_t flags) {
  Node out = edit(nid);
  const Log log = log_of(out);
  const Address address = allocate(log, nid, kIsNode);
  out.footer.flags = flags;
  out.footer.version = memory_.version;
  out.footer.next = position(log);
  write_block(address, &out, sizeof out);
  set_invalid(memory_.nat[nid].address);
  memory_.nat[nid].address = address;
  memory_.nat_dirty = static_cast<uint16_t>(memory_.nat_dirty | 1u << nid / kTableEntries);
  memory_.nodes[nid] = {};
  memory_.dirty_nodes &= static_cast<NidSet>(~only(nid));
}

// --- pointers ---

Core::Slot Core::slot_of(Nid ino, unsigned block) {
  if (block < kInodeData) return {ino, static_cast<uint8_t>(block)};
  const Node inode = node(ino);
  block -= kInodeData;
  if (block < kTableEntries) return {inode.inode.direct, static_cast<uint8_t>(block)};
  block -= kTableEntries;
  if (inode.inode.indirect == 0) return {};
  const Node indirect = node(inode.inode.indirect);
  return {indirect.nodes[block / kTableEntries % kTableEntries], static_cast<uint8_t>(block % kTableEntries)};
}

Core::Slot Core::make_slot(Nid ino, unsigned block) {
  Slot slot = slot_of(ino, block);
  if (slot.nid != 0 || failed_ != 0) return slot;
  const bool directory = node(ino).directory != 0;
  if (block < kInodeData + kTableEntries) {
    const Nid direct = new_node(NodeKind::kDirect, ino, 1, directory);
    edit(ino).inode.direct = direct;
  } else {
    Nid indirect = node(ino).inode.indirect;
    if (indirect == 0) {
      indirect = new_node(NodeKind::kIndirect, ino, 2, directory);
      edit(ino).inode.indirect = indirect;
    }
    const unsigned which = (block - kInodeData - kTableEntries) / kTableEntries % kTableEntries;
    const Nid direct = new_node(NodeKind::kDirect, ino, 3 + which, directory);
    if (failed_ == 0) edit(indirect).nodes[which] = direct;
  }
  return failed_ != 0 ? Slot{} : slot_of(ino, block);
}

// How many nodes are missing for the blocks first .. last of a file.
unsigned Core::nodes_missing(Nid ino, unsigned first, unsigned last) {
  unsigned missing = 0;
  for (unsigned b = first; b <= last && b < kMaxFileBlocks; ++b) {
    const bool starts =
        b == first || b == kInodeData || (b > kInodeData && (b - kInodeData) % kTableEntries == 0);
    if (starts && slot_of(ino, b).nid == 0) ++missing;
  }
  if (last >= kInodeData + kTableEntries && node(ino).inode.indirect == 0) ++missing;
  return missing;
}

Address Core::pointer(Slot slot) {
  if (slot.nid == 0) return kNoAddress;
  Node holder = node(slot.nid);
  if (holder.kind == NodeKind::kIndirect) failed_ = EIO;
  const Address address = entry_of(holder, slot.index);
  if (address != kNoAddress && address != kNewAddress && !layout_.is_main(address)) failed_ = EIO;
  return failed_ != 0 ? kNoAddress : address;
}

void Core::set_pointer(Slot slot, Address address) {
  if (failed_ == 0 && slot.nid != 0) entry_of(edit(slot.nid), slot.index) = address;
}

// --- pages ---

unsigned Core::page_count() const { return std::min(kMaxPages, kPoolBytes / config_.block_size); }

unsigned Core::find_page(Nid ino, unsigned block) const {
  for (unsigned p = 0; p < kMaxPages; ++p) {
    if (memory_.keys[p].ino == ino && memory_.keys[p].block == block) return p;
  }
  return kMaxPages;
}

// The page of a block, to be filled by the caller if it is new. File data makes way before dentries do.
std::byte* Core::put_page(Nid ino, unsigned block, Log log) {
  memory_.changed = 1;
  memory_.unsynced |= only(static_cast<Nid>(ino % kMaxNids));
  const unsigned known = find_page(ino, block);
  if (known < kMaxPages) return page_bytes(known);
  unsigned free = 0;
  while (free < page_count() && memory_.keys[free].ino != 0) ++free;
  if (free == page_count()) {
    marks_ |= kPageEvicted;
    for (free = 0; free < page_count() && memory_.keys[free].log != kWarmData; ++free) {
    }
    if (free == page_count()) free = 0;
    flush_page(free);
  }
  memory_.keys[free] = {ino, static_cast<uint8_t>(block), log};
  return page_bytes(free);
}

void Core::drop_page(unsigned page) {
  memory_.keys[page] = {};
  std::memset(page_bytes(page), 0, config_.block_size);
}

void Core::flush_page(unsigned page) {
  const PageKey key = memory_.keys[page];
  const Slot slot = slot_of(key.ino, key.block);
  const Address old = pointer(slot);
  if (slot.nid == 0 || failed_ != 0) {
    if (failed_ == 0) failed_ = EIO;
    return;
  }
  const Address address = allocate(key.log, slot.nid, slot.index);
  write_block(address, page_bytes(page), config_.block_size);
  set_invalid(old);
  set_pointer(slot, address);
  drop_page(page);
}

void Core::read_data(Nid ino, unsigned block, std::byte* out) {
  const unsigned page = find_page(ino, block);
  if (page < kMaxPages) {
    std::memcpy(out, page_bytes(page), config_.block_size);
    return;
  }
  const Address address = pointer(slot_of(ino, block));
  if (layout_.is_main(address)) {
    read_block(address, out);
    return;
  }
  if (address == kNewAddress) failed_ = EIO;
  std::memset(out, 0, config_.block_size);
}

// --- whole files ---

void Core::drop_block(Nid ino, unsigned block) {
  const unsigned page = find_page(ino, block);
  if (page < kMaxPages) drop_page(page);
  const Slot slot = slot_of(ino, block);
  const Address address = pointer(slot);
  if (address == kNoAddress) return;
  set_invalid(address);
  set_pointer(slot, kNoAddress);
  --memory_.used_blocks;
}

// Gives up the direct and indirect nodes that map nothing below block `first`.
void Core::drop_nodes_from(Nid ino, unsigned first) {
  const Node inode = node(ino);
  if (inode.inode.direct != 0 && first <= kInodeData) {
    free_node(inode.inode.direct);
    edit(ino).inode.direct = 0;
    memory_.cut |= only(ino);
  }
  if (inode.inode.indirect == 0) return;
  const Node indirect = node(inode.inode.indirect);
  for (unsigned i = 0; i < kTableEntries; ++i) {
    if (indirect.nodes[i] == 0 || first > first_block_of(3 + i)) continue;
    free_node(indirect.nodes[i]);
    edit(inode.inode.indirect).nodes[i] = 0;
    memory_.cut |= only(ino);
  }
  if (first > first_block_of(3) || failed_ != 0) return;
  free_node(inode.inode.indirect);
  edit(ino).inode.indirect = 0;
}

void Core::free_file(Nid ino) {
  for (unsigned b = 0; b < kMaxFileBlocks; ++b) {
    if (slot_of(ino, b).nid != 0) drop_block(ino, b);
  }
  drop_nodes_from(ino, 0);
  free_node(ino);
}

// Writes what is dirty of a file, its data first and its inode last.
void Core::flush_file(Nid ino) {
  for (unsigned p = 0; p < kMaxPages; ++p) {
    if (memory_.keys[p].ino == ino) flush_page(p);
  }
  for (Nid nid = kRootNid; nid < static_cast<Nid>(config_.nids); ++nid) {
    if (nid != ino && memory_.nat[nid].ino == ino && (memory_.dirty_nodes & only(nid)) != 0)
      flush_node(nid, 0);
  }
  if ((memory_.dirty_nodes & only(ino)) != 0) flush_node(ino, 0);
}

}  // namespace sisyfs::f2fs
