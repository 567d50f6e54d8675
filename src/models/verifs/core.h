// Core: VeriFS, a file system in memory with snapshot and restore, after Su et al., "Model-Checking Support
// for File System Development".
//
//   Core core(config);
//   core.mount();
//   int error = core.make("/d", Kind::kDirectory);   // 0, EEXIST, ENOSPC, ...
//   core.snapshot();
//   ...
//   error = core.restore();                          // "/d" is there again, and nothing else
//
// Paths are those of ops: absolute, with no empty, "." or ".." component. Answers are those of Linux, and
// ENOSPC if there is no space. A call that fails changes nothing. Every call goes through the kernel's cache
// of names. With a wrong `name_cache` a restore does not invalidate that cache.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/verifs/memory.h"

namespace sisyfs::verifs {

// Rare events, as bits in the order of kMarkTexts. Those of the first version come first.
enum Mark : uint32_t {
  kNoInodeLeft = 1u << 0,
  kHole = 1u << 1,
  kRestored = 1u << 2,
  kNoBytesLeft = 1u << 3,
  kFollowed = 1u << 4,
};
inline constexpr const char* kMarkTexts[] = {
    "no inode was left",  "a write left a hole",          "a snapshot came back",
    "no bytes were left", "a symbolic link was followed",
};
inline constexpr size_t kMarksOfFirst = 3;

class Core {
 public:
  explicit Core(const Config& config) : config_(config) {}

  const Config& config() const { return config_; }
  const Memory& memory() const { return memory_; }
  void load(const Memory& memory) { memory_ = memory; }
  // Starts with an empty root, and forgets everything.
  void mount();
  void forget() { memory_ = Memory(); }

  // Each gives 0 or an errno. A symbolic link is made with its target.
  int make(std::string_view path, Kind kind, std::string_view target = {});
  int unlink(std::string_view path);
  int rmdir(std::string_view path);
  int rename(std::string_view from, std::string_view to);
  int link(std::string_view from, std::string_view to);
  int write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes);
  int truncate(std::string_view path, uint64_t size);
  // The bytes live until the next call.
  int read(std::string_view path, uint64_t offset, uint64_t length, std::span<const std::byte>* out);
  // Extended attributes, of what the path leads to. The value lives until the next call.
  int set_xattr(std::string_view path, std::string_view name, std::span<const std::byte> bytes);
  int get_xattr(std::string_view path, std::string_view name, std::span<const std::byte>* out);
  int remove_xattr(std::string_view path, std::string_view name);
  // What a path leads to; the last symbolic link is followed.
  int find(std::string_view path, Ino* out);

  void snapshot();
  int restore();

  const Inode& inode(Ino ino) const { return memory_.store.at(ino); }
  Entry entry(Ino directory, unsigned i) const;
  // The inode of a name in a directory as the kernel sees it: from its cache, else from the file system.
  // kNoIno if there is none. With a stale cache it may be an inode that is free.
  Ino peek(Ino directory, std::string_view name) const;
  // Like peek(), and adds the name to the cache.
  Ino lookup(Ino directory, std::string_view name);

  uint32_t take_marks();
  void mark(Mark mark) { marks_ |= mark; }

 private:
  Inode& node(Ino ino) { return memory_.store.at(ino); }
  bool is_directory(Ino ino) const { return inode(ino).kind == Kind::kDirectory; }
  // Whether `directory` is `ancestor`, or lies below it.
  bool lies_in(Ino directory, Ino ancestor) const;
  // Whether the inode of a cached name still exists: 0 or ESTALE.
  int alive(Ino ino) const;

  // The file system's own directories, below the cache.
  Ino find_entry(Ino directory, std::string_view name) const;
  bool has_room(Ino directory) const { return inode(directory).size + sizeof(Entry) <= kBufferSize; }
  void add_entry(Ino directory, std::string_view name, Ino ino);
  void remove_entry(Ino directory, std::string_view name);
  // Removes one name, and with the last name the inode.
  void drop(Ino directory, std::string_view name, Ino ino);
  Ino free_inode();

  int find_for_xattr(std::string_view path, std::string_view name, Ino* ino);
  Xattr* xattr(Ino ino, std::string_view name);  // null if there is none
  void drop_xattrs(Ino ino);

  // Buffers. False, without any change, if there are not enough bytes.
  bool resize_buffer(Inode& inode, unsigned size);
  void put(Inode& file, unsigned offset, std::span<const std::byte> bytes);
  static void clear(Inode& file, unsigned from, unsigned to);

  // The kernel's cache.
  const CachedName* cached(Ino directory, std::string_view name) const;
  void remember(Ino directory, std::string_view name, Ino ino);
  void forget_name(Ino directory, std::string_view name);

  Config config_;
  Memory memory_;
  uint32_t marks_ = 0;
};

}  // namespace sisyfs::verifs
