// What the two file-mapping models share: configuration, ops, steps, findings. See
// docs/models/file-mapping.md for the definition that this code follows line by line.
#pragma once

#include <array>
#include <cstdint>

namespace sisyfs::mapping {

inline constexpr unsigned kMaxFiles = 4;
inline constexpr unsigned kMaxBlocks = 11;
inline constexpr unsigned kNone = 15;    // no block; as a length: no file
inline constexpr unsigned kAbsent = 15;  // a length that says: this file does not exist

struct Config {
  unsigned files = 4;
  unsigned blocks = 6;
  unsigned tasks = 1;
  bool naive = false;        // order=naive: the pointer is written before what it points to
  bool cache = true;         // cache=flush: a volatile cache, emptied by FLUSH at the end of an op
  bool fill = true;          // free=fill: a freed block loses its content
  bool counter = false;      // data=counter: content from a counter instead of a hash
  unsigned values = 4;       // data=counter: number of different contents
  bool report_dead = false;  // dead=report: dead blocks are findings; otherwise they are repaired
  bool symmetry = false;     // merge states that differ only in the names of files and tasks
};

enum class OpKind : uint8_t { kIdle = 0, kCreate = 1, kAppend = 2, kDelete = 3 };

// One step of an op. An op's program is a word of these, four bits each, the first step lowest.
enum Action : uint32_t {
  kWriteInode = 1,
  kSetWriteInode = 2,  // change the inode in memory, then write it
  kWriteTable = 3,
  kFreeWriteTable = 4,  // free the blocks in memory, then write the table
  kWriteData = 5,
  kWriteIndirect = 6,
  kClearIndirect = 7,
  kFinish = 8,
};

constexpr uint32_t program_of(Action a, Action b = {}, Action c = {}, Action d = {}, Action e = {}) {
  return a | uint32_t{b} << 4 | uint32_t{c} << 8 | uint32_t{d} << 12 | uint32_t{e} << 16;
}

// The program of an op. `length` is the file's before the op; `indirect` says whether the op has an
// indirect block to write (append) or to clear (delete).
constexpr uint32_t program(bool naive, OpKind op, unsigned length, bool indirect) {
  if (naive) {
    if (op == OpKind::kCreate) return program_of(kWriteInode, kWriteTable, kFinish);
    if (op == OpKind::kDelete) return program_of(kWriteTable, kWriteInode, kFinish);
    if (length == 0) return program_of(kWriteInode, kWriteData, kFinish);
    if (indirect) return program_of(kWriteInode, kWriteIndirect, kWriteTable, kWriteData, kFinish);
    return program_of(kWriteInode, kWriteTable, kWriteData, kFinish);
  }
  if (op == OpKind::kCreate) return program_of(kWriteTable, kSetWriteInode, kFinish);
  if (op == OpKind::kDelete)
    return indirect ? program_of(kWriteInode, kClearIndirect, kFreeWriteTable, kFinish)
                    : program_of(kWriteInode, kFreeWriteTable, kFinish);
  if (length == 0) return program_of(kWriteData, kSetWriteInode, kFinish);
  if (indirect) return program_of(kWriteData, kWriteTable, kWriteIndirect, kSetWriteInode, kFinish);
  return program_of(kWriteData, kWriteTable, kSetWriteInode, kFinish);
}

// All programs: kPrograms[naive][op][length > 0][indirect].
inline constexpr auto kPrograms = [] {
  std::array<std::array<std::array<std::array<uint32_t, 2>, 2>, 4>, 2> table{};
  for (unsigned naive = 0; naive < 2; ++naive)
    for (unsigned op = 1; op < 4; ++op)
      for (unsigned longer = 0; longer < 2; ++longer)
        for (unsigned indirect = 0; indirect < 2; ++indirect)
          table[naive][op][longer][indirect] =
              program(naive != 0, static_cast<OpKind>(op), longer, indirect != 0);
  return table;
}();

// The length of a file after an op on it has taken effect.
constexpr unsigned length_after(OpKind op, unsigned length) {
  return op == OpKind::kCreate ? 0 : op == OpKind::kAppend ? length + 1 : kAbsent;
}

// Findings, as bits of Outcome::findings. The numbers are those of the catalogue (judge/catalogue.h).
enum Finding : uint32_t {
  kDeadBlock = 1u << 0,
  kLostBlock = 1u << 1,
  kDoublePointer = 1u << 2,
  kContentError = 1u << 3
};

// Marks, as bits of Outcome::marks.
enum Mark : uint32_t {
  kDeadRepaired = 1u << 0,  // recovery found a dead block and freed it
  kCrashInOp = 1u << 1,     // a power cut while an op was in flight
  kDiskFull = 1u << 2,      // no block is free after an op began
  kIndirectUsed = 1u << 3,  // a file is long enough for an indirect block
  kTwoInFlight = 1u << 4,   // two ops are in flight at once
};

// Observers of the checks are called as see(finding, file, logical block, disk block), with kNone for what
// does not apply. The search passes this one.
inline constexpr auto kUnobserved = [](Finding, unsigned, unsigned, unsigned) {};

// Four-bit fields of a word.
constexpr unsigned nibble(uint64_t word, unsigned i) { return static_cast<unsigned>(word >> (4 * i)) & 15; }
constexpr uint64_t with_nibble(uint64_t word, unsigned i, unsigned value) {
  return (word & ~(uint64_t{15} << (4 * i))) | uint64_t{value} << (4 * i);
}

// What files should hold when data=counter: two bits for each logical block of each file.
struct Expected {
  uint64_t words[2] = {};
  unsigned get(unsigned file, unsigned block) const {
    return static_cast<unsigned>(words[file >> 1] >> (32 * (file & 1) + 2 * block)) & 3;
  }
  void set(unsigned file, unsigned block, unsigned value) {
    const unsigned at = 32 * (file & 1) + 2 * block;
    words[file >> 1] = (words[file >> 1] & ~(uint64_t{3} << at)) | uint64_t{value & 3} << at;
  }
  void clear_from(unsigned file, unsigned block) {
    for (unsigned k = block; k < kMaxBlocks; ++k) set(file, k, 0);
  }
  // The counter lives in the spare bits above the 22 that a file needs.
  unsigned counter() const { return static_cast<unsigned>(words[1] >> 56); }
  void set_counter(unsigned value) {
    words[1] = (words[1] & ~(uint64_t{0xFF} << 56)) | uint64_t{value} << 56;
  }
};

}  // namespace sisyfs::mapping
