#include "adapters/plugin/black_box.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "adapters/plugin/process_guard.h"

namespace sisyfs {

bool BlackBox::blame(uint64_t call, const std::string& text, bool by_itself) {
  const uint32_t next = deaths.load(std::memory_order_relaxed);
  Deadly* const known =
      std::find_if(deadly, deadly + next, [call](const Deadly& one) { return one.call == call; });
  if (known != deadly + next) {
    if (known->times == kMostTimes) return false;
    ++known->times;
    known->by_itself = known->by_itself || by_itself;
    return true;
  }
  if (next == kMostDeaths) return false;
  known->call = call;
  known->times = 1;
  known->by_itself = by_itself;
  std::strncpy(known->text, text.c_str(), sizeof known->text - 1);
  deaths.store(next + 1, std::memory_order_release);
  return true;
}

const char* BlackBox::unconfirmed() const {
  const Deadly* const end = deadly + deaths.load(std::memory_order_acquire);
  const Deadly* const one =
      std::find_if(deadly, end, [](const Deadly& d) { return d.by_itself && !d.confirmed; });
  return one == end ? nullptr : one->text;
}

void BlackBox::clear(uint32_t slot) {
  slots[slot].call = 0;
  slots[slot].inside = false;
}

SharedBlackBox::SharedBlackBox()
    : descriptor_(keep_descriptor(memfd_create("sisyfs-black-box", MFD_CLOEXEC))) {
  if (descriptor_ >= 0 && ftruncate(descriptor_, sizeof(BlackBox)) == 0) map();
}

SharedBlackBox::SharedBlackBox(int descriptor) : descriptor_(descriptor) {
  struct stat about {};
  if (fstat(descriptor, &about) == 0 && about.st_size == sizeof(BlackBox)) map();
}

// A new file is zeros, which is an empty box.
void SharedBlackBox::map() {
  void* memory = mmap(nullptr, sizeof(BlackBox), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory != MAP_FAILED) box_ = static_cast<BlackBox*>(memory);
}

SharedBlackBox::~SharedBlackBox() {
  if (box_ != nullptr) munmap(box_, sizeof(BlackBox));
  if (descriptor_ >= 0) close_kept(descriptor_);
}

}  // namespace sisyfs
