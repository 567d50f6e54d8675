// The journal model itself: blocks, transactions, files, names, commit, checkpoint and replay, on a Disk.
//
// Core is what JournalTarget wraps. Everything that survives is on the disk; everything else is in one
// Memory.
//
//   Core core(config);
//   core.format(disk);  core.mount(disk);
//   core.create("/a", Type::kFile);   // 0 or an errno; what fails has changed nothing
//   core.sync();
//
// An op that fails changes nothing. It first reserves space (reserve(), which may commit the ops before it),
// then copies the memory, and restores the copy on any error. For the same reason a transaction never holds
// half of an op.
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
#include "models/journal/memory.h"

namespace sisyfs::journal {

// Rare events, as bits of take_marks().
enum MarkBit : uint32_t {
  kCommitted = 1u << 0,
  kCheckpointed = 1u << 1,
  kForcedCommit = 1u << 2,
  kWrapped = 1u << 3,
  kReplayed = 1u << 4,
  kTornRecord = 1u << 5,
  kRevokeUsed = 1u << 6,
  kDiskFull = 1u << 7,
  kDirectoryFull = 1u << 8,
  kFileTooBig = 1u << 9,
  kInodesUsedUp = 1u << 10,
  kOrphanFreed = 1u << 11,
};
inline constexpr const char* kMarkTexts[] = {
    "a transaction was committed",
    "the journal was checkpointed",
    "a commit was needed to make room",
    "the journal wrapped around",
    "recovery replayed the journal",
    "recovery left out a record that was not whole",
    "recovery left out a copy that was revoked",
    "no block was free",
    "a directory was full",
    "a file reached its greatest size",
    "all inodes were in use",
    "an orphan was freed",
};

// A copy of a name. The rest of a path after a symbolic link is in no buffer that outlives the lookup.
struct ShortName {
  std::array<char, kNameLength> bytes{};
  uint8_t length = 0;
  std::string_view text() const { return {bytes.data(), length}; }
};

enum class Last : uint8_t { kKeep, kFollow };  // what to do where the last name is a symbolic link

// The position of an entry in a directory.
struct Slot {
  unsigned block = kDirectPointers;  // of the directory; kDirectPointers: there is none
  unsigned entry = 0;
};

// The result of following a path.
struct Found {
  int error = 0;  // while the path was followed to its last name
  Ino node = 0;   // what the path names, if it exists
  Ino parent = 0;
  ShortName name;  // empty for the root, and for a link that ends in ".."
  Slot slot;       // of its entry in the parent
};

// Upper bounds of what an op changes.
struct Needs {
  unsigned metadata = 0;  // pages
  unsigned data = 0;      // pages
  unsigned blocks = 0;    // new ones
  unsigned inodes = 0;
};

// LARGE CLASS: it has a function for each call of a file system and for each phase of the journal; its parts
// lie in sources of their own (commit.cc, replay.cc, namei.cc, file.cc).
class Core {
 public:
  explicit Core(const Config& config) : config_(config), layout_(config), max_logged_(count_logged()) {}

  const Config& config() const { return config_; }
  const Layout& layout() const { return layout_; }
  static constexpr uint64_t max_file_size() { return uint64_t{kMaxFileBlocks} * kBlockSize; }
  // Blocks that one transaction can log.
  unsigned max_logged() const { return max_logged_; }

  int format(Disk& disk);
  int mount(Disk& disk);
  int unmount();
  void forget() { memory_ = {}, disk_ = nullptr; }

  // Ops on names. Each answers as Linux does.
  int create(std::string_view path, Type type, std::string_view target = "");
  int unlink(std::string_view path);
  int rmdir(std::string_view path);
  int rename(std::string_view from, std::string_view to);
  int link(std::string_view from, std::string_view path);

  // Ops on files.
  int open(std::string_view path);
  int close(std::string_view path);
  int close(Ino ino);
  // With O_SYNC it is durable when it returns.
  int write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes, bool o_sync = false);
  int truncate(std::string_view path, uint64_t size);
  int fsync(std::string_view path);
  int sync();

  // These change nothing. The bytes live until the next call.
  Found find(std::string_view path, Last last);
  int read(Ino ino, uint64_t offset, uint64_t length, std::span<const std::byte>* out);
  Inode inode(Ino ino);  // zeros and failed() if it cannot be read
  // Calls use(name, ino, type) for each entry; stops and returns EIO if one has impossible content.
  template <class Use>
  int each_entry(Ino directory, Use use);

  int failed() const { return failed_; }
  void clear_failure() { failed_ = 0; }
  uint32_t take_marks() { return std::exchange(marks_, 0); }
  void add_marks(uint32_t marks) { marks_ |= marks; }

  const Memory& memory() const { return memory_; }
  void load(const Memory& memory, Disk& disk) { memory_ = memory, disk_ = &disk; }

 protected:
  static constexpr unsigned kNoPage = kMaxPages;

  // --- blocks (core.cc)
  unsigned find_page(Address address) const;
  unsigned page_count() const;
  unsigned logged_page_count() const;
  bool is_logged(Kind kind) const { return kind != Kind::kData || config_.mode == Mode::kData; }
  std::byte* page_bytes(unsigned page) { return memory_.pages.data() + size_t{page} * kBlockSize; }
  void drop_page(unsigned page);
  void read_disk(Address address, std::byte* out);
  void read_committed(Address address, std::byte* out);
  void read_block(Address address, std::byte* out);
  void write_disk(Address address, const void* bytes, size_t size);
  void flush_disk();
  // The bytes of a block: those of its page, or read into `buffer`.
  const std::byte* bytes_of(Address address, std::array<std::byte, kBlockSize>& buffer);
  template <class T>
  T read_as(Address address);
  // The bytes of a block, to be changed: from now on it is dirty.
  std::byte* edit(Address address, Kind kind, bool fresh = false);
  template <class T>
  void put(Address address, Kind kind, const T& value);

  // --- inodes and maps (core.cc)
  void put_inode(Ino ino, const Inode& value);
  Ino take_inode();
  void save_inode_map();
  void save_block_map();
  uint64_t all_blocks() const;
  Address take_block();
  void free_block(Address address);
  void free_inode(Ino ino);
  void free_orphans();
  int read_supers(Super* super, JournalSuper* journal);
  void load_maps();

  // --- transactions (commit.cc)
  int reserve(const Needs& needs);
  void begin() { backup_ = memory_, failed_ = 0; }
  // The kind of op, as far as it decides whether the op waits for the disk.
  enum class Ending : uint8_t { kOp, kWrite, kWriteSync };
  int end(Ending ending = Ending::kOp);
  unsigned record_size() const;
  bool stays_out(Kind kind) const { return leave_directories_ && kind == Kind::kDirectory; }
  int commit(bool all_data, Ino synced = 0);
  void write_data(bool all, Ino synced);
  void write_record(Ino synced);
  void write_copies(const std::array<uint8_t, kMaxPages>& list, unsigned count, Ino synced, unsigned* at);
  bool forget_size(Address address, Ino synced, std::byte* bytes);
  void checkpoint(bool by_sync);
  int restart_journal();
  void write_journal_super();
  void write_super(bool clean);

  // --- replay (replay.cc)
  struct RecordTags {
    unsigned count = 0, revokes = 0;
    std::array<Address, kMaxJournal> address;
    std::array<uint8_t, kMaxJournal> place;
    std::array<Address, kMaxJournal * kRevokes> revoked;
  };
  void scan_journal(const JournalSuper& super);
  unsigned parse_record(unsigned at, unsigned limit, RecordTags& tags);
  bool take_tags(const Descriptor& descriptor, unsigned at, RecordTags& tags);
  void apply_record(const RecordTags& tags);
  void note_types(Address address);
  void replay(bool in_fsck);

  // --- files (file.cc)
  Address good_address(Address address);
  Address block_of(const Inode& inode, unsigned block);
  Address make_block(Inode& inode, unsigned block);
  void free_blocks(Inode& inode, unsigned first);
  void zero_tail(const Inode& inode);

  // --- names (namei.cc)
  Ino find_entry(Ino directory, std::string_view name, Slot* slot);
  bool is_empty(Ino directory);
  bool lies_in(Ino node, Ino ancestor);
  Slot place_for_entry(const Inode& directory);
  void put_entry(Ino directory, Slot slot, std::string_view name, uint16_t ino, Type type);
  void clear_entry(Ino directory, Slot slot);
  void add_links(Ino ino, int change);
  void drop_link(Ino ino);
  bool is_held(Ino ino, const Inode& inode) const;

  unsigned count_logged() const;

  Config config_;
  Layout layout_;
  unsigned max_logged_;
  Memory memory_{};
  Memory backup_{};
  Memory commit_backup_{};
  Disk* disk_ = nullptr;
  int failed_ = 0;
  uint32_t marks_ = 0;
  bool leave_directories_ = false;         // fsync_parent off: in a commit for fsync
  Address entry_block_ = 0;                // the block in which the current op has put an entry
  InoSet directories_ = 0, confused_ = 0;  // reuse_checked off: inodes that replay has seen
  bool torn_ = false;                      // the scan ended at a record that is not whole
  RecordTags tags_;
  std::array<std::byte, kBlockSize> scratch_;
  std::array<char, 2048> link_text_;
  std::array<std::byte, size_t{kMaxFileBlocks} * kBlockSize> buffer_;
};

// Whether an entry is valid: its name is one that the model accepts, and its inode number is in range.
bool is_good_entry(const Entry& entry, unsigned inodes);
inline std::string_view name_of(const Entry& entry) { return {entry.name.data(), entry.name_length}; }

template <class T>
T read_from(const std::byte* bytes) {
  T out;
  std::memcpy(static_cast<void*>(&out), bytes, sizeof out);
  return out;
}

template <class T>
T Core::read_as(Address address) {
  std::array<std::byte, kBlockSize> buffer;
  return read_from<T>(bytes_of(address, buffer));
}

template <class T>
void Core::put(Address address, Kind kind, const T& value) {
  std::memcpy(edit(address, kind), &value, sizeof value);
}

template <class Use>
int Core::each_entry(Ino directory, Use use) {
  const Inode dir = inode(directory);
  for (unsigned b = 0; b < kDirectPointers; ++b) {
    const Address address = good_address(dir.direct[b]);
    if (address == 0) continue;
    const auto block = read_as<DirectoryBlock>(address);
    for (const Entry& entry : block.entries) {
      if (entry.ino == 0) continue;
      if (!is_good_entry(entry, config_.inodes)) return EIO;
      use(name_of(entry), static_cast<Ino>(entry.ino), entry.type);
    }
  }
  return failed_;
}

}  // namespace sisyfs::journal
