/* The process belongs to the engine. Calls that would change it or signal other processes end the call of
 * the plug-in and tell the engine the name of the function. Calls that handle signals have no effect: the
 * engine handles them. What needs no change passes to the kernel: a plug-in may close what it has opened and
 * kill its own children.
 *
 * Like refused.c, this file includes no header that declares these functions. Code that makes system calls
 * without libc is stopped by the kernel (process_guard.h). */
#include "adapters/plugin/arena/heap.h"
#include "adapters/plugin/arena/kernel_call.h"

#define CALLER __builtin_return_address(0)

/* Numbers of Linux, equal on all its architectures that this program runs on. */
enum { kKill = 9, kStop = 19, kEinval = 22, kNowait = 0x01000005, kPid = 1 };

int* __errno_location(void);

#if defined(__x86_64__)
enum {
  kNrClose = 3,
  kNrSigaction = 13,
  kNrSigprocmask = 14,
  kNrAlarm = 37,
  kNrSetitimer = 38,
  kNrDup2 = 33,
  kNrGetpid = 39,
  kNrExecve = 59,
  kNrExit = 60,
  kNrKill = 62,
  kNrChdir = 80,
  kNrFchdir = 81,
  kNrSetpgid = 109,
  kNrSetsid = 112,
  kNrPtrace = 101,
  kNrSigaltstack = 131,
  kNrSetrlimit = 160,
  kNrChroot = 161,
  kNrGettid = 186,
  kNrTkill = 200,
  kNrExitGroup = 231,
  kNrTgkill = 234,
  kNrWaitid = 247,
  kNrUnshare = 272,
  kNrDup3 = 292,
  kNrPrlimit = 302,
  kNrExecveat = 322,
  kNrProcessVmWrite = 311,
  kNrCloseRange = 436
};
#elif defined(__aarch64__)
enum {
  kNrClose = 57,
  kNrSigaction = 134,
  kNrSigprocmask = 135,
  kNrAlarm = -2,
  kNrSetitimer = 103,
  kNrDup2 = -3,
  kNrGetpid = 172,
  kNrExecve = 221,
  kNrExit = 93,
  kNrKill = 129,
  kNrChdir = 49,
  kNrFchdir = 50,
  kNrSetpgid = 154,
  kNrSetsid = 157,
  kNrPtrace = 117,
  kNrSigaltstack = 132,
  kNrSetrlimit = 164,
  kNrChroot = 51,
  kNrGettid = 178,
  kNrTkill = 130,
  kNrExitGroup = 94,
  kNrTgkill = 131,
  kNrWaitid = 95,
  kNrUnshare = 97,
  kNrDup3 = 24,
  kNrPrlimit = 261,
  kNrExecveat = 281,
  kNrProcessVmWrite = 271,
  kNrCloseRange = 436
};
#else
#define SISYFS_NO_SYSTEM_CALLS
#endif

/* Signal handling has no effect. What was there before is the default, or nothing. */
static int pretend(void* old, size_t bytes) {
  unsigned char* byte = old;
  if (old != NULL)
    for (size_t i = 0; i < bytes; i++) byte[i] = 0;
  return 0;
}

#define PRETEND(result, name, arguments, old, bytes) \
  result name arguments;                             \
  SISYFS_EXPORT result name arguments { return (result)pretend(old, bytes); }

enum { kSigactionBytes = 152, kSigsetBytes = 128, kStackBytes = 24, kItimervalBytes = 32 };
PRETEND(int, sigaction, (int sig __attribute__((unused)), const void* act __attribute__((unused)), void* old),
        old, kSigactionBytes)
PRETEND(int, sigprocmask,
        (int how __attribute__((unused)), const void* set __attribute__((unused)), void* old), old,
        kSigsetBytes)
PRETEND(int, pthread_sigmask,
        (int how __attribute__((unused)), const void* set __attribute__((unused)), void* old), old,
        kSigsetBytes)
PRETEND(int, sigaltstack, (const void* stack __attribute__((unused)), void* old), old, kStackBytes)
PRETEND(int, setitimer,
        (int which __attribute__((unused)), const void* timer __attribute__((unused)), void* old), old,
        kItimervalBytes)
PRETEND(unsigned, alarm, (unsigned seconds __attribute__((unused))), NULL, 0)
PRETEND(long, signal, (int sig __attribute__((unused)), void* handler __attribute__((unused))), NULL, 0)
PRETEND(long, __sysv_signal, (int sig __attribute__((unused)), void* handler __attribute__((unused))), NULL,
        0)
PRETEND(long, bsd_signal, (int sig __attribute__((unused)), void* handler __attribute__((unused))), NULL, 0)
PRETEND(long, sigset, (int sig __attribute__((unused)), void* handler __attribute__((unused))), NULL, 0)

static void __attribute__((noreturn)) refuse(const char* name, const void* caller) {
  const struct sisyfs_arena_end end = {.kind = SISYFS_END_PROCESS, .text = name, .caller = caller};
  end_with(&end);
}

#define REFUSE(name) \
  void name(void);   \
  SISYFS_EXPORT void name(void) { refuse(#name, CALLER); }

REFUSE(killpg)
REFUSE(sigqueue)
REFUSE(setrlimit)
REFUSE(setrlimit64)
REFUSE(chdir)
REFUSE(fchdir)
REFUSE(chroot)
REFUSE(unshare)
REFUSE(setns)
REFUSE(ptrace)
REFUSE(process_vm_writev)
REFUSE(setpgid)
REFUSE(setpgrp)
REFUSE(setsid)
REFUSE(setuid)
REFUSE(setgid)
REFUSE(setreuid)
REFUSE(setregid)
REFUSE(setresuid)
REFUSE(setresgid)

#ifndef SISYFS_NO_SYSTEM_CALLS

/* A call that the filter of the kernel lets pass. The second one takes the constant out of its register. */
static long passing(long n, long a, long b, long c, long d) {
  const long result = kernel(n, a, b, c, d, 0, SISYFS_ARENA_PASS);
  (void)kernel(kNrGetpid, 0, 0, 0, 0, 0, 0);
  return result;
}

static long answer(long result) {
  if (result >= 0 || result < -4095) return result;
  *__errno_location() = (int)-result;
  return -1;
}

/* --- signals */

/* What the engine takes for a fault of the call: ILL, TRAP, ABRT, BUS, FPE, SEGV. */
static int is_fault(int sig) { return sig == 4 || sig == 5 || sig == 6 || sig == 7 || sig == 8 || sig == 11; }

static int is_own_child(int pid) {
  char about[128];
  return pid > 0 && kernel(kNrWaitid, kPid, pid, (long)about, kNowait, 0, 0) == 0;
}

static long send_to_self(int sig, const char* name, const void* caller) {
  if (sig == 0) return 0;
  if (!is_fault(sig)) refuse(name, caller);
  return answer(kernel(kNrTgkill, kernel(kNrGetpid, 0, 0, 0, 0, 0, 0), kernel(kNrGettid, 0, 0, 0, 0, 0, 0),
                       sig, 0, 0, 0));
}

static long send(int pid, int sig, const char* name, const void* caller) {
  if (pid == kernel(kNrGetpid, 0, 0, 0, 0, 0, 0)) return send_to_self(sig, name, caller);
  if (sig != 0 && !is_own_child(pid)) refuse(name, caller);
  return answer(passing(kNrKill, pid, sig, 0, 0));
}

int raise(int sig);
SISYFS_EXPORT int raise(int sig) { return (int)send_to_self(sig, "raise", CALLER); }
int kill(int pid, int sig);
SISYFS_EXPORT int kill(int pid, int sig) { return (int)send(pid, sig, "kill", CALLER); }
int tgkill(int pid, int thread, int sig);
SISYFS_EXPORT int tgkill(int pid, int thread, int sig) {
  (void)thread;
  return (int)send(pid, sig, "tgkill", CALLER);
}

static long set_limit(int pid, int what, const void* wanted, void* old, const char* name,
                      const void* caller) {
  if (wanted != NULL && !is_own_child(pid)) refuse(name, caller);
  return answer(passing(kNrPrlimit, pid, what, (long)wanted, (long)old));
}
int prlimit(int pid, int what, const void* wanted, void* old);
SISYFS_EXPORT int prlimit(int pid, int what, const void* wanted, void* old) {
  return (int)set_limit(pid, what, wanted, old, "prlimit", CALLER);
}
int prlimit64(int pid, int what, const void* wanted, void* old);
SISYFS_EXPORT int prlimit64(int pid, int what, const void* wanted, void* old) {
  return (int)set_limit(pid, what, wanted, old, "prlimit64", CALLER);
}

/* --- descriptors */

static int has_kept(unsigned first, unsigned last) {
  const struct sisyfs_arena_control* control = heap_open();
  return control != NULL && control->kept_count != 0 && first < control->kept_first + control->kept_count &&
         last >= control->kept_first;
}

static void look_at(unsigned first, unsigned last, const char* name, const void* caller) {
  if (has_kept(first, last)) refuse(name, caller);
}

int close(int file);
SISYFS_EXPORT int close(int file) {
  look_at((unsigned)file, (unsigned)file, "close on a descriptor of the checker", CALLER);
  return (int)answer(kernel(kNrClose, file, 0, 0, 0, 0, 0));
}
int dup2(int from, int to);
SISYFS_EXPORT int dup2(int from, int to) {
  look_at((unsigned)to, (unsigned)to, "dup2 onto a descriptor of the checker", CALLER);
  if (kNrDup2 >= 0) return (int)answer(kernel(kNrDup2, from, to, 0, 0, 0, 0));
  return from == to ? to : (int)answer(kernel(kNrDup3, from, to, 0, 0, 0, 0));
}
int dup3(int from, int to, int flags);
SISYFS_EXPORT int dup3(int from, int to, int flags) {
  look_at((unsigned)to, (unsigned)to, "dup3 onto a descriptor of the checker", CALLER);
  return (int)answer(kernel(kNrDup3, from, to, flags, 0, 0, 0));
}
int close_range(unsigned first, unsigned last, int flags);
SISYFS_EXPORT int close_range(unsigned first, unsigned last, int flags) {
  look_at(first, last, "close_range on descriptors of the checker", CALLER);
  return (int)answer(kernel(kNrCloseRange, first, last, flags, 0, 0, 0));
}
void closefrom(int first);
SISYFS_EXPORT void closefrom(int first) {
  look_at((unsigned)first, ~0u, "closefrom on descriptors of the checker", CALLER);
  (void)kernel(kNrCloseRange, first, ~0u, 0, 0, 0, 0);
}

/* --- system calls by number */

long syscall(long number, long a, long b, long c, long d, long e, long f);
SISYFS_EXPORT long syscall(long number, long a, long b, long c, long d, long e, long f) {
  switch (number) {
    case kNrKill:
    case kNrTkill:
      return send((int)a, (int)b, "syscall(SYS_kill)", CALLER);
    case kNrTgkill:
      return send((int)a, (int)c, "syscall(SYS_tgkill)", CALLER);
    case kNrSetrlimit:
      refuse("syscall(SYS_setrlimit)", CALLER);
    case kNrPrlimit:
      return set_limit((int)a, (int)b, (const void*)c, (void*)d, "syscall(SYS_prlimit64)", CALLER);
    case kNrExecve:
    case kNrExecveat:
      refuse("syscall(SYS_execve)", CALLER);
    case kNrChdir:
    case kNrFchdir:
      refuse("syscall(SYS_chdir)", CALLER);
    case kNrChroot:
      refuse("syscall(SYS_chroot)", CALLER);
    case kNrSetpgid:
    case kNrSetsid:
      refuse("syscall(SYS_setsid)", CALLER);
    case kNrPtrace:
    case kNrProcessVmWrite:
      refuse("syscall(SYS_ptrace)", CALLER);
    case kNrUnshare:
      refuse("syscall(SYS_unshare)", CALLER);
    case kNrSigaction:
    case kNrSigprocmask:
    case kNrSigaltstack:
    case kNrAlarm:
    case kNrSetitimer:
      return 0;
    case kNrExit:
    case kNrExitGroup: {
      const struct sisyfs_arena_end end = {.kind = SISYFS_END_EXIT, .status = (int)a, .caller = CALLER};
      end_with(&end);
    }
    case kNrClose:
    case kNrDup2:
    case kNrDup3:
    case kNrCloseRange: {
      const unsigned first = (unsigned)(number == kNrDup2 || number == kNrDup3 ? b : a);
      look_at(first, number == kNrCloseRange ? (unsigned)b : first,
              "syscall(SYS_close) on a descriptor of the checker", CALLER);
      break;
    }
    default:
      break;
  }
  return answer(kernel(number, a, b, c, d, e, f));
}

void end_process(int status) {
  for (;;) kernel(kNrExitGroup, status, 0, 0, 0, 0, 0);
}

#else

long syscall(long number, ...);
void end_process(int status) {
  for (;;) syscall(94, status); /* exit_group of most architectures */
}

#endif
