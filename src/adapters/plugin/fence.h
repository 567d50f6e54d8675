// Fence: runs foreign code that may die, hang or exit, and lets the checker go on.
//
// A signal, an abort, an endless loop or an exit inside of a call becomes a fault with a text. The call is
// left by a long jump: no code of it runs any more, and its memory is in an unknown state. The caller then
// loads memory that was saved before.
//
//   Fence fence(limits);
//   if (!fence.run([&] { answer = plugin->create(fs, path); }))
//     tell(fence.fault(), fence.text(), fence.samples().text());
//
// A callback of the checker, called by foreign code, opens a gate. A fault in it is a fault of the checker.
//
//   int disk_read(...) {
//     Fence::Gate gate(fence);   // no jump from here on
//     ...
//   }                            // if the time limit was reached meanwhile, the jump happens here
//
// The fence sees the signals of the thread that runs inside. It cannot see wild writes into the memory of the
// checker; therefore foreign code runs in processes of its own (cli/supervisor.h, cli/crew.h).
#pragma once

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

#include "adapters/plugin/black_box.h"
#include "adapters/plugin/stack_samples.h"
#include "target/target.h"

namespace sisyfs {

struct FenceLimits {
  double seconds = 10;             // of one call, wall-clock time
  uint64_t accesses = 10'000'000;  // to the disk, of one call
};

class Fence {
 public:
  explicit Fence(const FenceLimits& limits);
  void set_limits(const FenceLimits& limits) { limits_ = limits; }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  // A number for the next call, equal for calls with equal arguments and history. A call that ended a whole
  // process before is tried in a process of its own first.
  void announce(uint64_t call) { call_ = call; }

  // Whether the call returned. If it did not, its stack is dropped without running destructors.
  template <class Call>
  bool run(Call&& call) {
    if (!enter()) return false;
    if (sigsetjmp(jump_, kSavesMask) == 0) {
      inside_ = 1;
      std::forward<Call>(call)();
      inside_ = 0;
    }
    return leave();
  }

  // Ends the current call with a fault. Called when foreign code ends the process (abort, exit) or exceeds a
  // limit. Has no effect outside of a call.
  void die(uint32_t fault, const char* text) { die_at(fault, text, nullptr); }
  // Also says which code address caused it.
  void die_at(uint32_t fault, const char* text, const void* code);

  // The last fault (target/target.h), and its text.
  uint32_t fault() const { return fault_; }
  std::string text() const;
  // Where the code was then; of a call that did not return, each time that it was looked at.
  const StackSamples& samples() const { return samples_; }

  // Counts an access to the disk; too many end the call.
  void count_access() {
    if (++accesses_ > limits_.accesses) die(kHung, "it reads and writes the disk without end");
  }

  class Gate {
   public:
    explicit Gate(Fence& fence) : fence_(fence), was_(fence.inside_) { fence_.inside_ = 0; }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate() {
      fence_.inside_ = was_;
      if (fence_.time_is_up_ != 0 && was_ != 0) fence_.die(kHung, "it does not return");
    }

   private:
    Fence& fence_;
    sig_atomic_t was_;
  };

  // Asked first at SIGSEGV: true if the address is on a page that a tracker protects (page_fault.h).
  static void set_page_watcher(bool (*watcher)(void* address));
  // Where this process notes its calls; null: nowhere. The box outlives the process's calls.
  static void set_black_box(BlackBox* box, uint32_t slot);
  // Foreign code may fork. A child that the checker has not made must not go on with the search: it ends when
  // its call does. A child that the checker has made calls this before it enters a fence.
  static void claim_process();

 private:
  friend struct FenceSignals;

  // The handlers block no signals, so sigsetjmp() need not save the mask, which would cost two system calls
  // for each call. ThreadSanitizer blocks all signals while it calls a handler, and a jump leaves them
  // blocked.
#ifdef __SANITIZE_THREAD__
  static constexpr int kSavesMask = 1;
#else
  static constexpr int kSavesMask = 0;
#endif

  bool enter();
  bool leave();
  bool survives(const char* text);
  [[noreturn]] void jump(uint32_t fault);

  FenceLimits limits_;
  uint64_t call_ = 0;
  bool trying_ = false;  // this process was forked to try one call
  sigjmp_buf jump_;
  volatile sig_atomic_t inside_ = 0;      // foreign code runs, and may be left by a jump
  volatile sig_atomic_t time_is_up_ = 0;  // the limit was reached while a gate was open
  volatile uint32_t ticks_ = 0;           // since the call began
  volatile uint32_t fault_ = 0;
  uint64_t accesses_ = 0;
  int signal_ = 0;
  void* address_ = nullptr;     // that was accessed
  const void* code_ = nullptr;  // the address of the code that caused the fault
  const char* said_ = nullptr;
  StackSamples samples_;
  char words_[200] = {};
};

}  // namespace sisyfs
