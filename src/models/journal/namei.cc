#include <algorithm>

#include "models/journal/core.h"

namespace sisyfs::journal {
namespace {

constexpr int kMaxFollowed = 40;  // symbolic links, as Linux has it

}  // namespace

bool is_good_entry(const Entry& entry, unsigned inodes) {
  if (entry.name_length == 0 || entry.name_length > kNameLength) return false;
  const std::string_view name = name_of(entry);
  const auto good = [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 127 && c != '/'; };
  return std::all_of(name.begin(), name.end(), good) && name != "." && name != ".." && entry.ino > kRootIno &&
         entry.ino < inodes && entry.type >= Type::kFile && entry.type <= Type::kSymlink;
}

Ino Core::find_entry(Ino directory, std::string_view name, Slot* slot) {
  const Inode dir = inode(directory);
  for (unsigned b = 0; b < kDirectPointers; ++b) {
    const Address address = good_address(dir.direct[b]);
    if (address == 0) continue;
    const auto block = read_as<DirectoryBlock>(address);
    // The planted bug: what cannot be read is passed over, as if nothing were there.
    if (failed_ != 0 && !config_.lookup_error) failed_ = 0;
    for (unsigned e = 0; e < kEntries; ++e) {
      const Entry& entry = block.entries[e];
      if (entry.ino == 0 || entry.name_length != name.size()) continue;
      if (entry.name_length > kNameLength || name_of(entry) != name) continue;
      if (!is_good_entry(entry, config_.inodes)) {
        failed_ = EIO;
        return 0;
      }
      *slot = {b, e};
      return static_cast<Ino>(entry.ino);
    }
  }
  return 0;
}

Found Core::find(std::string_view path, Last last) {
  Found found;
  Ino here = kRootIno;
  int followed = 0;
  const auto fail = [&](int error) {
    found.error = failed_ != 0 ? failed_ : error;
    found.node = 0;
    return found;
  };
  while (true) {
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    if (path.empty()) {
      found = {};
      found.node = here;
      return found;
    }
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    if (name == ".") continue;
    if (name == "..") {
      here = inode(here).parent;
      if (here == 0 || here >= config_.inodes) return fail(EIO);
      continue;
    }
    if (name.size() > kNameLength) return fail(ENAMETOOLONG);
    const Ino next = find_entry(here, name, &found.slot);
    if (failed_ != 0) return fail(failed_);
    if (next == 0 && !path.empty()) return fail(ENOENT);
    const Inode there = next != 0 ? inode(next) : Inode{};
    if (failed_ != 0) return fail(failed_);
    if (there.type == Type::kSymlink && (!path.empty() || last == Last::kFollow)) {
      if (++followed > kMaxFollowed) return fail(ELOOP);
      std::span<const std::byte> target;
      if (there.size > kBlockSize || read(next, 0, there.size, &target) != 0 || target.empty())
        return fail(EIO);
      if (target.size() + path.size() > link_text_.size()) return fail(ENAMETOOLONG);
      std::memmove(link_text_.data() + target.size(), path.data(), path.size());
      std::memcpy(link_text_.data(), target.data(), target.size());
      path = {link_text_.data(), target.size() + path.size()};
      if (path.front() == '/') here = kRootIno;
      continue;
    }
    if (path.empty()) {
      found.node = next;
      found.parent = here;
      found.name.length = static_cast<uint8_t>(name.size());
      std::copy(name.begin(), name.end(), found.name.bytes.begin());
      return found;
    }
    if (there.type != Type::kDirectory) return fail(ENOTDIR);
    here = next;
  }
}

bool Core::is_empty(Ino directory) {
  const Inode dir = inode(directory);
  for (unsigned b = 0; b < kDirectPointers; ++b) {
    const Address address = good_address(dir.direct[b]);
    if (address == 0) continue;
    const auto block = read_as<DirectoryBlock>(address);
    if (failed_ != 0 && !config_.lookup_error) failed_ = 0;
    for (const Entry& entry : block.entries) {
      if (entry.ino != 0) return false;
    }
  }
  return true;
}

bool Core::lies_in(Ino at, Ino ancestor) {
  for (unsigned steps = 0; steps < kMaxInodes; ++steps) {
    if (at == ancestor) return true;
    if (at == kRootIno) return false;
    at = inode(at).parent;
  }
  failed_ = EIO;
  return true;
}

// The first free entry, or the first that a further block would have.
Slot Core::place_for_entry(const Inode& directory) {
  Slot hole;
  for (unsigned b = 0; b < kDirectPointers; ++b) {
    const Address address = good_address(directory.direct[b]);
    if (address == 0) {
      hole.block = std::min(hole.block, b);
      continue;
    }
    const auto block = read_as<DirectoryBlock>(address);
    for (unsigned e = 0; e < kEntries; ++e) {
      if (block.entries[e].ino == 0) return {b, e};
    }
  }
  if (hole.block == kDirectPointers) marks_ |= kDirectoryFull;
  return hole;
}

void Core::put_entry(Ino directory, Slot slot, std::string_view name, uint16_t ino, Type type) {
  Inode dir = inode(directory);
  if (failed_ != 0) return;
  if (dir.direct[slot.block] == 0) {
    dir.direct[slot.block] = take_block();
    if (dir.direct[slot.block] == 0) return;
    edit(dir.direct[slot.block], Kind::kDirectory, true);
    put_inode(directory, dir);
  }
  const Address address = good_address(dir.direct[slot.block]);
  auto block = read_as<DirectoryBlock>(address);
  Entry& entry = block.entries[slot.entry];
  entry = {ino, type, static_cast<uint8_t>(name.size()), {}};
  std::copy(name.begin(), name.end(), entry.name.begin());
  put(address, Kind::kDirectory, block);
  entry_block_ = address;
}

void Core::clear_entry(Ino directory, Slot slot) {
  const Address address = good_address(inode(directory).direct[slot.block]);
  auto block = read_as<DirectoryBlock>(address);
  block.entries[slot.entry] = {};
  put(address, Kind::kDirectory, block);
}

void Core::add_links(Ino ino, int change) {
  Inode value = inode(ino);
  value.links = static_cast<uint8_t>(value.links + change);
  put_inode(ino, value);
}

// The last name of an open file. Whoever holds it can still use it, where that is wanted at all.
bool Core::is_held(Ino ino, const Inode& inode) const {
  return (memory_.open & only(ino)) != 0 && inode.links == 1 && !config_.orphans;
}

// A name of the file is gone, and with the last one the file; an open file waits for its close.
void Core::drop_link(Ino ino) {
  Inode value = inode(ino);
  if (value.type == Type::kDirectory || value.links <= 1) {
    if ((memory_.open & only(ino)) == 0) return free_inode(ino);
    memory_.orphans |= only(ino);
    save_inode_map();
  }
  --value.links;
  put_inode(ino, value);
}

int Core::create(std::string_view path, Type type, std::string_view target) {
  failed_ = 0;
  if (type == Type::kSymlink && target.empty()) return ENOENT;
  const Found at = find(path, Last::kKeep);
  if (at.error != 0) return at.error;
  if (at.node != 0 || at.name.length == 0) return EEXIST;
  if (target.size() > kBlockSize) return ENAMETOOLONG;
  const Inode parent = inode(at.parent);
  const Slot slot = place_for_entry(parent);
  if (failed_ != 0) return failed_;
  if (slot.block == kDirectPointers) return ENOSPC;
  Needs needs{.metadata = 7, .inodes = 1};
  needs.blocks = (parent.direct[slot.block] == 0 ? 1u : 0u) + (type != Type::kFile ? 1u : 0u);
  if (config_.abort_leak) needs.blocks = 0;
  if (config_.store_error) needs.inodes = 0;
  if (const int error = reserve(needs)) return error;

  begin();
  entry_block_ = 0;
  const Ino ino = take_inode();
  // The planted bug: the errno goes where the number of the new inode belongs, and all is well.
  if (config_.store_error && ino == 0 && failed_ == ENOSPC) {
    failed_ = 0;
    put_entry(at.parent, slot, at.name.text(), static_cast<uint16_t>(-ENOSPC), type);
    return end();
  }
  Inode made{};
  made.type = type;
  made.links = type == Type::kDirectory ? 2 : 1;
  made.size = static_cast<uint16_t>(target.size());
  put_entry(at.parent, slot, at.name.text(), ino, type);
  if (type == Type::kDirectory) {
    made.parent = at.parent;
    add_links(at.parent, 1);
  }
  if (type != Type::kFile && failed_ == 0) {
    made.direct[0] = take_block();
    const Kind kind = type == Type::kDirectory ? Kind::kDirectory : Kind::kSymlink;
    if (made.direct[0] != 0) std::memcpy(edit(made.direct[0], kind, true), target.data(), target.size());
  }
  put_inode(ino, made);
  return end();
}

int Core::unlink(std::string_view path) {
  failed_ = 0;
  const Found at = find(path, Last::kKeep);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  const Inode file = inode(at.node);
  if (file.type == Type::kDirectory) return EISDIR;
  if (is_held(at.node, file)) return EBUSY;
  if (const int error = reserve({.metadata = 5})) return error;
  begin();
  clear_entry(at.parent, at.slot);
  drop_link(at.node);
  return end();
}

int Core::rmdir(std::string_view path) {
  failed_ = 0;
  const Found at = find(path, Last::kKeep);
  if (at.error != 0) return at.error;
  if (at.node == 0) return ENOENT;
  if (at.name.length == 0) return EBUSY;
  if (inode(at.node).type != Type::kDirectory) return failed_ != 0 ? failed_ : ENOTDIR;
  if (!is_empty(at.node)) return ENOTEMPTY;
  if (const int error = reserve({.metadata = 6})) return error;
  begin();
  clear_entry(at.parent, at.slot);
  add_links(at.parent, -1);
  drop_link(at.node);
  return end();
}

int Core::link(std::string_view from, std::string_view path) {
  failed_ = 0;
  const Found source = find(from, Last::kKeep);
  if (source.error != 0) return source.error;
  if (source.node == 0) return ENOENT;
  const Found at = find(path, Last::kKeep);
  if (at.error != 0) return at.error;
  if (at.node != 0 || at.name.length == 0) return EEXIST;
  const Inode file = inode(source.node);
  if (file.type == Type::kDirectory) return EPERM;
  const Inode parent = inode(at.parent);
  const Slot slot = place_for_entry(parent);
  if (failed_ != 0) return failed_;
  if (slot.block == kDirectPointers) return ENOSPC;
  if (const int error = reserve({.metadata = 5, .blocks = parent.direct[slot.block] == 0 ? 1u : 0u}))
    return error;
  begin();
  put_entry(at.parent, slot, at.name.text(), source.node, file.type);
  add_links(source.node, 1);
  return end();
}

int Core::rename(std::string_view from, std::string_view to) {
  failed_ = 0;
  const Found source = find(from, Last::kKeep);
  if (source.error != 0) return source.error;
  const Found target = find(to, Last::kKeep);
  if (target.error != 0) return target.error;
  if (source.name.length == 0 || target.name.length == 0) return EBUSY;
  if (source.node == 0) return ENOENT;
  Inode moved = inode(source.node);
  if (failed_ != 0) return failed_;
  const bool directory = moved.type == Type::kDirectory;
  if (directory && lies_in(target.parent, source.node)) return failed_ != 0 ? failed_ : EINVAL;
  Needs needs{.metadata = 9};
  Slot slot = target.slot;
  if (target.node != 0) {
    const Inode replaced = inode(target.node);
    if (failed_ != 0) return failed_;
    const bool replaces_directory = replaced.type == Type::kDirectory;
    if (replaces_directory && lies_in(source.parent, target.node)) return failed_ != 0 ? failed_ : ENOTEMPTY;
    if (source.node == target.node) return 0;
    if (directory && !replaces_directory) return ENOTDIR;
    if (!directory && replaces_directory) return EISDIR;
    if (replaces_directory && !is_empty(target.node)) return ENOTEMPTY;
    if (is_held(target.node, replaced)) return EBUSY;
  } else if (source.parent == target.parent) {
    slot = source.slot;  // the old entry makes room for the new one
  } else {
    const Inode parent = inode(target.parent);
    slot = place_for_entry(parent);
    if (slot.block == kDirectPointers) return failed_ != 0 ? failed_ : ENOSPC;
    needs.blocks = parent.direct[slot.block] == 0 ? 1 : 0;
  }
  if (const int error = reserve(needs)) return error;
  begin();
  clear_entry(source.parent, source.slot);
  put_entry(target.parent, slot, target.name.text(), source.node, moved.type);
  if (directory) {
    add_links(source.parent, -1);
    if (target.node == 0) add_links(target.parent, 1);
    moved.parent = target.parent;
    put_inode(source.node, moved);
  }
  if (target.node != 0) drop_link(target.node);
  return end();
}

}  // namespace sisyfs::journal
