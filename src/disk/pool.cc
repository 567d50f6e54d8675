#include "disk/pool.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace sisyfs {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kPooled = false;
#else
constexpr bool kPooled = true;
#endif

// Fine classes for nodes and small blocks, coarse ones up to a snapshot of 16 KiB with its header.
constexpr size_t kFineStep = 16, kFineLimit = 512;
constexpr size_t kCoarseStep = 64, kCoarseLimit = 16896;
constexpr size_t kFineClasses = kFineLimit / kFineStep;
constexpr size_t kClasses = kFineClasses + (kCoarseLimit - kFineLimit) / kCoarseStep;
constexpr size_t kKeepBytes = 1 << 20;  // what one list may hold back from malloc

struct SizeClass {
  size_t index;
  size_t bytes;
};

SizeClass class_of(size_t bytes) {
  if (bytes <= kFineLimit) {
    const size_t steps = std::max<size_t>(1, (bytes + kFineStep - 1) / kFineStep);
    return {steps - 1, steps * kFineStep};
  }
  const size_t steps = (bytes - kFineLimit + kCoarseStep - 1) / kCoarseStep;
  return {kFineClasses + steps - 1, kFineLimit + steps * kCoarseStep};
}

struct FreeItem {
  FreeItem* next;
};

struct FreeList {
  FreeItem* head;
  size_t length;
};

// Life of a thread's lists: new; active (a Reaper will empty them at the end of the thread); closed (emptied:
// memory that is given back later, by objects that outlive the thread's locals, goes to free()).
enum class Phase { kNew, kActive, kClosed };

// Trivial on purpose: a thread_local with a constructor costs a check at every use.
constinit thread_local FreeList lists[kClasses] = {};
constinit thread_local Phase phase = Phase::kNew;

struct Reaper {
  ~Reaper() {
    phase = Phase::kClosed;
    for (FreeList& list : lists) {
      while (FreeItem* item = list.head) {
        list.head = item->next;
        std::free(item);
      }
      list.length = 0;
    }
  }
};

void activate_lists() {
  thread_local Reaper reaper;
  (void)&reaper;  // the mention constructs it
  phase = Phase::kActive;
}

// Asks the handler of failed allocations, as operator new does: it frees something, or does not return.
void* from_malloc(size_t bytes) {
  for (;;) {
    if (void* const memory = std::malloc(bytes)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

void* pool_take(size_t bytes) {
  if (!kPooled || bytes > kCoarseLimit) return from_malloc(bytes);
  const SizeClass size = class_of(bytes);
  FreeList& list = lists[size.index];
  if (FreeItem* item = list.head) {
    list.head = item->next;
    list.length--;
    return item;
  }
  return from_malloc(size.bytes);
}

void pool_give(void* memory, size_t bytes) noexcept {
  if (!kPooled || bytes > kCoarseLimit || phase == Phase::kClosed) return std::free(memory);
  if (phase == Phase::kNew) activate_lists();
  const SizeClass size = class_of(bytes);
  FreeList& list = lists[size.index];
  if (list.length * size.bytes >= kKeepBytes) return std::free(memory);
  list.head = new (memory) FreeItem{list.head};
  list.length++;
}

}  // namespace sisyfs
