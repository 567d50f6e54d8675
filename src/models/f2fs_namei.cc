// Names of the F2FS model: paths, directory entries, and the ops on them.
#include <cerrno>

#include "models/f2fs_core.h"

namespace sisyfs::f2fs {

bool F2fs::read_dentries(const NodeBlock& inode, unsigned block, DentryBlock* out) {
  Block bytes;
  if (!read_block(inode, block, &bytes)) return false;
  std::memcpy(out, bytes.data(), sizeof *out);
  // A hole holds no entries; anything else is a dentry block.
  if (out->magic == 0 && out->bitmap == 0) return true;
  if (out->magic != 'D' || out->bitmap >> kDentries != 0) return failed_ = true, false;
  return true;
}

// Looks a name up; false where the directory cannot be read. Without it out->node is kNoNid.
bool F2fs::find_in(Nid directory, std::string_view name, Where* out) {
  out->node = kNoNid;
  NodeBlock inode;
  if (!read_node(directory, &inode)) return false;
  const uint32_t hash = name_hash(name);
  for (unsigned b = 0; b < config_.dentry_blocks; ++b) {
    DentryBlock block;
    if (!read_dentries(inode, b, &block)) return false;
    for (unsigned s = 0; s < kDentries; ++s) {
      const Dentry& entry = block.entries[s];
      if ((block.bitmap >> s & 1) == 0 || entry.hash != hash || entry.name_length != name.size()) continue;
      if (std::memcmp(block.names[s], name.data(), name.size()) != 0) continue;
      out->node = entry.ino;
      out->block = static_cast<uint8_t>(b);
      out->slot = static_cast<uint8_t>(s);
      NodeBlock node;
      if (!read_node(entry.ino, &node) || node.footer.kind != NodeKind::kInode) return failed_ = true, false;
      out->type = node.inode.type;
      return true;
    }
  }
  return true;
}

Where F2fs::find(std::string_view path) {
  Where at;
  at.node = kRoot;
  at.type = Type::kDirectory;
  while (true) {
    while (!path.empty() && path.front() == '/') path.remove_prefix(1);
    if (path.empty()) return at;
    if (at.node == kNoNid) return at.error = ENOENT, at;
    if (at.type != Type::kDirectory) return at.error = ENOTDIR, at;
    at.name = path.substr(0, path.find('/'));
    path.remove_prefix(at.name.size());
    if (at.name.size() > kNameMax) return at.error = ENAMETOOLONG, at;
    at.parent = at.node;
    if (!find_in(at.parent, at.name, &at)) return at.error = done(), at;
  }
}

bool F2fs::is_empty(Nid directory) {
  NodeBlock inode;
  if (!read_node(directory, &inode)) return false;
  for (unsigned b = 0; b < config_.dentry_blocks; ++b) {
    DentryBlock block;
    if (!read_dentries(inode, b, &block) || block.bitmap != 0) return false;
  }
  return true;
}

bool F2fs::lies_in(Nid nid, Nid ancestor) {
  for (unsigned steps = 0; nid != ancestor; ++steps) {
    NodeBlock inode;
    if (nid == kRoot || steps > kNids || !read_node(nid, &inode)) return false;
    nid = inode.inode.parent;
  }
  return true;
}

// The first free slot, and the blocks and nids that using it takes. False if there is none.
bool F2fs::free_slot(Nid directory, Where* out, unsigned* blocks, unsigned* nids) {
  NodeBlock inode;
  if (!read_node(directory, &inode)) return false;
  for (unsigned b = 0; b < config_.dentry_blocks; ++b) {
    DentryBlock block;
    if (!read_dentries(inode, b, &block)) return false;
    for (unsigned s = 0; s < kDentries; ++s) {
      if ((block.bitmap >> s & 1) != 0) continue;
      out->block = static_cast<uint8_t>(b);
      out->slot = static_cast<uint8_t>(s);
      count_need(inode, b, b, blocks, nids);
      return true;
    }
  }
  marks_ |= kMarkFullDirectory;
  return false;
}

DentryBlock* F2fs::edit_dentries(Nid directory, unsigned block) {
  const PageKey key = data_key(directory, block);
  int page = page_of(key);
  m_.changed = static_cast<uint16_t>(m_.changed | bit_of(directory));
  if (page < 0) {
    NodeBlock inode;
    DentryBlock content;
    Nid owner = kNoNid;
    if (!read_node(directory, &inode) || !read_dentries(inode, block, &content)) return nullptr;
    Blk* pointer = edit_pointer(directory, block, &owner);
    if (pointer == nullptr) return nullptr;
    if (*pointer == kNoBlk) *pointer = kNewBlk, ++m_.used;
    content.magic = 'D';
    std::memcpy(add_page(key), &content, sizeof content);
    page = page_of(key);
  }
  return reinterpret_cast<DentryBlock*>(m_.pages[page].data());
}

void F2fs::set_entry(Nid directory, const Where& at, std::string_view name, Nid ino, Type type) {
  DentryBlock* block = edit_dentries(directory, at.block);
  if (block == nullptr) return;
  block->bitmap = static_cast<uint8_t>(block->bitmap | 1u << at.slot);
  block->entries[at.slot] = {name_hash(name), ino, type, static_cast<uint8_t>(name.size())};
  std::memset(block->names[at.slot], 0, kNameMax);
  std::memcpy(block->names[at.slot], name.data(), name.size());
}

// A dentry block without entries is given up, so that a directory that was emptied is like a new one.
void F2fs::clear_entry(Nid directory, const Where& at) {
  DentryBlock* block = edit_dentries(directory, at.block);
  if (block == nullptr) return;
  block->bitmap = static_cast<uint8_t>(block->bitmap & ~(1u << at.slot));
  block->entries[at.slot] = {};
  std::memset(block->names[at.slot], 0, kNameMax);
  m_.shrunk = static_cast<uint16_t>(m_.shrunk | bit_of(directory));
  if (block->bitmap != 0) return;
  Nid owner = kNoNid;
  Blk* pointer = edit_pointer(directory, at.block, &owner);
  if (pointer == nullptr) return;
  drop_page(data_key(directory, at.block));
  drop_block(*pointer);
  *pointer = kNoBlk;
  --m_.used;
  if (owner == directory) return;
  NodeBlock node;
  if (!read_node(owner, &node)) return;
  for (const Blk other : node.data) {
    if (other != kNoBlk) return;
  }
  free_node(owner);
  if (NodeBlock* inode = edit_node(directory)) inode->inode.direct = kNoNid;
}

void F2fs::set_name(Nid ino, Nid parent, std::string_view name) {
  NodeBlock* node = edit_node(ino);
  if (node == nullptr) return;
  node->inode.parent = parent;
  node->inode.name_length = static_cast<uint8_t>(name.size());
  std::memset(node->inode.name, 0, kNameMax);
  std::memcpy(node->inode.name, name.data(), name.size());
}

void F2fs::add_links(Nid directory, int by) {
  if (NodeBlock* node = edit_node(directory))
    node->inode.links = static_cast<uint8_t>(node->inode.links + by);
}

int F2fs::create(std::string_view path, Type type) {
  Where at = find(path);
  if (at.error != 0) return at.error;
  if (at.node != kNoNid) return EEXIST;
  unsigned blocks = 1, nids = 0;
  if (!free_slot(at.parent, &at, &blocks, &nids)) return failed_ ? done() : ENOSPC;
  if (!make_room(blocks, nids + 1, false)) return failed_ ? done() : ENOSPC;
  const bool directory = type == Type::kDirectory;
  const Nid ino = take_nid();
  NodeBlock* node = new_node(ino, ino, NodeKind::kInode, 0, directory);
  node->inode.type = type;
  node->inode.links = directory ? 2 : 1;
  set_name(ino, at.parent, at.name);
  set_entry(at.parent, at, at.name, ino, type);
  m_.fresh = static_cast<uint16_t>(m_.fresh | bit_of(ino));
  if (directory)
    add_links(at.parent, 1);
  else
    write_pages(ino);
  return done();
}

int F2fs::remove(std::string_view path, Type type) {
  const Where at = find(path);
  if (at.error != 0) return at.error;
  if (at.node == kNoNid) return ENOENT;
  if (type == Type::kFile && at.type == Type::kDirectory) return EISDIR;
  if (type == Type::kDirectory) {
    if (at.parent == kNoNid) return EBUSY;
    if (at.type != Type::kDirectory) return ENOTDIR;
    if (!is_empty(at.node)) return failed_ ? done() : ENOTEMPTY;
  }
  if (!make_room(0, 0, true)) return done();
  clear_entry(at.parent, at);
  if (type == Type::kDirectory) add_links(at.parent, -1);
  free_file(at.node);
  return done();
}

int F2fs::rename(std::string_view from, std::string_view to) {
  const Where source = find(from);
  if (source.error != 0) return source.error;
  Where target = find(to);
  if (target.error != 0) return target.error;
  if (source.parent == kNoNid || target.parent == kNoNid) return EBUSY;
  if (source.node == kNoNid) return ENOENT;
  const bool directory = source.type == Type::kDirectory;
  const bool replaces = target.node != kNoNid;
  if (directory && lies_in(target.parent, source.node)) return EINVAL;
  if (replaces) {
    const bool onto_directory = target.type == Type::kDirectory;
    if (onto_directory && lies_in(source.parent, target.node)) return ENOTEMPTY;
    if (source.node == target.node) return 0;
    if (directory && !onto_directory) return ENOTDIR;
    if (!directory && onto_directory) return EISDIR;
    if (onto_directory && !is_empty(target.node)) return failed_ ? done() : ENOTEMPTY;
  }
  // Within a directory the entry changes its name where it is, so that this works in a full one too.
  const bool in_place = !replaces && source.parent == target.parent;
  unsigned blocks = 0, nids = 0;
  if (in_place)
    target.block = source.block, target.slot = source.slot;
  else if (!replaces && !free_slot(target.parent, &target, &blocks, &nids))
    return failed_ ? done() : ENOSPC;
  if (!make_room(blocks, nids, false)) return failed_ ? done() : ENOSPC;

  set_entry(target.parent, target, target.name, source.node, source.type);
  m_.shrunk =
      static_cast<uint16_t>(m_.shrunk | bit_of(source.parent) | (replaces ? bit_of(target.parent) : 0));
  if (!in_place) clear_entry(source.parent, source);
  set_name(source.node, target.parent, target.name);
  m_.moved = static_cast<uint16_t>(m_.moved | bit_of(source.node));
  if (directory && source.parent != target.parent) add_links(source.parent, -1), add_links(target.parent, 1);
  if (replaces) {
    if (directory) add_links(target.parent, -1);
    free_file(target.node);
  }
  return done();
}

}  // namespace sisyfs::f2fs
