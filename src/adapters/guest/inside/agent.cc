// The only program of a guest: it mounts, makes system calls and serves the disks, as the checker tells it
// (wire.h).
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/nbd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/guest/wire.h"

namespace {

using namespace sisyfs::guest;

constexpr const char* kPlace = "/mnt";
constexpr uint32_t kCommands = 0, kDiskBuffer = 1;
constexpr uint64_t kLargestFile = 64u << 20;  // that a walk reads

int line = -1;
std::byte* buffers[kBuffers];

// Gives a request to the checker. The answer is in the same buffer afterwards.
void ask(uint32_t buffer, size_t bytes) {
  const Packet packet{Packet::kRequest, buffer, static_cast<uint32_t>(bytes)};
  if (write(line, &packet, sizeof packet) != sizeof packet) _exit(1);
}

[[noreturn]] void give_up(const char* what) {
  dprintf(STDERR_FILENO, "agent: %s: %s\n", what, strerror(errno));
  sync();
  reboot(RB_POWER_OFF);
  for (;;) pause();
}

// --- the connection ---------------------------------------------------------------------------------

void make_buffer(uint32_t number) {
  void* const at = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED || mlock(at, kBufferBytes) != 0) give_up("memory");
  std::memset(at, 1, kBufferBytes);
  buffers[number] = static_cast<std::byte*>(at);
  struct {
    Packet head;
    uint32_t frames[kBufferPages];
  } packet{{Packet::kPages, number, kBufferPages}, {}};
  const int map = open("/proc/self/pagemap", O_RDONLY);
  for (uint32_t page = 0; page < kBufferPages; ++page) {
    uint64_t entry = 0;
    const auto address = reinterpret_cast<uintptr_t>(at) + uint64_t{page} * kPageBytes;
    const auto place = static_cast<off_t>(address / kPageBytes * sizeof entry);
    if (pread(map, &entry, sizeof entry, place) != sizeof entry) give_up("pagemap");
    packet.frames[page] = static_cast<uint32_t>(entry & ((uint64_t{1} << 55) - 1));
  }
  close(map);
  if (write(line, &packet, sizeof packet) != sizeof packet) give_up("serial line");
}

void put(const char* file, const char* text) {
  const int fd = open(file, O_WRONLY);
  if (fd < 0) return;
  if (write(fd, text, strlen(text)) < 0) dprintf(STDERR_FILENO, "agent: %s: %s\n", file, strerror(errno));
  close(fd);
}

// Tells where the kernel's functions for random numbers are.
void replace_random() {
  std::FILE* const file = std::fopen("/proc/kallsyms", "r");
  if (file == nullptr) return;
  uint64_t address = 0;
  char type = 0, name[256];
  uint32_t left = static_cast<uint32_t>(Replaced::kMost);
  while (left != 0 && std::fscanf(file, "%" SCNx64 " %c %255s%*[^\n]", &address, &type, name) >= 3) {
    for (uint32_t i = 0; i < std::size(kReplacedNames); ++i) {
      if (std::strcmp(name, kReplacedNames[i]) != 0) continue;
      struct {
        Packet head;
        uint64_t address;
      } __attribute__((packed)) packet{{Packet::kReplace, i, 0}, address};
      if (write(line, &packet, sizeof packet) != sizeof packet) give_up("serial line");
      --left;
    }
  }
  std::fclose(file);
}

void seed(uint32_t value) {
  const Packet packet{Packet::kSeed, 0, value};
  if (write(line, &packet, sizeof packet) != sizeof packet) give_up("serial line");
}

void connect() {
  mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/dev", 0755), mkdir(kPlace, 0755);
  mount("proc", "/proc", "proc", 0, nullptr);
  mount("sys", "/sys", "sysfs", 0, nullptr);
  mount("dev", "/dev", "devtmpfs", 0, nullptr);
  // Pages that the checker knows by their number must stay where they are.
  put("/proc/sys/vm/compact_unevictable_allowed", "0");
  line = open("/dev/ttyS0", O_RDWR | O_NOCTTY | O_CLOEXEC);
  termios raw{};
  if (line < 0 || tcgetattr(line, &raw) != 0) give_up("/dev/ttyS0");
  cfmakeraw(&raw);
  tcsetattr(line, TCSANOW, &raw);
  for (uint32_t i = 0; i < kBuffers; ++i) make_buffer(i);
  replace_random();
}

// --- the disks --------------------------------------------------------------------------------------

struct Disk {
  int device = -1, ends[2] = {-1, -1};
};
std::vector<Disk> disks;

bool write_all(int fd, const void* from, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    const ssize_t count = write(fd, at, bytes);
    if (count <= 0) return false;
    at += count, bytes -= static_cast<size_t>(count);
  }
  return true;
}

// Many requests come at once. They are read together, and answered together; each goes to the checker alone.
struct Queue {
  static constexpr size_t kRoom = kBufferBytes;
  std::vector<std::byte> bytes = std::vector<std::byte>(kRoom);
  size_t size = 0;                 // that were read
  size_t done = 0;                 // of these
  std::vector<std::byte> replies;  // that are not sent yet
};
std::vector<Queue> queues;

// One request that is in the queue as a whole. How many bytes it has; 0: it is not there yet.
size_t take_request(uint32_t number, Queue& queue) {
  constexpr uint32_t kWriteZeroes = 6;
  nbd_request head;
  const size_t left = queue.size - queue.done;
  if (left < sizeof head) return 0;
  const std::byte* const at = queue.bytes.data() + queue.done;
  std::memcpy(&head, at, sizeof head);
  const uint32_t type = be32toh(head.type) & 0xffff, length = be32toh(head.len);
  const size_t payload = type == NBD_CMD_WRITE ? length : 0;
  if (left < sizeof head + payload) return 0;
  std::byte* const buffer = buffers[kDiskBuffer];
  DiskRequest request{Ask::kRead, number, be64toh(head.from), length, be32toh(head.type) >> 16 & 1};
  if (type == NBD_CMD_WRITE)
    request.ask = Ask::kWrite;
  else if (type == NBD_CMD_FLUSH)
    request.ask = Ask::kFlush;
  else if (type == NBD_CMD_TRIM)
    request.ask = Ask::kDiscard;
  else if (type == kWriteZeroes)
    request.ask = Ask::kZeroes;
  if (sizeof request + payload > kBufferBytes) give_up("request");
  std::memcpy(buffer, &request, sizeof request);
  std::memcpy(buffer + sizeof request, at + sizeof head, payload);
  ask(kDiskBuffer, sizeof request + payload);
  DiskAnswer answer;
  std::memcpy(&answer, buffer, sizeof answer);
  static_assert(sizeof answer == sizeof(nbd_reply));
  nbd_reply reply{htobe32(NBD_REPLY_MAGIC), htobe32(answer.error), {}};
  std::memcpy(&reply.handle, &head.handle, sizeof reply.handle);
  std::memcpy(buffer, &reply, sizeof reply);
  const size_t out = sizeof reply + (request.ask == Ask::kRead && answer.error == 0 ? length : 0);
  queue.replies.insert(queue.replies.end(), buffer, buffer + out);
  return sizeof head + payload;
}

// Reads what is there, at least something.
bool serve_requests(uint32_t number) {
  Queue& queue = queues[number];
  std::memmove(queue.bytes.data(), queue.bytes.data() + queue.done, queue.size - queue.done);
  queue.size -= std::exchange(queue.done, 0);
  const ssize_t count =
      read(disks[number].ends[1], queue.bytes.data() + queue.size, Queue::kRoom - queue.size);
  if (count <= 0) return false;
  queue.size += static_cast<size_t>(count);
  while (const size_t taken = take_request(number, queue)) queue.done += taken;
  const bool sent = write_all(disks[number].ends[1], queue.replies.data(), queue.replies.size());
  queue.replies.clear();
  return sent;
}

void* serve_disks(void*) {
  std::vector<pollfd> polled;
  for (const Disk& disk : disks) polled.push_back({disk.ends[1], POLLIN, 0});
  for (;;) {
    if (polled.size() > 1 && poll(polled.data(), polled.size(), -1) < 0) continue;
    for (uint32_t i = 0; i < polled.size(); ++i)
      if ((polled.size() == 1 || polled[i].revents != 0) && !serve_requests(i)) return nullptr;
  }
}

void* run_device(void* at) {
  ioctl(static_cast<const Disk*>(at)->device, NBD_DO_IT);
  return nullptr;
}

void start_thread(void* (*body)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  if (pthread_create(&thread, &attributes, body, argument) != 0) give_up("thread");
}

std::string device_name(uint32_t number) { return "/dev/nbd" + std::to_string(number); }

int make_disks(const Command& command) {
  disks.resize(command.number);
  queues.resize(command.number);
  for (uint32_t i = 0; i < disks.size(); ++i) {
    Disk& disk = disks[i];
    disk.device = open(device_name(i).c_str(), O_RDWR | O_CLOEXEC);
    if (disk.device < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, disk.ends) != 0) return errno;
    constexpr unsigned long kFlags =
        1 | NBD_FLAG_SEND_FLUSH | NBD_FLAG_SEND_FUA | NBD_FLAG_SEND_TRIM | 1 << 6;
    if (ioctl(disk.device, NBD_CLEAR_SOCK) != 0 || ioctl(disk.device, NBD_SET_BLKSIZE, command.length) != 0 ||
        ioctl(disk.device, NBD_SET_SIZE_BLOCKS, command.offset / command.length) != 0 ||
        ioctl(disk.device, NBD_SET_FLAGS, kFlags) != 0 || ioctl(disk.device, NBD_SET_SOCK, disk.ends[0]) != 0)
      return errno;
    start_thread(run_device, &disk);
  }
  start_thread(serve_disks, nullptr);
  for (uint32_t i = 0; i < disks.size(); ++i) {
    // Requests are small and stay apart: the checker decides about each of them.
    const std::string queue = "/sys/block/nbd" + std::to_string(i) + "/queue/";
    put((queue + "max_sectors_kb").c_str(), std::to_string(command.flags).c_str());
    put((queue + "nomerges").c_str(), "2");
    put((queue + "read_ahead_kb").c_str(), "0");
    put((queue + "scheduler").c_str(), "none");
    put((queue + "wbt_lat_usec").c_str(), "0");
    uint64_t bytes = 0;
    for (int tries = 0; bytes != command.offset; ++tries) {
      if (tries == 10'000) return EIO;
      usleep(1000);
      ioctl(disks[i].device, BLKGETSIZE64, &bytes);
    }
  }
  return 0;
}

// --- mounting ---------------------------------------------------------------------------------------

int outside = -1;  // the root of the agent, while it is in the file system
int handles[kHandles] = {-1, -1, -1, -1};

// From here on paths begin at the root of the file system.
int enter() {
  outside = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return outside < 0 || chroot(kPlace) != 0 || chdir("/") != 0 ? errno : 0;
}
void leave() {
  for (int& handle : handles)
    if (handle >= 0) close(std::exchange(handle, -1));
  if (outside < 0) return;
  if (fchdir(outside) != 0 || chroot(".") != 0) give_up("chroot");
  close(std::exchange(outside, -1));
}

// The content of the disks may have changed.
void forget_pages() {
  for (const Disk& disk : disks) ioctl(disk.device, BLKFLSBUF);
}

int mount_it(const Command& command, const std::string* texts) {
  const std::string& what = texts[2];
  forget_pages();
  if (mount(what.empty() ? device_name(0).c_str() : what.c_str(), kPlace, texts[0].c_str(), command.number,
            texts[1].c_str()) != 0)
    return errno;
  return enter();
}

int unmount(bool dropped) {
  if (dropped && outside >= 0) {
    // Where a file system can be shut down, its unmount has nothing left to write.
    const int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    constexpr unsigned long kShutdown = _IOR('X', 125, uint32_t);
    uint32_t no_log_flush = 2;
    if (root >= 0) ioctl(root, kShutdown, &no_log_flush), close(root);
  }
  leave();
  int error = 0;
  for (int tries = 0; tries < 100; ++tries) {
    error = umount2(kPlace, 0) == 0 ? 0 : errno;
    if (error != EBUSY) break;
    usleep(10'000);
  }
  forget_pages();
  return error;
}

// --- calls ------------------------------------------------------------------------------------------

class File {
 public:
  File(const Command& command, const std::string& path, int flags) {
    if (command.handle == kNoHandle)
      fd_ = own_ = open(path.c_str(), flags | O_CLOEXEC);
    else if (command.handle < kHandles)
      fd_ = handles[command.handle];
    if (fd_ < 0) error_ = command.handle == kNoHandle ? errno : EBADF;
  }
  ~File() {
    if (own_ >= 0) close(own_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  int error() const { return error_; }

 private:
  int fd_ = -1, own_ = -1, error_ = 0;
};

int of(long result) { return result < 0 ? errno : 0; }

int write_file(const Command& command, const std::string& path, const std::byte* bytes, uint64_t* count) {
  const bool appends = static_cast<Call>(command.number) == Call::kAppend;
  const File file(command, path, O_WRONLY | (appends ? O_APPEND : 0) | static_cast<int>(command.flags));
  if (file.error() != 0) return file.error();
  struct stat stat {};
  if (appends && fstat(file.fd(), &stat) != 0) return errno;
  void* aligned = nullptr;
  if ((command.flags & O_DIRECT) != 0) {
    if (posix_memalign(&aligned, 4096, command.length) != 0) return ENOMEM;
    std::memcpy(aligned, bytes, command.length);
  }
  const ssize_t done = pwrite(file.fd(), aligned != nullptr ? aligned : bytes, command.length,
                              appends ? stat.st_size : static_cast<off_t>(command.offset));
  const int error = of(done);
  std::free(aligned);
  *count = done < 0 ? 0 : static_cast<uint64_t>(done);
  return error;
}

int write_mapped(const Command& command, const std::string& path, const std::byte* bytes, uint64_t* count) {
  const File file(command, path, O_RDWR);
  struct stat stat {};
  if (file.error() != 0 || fstat(file.fd(), &stat) != 0) return file.error() != 0 ? file.error() : errno;
  const uint64_t end = command.offset + command.length;
  if (!S_ISREG(stat.st_mode) || end > static_cast<uint64_t>(stat.st_size)) return EINVAL;
  void* const at = mmap(nullptr, end, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (at == MAP_FAILED) return errno;
  std::memcpy(static_cast<std::byte*>(at) + command.offset, bytes, command.length);
  munmap(at, end);
  *count = command.length;
  return 0;
}

int sync_mapped(const Command& command, const std::string& path) {
  const File file(command, path, O_RDWR);
  struct stat stat {};
  if (file.error() != 0 || fstat(file.fd(), &stat) != 0) return file.error() != 0 ? file.error() : errno;
  if (stat.st_size == 0) return EINVAL;
  void* const at =
      mmap(nullptr, static_cast<size_t>(stat.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (at == MAP_FAILED) return errno;
  const int error = of(msync(at, static_cast<size_t>(stat.st_size), MS_SYNC));
  munmap(at, static_cast<size_t>(stat.st_size));
  return error;
}

int sync_file(const Command& command, const std::string& path) {
  // A file is opened for writing, as its writer would; a directory cannot be.
  File file(command, path, O_RDONLY);
  if (file.error() != 0) return file.error();
  return of(static_cast<Call>(command.number) == Call::kFsync ? fsync(file.fd()) : fdatasync(file.fd()));
}

std::vector<std::byte> walked;  // what is to be told of a walk
size_t told = 0;

void add(const void* bytes, size_t size) {
  const auto* const from = static_cast<const std::byte*>(bytes);
  walked.insert(walked.end(), from, from + size);
}
void add_text(std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  add(&size, sizeof size);
  add(text.data(), text.size());
}

// What file systems have in their root directory from the beginning.
bool is_hidden(std::string_view name) { return name == "lost+found" || name == ".nilfs"; }

int list_names(const std::string& path) {
  DIR* const directory = opendir(path.c_str());
  if (directory == nullptr) return errno;
  int error = 0;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(directory);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !(path == "/" && is_hidden(name))) add_text(name);
  }
  closedir(directory);
  return error;
}

// The names of attributes that users make.
int list_attributes(int fd, const std::string& path, std::vector<std::string>& names) {
  static char list[65536];
  const ssize_t size =
      fd >= 0 ? flistxattr(fd, list, sizeof list) : listxattr(path.c_str(), list, sizeof list);
  if (size < 0) return errno == EOPNOTSUPP ? 0 : errno;
  names.clear();
  for (const char* at = list; at < list + size; at += strlen(at) + 1)
    if (std::string_view(at).starts_with("user.")) names.emplace_back(at);
  return 0;
}

int call(const Command& command, const std::string* texts, const std::byte* bytes, Answer& answer) {
  const std::string &path = texts[0], &other = texts[1];
  const char* const name = path.c_str();
  const int flags = static_cast<int>(command.flags);
  std::byte* const out = buffers[kCommands] + sizeof(Answer);
  constexpr size_t kRoom = kBufferBytes - sizeof(Answer);
  switch (static_cast<Call>(command.number)) {
    case Call::kCreate: {
      const int fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, command.flags);
      if (fd < 0) return errno;
      return of(close(fd));
    }
    case Call::kMkdir:
      return of(mkdir(name, command.flags));
    case Call::kUnlink:
      return of(unlink(name));
    case Call::kRmdir:
      return of(rmdir(name));
    case Call::kRename:
      return of(command.flags == 0 ? rename(name, other.c_str())
                                   : renameat2(AT_FDCWD, name, AT_FDCWD, other.c_str(), command.flags));
    case Call::kLink:
      return of(link(name, other.c_str()));
    case Call::kSymlink:
      return of(symlink(other.c_str(), name));
    case Call::kWrite:
    case Call::kAppend:
      return write_file(command, path, bytes, &answer.number);
    case Call::kWriteMapped:
      return write_mapped(command, path, bytes, &answer.number);
    case Call::kMsync:
      return sync_mapped(command, path);
    case Call::kTruncate:
      if (command.handle != kNoHandle)
        return of(ftruncate(command.handle < kHandles ? handles[command.handle] : -1,
                            static_cast<off_t>(command.offset)));
      return of(truncate(name, static_cast<off_t>(command.offset)));
    case Call::kFallocate: {
      const File file(command, path, O_WRONLY);
      if (file.error() != 0) return file.error();
      return of(fallocate(file.fd(), flags, static_cast<off_t>(command.offset),
                          static_cast<off_t>(command.length)));
    }
    case Call::kRead: {
      const File file(command, path, O_RDONLY);
      if (file.error() != 0) return file.error();
      const ssize_t count =
          pread(file.fd(), out, std::min<size_t>(command.length, kRoom), static_cast<off_t>(command.offset));
      if (count < 0) return errno;
      answer.number = answer.bytes = static_cast<uint32_t>(count);
      return 0;
    }
    case Call::kReaddir: {
      walked.clear();
      if (const int error = list_names(path)) return error;
      if (walked.size() > kRoom) return E2BIG;
      std::memcpy(out, walked.data(), walked.size());
      answer.bytes = static_cast<uint32_t>(walked.size());
      return 0;
    }
    case Call::kStat: {
      struct stat stat {};
      const bool by_handle = command.handle != kNoHandle;
      if (by_handle && (command.handle >= kHandles || handles[command.handle] < 0)) return EBADF;
      if ((by_handle ? fstat(handles[command.handle], &stat) : ::stat(name, &stat)) != 0) return errno;
      answer.number = S_ISREG(stat.st_mode) ? static_cast<uint64_t>(stat.st_size) : 0;
      return 0;
    }
    case Call::kFsync:
    case Call::kFdatasync:
      return sync_file(command, path);
    case Call::kSync:
      sync();
      return 0;
    case Call::kSyncfs: {
      const File file(command, "/", O_RDONLY | O_DIRECTORY);
      return file.error() != 0 ? file.error() : of(syncfs(file.fd()));
    }
    case Call::kSetxattr:
      return of(setxattr(name, other.c_str(), bytes, command.length, 0));
    case Call::kGetxattr: {
      const ssize_t size = getxattr(name, other.c_str(), out, kRoom);
      if (size < 0) return errno;
      answer.number = answer.bytes = static_cast<uint32_t>(size);
      return 0;
    }
    case Call::kListxattr: {
      std::vector<std::string> names;
      if (const int error = list_attributes(-1, path, names)) return error;
      walked.clear();
      for (const std::string& one : names) add_text(one);
      std::memcpy(out, walked.data(), walked.size());
      answer.bytes = static_cast<uint32_t>(walked.size());
      return 0;
    }
    case Call::kRemovexattr:
      return of(removexattr(name, other.c_str()));
    case Call::kChmod:
      return of(chmod(name, command.flags));
    case Call::kOpen: {
      if (command.handle >= kHandles || handles[command.handle] >= 0) return EBUSY;
      const int fd = open(name, O_RDWR | O_CLOEXEC);
      if (fd < 0) return errno;
      handles[command.handle] = fd;
      return 0;
    }
    case Call::kClose: {
      if (command.handle >= kHandles || handles[command.handle] < 0) return EBADF;
      return of(close(std::exchange(handles[command.handle], -1)));
    }
  }
  return ENOSYS;
}

// --- walking ----------------------------------------------------------------------------------------

// Adds the attributes of a file or directory; how many bytes.
int add_attributes(int fd, uint32_t* bytes) {
  std::vector<std::string> names;
  static std::byte value[65536];
  if (const int error = list_attributes(fd, {}, names)) return error;
  const size_t before = walked.size();
  for (const std::string& name : names) {
    const ssize_t size = fgetxattr(fd, name.c_str(), value, sizeof value);
    if (size < 0) return errno;
    const uint32_t lengths[2] = {static_cast<uint32_t>(name.size()), static_cast<uint32_t>(size)};
    add(lengths, sizeof lengths);
    add(name.data(), name.size());
    add(value, static_cast<size_t>(size));
  }
  *bytes = static_cast<uint32_t>(walked.size() - before);
  return 0;
}

int add_data(int fd, uint64_t size) {
  if (size > kLargestFile) return EFBIG;
  const size_t at = walked.size();
  walked.resize(at + size);
  for (uint64_t done = 0; done < size;) {
    const ssize_t count = pread(fd, walked.data() + at + done, size - done, static_cast<off_t>(done));
    if (count <= 0) return count < 0 ? errno : ENODATA;
    done += static_cast<uint64_t>(count);
  }
  return 0;
}

// Adds one entry. What was added of it is taken back where it fails.
int walk_one(const std::string& path, int handle, WalkEntry& entry) {
  struct stat stat {};
  if ((handle >= 0 ? fstat(handle, &stat) : lstat(path.c_str(), &stat)) != 0) return errno;
  entry.mode = stat.st_mode;
  entry.links = static_cast<uint32_t>(stat.st_nlink);
  entry.inode = stat.st_ino;
  if (S_ISLNK(stat.st_mode)) {
    char target[PATH_MAX];
    const ssize_t size = readlink(path.c_str(), target, sizeof target);
    if (size < 0) return errno;
    entry.target_bytes = static_cast<uint32_t>(size);
    add(target, static_cast<size_t>(size));
    return 0;
  }
  if (!S_ISREG(stat.st_mode) && !S_ISDIR(stat.st_mode)) return 0;
  const int fd = handle >= 0 ? handle : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOATIME);
  if (fd < 0) return errno;
  int error = add_attributes(fd, &entry.xattr_bytes);
  if (error == 0 && S_ISREG(stat.st_mode)) {
    entry.size = static_cast<uint64_t>(stat.st_size);
    error = add_data(fd, entry.size);
  }
  if (fd != handle) close(fd);
  return error;
}

bool walk_entry(const std::string& path, int handle, uint32_t* mode) {
  const size_t at = walked.size();
  WalkEntry entry{};
  entry.path_bytes = static_cast<uint32_t>(path.size());
  add(&entry, sizeof entry);
  add(path.data(), path.size());
  entry.error = walk_one(path, handle, entry);
  if (entry.error != 0) {
    entry.target_bytes = entry.xattr_bytes = 0, entry.size = 0;
    walked.resize(at + sizeof entry + path.size());
  }
  std::memcpy(walked.data() + at, &entry, sizeof entry);
  *mode = entry.mode;
  return entry.error == 0;
}

bool fail_at(const std::string& path, int error) {
  WalkEntry entry{};
  entry.error = error;
  entry.path_bytes = static_cast<uint32_t>(path.size());
  add(&entry, sizeof entry);
  add(path.data(), path.size());
  return false;
}

// Directories come before what is in them.
bool walk_directory(const std::string& path, int depth) {
  uint32_t mode = 0;
  if (depth == 0 && !walk_entry(path, -1, &mode)) return false;
  if (depth > 64) return fail_at(path, ELOOP);
  DIR* const directory = opendir(path.c_str());
  if (directory == nullptr) return fail_at(path, errno);
  std::vector<std::string> names;
  int error = 0;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(directory);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !(depth == 0 && is_hidden(name))) names.emplace_back(name);
    if (names.size() > 100'000) error = ELOOP;
    if (error != 0) break;
  }
  closedir(directory);
  if (error != 0) return fail_at(path, error);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string below = (path == "/" ? path : path + "/") + name;
    if (!walk_entry(below, -1, &mode)) return false;
    if (S_ISDIR(mode) && !walk_directory(below, depth + 1)) return false;
  }
  return true;
}

void walk() {
  walked.clear();
  told = 0;
  uint32_t mode = 0;
  if (!walk_directory("/", 0)) return;
  for (uint32_t i = 0; i < kHandles; ++i)
    if (handles[i] >= 0 && !walk_entry("@" + std::to_string(i + 1), handles[i], &mode)) return;
}

// --------------------------------------------------------------------------------------------------------

int load_module(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error =
      of(syscall(SYS_finit_module, fd, file.ends_with("/nbd.ko") ? "max_part=0 nbds_max=6" : "", 0));
  close(fd);
  unlink(file.c_str());
  return error == EEXIST ? 0 : error;
}

int make_directories(const std::string& list) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(':', at), list.size());
    if (mkdir(list.substr(at, end - at).c_str(), 0755) != 0 && errno != EEXIST) return errno;
    at = end + 1;
  }
  return 0;
}

uint64_t free_memory() {
  std::FILE* const file = std::fopen("/proc/meminfo", "r");
  if (file == nullptr) return 0;
  char text[128];
  uint64_t kilobytes = 0;
  while (std::fgets(text, sizeof text, file) != nullptr)
    if (std::sscanf(text, "MemAvailable: %" SCNu64, &kilobytes) == 1) break;
  std::fclose(file);
  return kilobytes * 1024;
}

int carry_out(const Command& command, const std::string* texts, const std::byte* bytes, Answer& answer) {
  switch (command.what) {
    case Do::kModule:
      return load_module(texts[0]);
    case Do::kDisks:
      return make_disks(command);
    case Do::kMount:
      return mount_it(command, texts);
    case Do::kFlush:
      return of(fsync(disks.at(0).device));
    case Do::kUnmount:
      return unmount(command.number != 0);
    case Do::kCall:
      return call(command, texts, bytes, answer);
    case Do::kWalk: {
      if (command.number == 0) walk();
      const size_t count = std::min<size_t>(walked.size() - told, kBufferBytes - sizeof answer);
      std::memcpy(buffers[kCommands] + sizeof answer, walked.data() + told, count);
      told += count;
      answer.bytes = static_cast<uint32_t>(count);
      answer.more = told < walked.size() ? 1 : 0;
      return 0;
    }
    case Do::kMakeTree:
      return make_directories(texts[0]);
    case Do::kClock: {
      seed(static_cast<uint32_t>(command.offset));
      const timespec now{static_cast<time_t>(command.offset), 0};
      return of(clock_settime(CLOCK_REALTIME, &now));
    }
    case Do::kMemory:
      answer.number = free_memory();
      return 0;
    case Do::kMessage:
      put("/dev/kmsg", texts[0].c_str());
      return 0;
    case Do::kPowerOff:
      reboot(RB_POWER_OFF);
      return 0;
  }
  return ENOSYS;
}

}  // namespace

int main() {
  connect();
  umask(0);
  Answer answer{Ask::kCommand, 0, 0, 0, 0};
  std::string texts[3];
  for (;;) {
    std::byte* const buffer = buffers[kCommands];
    std::memcpy(buffer, &answer, sizeof answer);
    ask(kCommands, sizeof answer + answer.bytes);
    Command command;
    std::memcpy(&command, buffer, sizeof command);
    const auto* text = reinterpret_cast<const char*>(buffer + sizeof command);
    for (size_t i = 0; i < std::size(texts); ++i) {
      texts[i].assign(text, command.texts[i]);
      text += command.texts[i];
    }
    // The answer may take the place of the bytes.
    static std::vector<std::byte> bytes;
    bytes.assign(reinterpret_cast<const std::byte*>(text),
                 reinterpret_cast<const std::byte*>(text) + command.bytes);
    answer = {Ask::kCommand, 0, 0, 0, 0};
    answer.error = carry_out(command, texts, bytes.data(), answer);
  }
}
