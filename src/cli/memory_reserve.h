// A reserve of memory, given up when the system refuses more, so that a search can end with its verdict.
//
//   hold_memory_reserve();                            // in main()
//
// A failed allocation in the middle of a search would throw std::bad_alloc in one of several threads, and
// the others would wait for it. Instead the first one gives up the reserve, sets base/memory_refused.h, and
// is tried again. The search sees the flag within 20 ms, and ends as if the bound on memory was reached. When
// the reserve does not suffice, the process says so in a sentence and ends with exit code 4.
#pragma once

namespace sisyfs::cli {

// Called once, before there are threads.
void hold_memory_reserve();

}  // namespace sisyfs::cli
