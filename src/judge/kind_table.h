// KindTable: the kinds of findings of one check, numbered by what its judges declare.
//
// The catalogue may grow without bound; a check uses a few kinds of it, and its search counts them as bits. The
// numbers follow the order of the catalogue.
//
//   KindTable kinds({FindingKind::kWrongErrno, FindingKind::kNotAllowed});
//   outcome.findings |= kinds.bit(FindingKind::kNotAllowed);   // bit 1
#pragma once

#include <algorithm>
#include <array>
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
    SISYFS_ASSERT(kinds.size() <= 64, "a check has at most 64 kinds of findings");
    for (size_t i = 0; i < kinds.size(); ++i) bits_[static_cast<size_t>(kinds[i])] = FindingBits{1} << i;
    kinds_ = std::move(kinds);
  }

  // The kinds by their number.
  std::span<const FindingKind> kinds() const { return kinds_; }
  FindingKind operator[](size_t number) const { return kinds_[number]; }
  // 0 for a kind that no judge has declared.
  FindingBits bit_or_none(FindingKind kind) const { return bits_[static_cast<size_t>(kind)]; }
  // Of a kind that was declared.
  FindingBits bit(FindingKind kind) const {
    const FindingBits bit = bit_or_none(kind);
    SISYFS_ASSERT(bit != 0, "a judge finds what it has declared");
    return bit;
  }
  bool has(FindingBits findings, FindingKind kind) const { return (findings & bit_or_none(kind)) != 0; }
  // All of them.
  FindingBits all() const { return kinds_.size() == 64 ? ~FindingBits{0} : (FindingBits{1} << kinds_.size()) - 1; }
  // The names of some, with commas between them.
  std::string names(FindingBits findings) const;

 private:
  std::array<FindingBits, kFindingKinds> bits_;
  std::vector<FindingKind> kinds_;
};

}  // namespace sisyfs
