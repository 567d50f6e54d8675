#include "adapters/plugin/process_guard.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <vector>

#include "adapters/plugin/arena/arena.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace sisyfs {
namespace {

bool guarded = false;
RealStreams real{STDOUT_FILENO, STDERR_FILENO};

// The numbers that are kept are all in use from the start, so that no other file gets one of them. A number
// that is not needed is another name of /dev/null.
constexpr uint32_t kFirst = 1000, kCount = 32;
int nowhere = -1;
std::array<bool, kCount> needed{};
bool is_filled = false;

bool is_kept(int descriptor) {
  const KeptDescriptors kept = kept_descriptors();
  return descriptor >= 0 && static_cast<uint32_t>(descriptor) - kept.first < kept.count;
}

// A system call that the filter lets pass. The second call takes the constant out of its register, where a
// later call of less arguments would show it.
long passing(long number, long a, long b, long c) {
  const long result = syscall(number, a, b, c, 0, 0, SISYFS_ARENA_PASS);
  const int error = errno;
  syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
  errno = error;
  return result;
}

void put(int descriptor, int at) { passing(SYS_dup3, descriptor, at, O_CLOEXEC); }

void fill_kept() {
  const int first = static_cast<int>(kept_descriptors().first),
            count = static_cast<int>(kept_descriptors().count);
  for (int i = 0; i < count; ++i) {
    needed[static_cast<size_t>(i)] = fcntl(first + i, F_GETFD) >= 0;
    if (!needed[static_cast<size_t>(i)]) put(nowhere, first + i);
  }
  is_filled = true;
}

// A program for the kernel's filter, built rule by rule. A rule that does not apply leaves the accumulator to
// the next one, which begins with the number of the system call.
class Filter {
 public:
  // The rules that follow are of this system call.
  Filter& on(long number) {
    load(offsetof(seccomp_data, nr));
    return jump_unless(BPF_JEQ, static_cast<uint32_t>(number));
  }
  Filter& argument_is(int n, uint32_t value) { return load_argument(n).jump_unless(BPF_JEQ, value); }
  Filter& argument_at_least(int n, uint32_t value) { return load_argument(n).jump_unless(BPF_JGE, value); }
  Filter& argument_below(int n, uint32_t value) { return load_argument(n).jump_if(BPF_JGE, value); }
  Filter& argument_is_not(int n, uint32_t value) { return load_argument(n).jump_if(BPF_JEQ, value); }
  // The end of a rule: the answer of the call if all conditions hold. 0: it has no effect and succeeds.
  void answers(uint32_t error) {
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    for (const Open& open : open_) {
      const auto distance = static_cast<uint8_t>(code_.size() - open.at - 1);
      (open.if_true ? code_[open.at].jt : code_[open.at].jf) = distance;
    }
    open_.clear();
  }

  bool install() {
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
  }

 private:
  struct Open {
    size_t at;
    bool if_true;
  };
  void add(uint32_t code, uint32_t k) { code_.push_back({static_cast<uint16_t>(code), 0, 0, k}); }
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
  // The low half, on a machine with the low byte first.
  Filter& load_argument(int n) {
    load(offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(n));
    return *this;
  }
  Filter& jump_unless(uint32_t test, uint32_t value) { return jump(test, value, false); }
  Filter& jump_if(uint32_t test, uint32_t value) { return jump(test, value, true); }
  Filter& jump(uint32_t test, uint32_t value, bool if_true) {
    open_.push_back({code_.size(), if_true});
    add(BPF_JMP | test | BPF_K, value);
    return *this;
  }

  std::vector<sock_filter> code_;
  std::vector<Open> open_;
};

constexpr int kPassAt = 5;  // the argument that lets a call pass

void refuse_signals(Filter& filter) {
  constexpr struct {
    long number;
    int signal_at;
    bool any;  // any signal; otherwise those that stop or kill: raise() uses the call too
  } kCalls[] = {{SYS_kill, 1, true},
                {SYS_tkill, 1, false},
                {SYS_tgkill, 2, false},
                {SYS_rt_sigqueueinfo, 1, true},
                {SYS_rt_tgsigqueueinfo, 2, false},
                {SYS_pidfd_send_signal, 1, true}};
  for (const auto& call : kCalls) {
    if (call.any) {
      filter.on(call.number).argument_is_not(call.signal_at, 0).argument_is_not(kPassAt, SISYFS_ARENA_PASS);
      filter.answers(EPERM);
      continue;
    }
    for (const uint32_t signal : {SIGKILL, SIGSTOP}) {
      filter.on(call.number).argument_is(call.signal_at, signal).argument_is_not(kPassAt, SISYFS_ARENA_PASS);
      filter.answers(EPERM);
    }
  }
}

void refuse_limits(Filter& filter) {
#ifdef SYS_setrlimit
  filter.on(SYS_setrlimit).answers(0);
#endif
  // Null asks for the limits only. The low half of a pointer is hardly ever zero.
  filter.on(SYS_prlimit64).argument_is_not(2, 0).argument_is_not(kPassAt, SISYFS_ARENA_PASS).answers(0);
}

void keep(Filter& filter, const KeptDescriptors& kept) {
  if (kept.count == 0) return;
  const uint32_t first = kept.first, end = kept.first + kept.count;
  filter.on(SYS_close).argument_at_least(0, first).argument_below(0, end);
  filter.argument_is_not(kPassAt, SISYFS_ARENA_PASS).answers(0);
#ifdef SYS_dup2
  filter.on(SYS_dup2).argument_at_least(1, first).argument_below(1, end).answers(EBADF);
#endif
  filter.on(SYS_dup3).argument_at_least(1, first).argument_below(1, end);
  filter.argument_is_not(kPassAt, SISYFS_ARENA_PASS).answers(EBADF);
#ifdef SYS_close_range
  filter.on(SYS_close_range).argument_below(0, end).argument_at_least(1, first).answers(0);
#endif
}

void install_filter() {
  Filter filter;
  refuse_signals(filter);
  refuse_limits(filter);
  keep(filter, kept_descriptors());
  filter.on(SYS_chroot).answers(EPERM);
  (void)filter.install();
}

// Gives a standard stream to foreign code, as /dev/null. Returns where the checker has the real one.
int give_up(int number) {
  const int moved = fcntl(number, F_DUPFD_CLOEXEC, static_cast<int>(std::max(kept_descriptors().first, 3u)));
  if (moved < 0) return number;  // then foreign code prints to the real one
  dup2(nowhere, number);
  return moved;
}

}  // namespace

RealStreams guard_process() {
  if (guarded) return real;
  guarded = true;
  nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    nowhere = keep_descriptor(nowhere);
    real = {give_up(STDOUT_FILENO), give_up(STDERR_FILENO)};
    fill_kept();
  }
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<intptr_t>(real.error)));
#endif
  install_filter();
  return real;
}

bool process_is_guarded() { return guarded; }

void show_prints() {
  if (!guarded) return;
  dup2(real.error, STDOUT_FILENO);
  dup2(real.error, STDERR_FILENO);
}

KeptDescriptors kept_descriptors() {
  static const KeptDescriptors kept = [] {
    rlimit open_files{};
    if (getrlimit(RLIMIT_NOFILE, &open_files) != 0 || open_files.rlim_cur < 4 * kCount)
      return KeptDescriptors{};
    const uint64_t first = std::min<uint64_t>(kFirst, open_files.rlim_cur - kCount);
    return KeptDescriptors{static_cast<uint32_t>(first), kCount};
  }();
  return kept;
}

int keep_descriptor(int descriptor) {
  const KeptDescriptors kept = kept_descriptors();
  if (kept.count == 0 || descriptor < 0) return descriptor;
  const auto free = std::find(needed.begin(), needed.end(), false);
  int moved = -1;
  if (is_filled && free != needed.end()) {
    *free = true;
    moved = static_cast<int>(kept.first) + static_cast<int>(free - needed.begin());
    put(descriptor, moved);
  } else if (!is_filled) {
    moved = fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(kept.first));
  }
  if (moved < 0) return descriptor;
  close_kept(descriptor);
  return moved;
}

void close_kept(int descriptor) {
  if (is_filled && is_kept(descriptor)) {
    put(nowhere, descriptor);
    needed[static_cast<size_t>(descriptor) - kept_descriptors().first] = false;
    return;
  }
  close(descriptor);
}

int send_signal(pid_t process, int signal) { return static_cast<int>(passing(SYS_kill, process, signal, 0)); }

}  // namespace sisyfs
