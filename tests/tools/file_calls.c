// Writes each file of the work directory in another way, makes all durable and acknowledges. With the
// argument "forget" a mapping is not flushed before the acknowledgement.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int right, const char* what) {
  if (!right) perror(what), exit(1);
}
static int make(const char* name, int flags) {
  const int fd = open(name, O_RDWR | O_CREAT | flags, 0644);
  must(fd >= 0, name);
  return fd;
}
static void put(const char* name, const char* text) {
  const int fd = make(name, 0);
  must(write(fd, text, strlen(text)) == (ssize_t)strlen(text), name);
  must(close(fd) == 0, name);
}
static void* thread(void* name) {
  put(name, name);
  return NULL;
}
static void flush(const char* name) {
  const int fd = open(name, O_RDONLY);
  must(fd >= 0 && fsync(fd) == 0, name);
  close(fd);
}

int main(int argc, char** argv) {
  const int forget = argc > 1 && strcmp(argv[1], "forget") == 0;
  int fd = make("mapped", 0);
  must(ftruncate(fd, 10000) == 0, "ftruncate");
  char* map = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  must(map != MAP_FAILED, "mmap");
  must(fsync(fd) == 0 && close(fd) == 0, "fsync");

  fd = make("direct", O_DIRECT);
  char* buffer = NULL;
  must(posix_memalign((void**)&buffer, 4096, 8192) == 0, "memory");
  memset(buffer, 'd', 8192);
  must(write(fd, buffer, 8192) == 8192, "O_DIRECT");

  put("one", "1");
  put("two", "2");
  must(renameat2(AT_FDCWD, "one", AT_FDCWD, "two", RENAME_EXCHANGE) == 0, "exchange");
  put("other", "o");
  must(renameat2(AT_FDCWD, "other", AT_FDCWD, "one", RENAME_NOREPLACE) != 0, "no replace");

  int from = open("direct", O_RDONLY), to = make("copied", 0);
  must(copy_file_range(from, NULL, to, NULL, 5000, 0) == 5000, "copy_file_range");
  to = make("sent", 0);
  off_t at = 100;
  must(sendfile(to, from, &at, 5000) == 5000, "sendfile");

  to = make("vector", 0);
  struct iovec parts[] = {{"ab", 2}, {"cde", 3}};
  must(pwritev(to, parts, 2, 4094) == 5, "pwritev");
  must(fallocate(to, 0, 0, 6000) == 0, "fallocate");
  must(fallocate(to, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4094, 1) == 0, "punch");
  must(symlink("vector", "soft") == 0 && link("vector", "hard") == 0, "links");
  must(chmod("vector", 0600) == 0, "chmod");

  pthread_t threads[2];
  pthread_create(&threads[0], NULL, thread, "thread1");
  pthread_create(&threads[1], NULL, thread, "thread2");
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);

  const pid_t child = fork();
  if (child == 0)
    execl("/bin/sh", "sh", "-c", "mkdir made && echo child >made/child && sync made/child made", NULL);
  int status = 0;
  must(waitpid(child, &status, 0) == child && status == 0, "child");

  to = make("appended", O_APPEND | O_SYNC);
  must(write(to, "one ", 4) == 4 && write(to, "two", 3) == 3, "append");

  // Nothing is closed and no process copied between this and the acknowledgement: FUSE would write back then.
  strcpy(map, "first");
  strcpy(map + 9000, "last");
  if (!forget) must(msync(map, 10000, MS_SYNC) == 0, "msync");

  const char* const all[] = {"direct", "one", "two", "copied", "sent", "vector", "thread1", "thread2", "."};
  for (unsigned i = 0; i < sizeof all / sizeof all[0]; ++i) flush(all[i]);
  must(system("sisyfs-ack all") == 0, "sisyfs-ack");
  must(map[0] == 'f', "mapping");
  return 0;
}
