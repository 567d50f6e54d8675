// The index-type core: inodes with two direct entries and an indirect one, and a bitmap (ext).
#pragma once

#include <bit>
#include <cstring>

#include "models/mapping/mapping.h"

namespace sisyfs::mapping {

struct IndexCore {
  static constexpr const char* kName = "index";
  static constexpr unsigned kDirect = 2;
  static constexpr uint16_t kFilled = 0xFFFF;  // as an indirect block: four times none

  struct Medium {
    uint64_t inodes;  // sixteen bits a file: length, entry 0, entry 1, entry 2 (indirect)
    uint16_t data[kMaxBlocks];
    uint16_t bitmap;  // a one for each allocated block
  };
  struct Memory {
    uint64_t inodes;
    uint16_t bitmap;
    uint16_t ref;
  } __attribute__((packed, aligned(4)));
  struct Task {
    uint16_t op : 2, file : 2, step : 4, block : 4, indirect : 4;
    uint16_t entries;           // delete, pointed: the inode's three entries; above them the counter's value
    uint16_t indirect_entries;  // delete, pointed: what the indirect block lists
    bool operator==(const Task&) const = default;
  };

  static unsigned inode(uint64_t inodes, unsigned f) {
    return static_cast<unsigned>(inodes >> (16 * f)) & 0xFFFF;
  }
  template <class Holder>
  static void set_inode(Holder& h, unsigned f, unsigned inode) {
    h.inodes = (h.inodes & ~(uint64_t{0xFFFF} << (16 * f))) | uint64_t{inode} << (16 * f);
  }
  static unsigned length(const Memory& m, unsigned f) { return nibble(m.inodes, 4 * f); }
  static unsigned length(const Medium& m, unsigned f) { return nibble(m.inodes, 4 * f); }

  static uint32_t free_mask(const Config& c, const Memory& m) { return ~m.bitmap & ((1u << c.blocks) - 1); }
  static unsigned first_free(const Config& c, const Memory& m) {
    const uint32_t mask = free_mask(c, m);
    return mask == 0 ? kNone : static_cast<unsigned>(std::countr_zero(mask));
  }
  static unsigned free_count(const Config& c, const Memory& m) {
    return static_cast<unsigned>(std::popcount(free_mask(c, m)));
  }
  static unsigned longest(const Config& c) { return c.blocks < kDirect + 4 ? c.blocks : kDirect + 4; }
  static unsigned blocks_for_append(unsigned length) { return length == 0 ? 0 : length == kDirect ? 2 : 1; }

  static void format(const Config& c, Medium& m) {
    m.inodes = ~uint64_t{0};
    m.bitmap = 0;
    std::memset(m.data, 0, sizeof m.data);
    for (unsigned b = 0; b < c.blocks; ++b) m.data[b] = kFilled;
  }
  static void load(Memory& m, const Medium& from) {
    m.inodes = from.inodes;
    m.bitmap = from.bitmap;
  }
  // The lengths of all files, four bits each, as in ref.
  static uint16_t lengths(const Medium& m) {
    uint64_t x = m.inodes & 0x000F000F000F000Fu;
    x = (x | x >> 12) & 0x000000FF000000FFu;
    return static_cast<uint16_t>(x | x >> 24);
  }
  static void fill_free(const Config& c, Medium& m) {
    for (uint32_t bits = ~m.bitmap & ((1u << c.blocks) - 1); bits != 0; bits &= bits - 1)
      m.data[std::countr_zero(bits)] = kFilled;
  }

  static bool uses_indirect(const Task& t, unsigned length) {
    if (t.op == static_cast<unsigned>(OpKind::kAppend)) return length >= kDirect;
    return t.op == static_cast<unsigned>(OpKind::kDelete) && nibble(t.entries, 2) != kNone;
  }
  static void set_value(Task& t, unsigned value) { t.entries = static_cast<uint16_t>(value << 12); }
  static unsigned value(const Task& t) { return t.entries >> 12; }
  // A damaged system may take file data for an indirect block. The four bits that tell the file are then no
  // block of any disk, whichever the file is: otherwise files would not be interchangeable.
  static constexpr unsigned kFileTag = kMaxBlocks;
  static uint16_t content(const Config& c, unsigned f, unsigned b, unsigned logical, unsigned value) {
    return static_cast<uint16_t>(c.counter ? 0xC000 | value
                                           : 0xD000 | (kFileTag + f) << 8 | b << 4 | logical);
  }
  // The file whose data this is, or kNone: no entry of an indirect block is 13.
  static unsigned file_of(uint16_t data) {
    const unsigned tag = data >> 8 & 15;
    return data >> 12 == 0xD && tag >= kFileTag && tag < kNone ? tag - kFileTag : kNone;
  }

  // --- helpers of begin() and act() ---
 private:
  static void free_block(const Config& c, Memory& m, unsigned b) {
    if (b < c.blocks) m.bitmap = static_cast<uint16_t>(m.bitmap & ~(1u << b));
  }
  static void free_all(const Config& c, Memory& m, unsigned entries, unsigned indirect_entries) {
    for (unsigned k = 0; k < 3; ++k) free_block(c, m, nibble(entries, k));
    if (nibble(entries, 2) != kNone)
      for (unsigned k = 0; k < 4; ++k) free_block(c, m, nibble(indirect_entries, k));
  }
  static unsigned take_block(const Config& c, Memory& m) {
    const unsigned b = first_free(c, m);
    if (b != kNone) m.bitmap = static_cast<uint16_t>(m.bitmap | 1u << b);
    return b;
  }
  // The inode after a create or an append has taken effect in memory.
  static unsigned grown_inode(const Memory& m, const Task& t) {
    if (t.op == static_cast<unsigned>(OpKind::kCreate)) return 0xFF00u | unsigned{t.block} << 4;
    const unsigned old = inode(m.inodes, t.file), len = old & 15;
    const auto grown = static_cast<unsigned>(with_nibble(old, 0, len + 1));
    if (len == 1) return static_cast<unsigned>(with_nibble(grown, 2, t.block));
    if (len == kDirect) return static_cast<unsigned>(with_nibble(grown, 3, t.indirect));
    return grown;
  }

 public:
  template <class Device>
  static void begin(const Config& c, Memory& m, Task& t, Device& device) {
    const unsigned f = t.file;
    if (t.op == static_cast<unsigned>(OpKind::kCreate)) {
      t.block = take_block(c, m);
      if (c.naive) set_inode(m, f, grown_inode(m, t));
    } else if (t.op == static_cast<unsigned>(OpKind::kAppend)) {
      const unsigned len = length(m, f);
      t.indirect = kNone;
      t.block = len == 0 ? nibble(m.inodes, 4 * f + 1) : take_block(c, m);
      if (len == kDirect) t.indirect = take_block(c, m);
      if (c.naive) set_inode(m, f, grown_inode(m, t));
    } else {
      const unsigned entries = inode(m.inodes, f) >> 4, at = nibble(entries, 2);
      const unsigned listed = at < c.blocks ? device.read_data(at) : unsigned{kFilled};
      if (c.naive) {
        free_all(c, m, entries, listed);
      } else {
        t.entries = static_cast<uint16_t>(entries);
        t.indirect_entries = static_cast<uint16_t>(listed);
      }
      set_inode(m, f, 0xFFFF);
    }
  }

  template <class Device>
  static void act(const Config& c, Memory& m, const Task& t, Action action, Device& device) {
    const unsigned len = nibble(m.ref, t.file);  // before the op
    switch (action) {
      case kSetWriteInode:
        set_inode(m, t.file, grown_inode(m, t));
        [[fallthrough]];
      case kWriteInode:
        device.write_inode(m, t.file);
        break;
      case kFreeWriteTable:
        free_all(c, m, t.entries, t.indirect_entries);
        [[fallthrough]];
      case kWriteTable:
        device.write_table(m);
        break;
      case kWriteData:
        if (t.block < c.blocks) device.write_data(t.block, content(c, t.file, t.block, len, t.entries >> 12));
        break;
      case kWriteIndirect: {
        const unsigned at = len == kDirect ? unsigned{t.indirect} : nibble(m.inodes, 4 * t.file + 3);
        if (at >= c.blocks) break;
        const unsigned old = len == kDirect ? unsigned{kFilled} : device.read_data(at);
        device.write_data(at, static_cast<uint16_t>(with_nibble(old, len - kDirect, t.block)));
        break;
      }
      case kClearIndirect:
        if (nibble(t.entries, 2) < c.blocks) device.write_data(nibble(t.entries, 2), kFilled);
        break;
      case kFinish:
        break;
    }
  }

  // As in the link-type core: all files are checked as the crash left them, whatever is repaired.
  template <class Observer>
  static uint32_t recover(const Config& c, Medium& d, Observer&& see) {
    uint32_t findings = 0, referenced = 0;
    const Medium left = d;
    // Block k of file f lies at b; the indirect block is named kNone.
    const auto refer = [&](unsigned f, unsigned k, unsigned b) {
      const uint32_t mine = b < c.blocks ? 1u << b : 0;
      if ((referenced & mine) != 0) {  // whether it is free or not
        findings |= kDoublePointer;
        see(kDoublePointer, f, k, b);
      }
      referenced |= mine;
      if ((left.bitmap & mine) != 0) return true;
      findings |= kLostBlock;
      see(kLostBlock, f, k, b);
      return false;
    };
    for (unsigned f = 0; f < c.files; ++f) {
      const unsigned len = length(d, f);
      if (len == kAbsent) continue;
      const unsigned node = inode(d.inodes, f);
      const unsigned entries = len == 0 ? 1 : len < 3 ? len : 3;
      refer(f, 0, nibble(node, 1));
      if (len >= 2) refer(f, 1, nibble(node, 2));
      if (len > kDirect) {
        const unsigned at = nibble(node, 3);
        if (refer(f, kNone, at)) {
          for (unsigned k = 0; k < 4 && k + kDirect < len; ++k)
            refer(f, k + kDirect, nibble(left.data[at], k));
          d.data[at] = static_cast<uint16_t>(d.data[at] | 0xFFFFu << (4 * (len - kDirect)));
        }
      }
      set_inode(d, f, (node | 0xFFFFu << (4 * (1 + entries))) & 0xFFFF);
    }
    if (const uint32_t dead = d.bitmap & ~referenced; dead != 0) {
      findings |= kDeadBlock;
      for (uint32_t rest = dead; rest != 0; rest &= rest - 1)
        see(kDeadBlock, kNone, kNone, static_cast<unsigned>(std::countr_zero(rest)));
      d.bitmap = static_cast<uint16_t>(d.bitmap & referenced);
    }
    return findings;
  }

  template <class Device, class Observer>
  static uint32_t verify(const Config& c, const Memory& m, unsigned f, const Expected* expected,
                         const Device& device, Observer&& see) {
    const unsigned node = inode(m.inodes, f), len = node & 15;
    if (len != nibble(m.ref, f)) return see(kContentError, f, kNone, kNone), kContentError;
    const auto allocated = [&](unsigned b) { return b < c.blocks && (m.bitmap >> b & 1) != 0; };
    uint32_t findings = 0;
    const auto lost = [&](unsigned k, unsigned b) {
      if (allocated(b)) return false;
      findings |= kLostBlock;
      see(kLostBlock, f, k, b);
      return true;
    };
    const unsigned indirect = nibble(node, 3);
    const bool listed = len > kDirect && !lost(kNone, indirect);
    const unsigned list = listed ? device.read_data(indirect) : 0;
    const unsigned readable = listed ? len : len < kDirect ? len : kDirect;
    for (unsigned k = 0; k < readable; ++k) {
      const unsigned b = k < kDirect ? nibble(node, 1 + k) : nibble(list, k - kDirect);
      if (lost(k, b)) continue;
      if (device.read_data(b) == content(c, f, b, k, expected == nullptr ? 0 : expected->get(f, k))) continue;
      findings |= kContentError;
      see(kContentError, f, k, b);
    }
    return findings;
  }

  struct Reader {
    const Medium& medium;
    uint16_t read_data(unsigned b) const { return medium.data[b]; }
  };
  struct Device {
    const Config& config;
    Medium& medium;

    void write_inode(const Memory& m, unsigned f) { set_inode(medium, f, inode(m.inodes, f)); }
    void write_table(const Memory& m) {
      medium.bitmap = m.bitmap;
      if (config.fill) fill_free(config, medium);
    }
    void write_data(unsigned b, uint16_t value) { medium.data[b] = value; }
    uint16_t read_data(unsigned b) const { return medium.data[b]; }
  };
};

static_assert(sizeof(IndexCore::Medium) == 32 && sizeof(IndexCore::Memory) == 12 &&
              sizeof(IndexCore::Task) == 6);

}  // namespace sisyfs::mapping
