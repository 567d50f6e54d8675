// A library for tools that make and repair file systems (LD_PRELOAD): time stands still, and random numbers
// are always the same. So a tool that is run twice on the same disk writes the same.
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include <ctime>

namespace {
// Later than any time in a guest.
constexpr time_t kNow = 1'800'000'000;
}  // namespace

extern "C" {

time_t time(time_t* out) noexcept {
  if (out != nullptr) *out = kNow;
  return kNow;
}
int gettimeofday(timeval* out, void*) noexcept {
  *out = {kNow, 0};
  return 0;
}
int clock_gettime(clockid_t, timespec* out) noexcept {
  *out = {kNow, 0};
  return 0;
}
ssize_t getrandom(void* out, size_t size, unsigned) {
  auto* const bytes = static_cast<unsigned char*>(out);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 37 + 11);
  return static_cast<ssize_t>(size);
}
pid_t getpid() noexcept { return 4711; }
pid_t getppid() noexcept { return 4710; }
uid_t getuid() noexcept { return 0; }
uid_t geteuid() noexcept { return 0; }

}  // extern "C"
