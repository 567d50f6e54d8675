#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace sisyfs {

void assertion_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "sisyfs: a bug in sisyfs itself: %s (%s) at %s:%d\n", why, condition, file, line);
  std::abort();
}

}  // namespace sisyfs
