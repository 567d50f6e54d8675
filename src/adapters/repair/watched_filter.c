/* The filter of a watched tool, and how its listener comes to us. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapters/repair/watched_tool.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* Since Linux 6.6: the tool and we take turns on one core. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define OWN_ARCHITECTURE 0 /* no call is ours, so nothing is watched: begin() refuses */
#endif

enum { kMost = 256, kAsk = -1, kRuns = -2 };

struct filter {
  struct sock_filter code[kMost];
  unsigned short length;
};

static void add(struct filter* f, unsigned code, unsigned value, unsigned if_true, unsigned if_false) {
  const struct sock_filter one = {(unsigned short)code, (unsigned char)if_true, (unsigned char)if_false,
                                  value};
  if (f->length < kMost) f->code[f->length++] = one;
}

static void answer(struct filter* f, int with) {
  add(f, BPF_RET | BPF_K,
      with == kAsk    ? SECCOMP_RET_USER_NOTIF
      : with == kRuns ? SECCOMP_RET_ALLOW
                      : SECCOMP_RET_ERRNO | (unsigned)with,
      0, 0);
}

/* The low half of an argument, on a machine with the low byte first. */
static void load_argument(struct filter* f, unsigned argument) {
  add(f, BPF_LD | BPF_W | BPF_ABS,
      (unsigned)offsetof(struct seccomp_data, args) + (unsigned)sizeof(uint64_t) * argument, 0, 0);
}

/* The answer to a system call: kAsk us, kRuns, or an errno. */
static void on(struct filter* f, long number, int with) {
  add(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  add(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
  answer(f, with);
}

/* The same, if the test (BPF_JGE, BPF_JSET, ...) of an argument holds. */
static void on_argument(struct filter* f, long number, unsigned argument, unsigned test, unsigned value,
                        int with) {
  add(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  add(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 3);
  load_argument(f, argument);
  add(f, BPF_JMP | test | BPF_K, value, 0, 1);
  answer(f, with);
}

static void make(struct filter* f) {
  f->length = 0;
  add(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
  add(f, BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0);
  answer(f, ENOSYS);
#if defined(__x86_64__)
  add(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  add(f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* the x32 ABI */
  answer(f, ENOSYS);
#endif
  /* The standard streams are never the image. */
  const long streams[] = {SYS_read, SYS_write, SYS_readv, SYS_writev};
  for (unsigned i = 0; i < sizeof streams / sizeof *streams; ++i)
    on_argument(f, streams[i], 0, BPF_JGT, STDERR_FILENO, kAsk);
  const long asked[] = {SYS_pread64, SYS_pwrite64,  SYS_preadv, SYS_preadv2,   SYS_pwritev,  SYS_pwritev2,
                        SYS_fsync,   SYS_fdatasync, SYS_msync,  SYS_fallocate, SYS_ftruncate};
  for (unsigned i = 0; i < sizeof asked / sizeof *asked; ++i) on(f, asked[i], kAsk);
  /* The loader maps libraries with a flag that has no meaning any more and that nobody else gives. */
  on_argument(f, SYS_mmap, 3, BPF_JSET, MAP_ANONYMOUS | 0x0800 /* MAP_DENYWRITE */, kRuns);
  on(f, SYS_mmap, kAsk);
  /* A file in memory may refuse the one, and the other would empty it, which no disk does. */
  on_argument(f, SYS_openat, 2, BPF_JSET, O_DIRECT | O_TRUNC, kAsk);
#ifdef SYS_open
  on_argument(f, SYS_open, 1, BPF_JSET, O_DIRECT | O_TRUNC, kAsk);
  on(f, SYS_creat, ENOSYS);
#endif
  on(f, SYS_openat2, ENOSYS);
  /* Holes of the image say only what has not been read yet. */
  on_argument(f, SYS_lseek, 2, BPF_JGE, SEEK_DATA, EINVAL);
  const long refused[] = {SYS_sendfile, SYS_splice, SYS_copy_file_range, SYS_tee};
  for (unsigned i = 0; i < sizeof refused / sizeof *refused; ++i) on(f, refused[i], EINVAL);
  const long missing[] = {SYS_io_uring_setup, SYS_io_setup, SYS_io_submit, SYS_remap_file_pages};
  for (unsigned i = 0; i < sizeof missing / sizeof *missing; ++i) on(f, missing[i], ENOSYS);
  /* These write back what is in the kernel's cache and flush no disk. There is nothing to write back. */
  const long nothing[] = {SYS_sync, SYS_syncfs, SYS_sync_file_range};
  for (unsigned i = 0; i < sizeof nothing / sizeof *nothing; ++i) on(f, nothing[i], 0);
  answer(f, kRuns);
}

/* The listener, or a negative errno. */
static int install(void) {
  if (OWN_ARCHITECTURE == 0) return -ENOSYS;
  struct filter f;
  make(&f);
  const struct sock_fprog program = {f.length, f.code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
  /* Once we have seen a call, no signal of the tool repeats it. Kernels before 5.19 do not have that. */
  const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  long listener =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
  if (listener < 0 && errno == EINVAL)
    listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  return listener < 0 ? -errno : (int)listener;
}

union passed {
  struct cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
};

int watched_tool_begin(int socket) {
  int listener = install();
  int error = listener < 0 ? listener : 0;
  union passed passed;
  memset(&passed, 0, sizeof passed);
  struct iovec text = {&error, sizeof error};
  struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1};
  if (listener >= 0) {
    message.msg_control = &passed;
    message.msg_controllen = sizeof passed;
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof listener);
    memcpy(CMSG_DATA(header), &listener, sizeof listener);
  }
  const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  if (error == 0 && sent < 0) error = -errno;
  if (listener >= 0) (void)syscall(SYS_close, listener);
  return error;
}

int watched_tool_listener(int socket) {
  int told = 0;
  union passed passed;
  memset(&passed, 0, sizeof passed);
  struct iovec text = {&told, sizeof told};
  struct msghdr message = {
      .msg_iov = &text, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed};
  ssize_t count;
  do count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  if (count != (ssize_t)sizeof told) return -EPIPE;
  if (told != 0) return told;
  const struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == NULL || header->cmsg_type != SCM_RIGHTS) return -EPIPE;
  int listener;
  memcpy(&listener, CMSG_DATA(header), sizeof listener);
  (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
  return listener;
}
