// The F2FS model itself: logs, nodes, files, names, checkpoints and recovery, on a Disk.
//
// Core is what F2fsTarget wraps. Everything that survives is on the disk; everything else is in one Memory.
//
//   Core core(config);
//   core.format(disk);  core.mount(disk);
//   core.create("/a", false);   // 0 or an errno; what fails has changed nothing
//   core.checkpoint();
//
// An op that fails changes nothing. It first reserves space (reserve(), which may clean segments and write a
// checkpoint of the state before the op), then copies the memory, and restores the copy on any error. Blocks
// that it has written by then are not referenced. For the same reason a checkpoint never holds half of an op.
// The exception is an overwrite of existing blocks, which reserves space between its blocks: after a power
// cut each block is the old or the new one.
//
// A failed read gives zeros and sets failed_; the code goes on, with every index checked, until the op ends.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "disk/disk.h"
#include "models/f2fs/memory.h"

namespace sisyfs::f2fs {

// Rare events, as bits of take_marks().
enum MarkBit : uint32_t {
  kCleaned = 1u << 0,
  kCleanedDirty = 1u << 1,
  kCheckpointWritten = 1u << 2,
  kRolledForward = 1u << 3,
  kRolledBack = 1u << 4,
  kDiskFull = 1u << 5,
  kDirectoryFull = 1u << 6,
  kFileTooBig = 1u << 7,
  kSegmentFreed = 1u << 8,
  kNidsUsedUp = 1u << 9,
  kPageEvicted = 1u << 10,
  kCleanedInOp = 1u << 11,
  kCheckpointInOp = 1u << 12,
};
inline constexpr const char* kMarkTexts[] = {
    "garbage was collected",
    "garbage was collected with changes that no checkpoint held",
    "a checkpoint was written",
    "recovery rolled forward to what was synced",
    "recovery rolled back what was not",
    "the disk was full",
    "a directory was full",
    "a file reached its greatest size",
    "a segment was freed to be used again",
    "all nids were in use",
    "the page pool was full",
    "garbage was collected in the middle of an op",
    "a checkpoint was written in the middle of an op",
};

// How many blocks an op will write to each log.
using Needs = std::array<unsigned, kLogs>;

// The result of following a path.
struct Found {
  int error = 0;  // while the path was followed to its last name
  Nid node = 0;   // what the path names, if it exists
  Nid parent = 0;
  std::string_view name;          // empty for the root
  unsigned block = 0, entry = 0;  // of its entry in the parent
};

class Core {
 public:
  explicit Core(const Config& config) : config_(config), layout_(config) {}

  const Config& config() const { return config_; }
  const Layout& layout() const { return layout_; }

  int format(Disk& disk);
  int mount(Disk& disk);
  int unmount();
  void forget() { memory_ = {}, disk_ = nullptr; }

  // Ops on names. Each answers as Linux does.
  int create(std::string_view path, bool directory);
  int unlink(std::string_view path);
  int rmdir(std::string_view path);
  int rename(std::string_view from, std::string_view to);

  // Ops on files. A file that is not open is opened and closed by each: what was written is flushed.
  int open(std::string_view path);
  int close(std::string_view path);
  int write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes);
  int truncate(std::string_view path, uint64_t size);
  int fsync(std::string_view path);
  int sync();

  // These change nothing. The bytes live until the next call.
  Found find(std::string_view path);
  int read(Nid ino, uint64_t offset, uint64_t length, std::span<const std::byte>* out);
  Node node(Nid nid);  // zeros and failed() if it cannot be read
  // Calls use(name, dentry) for each entry; stops and returns EIO if one has impossible content.
  template <class Use>
  int each_entry(Nid directory, Use use);

  int failed() const { return failed_; }
  void clear_failure() { failed_ = 0; }
  uint32_t take_marks() { return std::exchange(marks_, 0); }

  const Memory& memory() const { return memory_; }
  void load(const Memory& memory, Disk& disk) { memory_ = memory, disk_ = &disk; }

 protected:
  // --- the disk (core.cc)
  void read_block(Address address, std::byte* out);
  void write_block(Address address, const void* bytes, size_t size);
  void flush_disk();
  template <class T>
  T read_as(Address address);

  // --- segments and logs (core.cc)
  void set_valid(Address address);
  void set_invalid(Address address);
  bool is_log_segment(unsigned segment) const;
  void free_segment(unsigned segment);
  void withhold_segment(unsigned segment);
  bool take_segment(Log log);
  Address position(Log log) const;
  Address allocate(Log log, Nid nid, uint8_t index);
  void leave_segment(Log log);

  // --- nodes and pointers (node.cc)
  static Log log_of(const Node& node);
  Node& edit(Nid nid);
  Nid new_node(NodeKind kind, Nid ino, unsigned offset, bool directory);
  void free_node(Nid nid);
  void flush_node(Nid nid, uint8_t flags);
  struct Slot {
    Nid nid = 0;  // 0: no node holds a pointer for this block
    uint8_t index = 0;
  };
  Slot slot_of(Nid ino, unsigned block);
  Slot make_slot(Nid ino, unsigned block);
  Address pointer(Slot slot);
  void set_pointer(Slot slot, Address address);
  unsigned nodes_missing(Nid ino, unsigned first, unsigned last);
  unsigned find_page(Nid ino, unsigned block) const;
  std::byte* page_bytes(unsigned page) { return memory_.pages.data() + size_t{page} * config_.block_size; }
  unsigned page_count() const;
  std::byte* put_page(Nid ino, unsigned block, Log log);
  void drop_page(unsigned page);
  void flush_page(unsigned page);
  void read_data(Nid ino, unsigned block, std::byte* out);
  void drop_block(Nid ino, unsigned block);
  void drop_nodes_from(Nid ino, unsigned first);
  void free_file(Nid ino);
  void flush_file(Nid ino);

  // --- room (room.cc)
  void count_dirty(Needs& needs);
  unsigned segments_for(const Needs& needs) const;
  unsigned free_segments() const;
  bool any_to_free() const;
  unsigned victim() const;
  bool move_segment(unsigned segment);
  bool make_room(const Needs& needs, unsigned reserve);
  int reserve(const Needs& needs, unsigned blocks, unsigned nids, bool must);
  void balance(const Needs& rest);
  void begin() { backup_ = memory_, failed_ = 0; }
  int end();

  // --- checkpoints (checkpoint.cc)
  int checkpoint();
  void write_tables();
  void write_pack();
  int load_checkpoint();
  bool logs_are_good() const;
  void load_summaries();
  bool read_pack(unsigned which, uint32_t* version);
  void start_clean();

  // --- recovery (recovery.cc)
  int roll_forward();
  struct Chain;
  void follow_chain(Chain& chain);
  void install(Nid ino, const Chain& chain);
  void release_file(Nid ino);
  void claim(Address address, Nid nid, uint8_t index);
  void claim_file(Nid ino);

  // --- names (namei.cc)
  Nid find_entry(Nid directory, std::string_view name, unsigned* block, unsigned* entry);
  bool is_empty(Nid directory);
  bool lies_in(Nid node, Nid ancestor);
  // The block that has room for an entry, or dentry_blocks if there is none; counts what it takes.
  unsigned place_for_entry(Nid directory, Needs& needs, unsigned* blocks, unsigned* nids);
  void add_entry(Nid directory, unsigned block, std::string_view name, Nid ino, bool is_directory);
  void remove_entry(Nid directory, unsigned block, unsigned entry);
  void count_entry_change(Needs& needs) const;
  void flush_directories();
  int end_of_names();
  bool path_is_checkpointed(Nid ino, const Node& inode);

  Config config_;
  Layout layout_;
  Memory memory_{};
  Memory backup_{};
  Disk* disk_ = nullptr;
  int failed_ = 0;
  uint32_t marks_ = 0;
  std::array<std::byte, kMaxFileBlocks * kMaxBlockSize> buffer_;
};

uint32_t hash_of(std::string_view name);
// Whether an entry is valid: its name is one that the model accepts, and its nid is in range.
bool is_good_entry(const DentryBlock& block, unsigned entry, unsigned nids);
inline std::string_view name_of(const DentryBlock& block, unsigned entry) {
  return {block.names[entry].data(), block.entries[entry].name_length};
}

template <class T>
T read_from(const std::byte* bytes) {
  T out;
  std::memcpy(static_cast<void*>(&out), bytes, sizeof out);
  return out;
}

template <class T>
T Core::read_as(Address address) {
  std::array<std::byte, kMaxBlockSize> block;
  read_block(address, block.data());
  return read_from<T>(block.data());
}

template <class Use>
int Core::each_entry(Nid directory, Use use) {
  std::array<std::byte, kMaxBlockSize> bytes;
  for (unsigned b = 0; b < config_.dentry_blocks; ++b) {
    if (pointer(slot_of(directory, b)) == kNoAddress) continue;
    read_data(directory, b, bytes.data());
    const auto block = read_from<DentryBlock>(bytes.data());
    for (unsigned e = 0; e < kDentries; ++e) {
      if ((block.used >> e & 1) == 0) continue;
      if (!is_good_entry(block, e, config_.nids)) return EIO;
      use(name_of(block, e), block.entries[e]);
    }
  }
  return failed_;
}

}  // namespace sisyfs::f2fs
