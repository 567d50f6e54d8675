// BlackBox: memory shared by the processes of one run: the supervisor, the search, and its workers.
//
// A process that runs foreign code notes here each call before it makes it (fence.h). When the process dies,
// another one reads which call it was in. That call is then deadly: before any process of the run makes it
// again, it tries the call in a forked process first.
//
//   SharedBlackBox shared;                       // in the first process
//   Fence::set_black_box(shared.box(), 0);       // in a process that runs foreign code
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace sisyfs {

struct BlackBox {
  static constexpr uint32_t kMostDeaths = 64;
  static constexpr uint32_t kSlots = 129;  // the search and its workers

  // Of one process.
  struct Slot {
    std::atomic<uint64_t> call;     // the last call into foreign code, by its announced number
    std::atomic<uint64_t> calls;    // how many there were
    std::atomic<uint32_t> seconds;  // the time limit of that call, rounded up
    std::atomic<bool> inside;       // that call has not returned
  };
  Slot slots[kSlots];
  // A call in which a process died.
  struct Deadly {
    uint64_t call;
    std::atomic<uint32_t> times;
    std::atomic<bool> by_itself;  // nobody else can have ended the process: no SIGKILL, no SIGSTOP
    std::atomic<bool> confirmed;  // it died again when it was tried
    char text[200];               // how it died

    // How often a process tries the call separately before it makes it again without trying. The call may
    // have been blamed for what somebody else did, or it may be deadly for one image of many.
    uint64_t trials() const { return times < kMostTimes ? uint64_t{kTrials} * times : UINT64_MAX; }
  };
  static constexpr uint32_t kMostTimes = 3, kTrials = 1024;
  std::atomic<uint32_t> deaths;
  Deadly deadly[kMostDeaths];

  // Notes that a process died in this call. False if that does not help: the call has been noted kMostTimes
  // times, or there are too many. Not to be called by two processes or threads at once.
  bool blame(uint64_t call, const std::string& text, bool by_itself = false);
  // How a process died by itself in a call that has not died since, although it was tried; null: there is
  // none. Then the code does not do the same twice, or has damaged the checker.
  const char* unconfirmed() const;
  // For a process that takes the slot over.
  void clear(uint32_t slot);
};

// A black box in memory that other processes can map: those that are forked have it, others get the
// descriptor.
class SharedBlackBox {
 public:
  SharedBlackBox();
  // Maps the box of another process. Takes the descriptor over.
  explicit SharedBlackBox(int descriptor);
  ~SharedBlackBox();
  SharedBlackBox(const SharedBlackBox&) = delete;
  SharedBlackBox& operator=(const SharedBlackBox&) = delete;

  BlackBox* box() const { return box_; }  // null if the system refuses the memory
  int descriptor() const { return descriptor_; }

 private:
  void map();

  int descriptor_;
  BlackBox* box_ = nullptr;
};

}  // namespace sisyfs
