#define _GNU_SOURCE
#include "adapters/repair/repair_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kImageFd = 3, kOutputSize = 1 << 20 };

static size_t size_of(const struct repair_image* image) {
  return (size_t)(image->block_size * image->block_count);
}

/* A file in memory that no program can make longer, mapped. */
static int make_file(const char* name, size_t size, int* fd, unsigned char** bytes) {
  *fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (*fd < 0) return -errno;
  if (ftruncate(*fd, (off_t)size) == 0 && fcntl(*fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0) {
    void* at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (at != MAP_FAILED) {
      *bytes = at;
      return 0;
    }
  }
  const int error = -errno;
  close(*fd);
  return error;
}

int repair_image_make(const sisyfs_disk* disk, struct repair_image* out) {
  out->block_size = disk->block_size;
  out->block_count = disk->block_count;
  const int error = make_file("image", size_of(out), &out->fd, &out->bytes);
  if (error) return error;
  void* given = mmap(NULL, size_of(out), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (given == MAP_FAILED) {
    const int refused = -errno;
    munmap(out->bytes, size_of(out));
    close(out->fd);
    return refused;
  }
  out->given = given;
  memset(out->given, REPAIR_UNREAD, size_of(out));
  memset(out->bytes, REPAIR_UNREAD, size_of(out));
  return 0;
}

int repair_image_read(const sisyfs_disk* disk, struct repair_image* image, uint64_t block, uint64_t count) {
  if (block > image->block_count || count > image->block_count - block) return -EINVAL;
  const size_t at = (size_t)(block * image->block_size), size = (size_t)(count * image->block_size);
  const int error = disk->read(disk, block, (uint32_t)count, image->given + at);
  if (error == 0) memcpy(image->bytes + at, image->given + at, size);
  return error;
}

int repair_image_open(const sisyfs_disk* disk, struct repair_image* out) {
  int error = repair_image_make(disk, out);
  if (error) return error;
  error = repair_image_read(disk, out, 0, out->block_count);
  if (error) repair_image_close(out);
  return error;
}

void repair_image_close(struct repair_image* image) {
  munmap(image->bytes, size_of(image));
  munmap(image->given, size_of(image));
  close(image->fd);
}

static int write_changed(const sisyfs_disk* disk, const struct repair_image* image, uint64_t from,
                         uint64_t to, int* wrote) {
  for (uint64_t block = from; block < to; ++block) {
    const size_t at = (size_t)(block * image->block_size);
    if (memcmp(image->bytes + at, image->given + at, image->block_size) == 0) continue;
    const int error = disk->write(disk, block, 1, image->bytes + at);
    if (error) return error;
    *wrote = 1;
  }
  return 0;
}

int repair_image_write_back(const sisyfs_disk* disk, const struct repair_image* image, uint64_t last,
                            uint64_t last_count) {
  int first = 0, second = 0;
  int error = write_changed(disk, image, 0, last, &first);
  if (error == 0) error = write_changed(disk, image, last + last_count, image->block_count, &first);
  if (error == 0 && first) error = disk->flush(disk);
  if (error == 0) error = write_changed(disk, image, last, last + last_count, &second);
  if (error == 0 && second) error = disk->flush(disk);
  return error;
}

/* Its own channels, the image as descriptor 3, no others; and no signal that is blocked or ignored here. */
static int spawn(const char* path, int image, int output, const char* const* arguments,
                 const char* const* environment, pid_t* pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&files);
  if (error) return -error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&files);
    return -error;
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  error = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!error) error = posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(&files, image, kImageFd);
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(&files, kImageFd + 1);
  if (!error) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
  if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
  if (!error) {
    error = posix_spawn(pid, path, &files, &attributes, (char* const*)arguments, (char* const*)environment);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return -error;
}

static int spawn_found(int image, int output, const char* const* arguments, const char* const* environment,
                       pid_t* pid) {
  static const char* const kPlaces[] = {"/usr/sbin", "/sbin",           "/usr/bin",
                                        "/bin",      "/usr/local/sbin", "/usr/local/bin"};
  if (arguments[0][0] == '/') return spawn(arguments[0], image, output, arguments, environment, pid);
  for (size_t i = 0; i < sizeof kPlaces / sizeof *kPlaces; ++i) {
    char path[256];
    if (snprintf(path, sizeof path, "%s/%s", kPlaces[i], arguments[0]) >= (int)sizeof path) continue;
    if (access(path, X_OK) == 0) return spawn(path, image, output, arguments, environment, pid);
  }
  return -ENOENT;
}

/* Waits until the program has ended, or kills it. The deadline is of its own work, not of the clock on the
 * wall, which on a busy machine says little; but nobody waits for ever: a program that sleeps ends after ten
 * times as long. Without a descriptor for a process there is only the first of the two. Signals wait
 * meanwhile, since a timer of this process would begin the wait anew with each of its ticks. */
static int wait_for(pid_t pid, int deadline_ms, struct repair_run* out) {
  out->killed = 0;
  const rlim_t seconds = (rlim_t)(deadline_ms + 999) / 1000;
  const struct rlimit work = {seconds, seconds};
  (void)prlimit(pid, RLIMIT_CPU, &work, NULL);
  const int process = (int)syscall(SYS_pidfd_open, pid, 0);
  if (process >= 0) {
    struct pollfd end = {process, POLLIN, 0};
    const struct timespec deadline = {deadline_ms / 100, 0};
    sigset_t all;
    sigfillset(&all);
    if (ppoll(&end, 1, &deadline, &all) == 0) {
      out->killed = 1;
      kill(pid, SIGKILL);
    }
    close(process);
  }
  while (waitpid(pid, &out->status, 0) < 0) {
    if (errno != EINTR) return -errno;
  }
  const int signal = WIFSIGNALED(out->status) ? WTERMSIG(out->status) : 0;
  if (signal == SIGXCPU || signal == SIGKILL) out->killed = 1;
  return 0;
}

int repair_tool_run(const struct repair_image* image, const char* const* arguments,
                    const char* const* environment, int deadline_ms, struct repair_run* out) {
  int output;
  unsigned char* text;
  int error = make_file("output", kOutputSize, &output, &text);
  if (error) return error;
  /* Descriptors below 4 would be overwritten while they are being handed over. */
  const int safe_image = fcntl(image->fd, F_DUPFD_CLOEXEC, kImageFd + 1);
  const int safe_output = fcntl(output, F_DUPFD_CLOEXEC, kImageFd + 1);
  pid_t pid;
  error = safe_image < 0 || safe_output < 0
              ? -errno
              : spawn_found(safe_image, safe_output, arguments, environment, &pid);
  if (safe_image >= 0) close(safe_image);
  if (safe_output >= 0) close(safe_output);
  close(output);
  if (error == 0) error = wait_for(pid, deadline_ms, out);
  text[kOutputSize - 1] = 0;
  out->output = (const char*)text;
  if (error) repair_run_free(out);
  return error;
}

void repair_run_free(struct repair_run* run) { munmap((void*)run->output, kOutputSize); }
