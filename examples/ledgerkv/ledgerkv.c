// Ledgerkv: a toy key-value store, to be read and to be broken.
//
//   ledgerkv put KEY VALUE    stores the value; creates the store if there is none
//   ledgerkv compact          writes a new log that holds only the last value of each key
//   ledgerkv list             prints all keys and values; writes nothing
//
// The store is the current directory. log.N is a list of records, each with a checksum. CURRENT names the log
// in use. A record is durable when 'put' has synced the log; then the program that LEDGERKV_HOOK names runs
// with "NUMBER KEY".
//
// What a power cut may do: nothing is durable but what fsync says. fsync of a file covers its data and its
// size, fsync of a directory covers its names. All else persists in any order, in pieces of 4 KiB, or not at
// all; what is missing reads as zeros. rename() replaces a name in one step.
//
// LEDGERKV_BUG plants a mistake; README.md explains each.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char kMagic[] = "ledger 1\n";
enum { kMagicSize = sizeof(kMagic) - 1, kMaxKeys = 64, kMaxValue = 1 << 20 };

struct header {
  uint32_t sum;  // of all that follows: the rest of the header, the key, the value
  uint32_t number, key_size, value_size;
};
struct record {
  struct header header;
  const char *bytes;  // the key, and behind it the value
};
struct store {
  unsigned log;                     // N of log.N; 0: there is no store yet
  off_t size, end;                  // of the log: its size, and where its last whole record ends
  uint32_t last;                    // the highest number
  struct record records[kMaxKeys];  // the last one of each key
  int count;
};

static void die(const char *what, const char *why) {
  fprintf(stderr, "ledgerkv: %s: %s\n", what, why);
  exit(1);
}

static bool bug(const char *name) {
  const char *planted = getenv("LEDGERKV_BUG");
  return planted && strcmp(planted, name) == 0;
}

static const char *log_name(unsigned log) {
  static char name[32];
  snprintf(name, sizeof(name), "log.%u", log);
  return name;
}

static int must_open(const char *path, int flags) {
  const int fd = open(path, flags, 0644);
  if (fd < 0) die(path, strerror(errno));
  return fd;
}

static void must_sync(int fd) {
  if (fsync(fd) != 0) die("fsync", strerror(errno));
}

static void must_write(int fd, const void *data, size_t size) {
  if (write(fd, data, size) != (ssize_t)size) die("write", errno ? strerror(errno) : "short write");
}

static void sync_directory(void) {
  const int fd = must_open(".", O_RDONLY | O_DIRECTORY);
  must_sync(fd);
  close(fd);
}

// FNV-1a.
static uint32_t sum_of(uint32_t sum, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; ++i) sum = (sum ^ bytes[i]) * 16777619u;
  return sum;
}

static uint32_t sum_of_record(const struct record *r) {
  const uint32_t sum = sum_of(2166136261u, &r->header.number, sizeof(r->header) - sizeof(r->header.sum));
  return sum_of(sum, r->bytes, r->header.key_size + r->header.value_size);
}

static void write_record(int fd, const struct record *r) {
  const size_t size = r->header.key_size + r->header.value_size;
  char *buffer = malloc(sizeof(r->header) + size);
  if (!buffer) die("put", "no memory");
  memcpy(buffer, &r->header, sizeof(r->header));
  memcpy(buffer + sizeof(r->header), r->bytes, size);
  must_write(fd, buffer, sizeof(r->header) + size);
  free(buffer);
}

// A later record of the same key replaces the earlier one.
static void remember(struct store *s, const struct record *r) {
  int i = 0;
  while (i < s->count && (s->records[i].header.key_size != r->header.key_size ||
                          memcmp(s->records[i].bytes, r->bytes, r->header.key_size) != 0)) {
    ++i;
  }
  if (i == kMaxKeys) die("put", "too many keys");
  if (i == s->count) s->count++;
  s->records[i] = *r;
  if (s->last < r->header.number) s->last = r->header.number;
}

// Reads CURRENT and its log. Records end at the first one that is not whole: a power cut in the middle of
// 'put'.
static void load(struct store *s) {
  memset(s, 0, sizeof(*s));
  int fd = open("CURRENT", O_RDONLY);
  if (fd < 0 && errno == ENOENT) return;
  char name[32] = "";
  if (fd < 0 || read(fd, name, sizeof(name) - 1) < 0) die("CURRENT", strerror(errno));
  close(fd);
  char newline = 0;
  if (sscanf(name, "log.%u%c", &s->log, &newline) != 2 || newline != '\n' || s->log == 0)
    die("CURRENT", "is damaged");

  fd = must_open(log_name(s->log), O_RDONLY);
  struct stat status;
  if (fstat(fd, &status) != 0) die(log_name(s->log), strerror(errno));
  s->size = status.st_size;
  char *bytes = malloc(s->size + 1);  // it lives as long as the program: the records point to it
  if (!bytes || read(fd, bytes, s->size) != s->size) die(log_name(s->log), "cannot be read");
  close(fd);
  if (s->size < kMagicSize || memcmp(bytes, kMagic, kMagicSize) != 0) die(log_name(s->log), "is not a log");

  s->end = kMagicSize;
  struct record r;
  while (s->size - s->end >= (off_t)sizeof(r.header)) {
    memcpy(&r.header, bytes + s->end, sizeof(r.header));
    r.bytes = bytes + s->end + sizeof(r.header);
    const off_t size = sizeof(r.header) + (off_t)r.header.key_size + r.header.value_size;
    if (r.header.key_size == 0 || size > s->size - s->end) break;
    if (!bug("no_checksum") && r.header.sum != sum_of_record(&r)) break;
    remember(s, &r);
    s->end += size;
  }
}

// A new log that holds the records. It must be durable, and so must its name, before CURRENT names it.
static void create_log(unsigned log, const struct store *s) {
  const int fd = must_open(log_name(log), O_WRONLY | O_CREAT | O_TRUNC);
  must_write(fd, kMagic, kMagicSize);
  for (int i = 0; i < s->count; ++i) write_record(fd, &s->records[i]);
  must_sync(fd);
  close(fd);
  if (!bug("no_dirsync_create")) sync_directory();
}

// The content must be durable before the name leads to it. The name must be durable before the old log is
// removed and before a record goes to the new log.
static void set_current(unsigned log) {
  const int fd = must_open("CURRENT.new", O_WRONLY | O_CREAT | O_TRUNC);
  char line[32];
  must_write(fd, line, snprintf(line, sizeof(line), "%s\n", log_name(log)));
  if (!bug("rename_early")) must_sync(fd);
  if (rename("CURRENT.new", "CURRENT") != 0) die("CURRENT", strerror(errno));
  if (bug("rename_early")) must_sync(fd);
  close(fd);
  if (!bug("no_dirsync_rename")) sync_directory();
}

static void acknowledge(uint32_t number, const char *key) {
  const char *hook = getenv("LEDGERKV_HOOK");
  if (!hook) return;
  char text[128];
  snprintf(text, sizeof(text), "%u %s", (unsigned)number, key);
  const pid_t child = fork();
  if (child == 0) {
    execlp(hook, hook, text, (char *)NULL);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) die(hook, "the hook failed");
}

static void put(struct store *s, const char *key, const char *value) {
  if (!*key || strchr(key, '=') || strlen(key) + strlen(value) > kMaxValue) die("put", "bad key or value");
  if (s->log == 0) {
    s->log = 1;
    s->end = s->size = kMagicSize;
    create_log(s->log, s);
    set_current(s->log);
  }
  char *bytes = malloc(strlen(key) + strlen(value) + 1);
  if (!bytes) die("put", "no memory");
  strcat(strcpy(bytes, key), value);
  struct record r = {{0, s->last + 1, strlen(key), strlen(value)}, bytes};
  r.header.sum = sum_of_record(&r);

  const int fd = must_open(log_name(s->log), O_WRONLY);
  if (s->end < s->size && ftruncate(fd, s->end) != 0) die("put", strerror(errno));
  if (lseek(fd, s->end, SEEK_SET) != s->end) die("put", strerror(errno));
  write_record(fd, &r);
  if (bug("ack_early")) acknowledge(r.header.number, key);
  if (!bug("no_fsync")) must_sync(fd);
  close(fd);
  if (!bug("ack_early")) acknowledge(r.header.number, key);
  free(bytes);
}

static void compact(const struct store *s) {
  if (s->log == 0) return;
  if (bug("wrong_order")) set_current(s->log + 1);
  create_log(s->log + 1, s);
  if (!bug("wrong_order")) set_current(s->log + 1);
  if (unlink(log_name(s->log)) != 0) die(log_name(s->log), strerror(errno));
  if (bug("extra_fsync")) sync_directory();  // nobody reads an old log, so it may come back
}

// One line for each record. Bytes that cannot be printed are shown as '?'.
static void list(const struct store *s) {
  for (int i = 0; i < s->count; ++i) {
    const struct record *r = &s->records[i];
    printf("%u ", (unsigned)r->header.number);
    for (uint32_t at = 0; at < r->header.key_size + r->header.value_size; ++at) {
      if (at == r->header.key_size) putchar('=');
      putchar(r->bytes[at] >= ' ' && r->bytes[at] <= '~' ? r->bytes[at] : '?');
    }
    putchar('\n');
  }
  if (fflush(stdout) != 0) die("list", strerror(errno));
}

static void check_bug_name(void) {
  static const char *const kBugs[] = {
      "",          "no_fsync",    "no_dirsync_create", "no_dirsync_rename", "rename_early", "wrong_order",
      "ack_early", "no_checksum", "extra_fsync"};
  for (size_t i = 0; i < sizeof(kBugs) / sizeof(kBugs[0]); ++i) {
    if (!getenv("LEDGERKV_BUG") || bug(kBugs[i])) return;
  }
  die(getenv("LEDGERKV_BUG"), "LEDGERKV_BUG names no mistake that can be planted; README.md lists them");
}

int main(int argc, char **argv) {
  const char *command = argc > 1 ? argv[1] : "";
  check_bug_name();
  struct store s;
  if (argc == 4 && strcmp(command, "put") == 0) {
    load(&s);
    put(&s, argv[2], argv[3]);
  } else if (argc == 2 && strcmp(command, "compact") == 0) {
    load(&s);
    compact(&s);
  } else if (argc == 2 && strcmp(command, "list") == 0) {
    load(&s);
    list(&s);
  } else {
    fprintf(stderr, "usage: ledgerkv put KEY VALUE | compact | list\n");
    return 2;
  }
  return 0;
}
