// The link-type core: inodes with a start block, and one table of links for all blocks (FAT).
//
// All fields are four bits wide and packed, so that a whole state fits one cache line.
#pragma once

#include <bit>
#include <cstring>

#include "models/mapping/mapping.h"

namespace sisyfs::mapping {

struct LinkCore {
  static constexpr const char* kName = "link";
  static constexpr unsigned kEnd = 14;  // end of chain; 15 is "free"
  static constexpr unsigned kFree = 15;
  static constexpr uint8_t kFilled = 0xFF;

  // What a device holds. Blocks beyond the geometry have link 0, which is neither free nor an end.
  struct Medium {
    uint64_t table;   // four bits a block
    uint32_t inodes;  // eight bits a file: length, start
    uint8_t data[12];
  };
  // The copies in memory, and what the user was promised: the length of each file, or that it is absent.
  struct Memory {
    uint32_t inodes;
    uint32_t table_low;
    uint16_t table_high;
    uint16_t ref;

    uint64_t table() const { return table_low | uint64_t{table_high} << 32; }
    void set_table(uint64_t t) {
      table_low = static_cast<uint32_t>(t);
      table_high = static_cast<uint16_t>(t >> 32);
    }
  };
  struct Task {
    uint16_t op : 2, file : 2, step : 4, block : 4, value : 2, spare : 2;
    bool operator==(const Task&) const = default;
  };

  static unsigned length(uint32_t inodes, unsigned f) { return inodes >> (8 * f) & 15; }
  static unsigned start(uint32_t inodes, unsigned f) { return inodes >> (8 * f + 4) & 15; }
  static void set_inode(uint32_t& inodes, unsigned f, unsigned length, unsigned start) {
    inodes = (inodes & ~(0xFFu << (8 * f))) | (length | start << 4) << (8 * f);
  }
  // A one in the lowest bit of each four-bit field that is 15, that is, of each free block.
  static uint64_t free_bits(uint64_t table) {
    return table & table >> 1 & table >> 2 & table >> 3 & 0x11111111111u;
  }
  static unsigned first_free(const Config&, const Memory& m) {
    const uint64_t bits = free_bits(m.table());
    return bits == 0 ? kNone : static_cast<unsigned>(std::countr_zero(bits)) / 4;
  }
  static unsigned free_count(const Config&, const Memory& m) {
    return static_cast<unsigned>(std::popcount(free_bits(m.table())));
  }
  static unsigned longest(const Config& c) { return c.blocks; }
  static unsigned blocks_for_append(unsigned length) { return length == 0 ? 0 : 1; }

  static void format(const Config& c, Medium& m) {
    m.table = (uint64_t{1} << (4 * c.blocks)) - 1;
    m.inodes = 0xFFFFFFFF;
    std::memset(m.data, 0, sizeof m.data);
    std::memset(m.data, kFilled, c.blocks);
  }
  static void load(Memory& m, const Medium& from) {
    m.inodes = from.inodes;
    m.set_table(from.table);
  }
  // A byte of ones for each of eight blocks whose four-bit field has its lowest bit set.
  static uint64_t spread(uint64_t bits) {
    bits = (bits | bits << 16) & 0x0000FFFF0000FFFFu;
    bits = (bits | bits << 8) & 0x00FF00FF00FF00FFu;
    bits = (bits | bits << 4) & 0x0F0F0F0F0F0F0F0Fu;
    return bits * 0xFF;
  }
  static void fill_free(const Config&, Medium& m) {
    static_assert(kFilled == 0xFF);
    const uint64_t bits = free_bits(m.table);
    uint64_t low = 0;
    uint32_t high = 0;
    std::memcpy(&low, m.data, 8);
    std::memcpy(&high, m.data + 8, 4);
    low |= spread(bits & 0xFFFFFFFF);
    high |= static_cast<uint32_t>(spread(bits >> 32));
    std::memcpy(m.data, &low, 8);
    std::memcpy(m.data + 8, &high, 4);
  }
  // The lengths of all files, four bits each, as in ref.
  static uint16_t lengths(const Medium& m) {
    uint32_t x = m.inodes & 0x0F0F0F0Fu;
    x = (x | x >> 4) & 0x00FF00FFu;
    return static_cast<uint16_t>(x | x >> 8);
  }
  static unsigned length(const Memory& m, unsigned f) { return length(m.inodes, f); }
  static unsigned length(const Medium& m, unsigned f) { return length(m.inodes, f); }
  static bool uses_indirect(const Task&, unsigned) { return false; }

  static void set_value(Task& t, unsigned value) { t.value = value & 3; }
  static unsigned value(const Task& t) { return t.value; }
  static uint8_t content(const Config& c, unsigned f, unsigned, unsigned logical, unsigned value) {
    return static_cast<uint8_t>(c.counter ? 0x40 | value : f << 4 | logical);
  }

  // The last block of a chain of `length` blocks in memory, or none in a damaged system.
  static unsigned last_block(const Config& c, const Memory& m, unsigned f) {
    const uint64_t table = m.table();
    unsigned at = start(m.inodes, f);
    if (at >= c.blocks) return kNone;
    for (unsigned k = 1; k < length(m.inodes, f); ++k) {
      const unsigned next = nibble(table, at);
      if (next >= c.blocks) break;
      at = next;
    }
    return at;
  }

  template <class Device>
  static void begin(const Config& c, Memory& m, Task& t, Device&) {
    const unsigned f = t.file;
    if (t.op == static_cast<unsigned>(OpKind::kCreate)) {
      t.block = first_free(c, m);
      m.set_table(with_nibble(m.table(), t.block, kEnd));
      if (c.naive) set_inode(m.inodes, f, 0, t.block);
    } else if (t.op == static_cast<unsigned>(OpKind::kAppend)) {
      const unsigned length_now = length(m, f);
      if (length_now == 0) {
        t.block = start(m.inodes, f);
      } else {
        t.block = first_free(c, m);
        const unsigned last = last_block(c, m, f);
        uint64_t table = with_nibble(m.table(), t.block, kEnd);
        if (last != kNone) table = with_nibble(table, last, t.block);
        m.set_table(table);
      }
      if (c.naive) set_inode(m.inodes, f, length_now + 1, start(m.inodes, f));
    } else {
      if (c.naive)
        free_chain(c, m, start(m.inodes, f));
      else
        t.block = start(m.inodes, f);
      set_inode(m.inodes, f, kAbsent, kNone);
    }
  }

  static void free_chain(const Config& c, Memory& m, unsigned at) {
    uint64_t table = m.table();
    for (unsigned k = 0; k < c.blocks && at < c.blocks; ++k) {
      const unsigned next = nibble(table, at);
      if (next == kFree) break;
      table = with_nibble(table, at, kFree);
      at = next;
    }
    m.set_table(table);
  }

  template <class Device>
  static void act(const Config& c, Memory& m, const Task& t, Action action, Device& device) {
    switch (action) {
      case kSetWriteInode:
        if (t.op == static_cast<unsigned>(OpKind::kCreate))
          set_inode(m.inodes, t.file, 0, t.block);
        else
          set_inode(m.inodes, t.file, length(m, t.file) + 1, start(m.inodes, t.file));
        [[fallthrough]];
      case kWriteInode:
        device.write_inode(m, t.file);
        break;
      case kFreeWriteTable:
        free_chain(c, m, t.block);
        [[fallthrough]];
      case kWriteTable:
        device.write_table(m);
        break;
      case kWriteData:
        if (t.block < c.blocks)
          device.write_data(t.block, content(c, t.file, t.block, nibble(m.ref, t.file), t.value));
        break;
      default:
        break;
    }
  }

  // The offline check after a crash, and then the repair: all files are checked in the table as the crash
  // left it. Returns findings, dead blocks included, and calls `see` for each of them.
  template <class Observer>
  static uint32_t recover(const Config& c, Medium& d, Observer&& see) {
    uint32_t findings = 0;
    uint64_t repaired = d.table, referenced = 0;  // referenced: the lowest bit of the block's four
    for (unsigned f = 0; f < c.files; ++f) {
      const unsigned len = length(d, f);
      if (len == kAbsent) continue;
      const unsigned wanted = len == 0 ? 1 : len;
      unsigned at = start(d.inodes, f), last = kNone;
      bool lost = false;
      for (unsigned k = 0; k < wanted && !lost; ++k) {
        const uint64_t mine = at < c.blocks ? uint64_t{1} << (4 * at) : 0;
        if ((referenced & mine) != 0) {  // whether it is free or not
          findings |= kDoublePointer;
          see(kDoublePointer, f, k, at);
        }
        referenced |= mine;
        lost = mine == 0 || nibble(d.table, at) == kFree;
        if (lost) {
          findings |= kLostBlock;
          see(kLostBlock, f, k, at);
        } else {
          last = at;
          at = nibble(d.table, at);
        }
      }
      if (!lost && at != kEnd) repaired = with_nibble(repaired, last, kEnd);
    }
    const uint64_t blocks = 0x11111111111u & ((uint64_t{1} << (4 * c.blocks)) - 1);
    const uint64_t dead = blocks & ~free_bits(repaired) & ~referenced;
    if (dead != 0) {
      findings |= kDeadBlock;
      repaired |= dead * 15;
      for (uint64_t left = dead; left != 0; left &= left - 1)
        see(kDeadBlock, kNone, kNone, static_cast<unsigned>(std::countr_zero(left)) / 4);
    }
    d.table = repaired;
    return findings;
  }

  // The online check of one file: reads it as a user would, as far as its blocks can be followed.
  template <class Device, class Observer>
  static uint32_t verify(const Config& c, const Memory& m, unsigned f, const Expected* expected,
                         const Device& device, Observer&& see) {
    const unsigned len = length(m, f);
    if (len != nibble(m.ref, f)) return see(kContentError, f, kNone, kNone), kContentError;
    const uint64_t table = m.table();
    unsigned at = start(m.inodes, f);
    uint32_t findings = 0;
    for (unsigned k = 0; k < len; ++k) {
      if (at >= c.blocks || nibble(table, at) == kFree)
        return see(kLostBlock, f, k, at), findings | kLostBlock;
      if (device.read_data(at) != content(c, f, at, k, expected == nullptr ? 0 : expected->get(f, k))) {
        findings |= kContentError;
        see(kContentError, f, k, at);
      }
      at = nibble(table, at);
    }
    return findings;
  }

  // The device of the direct form: a medium inside the state.
  struct Reader {
    const Medium& medium;
    uint8_t read_data(unsigned b) const { return medium.data[b]; }
  };
  struct Device {
    const Config& config;
    Medium& medium;

    void write_inode(const Memory& m, unsigned f) {  // the disk block holds two inodes
      const uint32_t mask = f < 2 ? 0x0000FFFFu : 0xFFFF0000u;
      medium.inodes = (medium.inodes & ~mask) | (m.inodes & mask);
    }
    void write_table(const Memory& m) {
      medium.table = m.table();
      if (config.fill) fill_free(config, medium);
    }
    void write_data(unsigned b, uint8_t value) { medium.data[b] = value; }
    uint8_t read_data(unsigned b) const { return medium.data[b]; }
  };
};

static_assert(sizeof(LinkCore::Medium) == 24 && sizeof(LinkCore::Memory) == 12 &&
              sizeof(LinkCore::Task) == 2);

}  // namespace sisyfs::mapping
