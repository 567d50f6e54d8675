// Fence: runs foreign code so that it may die, hang or exit, and we go on.
//
// What happens inside is a fault with a text, not our end: a signal, an abort, an endless loop, an exit. The
// code is left by a long jump, so nothing of it runs any more, and its memory is whatever it was; who runs it
// brings back what was saved before.
//
//   Fence fence(limits);
//   if (!fence.run([&] { answer = plugin->create(fs, path); })) tell(fence.fault(), fence.text());
//
// Code of ours that foreign code calls back opens a gate: what goes wrong in there is ours.
//
//   int disk_read(...) {
//     Fence::Gate gate(fence);   // from here on nobody jumps
//     ...
//   }                            // if time was up meanwhile, the jump happens here
//
// The fence sees signals of the thread that runs inside. Wild writes into our own memory it cannot see; for
// those the whole search runs in a process of its own (cli/supervisor.h).
#pragma once

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <string>
#include <utility>

#include "target/target.h"

namespace sisyfs {

struct FenceLimits {
  double seconds = 10;             // of one call, as the clock on the wall has it
  uint64_t accesses = 10'000'000;  // to the disk, of one call
};

// What the process that watches us can read when we are dead, and what it tells us from earlier lives
// (cli/supervisor.h).
struct BlackBox {
  static constexpr uint32_t kMostDeaths = 64;
  uint64_t call = 0;    // the last one into foreign code, as announced
  bool inside = false;  // it has not come back
  uint32_t deaths = 0;  // calls that ended the whole process
  uint64_t deadly[kMostDeaths] = {};
  char texts[kMostDeaths][200] = {};
};

class Fence {
 public:
  explicit Fence(const FenceLimits& limits);
  void set_limits(const FenceLimits& limits) { limits_ = limits; }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  // What the next call is, as a number that is the same for calls that begin in the same way. One that ended
  // the whole process before is tried in a process of its own first.
  void announce(uint64_t call) { call_ = call; }

  // Whether the call came to its end. The stack of a call that did not is gone without its destructors.
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

  // Ends the call at hand: from foreign code that says itself that it is at its end (abort, exit), or finds
  // that it is. Outside of a call there is nothing to end, and nothing happens.
  void die(uint32_t fault, const char* text) { die_at(fault, text, nullptr); }
  // The same, with the place in the code that is to blame.
  void die_at(uint32_t fault, const char* text, const void* place);

  // The last fault, one of Fault, and what it was.
  uint32_t fault() const { return fault_; }
  std::string text() const;

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

  // Asked first when memory is touched that must not be: whether that is only a page that somebody watches.
  static void set_page_watcher(bool (*watcher)(void* address));
  // Where this process writes what must outlive it; null: nowhere.
  static void set_black_box(BlackBox* box);

 private:
  friend struct FenceSignals;

  // Our handlers block nothing, so there is no mask to bring back: that would be two system calls for each
  // call. But ThreadSanitizer blocks all signals while it calls a handler, and a jump leaves them blocked.
#ifdef __SANITIZE_THREAD__
  static constexpr int kSavesMask = 1;
#else
  static constexpr int kSavesMask = 0;
#endif

  bool enter();
  bool leave();
  bool survives(uint32_t death);
  [[noreturn]] void jump(uint32_t fault);

  FenceLimits limits_;
  uint64_t call_ = 0;
  bool tasting_ = false;  // this process is there for one call
  sigjmp_buf jump_;
  volatile sig_atomic_t inside_ = 0;      // foreign code runs, and may be left
  volatile sig_atomic_t time_is_up_ = 0;  // while a gate was open
  volatile uint32_t ticks_ = 0;           // since the call began
  volatile uint32_t fault_ = 0;
  uint64_t accesses_ = 0;
  int signal_ = 0;
  void* address_ = nullptr;      // that was touched
  const void* place_ = nullptr;  // in the code
  const char* said_ = nullptr;
  char words_[200] = {};
};

}  // namespace sisyfs
