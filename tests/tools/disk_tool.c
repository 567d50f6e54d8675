/* A tool for tests that does to an image what its arguments say, in their order; the image is the last one.
 *
 *     disk_tool pwrite:1024:512:a fsync read:0:16 /proc/self/fd/3
 *
 * Bytes that are written are one letter, repeated. `read`, `map` and the like print the first byte of what
 * they read, or the number of the error; then the program goes on. What writes and fails ends it with exit
 * code 8, as e2fsck does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* image;
static int fd, other = -1;
static long offset, length;
static char letter;
static _Alignas(4096) char bytes[1 << 16];
static char *mapped, *private_map;

static void must(int done) {
  if (done) return;
  fprintf(stderr, "%s\n", strerror(errno));
  exit(8);
}

static void show(long count, const char* at) {
  if (count < 0)
    printf("%d\n", errno);
  else
    printf("%c\n", count == 0 ? '-' : *at);
  fflush(stdout);
}

static void by_pwrite(void) { must(pwrite(fd, bytes, length, offset) == length); }
static void by_write(void) {
  must(lseek(fd, offset, SEEK_SET) == offset);
  must(write(fd, bytes, length) == length);
}
/* In halves. */
static void by_writev(void) {
  struct iovec parts[2] = {{bytes, length / 2}, {bytes + length / 2, length - length / 2}};
  must(lseek(fd, offset, SEEK_SET) == offset);
  must(writev(fd, parts, 2) == length);
}
static void by_pwritev_through(void) {
  struct iovec part = {bytes, length};
  must(pwritev2(fd, &part, 1, offset, RWF_DSYNC) == length);
}
static void by_stdio(void) {
  FILE* file = fopen(image, "r+");
  must(file != NULL);
  must(fseek(file, offset, SEEK_SET) == 0);
  must(fwrite(bytes, 1, length, file) == (size_t)length);
  must(fclose(file) == 0);
}
static void by_flags(int flags) {
  const int own = open(image, flags);
  must(own >= 0);
  must(pwrite(own, bytes, length, offset) == length);
  close(own);
}
static void by_direct(void) { by_flags(O_RDWR | O_DIRECT); }
static void by_sync(void) { by_flags(O_RDWR | O_SYNC); }
static void by_truncating(void) { by_flags(O_RDWR | O_TRUNC | O_CREAT); }
static void by_store(void) {
  if (mapped == NULL) {
    const off_t end = lseek(fd, 0, SEEK_END);
    mapped = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(mapped != MAP_FAILED);
  }
  memset(mapped + offset, letter, length);
}
static void by_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    by_pwrite();
    _exit(0);
  }
  int status;
  must(waitpid(child, &status, 0) == child && status == 0);
}
static void by_punch(void) {
  must(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) == 0);
}
static void by_reserve(void) { must(fallocate(fd, 0, offset, length) == 0); }
static void by_truncate(void) { must(ftruncate(fd, offset) == 0); }
static void by_fsync(void) { must(fsync(fd) == 0); }
static void by_fdatasync(void) { must(fdatasync(fd) == 0); }
static void by_msync(void) { must(msync(mapped, 4096, MS_SYNC) == 0); }
static void by_nothing_much(void) {
  sync();
  must(syncfs(fd) == 0);
}
static void by_read(void) { show(pread(fd, bytes, length, offset), bytes); }
static void by_readv(void) {
  struct iovec parts[2] = {{bytes, length / 2}, {bytes + length / 2, length - length / 2}};
  lseek(fd, offset, SEEK_SET);
  show(readv(fd, parts, 2), bytes);
}
static void by_map(void) {
  private_map = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, offset);
  show(private_map == MAP_FAILED ? -1 : length, private_map);
}
static void by_sendfile(void) {
  show(copy_file_range(fd, NULL, STDOUT_FILENO, NULL, length, 0), "?");
  show(lseek(fd, 0, SEEK_HOLE), "?");
}
static void by_dup(void) {
  other = dup(fd);
  close(fd);
  fd = other;
}
static void by_elsewhere(void) { /* a file that is no image, under the number of one */
  const int own = open("/dev/null", O_RDWR);
  must(pwrite(own, bytes, length, offset) == length);
  must(fsync(own) == 0 || errno == EINVAL);
  close(own);
}
static void by_hang(void) {
  for (;;) pause();
}
static void by_reading_without_end(void) {
  for (;;) by_read();
}
static void by_death(void) { raise(SIGSEGV); }
static void by_exit(void) { exit((int)offset); }
/* With interruptions by a signal all the time. */
static void on_alarm(int number) { (void)number; }
static void by_ticks(void) {
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  ualarm(200, 200);
}

static const struct {
  const char* name;
  void (*call)(void);
} kCalls[] = {{"pwrite", by_pwrite},
              {"write", by_write},
              {"writev", by_writev},
              {"stdio", by_stdio},
              {"direct", by_direct},
              {"osync", by_sync},
              {"dsync", by_pwritev_through},
              {"trunc", by_truncating},
              {"store", by_store},
              {"child", by_child},
              {"punch", by_punch},
              {"reserve", by_reserve},
              {"truncate", by_truncate},
              {"fsync", by_fsync},
              {"fdatasync", by_fdatasync},
              {"msync", by_msync},
              {"sync", by_nothing_much},
              {"read", by_read},
              {"readv", by_readv},
              {"map", by_map},
              {"sendfile", by_sendfile},
              {"dup", by_dup},
              {"null", by_elsewhere},
              {"hang", by_hang},
              {"endless", by_reading_without_end},
              {"die", by_death},
              {"exit", by_exit},
              {"ticks", by_ticks}};

int main(int count, char** words) {
  image = words[count - 1];
  fd = open(image, O_RDWR | O_EXCL);
  must(fd >= 0);
  for (int i = 1; i < count - 1; ++i) {
    char name[32] = "";
    offset = length = 0;
    letter = '0';
    sscanf(words[i], "%31[a-z]:%ld:%ld:%c", name, &offset, &length, &letter);
    memset(bytes, letter, sizeof bytes);
    size_t call = 0;
    while (call < sizeof kCalls / sizeof *kCalls && strcmp(kCalls[call].name, name) != 0) ++call;
    if (call == sizeof kCalls / sizeof *kCalls) return 100;
    kCalls[call].call();
  }
  return 0;
}
