// Names: directories, the kernel's cache in front of them, and the calls that work on names.
#include "models/verifs/core.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "models/verifs/path.h"

namespace sisyfs::verifs {
namespace {

void put_entry(Inode& directory, unsigned i, const Entry& entry) {
  std::memcpy(directory.buffer.data() + i * sizeof entry, &entry, sizeof entry);
}

Inode new_inode(Kind kind, Ino parent) {
  Inode inode;
  inode.kind = kind;
  inode.links = kind == Kind::kDirectory ? 2 : 1;
  inode.parent = kind == Kind::kDirectory ? parent : kNoIno;
  inode.buffer.fill(kRubbish);
  return inode;
}

}  // namespace

void Core::mount() {
  memory_ = Memory();
  memory_.mounted = 1;
  node(kRootIno) = new_inode(Kind::kDirectory, kRootIno);
}

uint32_t Core::take_marks() {
  const uint32_t marks = marks_;
  marks_ = 0;
  return marks;
}

// --- the kernel's cache of names ---

const CachedName* Core::cached(Ino directory, std::string_view name) const {
  const Name wanted = Name::of(name);
  for (const CachedName& known : memory_.cache) {
    if (known.parent == kNoIno) break;
    if (known.parent == directory && known.name == wanted) return &known;
  }
  return nullptr;
}

void Core::remember(Ino directory, std::string_view name, Ino ino) {
  auto& cache = memory_.cache;
  std::copy_backward(cache.begin(), cache.end() - 1, cache.end());
  cache.front() = {directory, ino, Name::of(name)};
}

void Core::forget_name(Ino directory, std::string_view name) {
  const CachedName* known = cached(directory, name);
  if (known == nullptr) return;
  auto& cache = memory_.cache;
  const auto at = cache.begin() + (known - cache.data());
  std::copy(at + 1, cache.end(), at);
  cache.back() = {};
}

Ino Core::peek(Ino directory, std::string_view name) const {
  const CachedName* known = cached(directory, name);
  return known != nullptr ? known->ino : find_entry(directory, name);
}

Ino Core::lookup(Ino directory, std::string_view name) {
  if (const CachedName* known = cached(directory, name)) return known->ino;
  const Ino ino = find_entry(directory, name);
  if (ino != kNoIno) remember(directory, name, ino);
  return ino;
}

// --- directories ---

Entry Core::entry(Ino directory, unsigned i) const {
  Entry entry;
  std::memcpy(&entry, inode(directory).buffer.data() + i * sizeof entry, sizeof entry);
  return entry;
}

Ino Core::find_entry(Ino directory, std::string_view name) const {
  const Name wanted = Name::of(name);
  for (unsigned i = 0; i < inode(directory).entry_count(); ++i)
    if (const Entry at = entry(directory, i); at.name == wanted) return at.ino;
  return kNoIno;
}

void Core::add_entry(Ino directory, std::string_view name, Ino ino) {
  Inode& to = node(directory);
  const Name wanted = Name::of(name);
  unsigned at = inode(directory).entry_count();
  for (; at > 0 && wanted < entry(directory, at - 1).name; --at) put_entry(to, at, entry(directory, at - 1));
  put_entry(to, at, {wanted, ino});
  to.size = static_cast<uint8_t>(to.size + sizeof(Entry));
  if (is_directory(ino)) ++to.links, node(ino).parent = directory;
  remember(directory, name, ino);
}

void Core::remove_entry(Ino directory, std::string_view name) {
  Inode& from = node(directory);
  const Name wanted = Name::of(name);
  const unsigned count = inode(directory).entry_count();
  unsigned at = 0;
  while (entry(directory, at).name != wanted) ++at;
  if (is_directory(entry(directory, at).ino)) --from.links;
  for (; at + 1 < count; ++at) put_entry(from, at, entry(directory, at + 1));
  from.size = static_cast<uint8_t>(from.size - sizeof(Entry));
  std::fill_n(from.buffer.begin() + from.size, sizeof(Entry), kRubbish);
  forget_name(directory, name);
}

void Core::drop(Ino directory, std::string_view name, Ino ino) {
  remove_entry(directory, name);
  Inode& dropped = node(ino);
  if (dropped.kind != Kind::kDirectory && --dropped.links != 0) return;
  dropped = Inode();
  drop_xattrs(ino);
}

Ino Core::free_inode() {
  for (unsigned ino = kRootIno; ino <= config_.inodes; ++ino)
    if (inode(static_cast<Ino>(ino)).kind == Kind::kFree) return static_cast<Ino>(ino);
  mark(kNoInodeLeft);
  return kNoIno;
}

bool Core::lies_in(Ino directory, Ino ancestor) const {
  for (; directory != ancestor; directory = inode(directory).parent)
    if (directory == kRootIno) return false;
  return true;
}

int Core::alive(Ino ino) const { return inode(ino).kind == Kind::kFree ? ESTALE : 0; }

// --- calls on names ---

int Core::make(std::string_view path, Kind kind, std::string_view target) {
  if (kind == Kind::kSymlink && target.empty()) return ENOENT;
  const PathWalk at(*this, path, PathWalk::kKeep);
  if (at.error() != 0) return at.error();
  if (at.found()) return EEXIST;
  if (!has_room(at.parent())) return ENOSPC;
  const Ino ino = free_inode();
  if (ino == kNoIno) return ENOSPC;
  Inode made = new_inode(kind, at.parent());
  if (target.size() > kBufferSize) return ENAMETOOLONG;
  if (!resize_buffer(made, static_cast<unsigned>(target.size()))) return ENOSPC;
  put(made, 0, std::as_bytes(std::span(target)));
  node(ino) = made;
  add_entry(at.parent(), at.name(), ino);
  return 0;
}

int Core::unlink(std::string_view path) {
  const PathWalk at(*this, path, PathWalk::kKeep);
  if (at.error() != 0) return at.error();
  if (!at.found()) return ENOENT;
  if (const int error = alive(at.ino())) return error;
  if (is_directory(at.ino())) return EISDIR;
  if (find_entry(at.parent(), at.name()) != at.ino()) return ESTALE;
  drop(at.parent(), at.name(), at.ino());
  return 0;
}

int Core::rmdir(std::string_view path) {
  const PathWalk at(*this, path, PathWalk::kKeep);
  if (at.error() != 0) return at.error();
  if (!at.found()) return ENOENT;
  if (!at.named()) return EBUSY;
  if (const int error = alive(at.ino())) return error;
  if (!is_directory(at.ino())) return ENOTDIR;
  if (find_entry(at.parent(), at.name()) != at.ino()) return ESTALE;
  if (inode(at.ino()).entry_count() != 0) return ENOTEMPTY;
  drop(at.parent(), at.name(), at.ino());
  return 0;
}

int Core::link(std::string_view from, std::string_view to) {
  const PathWalk source(*this, from, PathWalk::kKeep);
  if (source.error() != 0) return source.error();
  if (!source.found()) return ENOENT;
  const PathWalk at(*this, to, PathWalk::kKeep);
  if (at.error() != 0) return at.error();
  if (at.found()) return EEXIST;
  if (const int error = alive(source.ino())) return error;
  if (is_directory(source.ino())) return EPERM;
  if (!has_room(at.parent())) return ENOSPC;
  ++node(source.ino()).links;
  add_entry(at.parent(), at.name(), source.ino());
  return 0;
}

int Core::rename(std::string_view from, std::string_view to) {
  const PathWalk source(*this, from, PathWalk::kKeep);
  if (source.error() != 0) return source.error();
  const PathWalk target(*this, to, PathWalk::kKeep);
  if (target.error() != 0) return target.error();
  if (!source.named() || !target.named()) return EBUSY;
  if (!source.found()) return ENOENT;
  const Ino moved = source.ino();
  if (const int error = alive(moved)) return error;
  const bool directory = is_directory(moved);
  if (directory && lies_in(target.parent(), moved)) return EINVAL;
  const Ino replaced = target.ino();
  if (target.found()) {
    if (const int error = alive(replaced)) return error;
    // What is replaced may not hold what moves.
    if (is_directory(replaced) && lies_in(source.parent(), replaced)) return ENOTEMPTY;
    if (moved == replaced) return 0;
    if (directory != is_directory(replaced)) return directory ? ENOTDIR : EISDIR;
    if (directory && inode(replaced).entry_count() != 0) return ENOTEMPTY;
    if (find_entry(target.parent(), target.name()) != replaced) return ESTALE;
  } else if (source.parent() != target.parent() && !has_room(target.parent())) {
    return ENOSPC;
  }
  if (find_entry(source.parent(), source.name()) != moved) return ESTALE;
  if (target.found()) drop(target.parent(), target.name(), replaced);
  remove_entry(source.parent(), source.name());
  add_entry(target.parent(), target.name(), moved);
  return 0;
}

int Core::find(std::string_view path, Ino* out) {
  const PathWalk at(*this, path, PathWalk::kFollow);
  if (at.error() != 0) return at.error();
  if (!at.found()) return ENOENT;
  *out = at.ino();
  return alive(at.ino());
}

// --- snapshots ---

void Core::snapshot() {
  memory_.kept = memory_.store;
  memory_.has_kept = 1;
}

int Core::restore() {
  if (memory_.has_kept == 0) return ENOENT;
  memory_.store = memory_.kept;
  memory_.kept = Store();
  memory_.has_kept = 0;
  mark(kRestored);
  if (config_.name_cache == NameCache::kFresh) memory_.cache = {};
  return 0;
}

}  // namespace sisyfs::verifs
