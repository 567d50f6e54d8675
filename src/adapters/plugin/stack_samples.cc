#include "adapters/plugin/stack_samples.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include "adapters/plugin/source_location.h"

namespace sisyfs {
namespace {

constexpr size_t kMostTold = 12;  // functions of a text

// Set while a stack is followed. The stack of foreign code may be damaged.
thread_local volatile sig_atomic_t following = 0;
thread_local sigjmp_buf given_up;

// The checker's, and the library that takes the place of malloc and abort for foreign code.
bool is_ours(const Dl_info& object) {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&StackSamples::prepare), &own) != 0 &&
      own.dli_fbase == object.dli_fbase)
    return true;
  return object.dli_fname != nullptr && std::strstr(object.dli_fname, "libsisyfs_arena") != nullptr;
}

}  // namespace

void StackSamples::prepare() {
  void* frames[2];
  (void)backtrace(frames, 2);
}

void StackSamples::take(const void* code, bool timed) {
  if (following != 0) return;
  timed_ = timed;
  const size_t count = count_;
  Sample& sample = samples_[std::min(count, kMost - 1)];
  sample.begin = sample.end = 0;
  if (sigsetjmp(given_up, 0) == 0) {
    following = 1;
    sample.end = static_cast<size_t>(backtrace(sample.frames.data(), kDeepest));
  }
  following = 0;
  // The frames of the handler come first.
  sample.interrupted = false;
  for (size_t i = 0; i < sample.end && code != nullptr && !sample.interrupted; ++i) {
    sample.interrupted = sample.frames[i] == code;
    if (sample.interrupted) sample.begin = i;
  }
  if (count < kMost) count_ = count + 1;
}

bool StackSamples::is_following() { return following != 0; }

bool StackSamples::gives_up() {
  if (following == 0) return false;
  siglongjmp(given_up, 1);
}

// Down to the first frame of the checker, which made the call. Frames of the checker above it are those of a
// callback. A frame is the address behind a call, but the innermost one was interrupted.
std::vector<const void*> StackSamples::foreign(const Sample& sample) {
  std::vector<const void*> code;
  for (size_t i = sample.begin; i < sample.end; ++i) {
    const void* const at =
        i == sample.begin && sample.interrupted ? sample.frames[i] : call_before(sample.frames[i]);
    Dl_info object{};
    if (dladdr(at, &object) == 0) continue;
    if (!is_ours(object))
      code.push_back(at);
    else if (!code.empty())
      break;
  }
  return code;
}

std::vector<std::string> StackSamples::text() const {
  std::vector<const void*> common;  // the outermost first
  for (size_t s = 0; s < count_; ++s) {
    std::vector<const void*> other = foreign(samples_[s]);
    if (other.empty()) continue;
    std::reverse(other.begin(), other.end());
    if (common.empty()) {
      common = std::move(other);
      continue;
    }
    size_t n = 0;
    while (n < common.size() && n < other.size() && common[n] == other[n]) ++n;
    if (n == common.size()) continue;
    // They part in this function, or in the one that called both.
    const bool one_function = n < other.size() && function_name(common[n]) == function_name(other[n]);
    common.resize(one_function ? n + 1 : n);
    if (common.empty()) return {};
  }
  std::vector<std::string> told;
  const auto tell = [&](const std::string& text) {
    if (told.empty() || !told.back().starts_with(text)) return told.push_back(text);
    if (told.back() == text) told.back() += ", which calls itself";
  };
  for (size_t i = common.size(); i-- > 0 && told.size() < kMostTold;) {
    std::vector<std::string> all = source_locations(common[i]);
    // Which line it was at is a matter of time.
    if (timed_ && i + 1 == common.size()) all.front() = function_name(common[i]);
    for (const std::string& one : all) tell(one);
  }
  return told;
}

}  // namespace sisyfs
