#include "judge/check.h"

#include <fmt/format.h>

namespace sisyfs::detail {

Status accepts_without_shape(const SearchOptions& options) {
  if (options.dedup != Dedup::kShape) return {};
  return bad_input(
      "this target has no tree whose shape could be known again: use --dedup exact, or --symmetry");
}

Error no_such_choice(size_t position, Choice choice) {
  return bad_input(
      fmt::format("step {} of the trace asks for choice {}, which is not possible there: the trace "
                  "belongs to another target, other options or another version",
                  position + 1, static_cast<uint32_t>(choice)));
}

}  // namespace sisyfs::detail
