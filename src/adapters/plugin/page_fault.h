// Page faults of protected pages: they tell the mprotect tracker of a write.
//
// A process has one handler of SIGSEGV. That handler calls on_page_fault() first, and handles the fault
// itself only if the answer is false:
//
//   void on_segv(int, siginfo_t* info, void*) {
//     if (on_page_fault(info->si_addr)) return;  // a tracked page: the write is made again, and succeeds
//     ... the plug-in's own fault ...
//   }
#pragma once

namespace sisyfs {

// Whether the address lies in a page that a tracker protects. The page is then writable, and the write can be
// repeated. Async-signal-safe. Returns true once for each protection, so a fault of another kind is not taken
// for a tracked one.
bool on_page_fault(void* address);

// Installs a handler for a process that has no other: it calls on_page_fault(), and passes other faults to
// the previous handler. Calling it again does nothing.
void install_page_fault_handler();

}  // namespace sisyfs
