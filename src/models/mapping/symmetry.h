// Symmetry of the file-mapping models: files are interchangeable, and so are tasks.
//
// canonical_form() renames the files (and swaps the tasks) of a state so that two states that differ
// only in names become one. Files are sorted by a key of all that is known about each; where keys are
// equal, which happens in damaged systems and where freed blocks keep their content, all ways to break
// the tie are tried and the least state is taken. The result depends on nothing but the class of the
// state, so a search counts the same classes whichever member of each it meets first.
#pragma once

#include <algorithm>
#include <cstring>

#include "models/mapping/index_core.h"
#include "models/mapping/link_core.h"

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
  for (unsigned b = 0; b < c.blocks; ++b)
    if (const unsigned f = IndexCore::file_of(m.data[b]); f != kNone)
      m.data[b] = static_cast<uint16_t>((m.data[b] & 0xF0FF) | (IndexCore::kFileTag + to[f]) << 8);
}
inline void rename_files(IndexCore::Memory& m, const Renaming& to) {
  uint64_t inodes = 0;
  for (unsigned f = 0; f < kMaxFiles; ++f) inodes |= (m.inodes >> (16 * f) & 0xFFFF) << (16 * to[f]);
  m.inodes = inodes;
  m.ref = rename_nibbles(m.ref, to);
}

// The key of file f: all that distinguishes it from other files, with the op in flight on it, as one number.
template <class State>
uint64_t file_key(const LinkCore&, const State& s, unsigned f) {
  uint64_t key = (s.memory.inodes >> (8 * f) & 0xFF) | (s.cache.inodes >> (8 * f) & 0xFF) << 8 |
                 uint64_t{s.disk.inodes >> (8 * f) & 0xFF} << 16 | uint64_t{nibble(s.memory.ref, f)} << 24;
  for (const auto& t : s.tasks)
    if (t.op != 0 && t.file == f)
      key |=
          uint64_t{t.op} << 28 | uint64_t{t.step} << 30 | uint64_t{t.block} << 34 | uint64_t{t.value} << 38;
  return key;
}
template <class State>
uint64_t file_key(const IndexCore&, const State& s, unsigned f) {
  uint64_t key = (s.memory.inodes >> (16 * f) & 0xFFFF) | (s.cache.inodes >> (16 * f) & 0xFFFF) << 16 |
                 (s.disk.inodes >> (16 * f) & 0xFFFF) << 32 | uint64_t{nibble(s.memory.ref, f)} << 48;
  for (const auto& t : s.tasks)
    if (t.op != 0 && t.file == f)
      key = mul_fold(key ^ 0x9e3779b97f4a7c15u,
                     0xd1342543de82ef95u ^
                         (uint64_t{t.op} << 52 | uint64_t{t.step} << 48 | uint64_t{t.block} << 44 |
                          uint64_t{t.indirect} << 40 | uint64_t{t.entries} << 16 | t.indirect_entries));
  return key;
}
using FileKeys = std::array<uint64_t, kMaxFiles>;

// Whether a renaming is one under which the model is symmetric: all of the files in use for `index`; for
// `link`, where files 2k and 2k+1 share a disk block, those that keep the pairs.
inline bool is_symmetry(const LinkCore&, const Config& c, const Renaming& to) {
  for (unsigned f = c.files; f < kMaxFiles; ++f)
    if (to[f] != f) return false;
  return (to[0] ^ to[1]) == 1 && (to[2] ^ to[3]) == 1;
}
inline bool is_symmetry(const IndexCore&, const Config& c, const Renaming& to) {
  for (unsigned f = c.files; f < kMaxFiles; ++f)
    if (to[f] != f) return false;
  return true;
}

inline FileKeys renamed(const FileKeys& keys, const Renaming& to) {
  FileKeys out;
  for (unsigned f = 0; f < kMaxFiles; ++f) out[to[f]] = keys[f];
  return out;
}

// A symmetry that sorts the keys as far as the model allows.
inline Renaming sorting(const LinkCore&, const Config& c, const FileKeys& key) {
  Renaming to{0, 1, 2, 3};
  if (c.files >= 2 && key[0] > key[1]) std::swap(to[0], to[1]);
  if (c.files < kMaxFiles) return to;
  if (key[2] > key[3]) std::swap(to[2], to[3]);
  if (std::pair(std::minmax(key[0], key[1])) > std::pair(std::minmax(key[2], key[3])))
    for (uint8_t& name : to) name ^= 2;
  return to;
}
inline Renaming sorting(const IndexCore&, const Config& c, const FileKeys& key) {
  // A file's new name is the number of files before it; equal keys keep their order.
  Renaming to{0, 1, 2, 3};
  for (unsigned f = 0; f < c.files; ++f) {
    uint8_t before = 0;
    for (unsigned g = 0; g < c.files; ++g) before += key[g] < key[f] || (key[g] == key[f] && g < f);
    to[f] = before;
  }
  return to;
}

// Whether two files in use have equal keys and may still differ. Two files that are absent everywhere, with
// no op on them, do not differ if freed blocks lose their content and the write order is the right one: then
// no trace of them is left.
inline bool has_ties(const Config& c, const FileKeys& key, uint64_t absent_key) {
  for (unsigned f = 0; f < c.files; ++f)
    for (unsigned g = 0; g < f; ++g)
      if (key[f] == key[g] && (!c.fill || c.naive || key[f] != absent_key)) return true;
  return false;
}

template <class Core, class State>
State renamed_state(const Config& c, const State& s, const Renaming& to) {
  State out = s;
  rename_files(c, out.disk, to);
  if (c.cache) rename_files(c, out.cache, to);
  rename_files(out.memory, to);
  for (auto& t : out.tasks)
    if (t.op != 0) t.file = to[t.file];
  if (c.tasks == 2 && std::memcmp(&out.tasks[1], &out.tasks[0], sizeof out.tasks[0]) < 0)
    std::swap(out.tasks[0], out.tasks[1]);
  if constexpr (requires { out.words; })
    for (unsigned f = 0; f < kMaxFiles; ++f)
      for (unsigned k = 0; k < kMaxBlocks; ++k) out.set(to[f], k, s.get(f, k));
  return out;
}

// All renamings, in lexical order.
inline constexpr auto kRenamings = [] {
  std::array<Renaming, 24> all{};
  size_t n = 0;
  for (uint8_t a = 0; a < 4; ++a)
    for (uint8_t b = 0; b < 4; ++b)
      for (uint8_t c = 0; c < 4; ++c)
        if (a != b && a != c && b != c) all[n++] = {a, b, c, static_cast<uint8_t>(6 - a - b - c)};
  return all;
}();

template <class Core, class State>
State canonical_form(const Config& c, const State& s) {
  FileKeys key{};
  for (unsigned f = 0; f < c.files; ++f) key[f] = file_key(Core{}, s, f);
  const Renaming first = sorting(Core{}, c, key);
  State least = renamed_state<Core>(c, s, first);
  State absent{};
  Core::format(c, absent.disk);
  absent.memory.ref = 0xFFFF;
  Core::load(absent.memory, absent.disk);
  if (c.cache) absent.cache = absent.disk;
  if (!has_ties(c, key, file_key(Core{}, absent, 0))) return least;
  const FileKeys sorted = renamed(key, first);
  for (const Renaming& to : kRenamings) {
    if (!is_symmetry(Core{}, c, to) || renamed(key, to) != sorted) continue;
    const State other = renamed_state<Core>(c, s, to);
    if (std::memcmp(static_cast<const void*>(&other), static_cast<const void*>(&least), sizeof least) < 0)
      least = other;
  }
  return least;
}

}  // namespace sisyfs::mapping
