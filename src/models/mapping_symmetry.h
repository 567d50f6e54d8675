// Symmetry of the file-mapping models: files have no order, and tasks have none.
//
// canonical_form() renames the files (and swaps the tasks) of a state so that most states that differ
// only in names become one. It always applies a permutation under which the model is symmetric, so
// merging by the result is sound even where two equivalent states should get different forms.
#pragma once

#include <algorithm>
#include <cstring>

#include "models/index_core.h"
#include "models/link_core.h"

namespace sisyfs::mapping {

// to[f] is the new name of file f.
using Renaming = std::array<uint8_t, kMaxFiles>;

inline uint16_t rename_nibbles(uint16_t word, const Renaming& to) {
  uint16_t out = 0;
  for (unsigned f = 0; f < kMaxFiles; ++f) out = static_cast<uint16_t>(out | nibble(word, f) << (4 * to[f]));
  return out;
}

inline void rename_files(const Config& c, LinkCore::Medium& m, const Renaming& to) {
  uint32_t inodes = 0;
  for (unsigned f = 0; f < kMaxFiles; ++f) inodes |= (m.inodes >> (8 * f) & 0xFF) << (8 * to[f]);
  m.inodes = inodes;
  if (c.counter) return;
  for (unsigned b = 0; b < c.blocks; ++b)
    if (m.data[b] < 0x40) m.data[b] = static_cast<uint8_t>(to[m.data[b] >> 4] << 4 | (m.data[b] & 15));
}
inline void rename_files(LinkCore::Memory& m, const Renaming& to) {
  uint32_t inodes = 0;
  for (unsigned f = 0; f < kMaxFiles; ++f) inodes |= (m.inodes >> (8 * f) & 0xFF) << (8 * to[f]);
  m.inodes = inodes;
  m.ref = rename_nibbles(m.ref, to);
}
inline void rename_files(const Config& c, IndexCore::Medium& m, const Renaming& to) {
  uint64_t inodes = 0;
  for (unsigned f = 0; f < kMaxFiles; ++f) inodes |= (m.inodes >> (16 * f) & 0xFFFF) << (16 * to[f]);
  m.inodes = inodes;
  if (c.counter) return;
  for (unsigned b = 0; b < c.blocks; ++b)  // file data, and not an indirect block: no entry is 13
    if (m.data[b] >> 12 == 0xD)
      m.data[b] = static_cast<uint16_t>((m.data[b] & 0xF0FF) | to[m.data[b] >> 8 & 3] << 8);
}
inline void rename_files(IndexCore::Memory& m, const Renaming& to) {
  uint64_t inodes = 0;
  for (unsigned f = 0; f < kMaxFiles; ++f) inodes |= (m.inodes >> (16 * f) & 0xFFFF) << (16 * to[f]);
  m.inodes = inodes;
  m.ref = rename_nibbles(m.ref, to);
}

// What tells file f from the others, with the op in flight on it.
template <class State>
uint64_t file_key(const LinkCore&, const State& s, unsigned f) {
  uint64_t key = (s.memory.inodes >> (8 * f) & 0xFF) | (s.cache.inodes >> (8 * f) & 0xFF) << 8 |
                 uint64_t{s.disk.inodes >> (8 * f) & 0xFF} << 16 | uint64_t{nibble(s.memory.ref, f)} << 24;
  for (const auto& t : s.tasks)
    if (t.op != 0 && t.file == f)
      key |= uint64_t{t.op} << 28 | uint64_t{t.step} << 30 | uint64_t{t.block} << 34;
  return key;
}
template <class State>
uint64_t file_key(const IndexCore&, const State& s, unsigned f) {
  uint64_t key = (s.memory.inodes >> (16 * f) & 0xFFFF) | (s.cache.inodes >> (16 * f) & 0xFFFF) << 16 |
                 (s.disk.inodes >> (16 * f) & 0xFFFF) << 32 | uint64_t{nibble(s.memory.ref, f)} << 48;
  for (const auto& t : s.tasks)
    if (t.op != 0 && t.file == f)
      key |= uint64_t{t.op} << 52 | uint64_t{t.step} << 54 | uint64_t{t.block} << 58;
  return key;
}

inline Renaming renaming(const LinkCore&, const Config& c, const std::array<uint64_t, kMaxFiles>& key) {
  // Files 2k and 2k+1 share a disk block: sort inside the pairs, then the pairs.
  Renaming to{0, 1, 2, 3};
  if (c.files >= 2 && key[0] > key[1]) std::swap(to[0], to[1]);
  if (c.files < kMaxFiles) return to;
  if (key[2] > key[3]) std::swap(to[2], to[3]);
  const auto first = std::minmax(key[0], key[1]), second = std::minmax(key[2], key[3]);
  if (std::pair(first) > std::pair(second))
    for (uint8_t& name : to) name ^= 2;
  return to;
}
inline Renaming renaming(const IndexCore&, const Config& c, const std::array<uint64_t, kMaxFiles>& key) {
  // A file's new name is the number of files before it; equal keys keep their order.
  Renaming to{0, 1, 2, 3};
  for (unsigned f = 0; f < c.files; ++f) {
    uint8_t before = 0;
    for (unsigned g = 0; g < c.files; ++g) before += key[g] < key[f] || (key[g] == key[f] && g < f);
    to[f] = before;
  }
  return to;
}

template <class Core, class State>
State canonical_form(const Config& c, const State& s) {
  std::array<uint64_t, kMaxFiles> key{};
  for (unsigned f = 0; f < c.files; ++f) key[f] = file_key(Core{}, s, f);
  const Renaming to = renaming(Core{}, c, key);
  State out = s;
  rename_files(c, out.disk, to);
  if (c.cache) rename_files(c, out.cache, to);
  rename_files(out.memory, to);
  for (auto& t : out.tasks)
    if (t.op != 0) t.file = to[t.file];
  if (std::memcmp(&out.tasks[1], &out.tasks[0], sizeof out.tasks[0]) < 0 && c.tasks == 2)
    std::swap(out.tasks[0], out.tasks[1]);
  if constexpr (requires { out.words; })
    for (unsigned f = 0; f < kMaxFiles; ++f)
      for (unsigned k = 0; k < kMaxBlocks; ++k) out.set(to[f], k, s.get(f, k));
  return out;
}

}  // namespace sisyfs::mapping
