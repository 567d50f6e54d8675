#include "target/target.h"

namespace sisyfs {

std::string to_text(const Problem& problem, const TargetKind& kind, Target& target) {
  const ChecksOffline* check = target.checks_offline();
  std::string text = check == nullptr ? std::string() : check->problem_text(problem);
  return text.empty() ? to_text(problem, kind.words.problems) : text;
}

}  // namespace sisyfs
