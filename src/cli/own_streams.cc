#include "cli/own_streams.h"

#include <cstdio>

#include "adapters/plugin/process_guard.h"

namespace sisyfs::cli {

void guard_and_keep_streams() {
  std::fflush(nullptr);
  const RealStreams real = guard_process();
  if (FILE* const output = fdopen(real.output, "w"); output != nullptr) stdout = output;
  FILE* const error = fdopen(real.error, "w");
  if (error == nullptr) return;
  setvbuf(error, nullptr, _IONBF, 0);
  stderr = error;
}

}  // namespace sisyfs::cli
