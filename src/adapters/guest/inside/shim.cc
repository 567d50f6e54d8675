// The library that answers calls of a user-mode Linux kernel into libc (LD_PRELOAD).
//
// It gives the guest a clock of its own. Time stands still while the guest works. When the guest is idle, the
// clock jumps to the next timer at once. So nothing in the guest depends on how fast the host is, no
// background thread comes at a time of its own, and no timeout is waited for. Random numbers of the host are
// replaced by a fixed sequence. Two runs of the same calls then do the same.
//
// It also carries the requests of the agent to the checker (wire.h), keeps what the kernel prints, and sees
// to it that nothing is left behind: the kernel's memory file has no name, and its processes die with it.
//
// It uses nothing but system calls: it runs inside of the kernel's own signal handling.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "adapters/guest/wire.h"

namespace sisyfs::guest {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = 1'600'000'000 * kSecond;  // the time of day at the guest's start
constexpr uint64_t kTick = 100;                       // what a look at the clock takes
constexpr uint64_t kPeriod = kSecond / 100;           // of the kernel's tick
// The kernel looks so often for a timer without finding one: nothing will ever happen again.
constexpr uint32_t kMostLooks = 1'000'000;

Channel* channel = nullptr;
std::byte* memory = nullptr;  // the guest's physical memory
uint32_t frames[kBuffers][kBufferPages];
uint64_t last_request = 0;

struct Timer {
  bool armed = false;
  uint64_t due = 0, interval = 0;
} timer;
uint64_t now = kSecond;
uint32_t looks = 0;
uint64_t random_state = 0x5369737966735f31;

long futex(std::atomic<Turn>& word, int op, Turn value, const timespec* timeout) {
  return syscall(SYS_futex, &word, op, static_cast<uint32_t>(value), timeout, nullptr, 0);
}

void map_channel() {
  void* const at = mmap(nullptr, sizeof(Channel), PROT_READ | PROT_WRITE, MAP_SHARED, kChannelFd, 0);
  if (at != MAP_FAILED) channel = static_cast<Channel*>(at);
}

// Some loops of a kernel wait until its clock moves and never look at it, mostly while it starts. When it has
// computed for some time without a look, the clock moves.
uint64_t looked = 0, looked_before = 0;
bool started = false;  // the agent has spoken
constexpr suseconds_t kStartSlice = 1000, kSlice = 100'000;

void set_slice(suseconds_t microseconds) {
  const itimerval slice{{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_VIRTUAL, &slice, nullptr);
}

void pass(uint64_t nanoseconds);

void end_slice(int) {
  const int error = errno;
  if (looked == looked_before) pass(kPeriod);
  looked_before = looked;
  errno = error;
}

void watch_slices() {
  struct sigaction action {};
  action.sa_handler = end_slice;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
  sigaction(SIGVTALRM, &action, nullptr);
  set_slice(kStartSlice);
}

__attribute__((constructor)) void begin() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  map_channel();
  watch_slices();
}

void give_turn() {
  channel->now.store(now, std::memory_order_relaxed);
  channel->turn.store(Turn::kHost, std::memory_order_release);
  futex(channel->turn, FUTEX_WAKE, static_cast<Turn>(INT_MAX), nullptr);
  while (channel->turn.load(std::memory_order_acquire) != Turn::kGuest)
    futex(channel->turn, FUTEX_WAIT, Turn::kHost, nullptr);
  last_request = now;
  looks = 0;
}

void is_stuck() {
  channel->trouble.store(Trouble::kStuck);
  give_turn();
}

void ring() {
  if (timer.interval != 0)
    timer.due += timer.interval;
  else
    timer.armed = false;
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGALRM);
}

void pass(uint64_t nanoseconds) {
  ++looked;
  now += nanoseconds;
  if (channel != nullptr && now - last_request > kMostIdle) {
    last_request = now;
    is_stuck();
  }
  if (timer.armed && now >= timer.due) ring();
}

timespec to_timespec(uint64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / kSecond), static_cast<long>(nanoseconds % kSecond)};
}

// Copies between the channel and a buffer of the agent, whose pages lie anywhere in the guest's memory.
void copy_in(uint32_t buffer, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += kPageBytes)
    std::memcpy(channel->data + at, memory + uint64_t{frames[buffer][at / kPageBytes]} * kPageBytes,
                bytes - at < kPageBytes ? bytes - at : kPageBytes);
}
void copy_out(uint32_t buffer, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += kPageBytes)
    std::memcpy(memory + uint64_t{frames[buffer][at / kPageBytes]} * kPageBytes, channel->data + at,
                bytes - at < kPageBytes ? bytes - at : kPageBytes);
}

// --- random numbers of the kernel -------------------------------------------------------------------

uint64_t next_random() {
  random_state += 0x9e3779b97f4a7c15;
  uint64_t value = random_state;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}
void random_bytes(void* out, size_t size) {
  auto* const bytes = static_cast<unsigned char*>(out);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(next_random());
}
uint8_t random_8() { return static_cast<uint8_t>(next_random()); }
uint16_t random_16() { return static_cast<uint16_t>(next_random()); }
uint32_t random_32() { return static_cast<uint32_t>(next_random()); }
uint64_t random_64() { return next_random(); }
uint32_t random_below(uint32_t end) { return end == 0 ? 0 : static_cast<uint32_t>(next_random() % end); }

// sync(2) wakes threads that write back what it writes itself too. Which of the two is first at a block
// decided the order of the writes, and depended on what the guest had done before.
void wake_no_flushers(int) {}

// The kernel is a part of this process: a jump to our function is written over the beginning of its own.
void write_jump(void* function, uint64_t address) {
  unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};  // movabs rax; jmp rax
  std::memcpy(jump + 2, &function, sizeof function);
  const uint64_t page = address & ~uint64_t{kPageBytes - 1};
  void* const at = reinterpret_cast<void*>(page);  // NOLINT(performance-no-int-to-ptr)
  if (syscall(SYS_mprotect, at, 2 * kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
  std::memcpy(reinterpret_cast<void*>(address), jump, sizeof jump);  // NOLINT(performance-no-int-to-ptr)
}

void replace(uint32_t which, uint64_t address) {
  void* const functions[] = {reinterpret_cast<void*>(random_bytes),    reinterpret_cast<void*>(random_8),
                             reinterpret_cast<void*>(random_16),       reinterpret_cast<void*>(random_32),
                             reinterpret_cast<void*>(random_64),       reinterpret_cast<void*>(random_below),
                             reinterpret_cast<void*>(wake_no_flushers)};
  if (which < sizeof functions / sizeof *functions && address != 0) write_jump(functions[which], address);
}

// --- flash ------------------------------------------------------------------------------------------

// The kernel reads, programs or erases its flash, somewhere in its own code. The checker does it. A negative
// errno, as in the kernel.
int carry(Ask what, uint64_t at, uint64_t bytes, const void* programmed, void* out) {
  if (bytes > kBufferBytes - sizeof(DiskRequest)) return -EINVAL;
  // Nothing else of the kernel runs while the channel holds the request.
  const uint64_t ticks = uint64_t{1} << (SIGALRM - 1) | uint64_t{1} << (SIGVTALRM - 1);
  uint64_t before = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &ticks, &before, sizeof before);
  const DiskRequest request{what, 0, at, static_cast<uint32_t>(bytes), 0};
  std::memcpy(channel->data, &request, sizeof request);
  if (programmed != nullptr) std::memcpy(channel->data + sizeof request, programmed, bytes);
  channel->buffer.store(kDiskBuffer, std::memory_order_relaxed);
  channel->bytes.store(static_cast<uint32_t>(sizeof request + (programmed != nullptr ? bytes : 0)),
                       std::memory_order_relaxed);
  give_turn();
  DiskAnswer answer;
  std::memcpy(&answer, channel->data, sizeof answer);
  if (out != nullptr && answer.error == 0) std::memcpy(out, channel->data + sizeof answer, bytes);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof before);
  return -static_cast<int>(answer.error);
}

// The driver says that it keeps memory, and UBI treats memory and NOR flash differently: a unit of NOR is
// marked as being erased before it is. The first read, which the agent makes, finds the driver's description,
// whose first byte says what it is.
constexpr unsigned char kNor = 3;  // MTD_NORFLASH
bool is_nor = false;

int flash_read(void* driver, uint64_t at, uint64_t bytes, uint64_t* done, void* out) {
  if (!is_nor) {
    *static_cast<unsigned char*>(driver) = kNor;
    is_nor = true;
    *done = bytes;
    return 0;
  }
  const int error = carry(Ask::kRead, at, bytes, nullptr, out);
  *done = error == 0 ? bytes : 0;
  return error;
}
int flash_write(void*, uint64_t at, uint64_t bytes, uint64_t* done, const void* from) {
  const int error = carry(Ask::kWrite, at, bytes, from, nullptr);
  *done = error == 0 ? bytes : 0;
  return error;
}
// The beginning of the kernel's struct erase_info.
struct Erase {
  uint64_t at, bytes;
};
int flash_erase(void*, const Erase* unit) {
  return carry(Ask::kDiscard, unit->at, unit->bytes, nullptr, nullptr);
}
int flash_point() { return -EOPNOTSUPP; }
void rotate_nothing(void*) {}

// JFFS2 decides by the count of ticks, modulo this, what it collects: each command begins at a multiple.
constexpr uint64_t kTicksOfFlash = 128;
bool has_flash = false;

void replace_flash(uint32_t which, uint64_t address) {
  void* const functions[] = {reinterpret_cast<void*>(flash_read), reinterpret_cast<void*>(flash_write),
                             reinterpret_cast<void*>(flash_erase), reinterpret_cast<void*>(flash_point),
                             reinterpret_cast<void*>(rotate_nothing)};
  if (which < sizeof functions / sizeof *functions && address != 0) write_jump(functions[which], address);
  has_flash = true;
}

// ----------------------------------------------------------------------------------------------------

// Random numbers begin again with the clock. The kernel ticks at a fixed place in each period. What follows
// begins at a fixed place too.
void begin_command() {
  Command command;
  std::memcpy(&command, channel->data, sizeof command);
  if (command.clock == 0) return;
  random_state = static_cast<uint32_t>(command.clock);
  const uint64_t period = kPeriod * (has_flash ? kTicksOfFlash : 1);
  pass(period - now % period);
}

void pass_on(const Packet& packet) {
  copy_in(packet.which, packet.count);
  if (!started) set_slice(kSlice);
  started = true;
  channel->buffer.store(packet.which, std::memory_order_relaxed);
  channel->bytes.store(packet.count, std::memory_order_relaxed);
  give_turn();
  const uint32_t answer = channel->bytes.load(std::memory_order_relaxed);
  if (answer <= kBufferBytes) copy_out(packet.which, answer);
  if (packet.which == kCommands && answer >= sizeof(Command)) begin_command();
}

void take_packet(const std::byte* bytes, size_t size) {
  Packet packet;
  if (channel == nullptr || memory == nullptr || size < sizeof packet) return;
  std::memcpy(&packet, bytes, sizeof packet);
  const std::byte* const rest = bytes + sizeof packet;
  const size_t left = size - sizeof packet;
  if (packet.kind == Packet::kPages) {
    if (packet.which < kBuffers && packet.count == kBufferPages && left == sizeof frames[0])
      std::memcpy(frames[packet.which], rest, left);
  } else if (packet.kind == Packet::kRequest) {
    if (packet.which < kBuffers && packet.count <= kBufferBytes) pass_on(packet);
  } else if (packet.kind == Packet::kReplace) {
    uint64_t address = 0;
    if (left == sizeof address) std::memcpy(&address, rest, left), replace(packet.which, address);
  } else if (packet.kind == Packet::kFlash) {
    uint64_t address = 0;
    if (left == sizeof address) std::memcpy(&address, rest, left), replace_flash(packet.which, address);
  }
}

struct Helper {
  int (*body)(void*);
  void* argument;
  pid_t parent;
};
constexpr uint32_t kHelpers = 64;  // that begin at the same time
Helper helpers[kHelpers];
uint32_t next_helper = 0;

int run_helper(void* at) {
  const Helper helper = *static_cast<const Helper*>(at);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (syscall(SYS_getppid) != helper.parent) _exit(1);
  return helper.body(helper.argument);
}

void keep_printed(const char* text, size_t size) {
  if (channel == nullptr) return;
  uint64_t at = channel->printed.load(std::memory_order_relaxed);
  for (size_t i = 0; i < size; ++i) channel->console[at++ % Channel::kConsoleBytes] = text[i];
  channel->printed.store(at, std::memory_order_release);
}

}  // namespace

extern "C" {

int __clone(int (*)(void*), void*, int, void*, ...) noexcept;

int clock_gettime(clockid_t clock, timespec* out) {
  pass(kTick);
  *out = to_timespec(clock == CLOCK_REALTIME ? kStart + now : now);
  return 0;
}

int gettimeofday(timeval* out, void*) {
  pass(kTick);
  *out = {static_cast<time_t>((kStart + now) / kSecond),
          static_cast<suseconds_t>((kStart + now) % kSecond / 1000)};
  return 0;
}

int timer_create(clockid_t, sigevent*, timer_t* out) {
  *out = nullptr;
  return 0;
}

int timer_settime(timer_t, int, const itimerspec* wanted, itimerspec*) {
  const auto nanoseconds = [](const timespec& t) {
    return static_cast<uint64_t>(t.tv_sec) * kSecond + static_cast<uint64_t>(t.tv_nsec);
  };
  const uint64_t value = nanoseconds(wanted->it_value);
  timer = {value != 0, now + value, nanoseconds(wanted->it_interval)};
  looks = 0;
  return 0;
}

int timer_gettime(timer_t, itimerspec* out) {
  out->it_value = to_timespec(!timer.armed ? 0 : timer.due > now ? timer.due - now : 1);
  out->it_interval = to_timespec(timer.interval);
  if (!timer.armed && channel != nullptr && ++looks > kMostLooks) {
    looks = 0;
    is_stuck();
  }
  return 0;
}

// The guest is idle. The caller has blocked SIGALRM.
int sigsuspend(const sigset_t* mask) {
  if (timer.armed) pass(timer.due > now ? timer.due - now : 0);
  return static_cast<int>(syscall(SYS_rt_sigsuspend, mask, 8));
}

ssize_t getrandom(void* out, size_t size, unsigned) {
  random_bytes(out, size);
  return static_cast<ssize_t>(size);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  if (fd == kLineFd) {
    take_packet(static_cast<const std::byte*>(bytes), size);
    return static_cast<ssize_t>(size);
  }
  if (fd == kConsoleFd || fd == STDERR_FILENO || fd == STDOUT_FILENO) {
    keep_printed(static_cast<const char*>(bytes), size);
    return static_cast<ssize_t>(size);
  }
  return syscall(SYS_write, fd, bytes, size);
}

// Files that the kernel makes for itself (its memory, its process number) have no name and lie in no folder:
// its home is a folder that does not exist.
int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const unsigned mode = va_arg(list, unsigned);
  va_end(list);
  if ((flags & O_TMPFILE) == O_TMPFILE || std::strncmp(path, kNowhere, sizeof kNowhere - 1) == 0)
    return static_cast<int>(syscall(SYS_memfd_create, "guest", 0));
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int open(const char*, int, ...) __attribute__((alias("open64")));
int mkstemp64(char*) { return static_cast<int>(syscall(SYS_memfd_create, "guest", 0)); }
int mkdir(const char*, mode_t) { return 0; }
int unlink(const char*) { return 0; }

void* mmap64(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  const long result = syscall(SYS_mmap, at, size, protection, flags, fd, offset);
  // The first large fixed mapping is that memory.
  if (memory == nullptr && result > 0 && (flags & (MAP_SHARED | MAP_FIXED)) == (MAP_SHARED | MAP_FIXED) &&
      size >= (16u << 20))
    memory = static_cast<std::byte*>(at) - offset;
  return reinterpret_cast<void*>(result);  // NOLINT(performance-no-int-to-ptr)
}

// The kernel has helpers, which are processes of their own. They end with it too.
int clone(int (*body)(void*), void* stack, int flags, void* argument, ...) noexcept {
  helpers[next_helper % kHelpers] = {body, argument, getpid()};
  return __clone(run_helper, stack, flags, &helpers[next_helper++ % kHelpers]);
}

// The processes that run the agent end with the kernel.
long ptrace(enum __ptrace_request request, ...) noexcept {
  constexpr int kOldSetOptions = 21;
  constexpr uintptr_t kExitKill = 0x100000;
  va_list list;
  va_start(list, request);
  const auto pid = va_arg(list, pid_t);
  void* const address = va_arg(list, void*);
  auto data = va_arg(list, uintptr_t);
  va_end(list);
  const int number = static_cast<int>(request);
  long value = 0;
  const bool peeks = number >= PTRACE_PEEKTEXT && number <= PTRACE_PEEKUSER;
  if (peeks) data = reinterpret_cast<uintptr_t>(&value);
  if (number == kOldSetOptions || number == PTRACE_SETOPTIONS) data |= kExitKill;
  const long result = syscall(SYS_ptrace, number, pid, address, data);
  return peeks && result == 0 ? value : result;
}

}  // extern "C"
}  // namespace sisyfs::guest
