// Faults of protected pages: how the tracker by mprotect learns of a write.
//
// A process has one handler of SIGSEGV. Whoever owns it asks here first, and goes on only if the answer is
// no:
//
//   void on_segv(int, siginfo_t* info, void*) {
//     if (on_page_fault(info->si_addr)) return;  // a tracked page: the write is made again, and succeeds
//     ... the plug-in's own fault ...
//   }
#pragma once

namespace sisyfs {

// Whether the address lies in a page that was protected in order to see the first write to it, which can now
// be made. Async-signal-safe. Never says yes twice for one fault: a fault of another kind is not taken for a
// tracked one.
bool on_page_fault(void* address);

// A handler for a process that has no other: asks on_page_fault(), and hands all else to the handler that was
// there before. Calling it again does nothing.
void install_page_fault_handler();

}  // namespace sisyfs
