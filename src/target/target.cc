#include "target/target.h"

#include <fmt/format.h>

namespace sisyfs {

std::string error_text(const Walk& walk) {
  return fmt::format("{} cannot be read: {}", walk.where.text(), errno_text(walk.error));
}

std::string to_text(const Problem& problem, const TargetKind& kind, Target& target) {
  const ChecksOffline* check = target.checks_offline();
  std::string text = check == nullptr ? std::string() : check->problem_text(problem);
  return text.empty() ? to_text(problem, kind.words.problems) : text;
}

}  // namespace sisyfs
