#include "target/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"

namespace sisyfs {

bool RepairReport::sound() const {
  return error == 0 &&
         std::all_of(problems.begin(), problems.end(), [](const Problem& p) { return p.repaired; });
}

std::string to_text(const Problem& problem, std::span<const ProblemKind> kinds) {
  SISYFS_ASSERT(problem.kind < kinds.size(), "a problem is one of its target's table");
  const ProblemKind& kind = kinds[problem.kind];
  const auto& c = problem.context;
  return fmt::format("{} {}: {}{}", kind.code, kind.name,
                     fmt::format(fmt::runtime(kind.text), c[0], c[1], c[2], c[3]),
                     problem.repaired ? " (repaired)" : "");
}

}  // namespace sisyfs
