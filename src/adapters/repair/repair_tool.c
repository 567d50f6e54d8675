#define _GNU_SOURCE
#include "adapters/repair/repair_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "adapters/plugin/arena/kernel_call.h"

enum { kImageFd = 3, kOutputSize = 1 << 20 };

static size_t size_of(const struct repair_image* image) {
  return (size_t)(image->watched.block_size * image->watched.block_count);
}

/* --- the disk */

static int read_disk(void* self, uint64_t block, uint64_t count, void* bytes) {
  const sisyfs_disk* disk = self;
  return disk->read(disk, block, (uint32_t)count, bytes);
}
static int write_disk(void* self, uint64_t block, uint64_t count, const void* bytes, int through) {
  const sisyfs_disk* disk = self;
  return (through ? disk->write_through : disk->write)(disk, block, (uint32_t)count, bytes);
}
static int flush_disk(void* self) {
  const sisyfs_disk* disk = self;
  return disk->flush(disk);
}

int repair_image_make(const sisyfs_disk* disk, struct repair_image* out) {
  const struct watched_disk under = {(void*)disk, read_disk, write_disk, flush_disk};
  out->disk = disk;
  out->copied = NULL;
  out->last = out->last_count = 0;
  return watched_image_make(&under, disk->block_size, disk->block_count, &out->watched);
}

int repair_image_look(struct repair_image* image, uint64_t offset, size_t size, void* out) {
  const uint32_t each = image->watched.block_size;
  if (offset > size_of(image) || size > size_of(image) - offset || size == 0) return -EINVAL;
  const uint64_t first = offset / each, last = (offset + size - 1) / each;
  const int error = watched_image_read(&image->watched, first, last - first + 1);
  if (error == 0) memcpy(out, image->watched.bytes + offset, size);
  return error;
}

static void drop_copy(struct repair_image* image) {
  if (image->copied != NULL) munmap(image->copied, size_of(image));
  image->copied = NULL;
}

void repair_image_close(struct repair_image* image) {
  drop_copy(image);
  watched_image_close(&image->watched);
}

/* --- a tool that is not watched */

static int copy_all(struct repair_image* image) {
  const int error = watched_image_read(&image->watched, 0, image->watched.block_count);
  if (error) return error;
  if (image->copied == NULL) {
    void* at = mmap(NULL, size_of(image), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return -errno;
    image->copied = at;
  }
  memcpy(image->copied, image->watched.bytes, size_of(image));
  return 0;
}

static int write_changed(const struct repair_image* image, uint64_t from, uint64_t to, int* wrote) {
  const uint32_t size = image->watched.block_size;
  for (uint64_t block = from; block < to; ++block) {
    const unsigned char* now = image->watched.bytes + block * size;
    if (memcmp(now, image->copied + block * size, size) == 0) continue;
    const int error = image->disk->write(image->disk, block, 1, now);
    if (error) return error;
    *wrote = 1;
  }
  return 0;
}

static int write_back(struct repair_image* image) {
  const uint64_t end = image->last + image->last_count;
  int first = 0, second = 0;
  int error = write_changed(image, 0, image->last, &first);
  if (error == 0) error = write_changed(image, end, image->watched.block_count, &first);
  if (error == 0 && first) error = image->disk->flush(image->disk);
  if (error == 0) error = write_changed(image, image->last, end, &second);
  if (error == 0 && second) error = image->disk->flush(image->disk);
  return error;
}

/* --- the process of the tool */

struct start {
  const char* path;
  const char* const* arguments;
  const char* const* environment;
  int image, output;
  int socket; /* -1: it is not watched */
  long parent;
};

/* In the new process, which shares the memory of this one until it has become the tool. */
static __attribute__((noreturn, noinline)) void become(const struct start* s) {
  const uint64_t none = 0;
  (void)kernel(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, sizeof none, 0, 0);
  struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    uint64_t mask;
  } usual = {SIG_DFL, 0, NULL, 0};
  for (int number = 1; number < 32; ++number)
    (void)kernel(SYS_rt_sigaction, number, (long)&usual, 0, sizeof usual.mask, 0, 0);
  (void)kernel(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
  if (kernel(SYS_getppid, 0, 0, 0, 0, 0, 0) != s->parent) goto failed;
  (void)kernel(SYS_personality, ADDR_NO_RANDOMIZE, 0, 0, 0, 0, 0);
  const long null = kernel(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDWR, 0, 0, 0);
  (void)kernel(SYS_dup3, null, STDIN_FILENO, 0, 0, 0, 0);
  (void)kernel(SYS_dup3, s->output, STDOUT_FILENO, 0, 0, 0, 0);
  (void)kernel(SYS_dup3, s->output, STDERR_FILENO, 0, 0, 0, 0);
  (void)kernel(SYS_dup3, s->image, kImageFd, 0, 0, 0, 0);
  const int kept = kImageFd + 1;
  if (s->socket >= 0) {
    (void)kernel(SYS_dup3, s->socket, kept, O_CLOEXEC, 0, 0, 0);
    (void)kernel(SYS_close_range, kept + 1, ~0u, 0, 0, 0, 0);
    if (watched_tool_begin(kept) != 0) goto failed;
  } else {
    (void)kernel(SYS_close_range, kept, ~0u, 0, 0, 0, 0);
  }
  (void)kernel(SYS_execve, (long)s->path, (long)s->arguments, (long)s->environment, 0, 0, 0);
failed:
  for (;;) (void)kernel(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

/* As vfork(): this thread waits until the new process has become the tool. */
static __attribute__((noinline)) long start(struct start* s) {
  const uint64_t all = ~(uint64_t)0;
  uint64_t before = 0;
  s->parent = kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
  (void)kernel(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, sizeof all, 0, 0);
  const long pid = kernel(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);
  if (pid == 0) become(s);
  (void)kernel(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
  return pid;
}

static int find(const char* name, char* path, size_t size) {
  static const char* const kPlaces[] = {"/usr/sbin", "/sbin",           "/usr/bin",
                                        "/bin",      "/usr/local/sbin", "/usr/local/bin"};
  if (name[0] == '/') {
    return snprintf(path, size, "%s", name) < (int)size && access(path, X_OK) == 0 ? 0 : -ENOENT;
  }
  for (size_t i = 0; i < sizeof kPlaces / sizeof *kPlaces; ++i) {
    if (snprintf(path, size, "%s/%s", kPlaces[i], name) >= (int)size) continue;
    if (access(path, X_OK) == 0) return 0;
  }
  return -ENOENT;
}

/* --- its run */

static int64_t now_ms(void) {
  struct timespec now = {0, 0};
  (void)kernel(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Serves the program until it has ended, or kills it. The deadline is of its own work, not of the clock on
 * the wall, which on a busy machine says little; but nobody waits for ever: a program that sleeps ends after
 * ten times as long. Without a descriptor for a process there is only the first of the two. Signals wait
 * meanwhile, since a timer of this process would begin the wait anew with each of its ticks.
 * Returns why it could not be watched. */
static int serve_until(struct repair_image* image, pid_t pid, int listener, int deadline_ms,
                       struct repair_run* out) {
  int error = 0;
  const int process = (int)syscall(SYS_pidfd_open, pid, 0);
  const int64_t end = now_ms() + (int64_t)deadline_ms * 10;
  sigset_t all;
  sigfillset(&all);
  struct pollfd polled[2] = {{process, POLLIN, 0}, {listener, POLLIN, 0}};
  while (process >= 0 || polled[1].fd >= 0) {
    const int64_t left = end - now_ms();
    const struct timespec timeout = {left < 0 ? 0 : left / 1000, left < 0 ? 0 : left % 1000 * 1000000};
    if (ppoll(polled, 2, &timeout, &all) <= 0 || left <= 0) {
      out->killed = 1;
      break;
    }
    if ((polled[1].revents & POLLIN) != 0) {
      error = watched_tool_serve(&image->watched, listener);
      if (error) break;
    } else if (polled[1].revents != 0) {
      polled[1].fd = -1; /* nobody is watched any more */
    } else if (polled[0].revents != 0) {
      break;
    }
  }
  if (out->killed || error) kill(pid, SIGKILL);
  if (process >= 0) close(process);
  return error;
}

static int wait_for(pid_t pid, int* status) {
  while (waitpid(pid, status, 0) < 0) {
    if (errno != EINTR) return -errno;
  }
  return 0;
}

/* One run on the image, watched or not. *refused: it could not be watched. */
static int run_once(struct repair_image* image, struct start* s, int watched, int deadline_ms,
                    struct repair_run* out, int* refused) {
  int ends[2] = {-1, -1};
  if (watched && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -errno;
  /* Out of the way of the numbers that it gets there. */
  const int kSafe = kImageFd + 2;
  s->image = fcntl(image->watched.fd, F_DUPFD_CLOEXEC, kSafe);
  s->socket = watched ? fcntl(ends[1], F_DUPFD_CLOEXEC, kSafe) : -1;
  const long pid = s->image < 0 || (watched && s->socket < 0) ? -EMFILE : start(s);
  if (s->image >= 0) close(s->image);
  if (s->socket >= 0) close(s->socket);
  if (watched) close(ends[1]);
  int listener = -1, error = pid < 0 ? (int)pid : 0;
  if (error == 0) {
    const rlim_t seconds = (rlim_t)(deadline_ms + 999) / 1000;
    const struct rlimit work = {seconds, seconds};
    (void)prlimit((pid_t)pid, RLIMIT_CPU, &work, NULL);
    if (watched) listener = watched_tool_listener(ends[0]);
    *refused = watched && listener < 0;
    if (!*refused) *refused = serve_until(image, (pid_t)pid, listener, deadline_ms, out) != 0;
    error = wait_for((pid_t)pid, &out->status);
    if (listener >= 0) close(listener);
    const int signal = WIFSIGNALED(out->status) ? WTERMSIG(out->status) : 0;
    if (signal == SIGXCPU || signal == SIGKILL) out->killed = 1;
  }
  if (watched) close(ends[0]);
  return error;
}

static int run_it(struct repair_image* image, enum repair_purpose purpose, struct start* s, int deadline_ms,
                  struct repair_run* out) {
  int refused = 0;
  int error = 0;
  watched_image_look(&image->watched, purpose != REPAIR_CHANGES);
  if (purpose != REPAIR_REPLACES) {
    error = run_once(image, s, 1, deadline_ms, out, &refused);
    if (error) return error;
    if (!refused) return watched_tool_end(&image->watched);
    out->killed = 0;
  }
  error = copy_all(image);
  if (purpose == REPAIR_REPLACES) memset(image->watched.bytes, 0, size_of(image));
  if (error == 0) error = run_once(image, s, 0, deadline_ms, out, &refused);
  if (error == 0 && purpose != REPAIR_LOOKS) error = write_back(image);
  watched_image_restart(&image->watched);
  return error;
}

/* A file in memory that no program can make longer, mapped. */
static int make_output(int* fd, char** bytes) {
  *fd = memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (*fd < 0) return -errno;
  if (ftruncate(*fd, kOutputSize) == 0 && fcntl(*fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0) {
    void* at = mmap(NULL, kOutputSize, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (at != MAP_FAILED) {
      *bytes = at;
      return 0;
    }
  }
  const int error = -errno;
  close(*fd);
  return error;
}

int repair_tool_run(struct repair_image* image, enum repair_purpose purpose, const char* const* arguments,
                    const char* const* environment, int deadline_ms, struct repair_run* out) {
  char path[256], *text = NULL;
  int output;
  int error = find(arguments[0], path, sizeof path);
  if (error) return error;
  error = make_output(&output, &text);
  if (error) return error;
  out->killed = out->status = 0;
  out->output = text;
  struct start s = {
      .path = path, .arguments = arguments, .environment = environment, .output = -1, .socket = -1};
  s.output = fcntl(output, F_DUPFD_CLOEXEC, kImageFd + 2);
  close(output);
  error = s.output < 0 ? -errno : run_it(image, purpose, &s, deadline_ms, out);
  if (s.output >= 0) close(s.output);
  text[kOutputSize - 1] = 0;
  if (error) repair_run_free(out);
  return error;
}

void repair_run_free(struct repair_run* run) { munmap((void*)run->output, kOutputSize); }
