#include <algorithm>

#include "models/f2fs/core.h"

namespace sisyfs::f2fs {

uint32_t hash_of(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

bool is_good_entry(const DentryBlock& block, unsigned entry, unsigned nids) {
  const Dentry& d = block.entries[entry];
  if (d.name_length == 0 || d.name_length > kNameLength) return false;
  const std::string_view name = name_of(block, entry);
  const auto good = [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 127 && c != '/'; };
  return std::all_of(name.begin(), name.end(), good) && name != "." && name != ".." &&
         d.hash == hash_of(name) && d.ino > kRootNid && d.ino < nids && d.directory <= 1;
}

Nid Core::find_entry(Nid directory, std::string_view name, unsigned* block, unsigned* entry) {
  std::array<std::byte, kMaxBlockSize> bytes;
  const uint32_t hash = hash_of(name);
  for (unsigned b = 0; b < config_.dentry_blocks; ++b) {
    if (pointer(slot_of(directory, b)) == kNoAddress) continue;
    read_data(directory, b, bytes.data());
    const auto dentries = read_from<DentryBlock>(bytes.data());
    for (unsigned e = 0; e < kDentries; ++e) {
      if ((dentries.used >> e & 1) == 0 || dentries.entries[e].hash != hash) continue;
      if (!is_good_entry(dentries, e, config_.nids)) {
        failed_ = EIO;
        return 0;
      }
      if (name_of(dentries, e) != name) continue;
      *block = b;
      *entry = e;
      return dentries.entries[e].ino;
    }
  }
  return 0;
}

Found Core::find(std::string_view path) {
  Found found;
  found.node = kRootNid;
  if (path == "/") return found;
  Nid here = kRootNid;
  while (true) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    found.parent = here;
    found.name = name;
    found.node = 0;
    if (name.size() > kNameLength) {
      found.error = ENAMETOOLONG;
      return found;
    }
    found.node = find_entry(here, name, &found.block, &found.entry);
    if (failed_ != 0) found.error = failed_;
    if (found.error != 0 || path.empty()) return found;
    const bool exists = found.node != 0;
    if (!exists || node(found.node).directory == 0) {
      found.error = failed_ != 0 ? failed_ : exists ? ENOTDIR : ENOENT;
      return found;
    }
    here = found.node;
  }
}

bool Core::is_empty(Nid directory) {
  for (unsigned b = 0; b < config_.dentry_blocks; ++b) {
    if (pointer(slot_of(directory, b)) != kNoAddress) return false;
  }
  return true;
}

bool Core::lies_in(Nid at, Nid ancestor) {
  for (unsigned steps = 0; steps < kMaxNids; ++steps) {
    if (at == ancestor) return true;
    if (at == kRootNid) return false;
    at = node(at).inode.parent;
  }
  failed_ = EIO;
  return true;
}

// An entry that comes or goes changes a dentry block, the node that points to it, and the inode.
void Core::count_entry_change(Needs& needs) const {
  needs[kHotData] += 1;
  needs[kHotNode] += 2;
}

unsigned Core::place_for_entry(Nid directory, Needs& needs, unsigned* blocks, unsigned* nids) {
  count_entry_change(needs);
  std::array<std::byte, kMaxBlockSize> bytes;
  unsigned hole = config_.dentry_blocks;
  for (unsigned b = 0; b < config_.dentry_blocks; ++b) {
    if (pointer(slot_of(directory, b)) == kNoAddress) {
      hole = std::min(hole, b);
      continue;
    }
    read_data(directory, b, bytes.data());
    if (read_from<DentryBlock>(bytes.data()).used != (1u << kDentries) - 1) return b;
  }
  if (hole == config_.dentry_blocks) return hole;
  const unsigned missing = slot_of(directory, hole).nid == 0 ? 1 : 0;
  *blocks += 1 + missing;
  *nids += missing;
  return hole;
}

void Core::add_entry(Nid directory, unsigned block, std::string_view name, Nid ino, bool is_directory) {
  const Slot slot = make_slot(directory, block);
  std::array<std::byte, kMaxBlockSize> bytes{};
  if (pointer(slot) == kNoAddress) {
    set_pointer(slot, kNewAddress);
    ++memory_.used_blocks;
  } else {
    read_data(directory, block, bytes.data());
  }
  if (failed_ != 0) return;
  auto dentries = read_from<DentryBlock>(bytes.data());
  unsigned entry = 0;
  while (entry < kDentries && (dentries.used >> entry & 1) != 0) ++entry;
  if (entry == kDentries) {
    failed_ = EIO;
    return;
  }
  dentries.used = static_cast<uint8_t>(dentries.used | 1u << entry);
  dentries.entries[entry] = {hash_of(name), ino, static_cast<uint8_t>(is_directory),
                             static_cast<uint8_t>(name.size()), 0};
  dentries.names[entry] = {};
  std::copy(name.begin(), name.end(), dentries.names[entry].begin());
  std::memcpy(put_page(directory, block, kHotData), &dentries, sizeof dentries);
  if (is_directory) ++edit(directory).inode.links;
}

void Core::remove_entry(Nid directory, unsigned block, unsigned entry) {
  std::array<std::byte, kMaxBlockSize> bytes;
  read_data(directory, block, bytes.data());
  auto dentries = read_from<DentryBlock>(bytes.data());
  if (dentries.entries[entry].directory != 0) --edit(directory).inode.links;
  dentries.used = static_cast<uint8_t>(dentries.used & ~(1u << entry));
  dentries.entries[entry] = {};
  dentries.names[entry] = {};
  memory_.lost |= only(directory);
  if (dentries.used != 0) {
    std::memcpy(put_page(directory, block, kHotData), &dentries, sizeof dentries);
    return;
  }
  // An empty block is given up, and the direct node with its last block.
  drop_block(directory, block);
  const Nid direct = node(directory).inode.direct;
  if (direct == 0 || block < kInodeData) return;
  for (uint8_t i = 0; i < kTableEntries; ++i) {
    if (pointer({direct, i}) != kNoAddress) return;
  }
  free_node(direct);
  edit(directory).inode.direct = 0;
}

void Core::flush_directories() {
  for (unsigned p = 0; p < kMaxPages; ++p) {
    if (memory_.keys[p].ino != 0 && memory_.keys[p].log == kHotData) flush_page(p);
  }
  for (Nid nid = kRootNid; nid < static_cast<Nid>(config_.nids); ++nid) {
    if ((memory_.dirty_nodes & only(nid)) != 0 && memory_.nodes[nid].directory != 0) flush_node(nid, 0);
  }
}

// The room was asked for whether directories are written now or with the checkpoint.
int Core::end_of_names() {
  if (config_.eager_dirs && failed_ == 0) flush_directories();
  return end();
}

int Core::create(std::string_view path, bool directory) {
  failed_ = 0;
  const Found at = find(path);
  if (at.error != 0) return at.error;
  if (at.node != 0) return EEXIST;
  Needs needs{};
  unsigned blocks = 1, nids = 1;
  const unsigned block = place_for_entry(at.parent, needs, &blocks, &nids);
  if (block == config_.dentry_blocks) {
    marks_ |= kDirectoryFull;
    return failed_ != 0 ? failed_ : ENOSPC;
  }
  ++needs[directory ? kHotNode : kWarmNode];
  if (const int error = reserve(needs, blocks, nids, false)) return error;
  begin();
  const Nid nid = new_node(NodeKind::kInode, 0, 0, directory);
  if (nid != 0) {
    InodeBody& inode = memory_.nodes[nid].inode;
    inode.links = directory ? 2 : 1;
    inode.parent = at.parent;
    inode.name_length = static_cast<uint8_t>(at.name.size());
    std::copy(at.name.begin(), at.name.end(), inode.name.begin());
    add_entry(at.parent, block, at.name, nid, directory);
  }
  return end_of_names();
}

int Core::unlink(std::string_view path) {
  failed_ = 0;
  const Found at = find(path);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  if (node(at.node).directory != 0) return EISDIR;
  Needs needs{};
  count_entry_change(needs);
  if (const int error = reserve(needs, 0, 0, true)) return error;
  begin();
  remove_entry(at.parent, at.block, at.entry);
  free_file(at.node);
  return end_of_names();
}

int Core::rmdir(std::string_view path) {
  failed_ = 0;
  const Found at = find(path);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  if (at.name.empty()) return EBUSY;
  if (node(at.node).directory == 0) return ENOTDIR;
  if (!is_empty(at.node)) return ENOTEMPTY;
  Needs needs{};
  count_entry_change(needs);
  if (const int error = reserve(needs, 0, 0, true)) return error;
  begin();
  remove_entry(at.parent, at.block, at.entry);
  free_file(at.node);
  return end_of_names();
}

int Core::rename(std::string_view from, std::string_view to) {
  failed_ = 0;
  const Found source = find(from);
  if (source.error != 0) return source.error;
  const Found target = find(to);
  if (target.error != 0) return target.error;
  if (source.name.empty() || target.name.empty()) return EBUSY;
  if (source.node == 0) return ENOENT;
  const bool directory = node(source.node).directory != 0;
  if (directory && lies_in(target.parent, source.node)) return failed_ != 0 ? failed_ : EINVAL;
  Needs needs{};
  unsigned blocks = 0, nids = 0, block = target.block;
  if (target.node != 0) {
    const bool replaces_directory = node(target.node).directory != 0;
    if (replaces_directory && lies_in(source.parent, target.node)) return failed_ != 0 ? failed_ : ENOTEMPTY;
    if (source.node == target.node) return 0;
    if (directory && !replaces_directory) return ENOTDIR;
    if (!directory && replaces_directory) return EISDIR;
    if (replaces_directory && !is_empty(target.node)) return ENOTEMPTY;
    count_entry_change(needs);
  } else {
    block = place_for_entry(target.parent, needs, &blocks, &nids);
    // In one directory the old entry makes room for the new one.
    if (block == config_.dentry_blocks && source.parent == target.parent) block = source.block;
    if (block == config_.dentry_blocks) {
      marks_ |= kDirectoryFull;
      return failed_ != 0 ? failed_ : ENOSPC;
    }
  }
  count_entry_change(needs);
  ++needs[directory ? kHotNode : kWarmNode];
  if (failed_ != 0) return failed_;
  if (const int error = reserve(needs, blocks, nids, false)) return error;
  begin();
  if (target.node != 0) {
    remove_entry(target.parent, target.block, target.entry);
    free_file(target.node);
  }
  remove_entry(source.parent, source.block, source.entry);
  add_entry(target.parent, block, target.name, source.node, directory);
  InodeBody& inode = edit(source.node).inode;
  inode.parent = target.parent;
  inode.name_length = static_cast<uint8_t>(target.name.size());
  inode.name = {};
  std::copy(target.name.begin(), target.name.end(), inode.name.begin());
  memory_.moved |= only(source.node);
  return end_of_names();
}

}  // namespace sisyfs::f2fs
