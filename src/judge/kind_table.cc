#include "judge/kind_table.h"

namespace sisyfs {

std::vector<FindingKind> KindTable::in(FindingBits findings) const {
  std::vector<FindingKind> found;
  for (size_t i = 0; i < kinds_.size(); ++i)
    if ((findings >> i & 1) != 0 && (found.empty() || found.back() != kinds_[i])) found.push_back(kinds_[i]);
  return found;
}

FindingBits KindTable::bits(std::span<const FindingKind> kinds) const {
  FindingBits bits = 0;
  for (const FindingKind kind : kinds) bits |= bit_or_none(kind);
  return bits;
}

}  // namespace sisyfs
