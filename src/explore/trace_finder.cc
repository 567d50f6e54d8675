#include "explore/trace_finder.h"

#include <algorithm>

namespace sisyfs::detail {

Trace Paths::to(uint64_t state) const {
  Trace trace;
  for (; state != 0; state = steps_[state].parent) trace.push_back(steps_[state].choice);
  std::reverse(trace.begin(), trace.end());
  return trace;
}

Trace Paths::to(uint64_t state, Choice last) const {
  Trace trace = to(state);
  trace.push_back(last);
  return trace;
}

}  // namespace sisyfs::detail
