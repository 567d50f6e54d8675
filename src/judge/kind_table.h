// KindTable: the kinds of findings of one check, numbered by what its judges declare.
//
// The catalogue may grow without bound; a check uses a few kinds of it, and its search counts them as bits.
// The numbers follow the order of the catalogue.
//
//   KindTable kinds({FindingKind::kWrongErrno, FindingKind::kNotAllowed});
//   outcome.findings |= kinds.bit(FindingKind::kNotAllowed);   // bit 1
//
// One kind may have several numbers, its variants: findings that are told apart, so that one of them does not
// hide another one in a search for all findings.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <vector>

#include "base/assert.h"
#include "explore/system.h"
#include "judge/catalogue.h"

namespace sisyfs {

class KindTable {
 public:
  KindTable() { bits_.fill(0); }
  // Duplicates are fine. At most 64 different kinds.
  explicit KindTable(std::vector<FindingKind> kinds) : KindTable() {
    std::sort(kinds.begin(), kinds.end());
    kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
    number(std::move(kinds), ~FindingBits{0});
  }
  // The same, and this kind has so many variants, at least 1.
  KindTable(std::vector<FindingKind> kinds, FindingKind several, size_t variants) : KindTable() {
    std::sort(kinds.begin(), kinds.end());
    kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
    const auto at = std::find(kinds.begin(), kinds.end(), several);
    if (at != kinds.end()) kinds.insert(at, variants - 1, several);
    number(std::move(kinds), ~FindingBits{0});
  }
  // Numbered in the order of the list, for models with bits of their own. Only those in `possible` can be
  // found.
  KindTable(std::vector<FindingKind> kinds, FindingBits possible) : KindTable() {
    number(std::move(kinds), possible);
  }

  // The kinds by their number.
  std::span<const FindingKind> kinds() const { return kinds_; }
  FindingKind operator[](size_t number) const { return kinds_[number]; }
  // All bits of a kind; 0 for a kind that no judge has declared.
  FindingBits bit_or_none(FindingKind kind) const { return bits_[static_cast<size_t>(kind)]; }
  // Of a kind that was declared: its first variant, or a later one.
  FindingBits bit(FindingKind kind, size_t variant = 0) const {
    const FindingBits bits = bit_or_none(kind);
    SISYFS_ASSERT(bits != 0, "a judge finds what it has declared");
    return (bits & (~bits + 1)) << variant;
  }
  size_t variants(FindingKind kind) const { return static_cast<size_t>(std::popcount(bit_or_none(kind))); }
  bool has(FindingBits findings, FindingKind kind) const { return (findings & bit_or_none(kind)) != 0; }
  // All that can be found.
  FindingBits all() const { return all_; }
  // The kinds of some bits, each once, in the order of the catalogue; and back, without those that are not in
  // the table.
  std::vector<FindingKind> in(FindingBits findings) const;
  FindingBits bits(std::span<const FindingKind> kinds) const;

 private:
  void number(std::vector<FindingKind> kinds, FindingBits possible) {
    SISYFS_ASSERT(kinds.size() <= 64, "a check has at most 64 kinds of findings");
    for (size_t i = 0; i < kinds.size(); ++i) {
      const FindingBits bit = FindingBits{1} << i & possible;
      bits_[static_cast<size_t>(kinds[i])] |= bit;
      all_ |= bit;
    }
    kinds_ = std::move(kinds);
  }

  std::array<FindingBits, kFindingKinds> bits_;
  std::vector<FindingKind> kinds_;
  FindingBits all_ = 0;
};

}  // namespace sisyfs
