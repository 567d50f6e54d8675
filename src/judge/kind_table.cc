#include "judge/kind_table.h"

namespace sisyfs {

std::string KindTable::names(FindingBits findings) const {
  std::string names;
  for (size_t i = 0; i < kinds_.size(); ++i) {
    if ((findings >> i & 1) == 0) continue;
    if (!names.empty()) names += ", ";
    names += info(kinds_[i]).name;
  }
  return names;
}

}  // namespace sisyfs
