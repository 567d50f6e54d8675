// Roll-forward: what fsync made durable after the checkpoint, applied at mount.
//
// fsync writes the dirty data, direct nodes and last the inode of a file; all nodes of files go to the warm
// log, and each says where the next one will be. So from the place where the checkpoint left that log a
// chain leads through all nodes written since; it ends where a block does not carry the checkpoint's version.
// For each file with a marked inode the newest marked one counts, with the newest version of each of its
// direct nodes before it. Indirect nodes are in another log and are built again: the inode says their nid.
//
// The file as the checkpoint has it is let go, and the one from the chain claimed, block by block. A
// new file gets its directory entry. Until the checkpoint that follows is complete nothing of the chain
// and of the old checkpoint is written over, so that a crash in here just starts it again.
#include <algorithm>

#include "models/f2fs/core.h"

namespace sisyfs::f2fs {

// The chain, and for each nid and file what matters of it.
struct Core::Chain {
  struct Place {
    Address address;
    Node node;
  };
  std::array<Place, kMaxSegments * kSegmentBlocks> places;
  unsigned length = 0;
  std::array<unsigned, kMaxNids> synced{};  // by ino: one more than the place of its last marked inode
};

void Core::follow_chain(Chain& chain) {
  std::array<bool, kMaxSegments * kSegmentBlocks> seen{};
  for (Address at = position(kWarmNode); layout_.is_main(at);) {
    bool& here = seen[layout_.segment_of(at) * kSegmentBlocks + layout_.offset_of(at)];
    if (here) return;
    here = true;
    const Node found = read_as<Node>(at);
    const bool good = found.magic == kNodeMagic && found.footer.version == memory_.version &&
                      found.footer.nid != 0 && found.footer.nid < config_.nids && found.footer.ino != 0 &&
                      found.footer.ino < config_.nids && found.footer.offset < kNodeOffsets;
    if (!good) return;
    chain.places[chain.length++] = {at, found};
    const bool inode = found.kind == NodeKind::kInode && found.footer.nid == found.footer.ino;
    if (inode && (found.footer.flags & kFsyncMark) != 0) chain.synced[found.footer.ino] = chain.length;
    at = found.footer.next;
  }
}

// Lets go of all blocks and nodes of a file.
void Core::release_file(Nid ino) {
  const Node inode = node(ino);
  for (unsigned b = 0; b < kMaxFileBlocks; ++b) set_invalid(pointer(slot_of(ino, b)));
  const Node indirect = inode.inode.indirect != 0 ? node(inode.inode.indirect) : Node{};
  const auto release = [&](Nid nid) {
    if (nid == 0) return;
    if (nid >= config_.nids || memory_.nat[nid].ino != ino) {
      failed_ = EIO;
      return;
    }
    set_invalid(memory_.nat[nid].address);
    memory_.nat[nid].address = kNoAddress;
    memory_.nat[nid].ino = 0;
    memory_.nat_dirty = static_cast<uint16_t>(memory_.nat_dirty | 1u << nid / kTableEntries);
  };
  for (unsigned i = 0; i < kTableEntries; ++i) release(indirect.nodes[i]);
  release(inode.inode.indirect);
  release(inode.inode.direct);
  release(ino);
}

// A block that is used from now on, with its owner in the summaries.
void Core::claim(Address address, Nid nid, uint8_t index) {
  if (address == kNoAddress) return;
  if (!layout_.is_main(address)) {
    failed_ = EIO;
    return;
  }
  const unsigned segment = layout_.segment_of(address), offset = layout_.offset_of(address);
  if ((memory_.valid[segment] >> offset & 1) != 0) failed_ = EIO;  // it is another's
  set_valid(address);
  withhold_segment(segment);
  auto block = read_as<SsaBlock>(layout_.ssa(segment));
  const Summary owner{nid, index, memory_.nat[nid].version};
  if (block.entries[offset] == owner) return;
  block.entries[offset] = owner;
  write_block(layout_.ssa(segment), &block, sizeof block);
}

void Core::claim_file(Nid ino) {
  for (unsigned b = 0; b < kMaxFileBlocks; ++b) {
    const Slot slot = slot_of(ino, b);
    if (slot.nid != 0) claim(pointer(slot), slot.nid, slot.index);
  }
}

// Puts the file as it was synced in the place of what the checkpoint has.
void Core::install(Nid ino, const Chain& chain) {
  const unsigned last = chain.synced[ino];
  const Node inode = chain.places[last - 1].node;
  const bool known = memory_.nat[ino].address != kNoAddress;
  Node old_indirect{};
  const Nid indirect = inode.inode.indirect;
  if (indirect >= config_.nids || (!known && (inode.footer.flags & kDentryMark) == 0)) {
    failed_ = EIO;
    return;
  }
  if (indirect != 0 && memory_.nat[indirect].address != kNoAddress) old_indirect = node(indirect);
  std::array<NatEntry, kMaxNids> before = memory_.nat;
  if (known) release_file(ino);

  std::array<const Chain::Place*, kNodeOffsets> newest{};
  for (unsigned i = 0; i < last; ++i) {
    const Chain::Place& place = chain.places[i];
    if (place.node.footer.ino == ino && place.node.kind != NodeKind::kIndirect)
      newest[place.node.footer.offset] = &place;
  }
  newest[0] = &chain.places[last - 1];
  const auto use = [&](Nid nid, Address address) {
    if (nid == 0 || nid >= config_.nids || memory_.nat[nid].address != kNoAddress) {
      failed_ = EIO;
      return;
    }
    memory_.nat[nid].address = address;
    memory_.nat[nid].ino = ino;
    memory_.nat_dirty = static_cast<uint16_t>(memory_.nat_dirty | 1u << nid / kTableEntries);
    if (layout_.is_main(address)) claim(address, nid, kIsNode);
  };
  use(ino, newest[0]->address);
  // A direct node that was not written since is the one that the checkpoint has.
  const auto use_direct = [&](unsigned offset, Nid nid) {
    if (nid == 0 || nid >= config_.nids) return;
    const bool written = newest[offset] != nullptr && newest[offset]->node.footer.nid == nid;
    if (!written && before[nid].address == kNoAddress) failed_ = EIO;
    if (failed_ == 0) use(nid, written ? newest[offset]->address : before[nid].address);
  };
  use_direct(1, inode.inode.direct);
  if (indirect != 0 && failed_ == 0) {
    Node rebuilt{};
    rebuilt.magic = kNodeMagic;
    rebuilt.kind = NodeKind::kIndirect;
    rebuilt.footer.nid = indirect;
    rebuilt.footer.ino = ino;
    rebuilt.footer.offset = 2;
    if (old_indirect.footer.ino == ino) rebuilt.nodes = old_indirect.nodes;
    for (unsigned i = 0; i < kTableEntries; ++i) {
      if (newest[3 + i] != nullptr) rebuilt.nodes[i] = newest[3 + i]->node.footer.nid;
      use_direct(3 + i, rebuilt.nodes[i]);
    }
    use(indirect, kNewAddress);
    memory_.nodes[indirect] = rebuilt;
    memory_.dirty_nodes |= only(indirect);
  }
  if (failed_ == 0) claim_file(ino);
  if (failed_ != 0 || known) return;

  // A new name in a directory that the checkpoint has.
  const Nid parent = inode.inode.parent;
  const std::string_view name(inode.inode.name.data(),
                              std::min<size_t>(inode.inode.name_length, kNameLength));
  if (parent == 0 || parent >= config_.nids || node(parent).directory == 0 || failed_ != 0 || name.empty()) {
    failed_ = EIO;
    return;
  }
  unsigned block = 0, entry = 0, blocks = 0, nids = 0;
  Needs needs{};
  if (find_entry(parent, name, &block, &entry) != 0) failed_ = EIO;
  block = place_for_entry(parent, needs, &blocks, &nids);
  if (block >= config_.dentry_blocks) failed_ = EIO;
  if (failed_ == 0) add_entry(parent, block, name, ino, false);
}

int Core::roll_forward() {
  Chain chain;
  follow_chain(chain);
  if (chain.length == 0) return std::exchange(failed_, 0);
  if (!config_.rollforward) chain.synced = {};
  unsigned last = 0;
  for (unsigned place : chain.synced) last = std::max(last, place);
  if (last < chain.length) marks_ |= kRolledBack;
  if (last == 0) return std::exchange(failed_, 0);

  for (unsigned i = 0; i < chain.length; ++i) withhold_segment(layout_.segment_of(chain.places[i].address));
  // Nids that the chain tells of belong to its files, whatever else is made on the way.
  for (unsigned i = 0; i < chain.length; ++i) {
    const NodeFooter& footer = chain.places[i].node.footer;
    memory_.blocked |= static_cast<NidSet>(only(footer.nid) | only(footer.ino));
    const Nid indirect =
        chain.places[i].node.kind == NodeKind::kInode ? chain.places[i].node.inode.indirect : 0;
    if (indirect < config_.nids) memory_.blocked |= only(indirect);
  }
  for (Nid ino = kRootNid; ino < config_.nids && failed_ == 0; ++ino) {
    if (chain.synced[ino] != 0) install(ino, chain);
  }
  if (failed_ != 0) return std::exchange(failed_, 0);
  // What was claimed may lie just where a log would go on.
  for (unsigned l = 0; l < kLogs; ++l) {
    const auto log = static_cast<Log>(l);
    const LogPosition at = memory_.logs[log];
    const bool chained = log == kWarmNode;
    if (!chained && memory_.valid[at.segment] >> at.offset == 0) continue;
    take_segment(log);
  }
  unsigned used = 0;
  for (const NatEntry& entry : memory_.nat) used += entry.address != kNoAddress;
  for (Nid ino = kRootNid; ino < static_cast<Nid>(config_.nids); ++ino) {
    if (memory_.nat[ino].address == kNoAddress || memory_.nat[ino].ino != ino) continue;
    for (unsigned b = 0; b < kMaxFileBlocks; ++b) used += pointer(slot_of(ino, b)) != kNoAddress;
  }
  memory_.used_blocks = static_cast<uint16_t>(used);
  marks_ |= kRolledForward;
  return std::exchange(failed_, 0);
}

}  // namespace sisyfs::f2fs
