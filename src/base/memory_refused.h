// Whether the system has refused memory to this process. Set by the handler of failed allocations
// (cli/memory_reserve.h). A search that sees it ends as if its bound on memory was reached.
#pragma once

#include <atomic>

namespace sisyfs {

inline std::atomic<bool> memory_refused{false};

}  // namespace sisyfs
