/* hostile: slots (slots.c) with one thing that no plug-in should do, chosen by the environment:
 *
 *   SISYFS_HOSTILE=close_all@write     do close_all in each write behind the start of a file
 *
 * The part before @ is a row of `deeds` or `answers`; the place is a function of the table, "constructor",
 * "destructor" or "entry". Deeds whose names begin with raw_ make system calls without libc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define sisyfs_plugin_entry slots_entry
#include "slots.c"
#undef sisyfs_plugin_entry

static const char* wanted(void) {
  const char* const text = getenv("SISYFS_HOSTILE");
  return text == NULL ? "" : text;
}
static const char* place_wanted(void) {
  const char* const at = strchr(wanted(), '@');
  return at == NULL ? "" : at + 1;
}
static int does(const char* what) {
  const size_t length = strlen(what);
  return strncmp(wanted(), what, length) == 0 && (wanted()[length] == '@' || wanted()[length] == 0);
}
static int is_at(const char* place) { return strcmp(place_wanted(), place) == 0; }
static int does_at(const char* what, const char* place) { return does(what) && is_at(place); }

static long raw(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
  long result;
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                   : "rcx", "r11", "memory");
  return result;
#else
  return syscall(number, a, b, c, d);
#endif
}

static volatile int forever = 1;
static void loop(void) {
  while (forever) {
  }
}

/* The checker's heap, as the kernel names it. */
static size_t heap_of_checker(char** begin) {
  char line[400];
  size_t size = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long first, last;
    if (strstr(line, "[heap]") == NULL || sscanf(line, "%lx-%lx", &first, &last) != 2) continue;
    *begin = (char*)first;
    size = last - first;
  }
  if (maps != NULL) fclose(maps);
  return size;
}

static jmp_buf stale;
static int stale_is_set;

static int overflow(volatile int* level) {
  volatile char frame[4096];
  frame[0] = (char)(*level)++;
  return forever ? overflow(level) + frame[0] : 0;
}

/* --- deeds */

static void stop(void) { raise(SIGSTOP); }
static void stop_by_kill(void) { kill(getpid(), SIGSTOP); }
static void raw_stop(void) { raw(SYS_kill, getpid(), SIGSTOP, 0, 0); }
static void raw_stop_thread(void) { raw(SYS_tgkill, getpid(), getpid(), SIGSTOP, 0); }
static void ignore_all(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  for (int i = 1; i < 64; i++) signal(i, SIG_IGN);
  loop();
}
static void raw_block_all(void) {
  const unsigned long all = ~0ul;
  raw(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, 0, 8);
  loop();
}
static void raw_ignore_all(void) {
  struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  } const ignore = {(void*)1, 0, NULL, 0};
  for (int i = 1; i < 64; i++) raw(SYS_rt_sigaction, i, (long)&ignore, 0, 8);
  loop();
}
static void stack_elsewhere(void) {
  stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  volatile int level = 0;
  overflow(&level);
}
static void raw_stack_elsewhere(void) {
  stack_t none = {.ss_flags = SS_DISABLE};
  raw(SYS_sigaltstack, (long)&none, 0, 0, 0);
  volatile int level = 0;
  overflow(&level);
}
static const int limits[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_NOFILE, RLIMIT_STACK, RLIMIT_NPROC};
static void set_limits(void) {
  const struct rlimit none = {0, 0};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) setrlimit(limits[i], &none);
}
static void raw_set_limits(void) {
  const struct rlimit none = {0, 0};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    raw(SYS_prlimit64, 0, limits[i], (long)&none, 0);
    raw(SYS_prlimit64, getppid(), limits[i], (long)&none, 0);
  }
}
static void kill_parent(void) { kill(getppid(), SIGKILL); }
static void kill_group(void) { kill(0, SIGKILL); }
static void raw_kill_parent(void) {
  raw(SYS_kill, getppid(), SIGKILL, 0, 0);
  raw(SYS_kill, getppid(), SIGTERM, 0, 0);
  raw(SYS_tgkill, getppid(), getppid(), SIGKILL, 0);
}
static void raw_kill_group(void) { raw(SYS_kill, 0, SIGKILL, 0, 0); }
static void terminate(void) { raise(SIGTERM); }
static void close_all(void) {
  for (int i = 0; i < 1100; i++) close(i);
}
static void raw_close_all(void) {
  for (int i = 0; i < 1100; i++) raw(SYS_close, i, 0, 0, 0);
}
static void close_a_range(void) { close_range(3, ~0u, 0); }
static void raw_close_a_range(void) { raw(SYS_close_range, 0, ~0u, 0, 0); }
static void overwrite_all(void) {
  const int null = open("/dev/null", O_RDWR);
  for (int i = 0; i < 1100; i++) dup2(null, i);
}
static void raw_overwrite_all(void) {
  const int null = open("/dev/null", O_RDWR);
  for (int i = 0; i < 1100; i++) raw(SYS_dup3, null, i, 0, 0);
}
static void change_directory(void) { (void)!chdir("/proc"); }
static void raw_change_directory(void) { raw(SYS_chdir, (long)"/proc", 0, 0, 0); }
static void change_root(void) { (void)!chroot("/proc"); }
static void raw_change_root(void) { raw(SYS_chroot, (long)"/proc", 0, 0, 0); }
static void end_by_exit(void) { exit(0); }
static void end_at_once(void) { _exit(3); }
static void end_quickly(void) { quick_exit(0); }
static void end_by_abort(void) { abort(); }
static void raw_end(void) { raw(SYS_exit_group, 0, 0, 0, 0); }
static void jump_nowhere(void) {
  jmp_buf where;
  memset(&where, 0x55, sizeof where);
  longjmp(where, 1);
}
static void jump_back(void) {
  if (stale_is_set) longjmp(stale, 1);
  stale_is_set = setjmp(stale) == 0;
}
static void use_up_stack(void) {
  volatile int level = 0;
  overflow(&level);
}
static void damage_heap(void) {
  char* begin = NULL;
  const size_t size = heap_of_checker(&begin);
  for (size_t i = 0; i + 64 < size; i += 4099) memset(begin + i, 0x55, 64);
}
static void damage_stack(void) {
  volatile char here = 0;
  volatile char* volatile begin = &here;
  for (int i = 0; i < 16384; i++) begin[i] = 0x55;
}
static void unmap_own(void) {
  char* const memory = malloc(8192);
  munmap((void*)((uintptr_t)memory & ~4095ul), 8192);
  memory[0] = 1;
}
static void unmap_heap(void) {
  char* begin = NULL;
  const size_t size = heap_of_checker(&begin);
  munmap(begin, size);
}
static void unmap_code(void) { munmap((void*)((uintptr_t)unmap_code & ~4095ul), 4096); }
static void protect_heap(void) {
  char* begin = NULL;
  const size_t size = heap_of_checker(&begin);
  mprotect(begin, size, PROT_NONE);
}
static void become_true(void) { execl("/bin/true", "true", NULL); }
static char *const kTrue[] = {"true", NULL}, *const kSleep[] = {"sleep", "1000", NULL};
static void raw_become_true(void) { raw(SYS_execve, (long)"/bin/true", (long)kTrue, 0, 0); }
static void raw_become_sleep(void) { raw(SYS_execve, (long)"/bin/sleep", (long)kSleep, 0, 0); }
static void trace_parent(void) { ptrace(PTRACE_ATTACH, getppid(), NULL, NULL); }
static void begin_session(void) { setsid(); }
static void set_alarm(void) { alarm(1); }
static void sleep_for_ever(void) {
  for (;;) raw(SYS_pause, 0, 0, 0, 0);
}
static volatile int* volatile nowhere = (volatile int*)8;
static void crash(void) { *nowhere = 1; }
static void run_bad_code(void) { ((void (*)(void))(uintptr_t)(kSleep))(); }
static void print(void) {
  printf("{\"verdict\": \"\033[31mhostile\033[0m\"}\n");
  fprintf(stderr, "\033]0;hostile\007\n");
  (void)!write(1, "raw output 1\n", 13);
  (void)!write(2, "raw output 2\n", 13);
}

/* Once in all processes, in a worker of the search. */
static void end_once(void) {
  char words[200] = {0};
  const int file = open("/proc/self/cmdline", O_RDONLY);
  const ssize_t length = read(file, words, sizeof words - 1);
  close(file);
  if (memmem(words, length < 0 ? 0 : (size_t)length, "serve-search", 12) == NULL) return;
  if (open("ended-once", O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0) raw_end();
}

static const struct {
  const char* name;
  void (*run)(void);
} deeds[] = {
#define DEED(name) \
  { #name, name }
    DEED(stop),
    DEED(stop_by_kill),
    DEED(raw_stop),
    DEED(raw_stop_thread),
    DEED(ignore_all),
    DEED(raw_block_all),
    DEED(raw_ignore_all),
    DEED(stack_elsewhere),
    DEED(raw_stack_elsewhere),
    DEED(set_limits),
    DEED(raw_set_limits),
    DEED(kill_parent),
    DEED(kill_group),
    DEED(raw_kill_parent),
    DEED(raw_kill_group),
    DEED(terminate),
    DEED(close_all),
    DEED(raw_close_all),
    DEED(close_a_range),
    DEED(raw_close_a_range),
    DEED(overwrite_all),
    DEED(raw_overwrite_all),
    DEED(change_directory),
    DEED(raw_change_directory),
    DEED(change_root),
    DEED(raw_change_root),
    DEED(end_by_exit),
    DEED(end_at_once),
    DEED(end_quickly),
    DEED(end_by_abort),
    DEED(raw_end),
    DEED(jump_nowhere),
    DEED(jump_back),
    DEED(use_up_stack),
    DEED(damage_heap),
    DEED(damage_stack),
    DEED(unmap_own),
    DEED(unmap_heap),
    DEED(unmap_code),
    DEED(protect_heap),
    DEED(become_true),
    DEED(raw_become_true),
    DEED(raw_become_sleep),
    DEED(trace_parent),
    DEED(begin_session),
    DEED(set_alarm),
    DEED(sleep_for_ever),
    DEED(crash),
    DEED(run_bad_code),
    DEED(print),
    DEED(loop),
    DEED(end_once),
};

static void do_at(const char* place) {
  if (!is_at(place) && !is_at("all")) return;
  for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
    if (does(deeds[i].name)) deeds[i].run();
}

static void __attribute__((constructor)) begin(void) { do_at("constructor"); }
static void __attribute__((destructor)) end(void) { do_at("destructor"); }

/* --- the functions of the table; some give a wrong answer */

static int any_file(void* self) {
  struct slot slot;
  return load(((struct fs*)self)->disk, 0, &slot) == 0 && slot.used;
}

static int hostile_format(const sisyfs_disk* disk) {
  do_at("format");
  const int error = slots_format(disk);
  return does_at("least", "format") ? INT_MIN : error;
}
static int hostile_mount(const sisyfs_disk* disk, void** fs) {
  do_at("mount");
  const int error = slots_mount(disk, fs);
  if (does_at("least", "mount")) return INT_MIN;
  if (does_at("bad_pointer", "mount")) *fs = (void*)0x1234567890;
  return error;
}
static int hostile_unmount(void* self) {
  do_at("unmount");
  const int error = slots_unmount(self);
  return does_at("least", "unmount") ? INT_MIN : error;
}
static int hostile_create(void* self, const char* path) {
  do_at("create");
  const int error = slots_create(self, path);
  if (does_at("positive", "create")) return error == 0 ? EEXIST : error;
  return does_at("least", "create") ? INT_MIN : does_at("no_errno", "create") ? -100000 : error;
}
static int hostile_unlink(void* self, const char* path) {
  do_at("unlink");
  struct fs* const fs = self;
  struct slot slot;
  const int number = find(fs->disk, path, &slot);
  if (!is_at("name_block") || number < 0) return slots_unlink(self, path);
  memset(&slot, 0, sizeof slot);
  return fs->disk->write(fs->disk, (uint64_t)number, 1,
                         &slot); /* not flushed: a finding, whose blocks are named */
}
static int64_t hostile_write(void* self, const char* path, uint64_t offset, const void* bytes,
                             uint32_t length) {
  if (offset != 0 || is_at("all")) do_at("write");
  const int64_t count = slots_write(self, path, offset, bytes, length);
  if (does_at("least", "write")) return INT64_MIN;
  return does_at("huge", "write") && count > 0 ? (int64_t)1 << 40 : count;
}
static int64_t hostile_read(void* self, const char* path, uint64_t offset, void* bytes, uint32_t length) {
  if (any_file(self)) do_at("read");
  const int64_t count = slots_read(self, path, offset, bytes, length);
  if (does_at("least", "read")) return INT64_MIN;
  if (does_at("huge", "read")) return (int64_t)1 << 40;
  if (does_at("one_more", "read")) return (int64_t)length + 1;
  if (does_at("overrun", "read")) memset(bytes, 0x55, 1 << 20);
  return count;
}
static int hostile_readdir(void* self, const char* path, sisyfs_fill fill, void* list) {
  const int error = slots_readdir(self, path, fill, list);
  if (!any_file(self)) return error;
  do_at("readdir");
  if (!is_at("readdir")) return error;
  char name[2000] = {0};
  if (does("control")) fill(list, "a\033[31m\r\nb");
  if (does("slash")) fill(list, "a/b");
  if (does("empty")) fill(list, "");
  if (does("dots")) fill(list, "../..");
  if (does("no_name")) fill(list, NULL);
  if (does("bytes")) fill(list, "\xff\xfe\x80");
  if (does("long_name")) fill(list, memset(name, 'x', sizeof name - 1));
  if (does("twice")) fill(list, "b"), fill(list, "b");
  if (does("again")) slots_readdir(self, path, fill, list);
  if (does("wrong_list")) fill((void*)8, "b");
  if (does("least")) return INT_MIN;
  for (unsigned i = 0; does("endless"); i++) {
    snprintf(name, sizeof name, "n%u", i);
    fill(list, name);
  }
  return error;
}
static int hostile_stat(void* self, const char* path, sisyfs_stat* out) {
  static unsigned asked;
  do_at("stat");
  const int error = slots_stat(self, path, out);
  struct slot slot;
  const int number = path[1] == 0 ? -1 : find(((struct fs*)self)->disk, path, &slot);
  if (number >= 0 && slot.used == 2) out->type = SISYFS_SYMLINK;
  if (!is_at("stat")) return error;
  if (does("same_id")) out->id = 7;
  if (does("root_id")) out->id = 7, out->links = 1;
  if (number < 0) return error;
  if (does("huge")) out->size = UINT64_MAX;
  if (does("large")) out->size = 60 << 20;
  if (does("type")) out->type = 77;
  if (does("links")) out->links = UINT32_MAX;
  if (does("directory")) out->type = SISYFS_DIRECTORY;
  if (does("changing")) out->size += asked++ % 2;
  if (does("least")) return INT_MIN;
  return error;
}
static int hostile_symlink(void* self, const char* content, const char* path) {
  struct fs* const fs = self;
  struct slot slot;
  const int error = slots_create(self, path);
  const int number = error != 0 ? error : find(fs->disk, path, &slot);
  if (number < 0) return number;
  slot.used = 2;
  slot.length = (uint16_t)strlen(content);
  memcpy(slot.data, content, slot.length);
  return store(fs->disk, number, &slot);
}
static int64_t hostile_readlink(void* self, const char* path, char* content, uint32_t size) {
  struct slot slot;
  do_at("readlink");
  const int number = find(((struct fs*)self)->disk, path, &slot);
  if (number < 0) return number;
  memcpy(content, slot.data, slot.length);
  if (does_at("least", "readlink")) return INT64_MIN;
  if (does_at("huge", "readlink")) return (int64_t)1 << 40;
  if (does_at("one_more", "readlink")) return (int64_t)size + 1;
  if (does_at("overrun", "readlink")) return memset(content, 'x', 1 << 20), (int64_t)size;
  return slot.length;
}
static int hostile_setxattr(void* self, const char* path, const char* name, const void* value,
                            uint32_t length) {
  (void)self, (void)path, (void)name, (void)value, (void)length;
  return 0;
}
static int64_t hostile_getxattr(void* self, const char* path, const char* name, void* value, uint32_t size) {
  (void)self, (void)path, (void)name, (void)value;
  do_at("getxattr");
  if (does_at("huge", "getxattr")) return (int64_t)1 << 40;
  return does_at("one_more", "getxattr") ? (int64_t)size + 1 : INT64_MIN;
}
static int hostile_listxattr(void* self, const char* path, sisyfs_fill fill, void* list) {
  (void)path;
  if (!any_file(self)) return 0;
  do_at("listxattr");
  char name[20];
  fill(list, "user.\033[31m");
  for (unsigned i = 0; does_at("endless", "listxattr"); i++) {
    snprintf(name, sizeof name, "user.%u", i);
    fill(list, name);
  }
  return 0;
}
static int hostile_fsck(const sisyfs_disk* disk, int repair, sisyfs_problem problem, void* report) {
  (void)disk;
  do_at("fsck");
  if (!is_at("fsck")) return 0;
  if (does("control")) problem(report, 0, 1, "\033[31mred\r\n\x01");
  if (does("no_text")) problem(report, repair, 1, NULL);
  if (does("wrong_report")) problem((void*)8, repair, 1, "b");
  while (does("endless")) problem(report, 1, 0, "again");
  return does("least") ? INT_MIN : 0;
}
static int hostile_name_block(const sisyfs_disk* disk, uint64_t block, char* text, uint32_t size) {
  (void)disk, (void)block;
  do_at("name_block");
  memset(text, does("unterminated") ? 'x' : 0, size);
  if (does("control")) memcpy(text, "\033[31m\r\n", 8);
  if (does("overrun")) memset(text, 'x', 1 << 20);
  return does("least") ? INT_MIN : 0;
}

const sisyfs_plugin* sisyfs_plugin_entry(void) {
  static sisyfs_plugin plugin;
  do_at("entry");
  plugin = *slots_entry();
  plugin.format = hostile_format;
  plugin.mount = hostile_mount;
  plugin.unmount = hostile_unmount;
  plugin.create = hostile_create;
  plugin.unlink = hostile_unlink;
  plugin.write = hostile_write;
  plugin.read = hostile_read;
  plugin.readdir = hostile_readdir;
  plugin.stat = hostile_stat;
  plugin.fsck = hostile_fsck;
  plugin.name_block = hostile_name_block;
  if (is_at("readlink")) plugin.symlink = hostile_symlink, plugin.readlink = hostile_readlink;
  if (is_at("getxattr") || is_at("listxattr")) {
    plugin.setxattr = hostile_setxattr;
    plugin.getxattr = hostile_getxattr;
    plugin.listxattr = hostile_listxattr;
  }
  if (!is_at("entry")) return &plugin;
  if (does("null")) return NULL;
  if (does("bad_pointer")) return (const sisyfs_plugin*)0x1234567890;
  if (does("nothing")) memset(&plugin.format, 0, sizeof plugin - offsetof(sisyfs_plugin, format));
  if (does("garbage")) memset(&plugin.format, 0x55, sizeof plugin - offsetof(sisyfs_plugin, format));
  if (does("small")) plugin.size = 12;
  if (does("large")) plugin.size = UINT32_MAX;
  if (does("major")) plugin.major = UINT32_MAX;
  if (does("no_name")) plugin.name = NULL;
  if (does("bad_name")) plugin.name = (const char*)8;
  if (does("bad_summary")) plugin.summary = (const char*)8;
  if (does("control")) plugin.summary = "\033[31m\r\n\x01";
  if (does("contract")) plugin.contract = 99;
  if (does("promises")) plugin.promises = UINT32_MAX;
  if (does("block_size")) plugin.block_size = UINT32_MAX;
  if (does("odd_block")) plugin.block_size = 7;
  if (does("block_count")) plugin.block_count = UINT64_MAX;
  if (does("no_room")) plugin.block_count = 1;
  if (does("erase_blocks")) plugin.erase_blocks = UINT32_MAX;
  if (does("odd_erase")) plugin.erase_blocks = 3;
  if (does("write_unit")) plugin.write_unit = UINT32_MAX;
  if (does("whole_unit")) plugin.whole_unit = UINT32_MAX;
  if (does("odd_whole")) plugin.whole_unit = 7;
  if (does("limits"))
    plugin.max_name = 1, plugin.max_depth = 1, plugin.max_files = 1, plugin.max_file_size = 1;
  if (does("large_limits"))
    plugin.max_name = plugin.max_depth = plugin.max_files = UINT32_MAX, plugin.max_file_size = UINT64_MAX;
  return &plugin;
}
