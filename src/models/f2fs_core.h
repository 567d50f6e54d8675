// F2fs: the file system itself, on a Disk; Target (f2fs_target.h) is its face.
//
// One class, in the order of its files: blocks and logs (f2fs_core.cc), files (f2fs_file.cc), names
// (f2fs_namei.cc), the checkpoint (f2fs_checkpoint.cc), mounting and roll-forward (f2fs_recovery.cc), and the
// offline check (f2fs_fsck.cc).
//
//   F2fs fs(config);
//   fs.format(disk);  fs.mount(disk);  fs.create("/a", Type::kFile);  fs.checkpoint();
//
// An op makes room before it begins (make_room): only there is garbage collected and a checkpoint written,
// so that no checkpoint ever holds half of an op. What an op itself does cannot fail for lack of space.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "disk/disk.h"
#include "models/f2fs_memory.h"
#include "target/problem.h"

namespace sisyfs::f2fs {

// Rare things that happened, as bits; kMarkTexts says them.
enum MarkBit : uint32_t {
  kMarkGc = 1u << 0,
  kMarkCheckpoint = 1u << 1,
  kMarkRollForward = 1u << 2,
  kMarkRollBack = 1u << 3,
  kMarkNoSpace = 1u << 4,
  kMarkFullDirectory = 1u << 5,
  kMarkMaxFile = 1u << 6,
  kMarkReused = 1u << 7,
  kMarkFsyncCheckpoint = 1u << 8,
};

// Where a path leads.
struct Where {
  int error = 0;
  Nid parent = kNoNid;  // kNoNid: the path is the root
  std::string_view name;
  Nid node = kNoNid;  // kNoNid: nothing is there
  Type type = Type::kFile;
  uint8_t block = 0, slot = 0;  // of the dentry
};

class F2fs {
 public:
  explicit F2fs(const Config& config) : config_(config) { forget(); }

  const Config& config() const { return config_; }
  const Memory& memory() const { return m_; }
  void restore(const Memory& memory, Disk* disk) { m_ = memory, disk_ = disk; }
  void forget();
  uint32_t take_marks() { return std::exchange(marks_, 0); }

  // All answer 0 or an errno.
  int format(Disk& disk);
  int mount(Disk& disk);
  int unmount();
  int sync();
  int create(std::string_view path, Type type);
  int remove(std::string_view path, Type type);
  int rename(std::string_view from, std::string_view to);
  int open(std::string_view path);
  int close(std::string_view path);
  int fsync(std::string_view path);
  int truncate(std::string_view path, uint64_t size);
  // `fill(offset, bytes)` gives the bytes of the file from there on.
  template <class Fill>
  int write(Nid ino, uint64_t offset, uint64_t length, Fill fill);
  int file_at(std::string_view path, Nid* ino, uint64_t* size);
  int read(Nid ino, uint64_t offset, std::span<std::byte> out);

  Where find(std::string_view path);
  bool read_node(Nid nid, NodeBlock* out);
  bool read_dentries(const NodeBlock& inode, unsigned block, DentryBlock* out);

  void fsck(Disk& disk, bool repair, RepairReport* report);

 private:
  friend class Fsck;
  friend class RollForward;

  // Blocks and logs.
  bool read_main(Blk at, void* out);
  bool read_place(unsigned at, void* out);
  void write_place(unsigned at, const void* bytes, Kind kind);
  void flush_disk();
  bool valid(Blk at) const { return m_.sit[at / kSegmentBlocks] >> (at % kSegmentBlocks) & 1; }
  bool in_main(Blk at) const { return at < config_.main_blocks(); }
  void set_valid(Blk at, bool on);
  bool is_current(unsigned segment) const;
  void release(unsigned segment);
  void find_free_segments(uint64_t except);
  bool open_segment(Log log);
  Blk take_block(Log log, Summary owner);
  void drop_block(Blk at);
  void write_summary(unsigned segment, const Summary* entries);
  unsigned free_segments() const;
  unsigned dirty_pages() const;
  bool make_room(unsigned blocks, unsigned nids, bool must);
  bool collect_garbage();
  bool move_block(Blk at, Summary owner);

  // Pages and nodes.
  int page_of(PageKey key) const;
  void* add_page(PageKey key);
  void drop_page(PageKey key);
  NodeBlock* edit_node(Nid nid);
  NodeBlock* new_node(Nid nid, Nid ino, NodeKind kind, unsigned offset, bool directory);
  void free_node(Nid nid);
  Nid take_nid() const;
  unsigned free_nids() const;
  void write_node(Nid nid, bool warm, bool fsync, bool dentry);
  void write_data_page(PageKey key);
  void write_pages(Nid ino);  // kNoNid: all

  // Files.
  Nid node_of(const NodeBlock& inode, unsigned offset);
  Blk block_at(const NodeBlock& inode, unsigned index);
  bool read_block(const NodeBlock& inode, unsigned index, Block* out);
  Blk* edit_pointer(Nid ino, unsigned index, Nid* owner);
  void store(Nid ino, unsigned index, const void* bytes);
  void cut(Nid ino, unsigned blocks);
  void free_file(Nid ino);
  bool rolls_forward(Nid ino);
  void count_need(const NodeBlock& inode, unsigned first, unsigned last, unsigned* blocks, unsigned* nids);
  int begin_write(Nid ino, uint64_t offset, uint64_t length, bool* cached);
  bool put_block(Nid ino, unsigned index, const Block& bytes, bool cached);
  int end_write(Nid ino, uint64_t size);

  // Names.
  bool find_in(Nid directory, std::string_view name, Where* out);
  bool free_slot(Nid directory, Where* out, unsigned* blocks, unsigned* nids);
  bool is_empty(Nid directory);
  bool lies_in(Nid nid, Nid ancestor);
  DentryBlock* edit_dentries(Nid directory, unsigned block);
  void set_entry(Nid directory, const Where& at, std::string_view name, Nid ino, Type type);
  void clear_entry(Nid directory, const Where& at);
  void set_name(Nid ino, Nid parent, std::string_view name);
  void add_links(Nid directory, int by);

  // The checkpoint and its way back.
  void checkpoint();
  void write_tables();
  void write_pack_end(char magic, uint32_t version, unsigned at, Kind kind);
  int load_checkpoint(Disk& disk);
  bool read_pack(unsigned pack, uint32_t* version, PackBody* body);
  int done();

  Config config_;
  Memory m_;
  Disk* disk_ = nullptr;
  bool failed_ = false;  // a read or write of the op at hand failed
  uint32_t marks_ = 0;
};

template <class Fill>
int F2fs::write(Nid ino, uint64_t offset, uint64_t length, Fill fill) {
  bool cached = false;
  if (const int error = begin_write(ino, offset, length, &cached)) return error;
  const uint64_t end = offset + length;
  for (uint64_t at = offset; at < end;) {
    const auto index = static_cast<unsigned>(at / kBlockBytes);
    const uint64_t skip = at % kBlockBytes;
    const uint64_t count = std::min<uint64_t>(kBlockBytes - skip, end - at);
    Block bytes{};
    NodeBlock inode;
    if (count < kBlockBytes && (!read_node(ino, &inode) || !read_block(inode, index, &bytes))) return done();
    fill(at, std::span(bytes).subspan(skip, count));
    if (!put_block(ino, index, bytes, cached)) return done();
    at += count;
  }
  return end_write(ino, end);
}

}  // namespace sisyfs::f2fs
