// Serves the disk of a HostMachine: a FUSE file system that is one file, spoken to by the kernel itself.
//
// It is a process of its own, which mounts nothing and opens nothing that it serves, so that it can always be
// ended; the kernel then fails all requests. Reads, writes, flushes and discards go to the checker, one after
// the other. When the checker has died (SIGHUP), or does not answer, writes go nowhere and reads fail, so
// that what is mounted can be unmounted. It ends when the last user of the file is gone, and removes the loop
// device.
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fuse.h>
#include <linux/futex.h>
#include <linux/loop.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>

#include "adapters/guest/host_wire.h"

namespace sisyfs::guest {
namespace {

constexpr uint32_t kMostWritten = 128 << 10;  // in one request
constexpr int kMostOrphaned = 20;             // seconds that it lives on without a checker

HostChannel* channel = nullptr;
volatile sig_atomic_t alone = 0;  // there is no checker any more
alignas(8) std::byte request[kMostWritten + 8192];

time_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

long futex(void* word, int op, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, word, op, value, timeout, nullptr, 0);
}

// The request is in the lane. False: nobody answers.
bool ask(uint32_t bytes) {
  Lane& lane = channel->disk;
  lane.bytes = bytes;
  lane.turn.store(Turn::kHost, std::memory_order_release);
  ++channel->bell;
  futex(&channel->bell, FUTEX_WAKE, INT_MAX, nullptr);
  const time_t begun = now();
  while (lane.turn.load(std::memory_order_acquire) == Turn::kHost) {
    const timespec slice{0, 100'000'000};
    futex(&lane.turn, FUTEX_WAIT, static_cast<uint32_t>(Turn::kHost), &slice);
    if (lane.turn.load(std::memory_order_acquire) != Turn::kHost) break;
    if (now() - begun > kMostUnserved) {
      channel->unserved = true;
      alone = 1;
    }
    if (alone != 0) return false;
  }
  return true;
}

// 0 or an errno. What is read is in the lane, behind the DiskAnswer.
uint32_t serve(const DiskRequest& wanted, const std::byte* bytes) {
  if (alone != 0) return wanted.ask == Ask::kRead ? EIO : 0;
  std::byte* const data = channel->disk.data;
  std::memcpy(data, &wanted, sizeof wanted);
  if (bytes != nullptr) std::memcpy(data + sizeof wanted, bytes, wanted.length);
  if (!ask(static_cast<uint32_t>(sizeof wanted) + (bytes != nullptr ? wanted.length : 0)))
    return wanted.ask == Ask::kRead ? EIO : 0;
  DiskAnswer answer;
  std::memcpy(&answer, data, sizeof answer);
  return answer.error;
}

void reply(const fuse_in_header& head, uint32_t error, const void* bytes = nullptr, size_t size = 0) {
  fuse_out_header out{static_cast<uint32_t>(sizeof(fuse_out_header) + size), -static_cast<int32_t>(error),
                      head.unique};
  const iovec parts[2] = {{&out, sizeof out}, {const_cast<void*>(bytes), size}};
  // An error means that nobody waits for it any more.
  if (writev(kFuseFd, parts, size == 0 ? 1 : 2) < 0) return;
}

void begin(const fuse_in_header& head, const fuse_init_in& in) {
  fuse_init_out out{};
  out.major = FUSE_KERNEL_VERSION;
  out.minor = std::min<uint32_t>(in.minor, FUSE_KERNEL_MINOR_VERSION);
  // Without FUSE_ASYNC_DIO each request has its answer before the next one comes.
  out.flags = in.flags & (FUSE_BIG_WRITES | FUSE_MAX_PAGES);
  out.max_background = 64;
  out.congestion_threshold = 48;
  out.max_write = kMostWritten;
  out.max_pages = kMostWritten / kPageBytes;
  out.time_gran = 1;
  reply(head, 0, &out, in.minor < 23 ? FUSE_COMPAT_22_INIT_OUT_SIZE : sizeof out);
  channel->fuse_begun = true;
}

// Of the file.
void tell_attributes(const fuse_in_header& head) {
  fuse_attr_out out{};
  out.attr_valid = 1'000'000'000;
  out.attr.ino = FUSE_ROOT_ID;
  out.attr.size = channel->disk_bytes;
  out.attr.mode = S_IFREG | 0600;
  out.attr.nlink = 1;
  out.attr.blksize = kPageBytes;
  reply(head, 0, &out, sizeof out);
}

template <class T>
T body_as() {
  T out;
  std::memcpy(&out, request + sizeof(fuse_in_header), sizeof out);
  return out;
}

void read_it(const fuse_in_header& head) {
  const auto in = body_as<fuse_read_in>();
  if (in.offset >= channel->disk_bytes || in.size > kMostWritten) return reply(head, 0);
  const auto size = static_cast<uint32_t>(std::min<uint64_t>(in.size, channel->disk_bytes - in.offset));
  const uint32_t error = serve({Ask::kRead, 0, in.offset, size, 0}, nullptr);
  if (error != 0) return reply(head, error);
  reply(head, 0, channel->disk.data + sizeof(DiskAnswer), size);
}

void write_it(const fuse_in_header& head) {
  const auto in = body_as<fuse_write_in>();
  const std::byte* const bytes = request + sizeof head + sizeof in;
  if (in.size > kMostWritten || head.len < sizeof head + sizeof in + in.size) return reply(head, EIO);
  if (const uint32_t error = serve({Ask::kWrite, 0, in.offset, in.size, 0}, bytes)) return reply(head, error);
  const fuse_write_out out{in.size, 0};
  reply(head, 0, &out, sizeof out);
}

void allocate(const fuse_in_header& head) {
  const auto in = body_as<fuse_fallocate_in>();
  const Ask ask = (in.mode & FALLOC_FL_ZERO_RANGE) != 0 ? Ask::kZeroes : Ask::kDiscard;
  if ((in.mode & (FALLOC_FL_ZERO_RANGE | FALLOC_FL_PUNCH_HOLE)) == 0) return reply(head, EOPNOTSUPP);
  reply(head, serve({ask, 0, in.offset, static_cast<uint32_t>(in.length), 0}, nullptr));
}

// False: the file system is gone.
bool answer() {
  fuse_in_header head;
  std::memcpy(&head, request, sizeof head);
  switch (head.opcode) {
    case FUSE_INIT:
      begin(head, body_as<fuse_init_in>());
      return true;
    case FUSE_GETATTR:
    case FUSE_SETATTR:
      tell_attributes(head);
      return true;
    case FUSE_OPEN: {
      fuse_open_out out{};
      out.open_flags = FOPEN_DIRECT_IO;
      reply(head, 0, &out, sizeof out);
      return true;
    }
    case FUSE_READ:
      read_it(head);
      return true;
    case FUSE_WRITE:
      write_it(head);
      return true;
    case FUSE_FSYNC:
      reply(head, serve({Ask::kFlush, 0, 0, 0, 0}, nullptr));
      return true;
    case FUSE_FALLOCATE:
      allocate(head);
      return true;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
      reply(head, 0);
      return true;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      return true;  // these want no answer
    case FUSE_DESTROY:
      reply(head, 0);
      return false;
    default:
      reply(head, ENOSYS);
      return true;
  }
}

// It is busy until the kernel has detached it.
void remove_loop() {
  if (channel->loop == 0) return;
  const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  for (int tries = 0; control >= 0 && tries < 500; ++tries) {
    if (ioctl(control, LOOP_CTL_REMOVE, channel->loop - 1) == 0 || errno != EBUSY) break;
    usleep(10'000);
  }
}

void work() {
  time_t orphaned = 0;
  for (;;) {
    pollfd fuse{kFuseFd, POLLIN, 0};
    if (poll(&fuse, 1, 1000) < 0 && errno != EINTR) return;
    if (alone != 0 && orphaned == 0) orphaned = now();
    if (alone != 0 && (now() - orphaned > kMostOrphaned || !channel->fuse_begun)) return;
    if (fuse.revents == 0) continue;
    const ssize_t count = read(kFuseFd, request, sizeof request);
    if (count >= static_cast<ssize_t>(sizeof(fuse_in_header))) {
      if (!answer()) return;
    } else if (count < 0 && errno == EPERM && !channel->fuse_begun) {
      usleep(1000);  // it is not mounted yet
    } else if (count < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT) {
      return;
    }
  }
}

int run() {
  // It outlives the checker by as long as the kernel needs to let go.
  struct sigaction action {};
  action.sa_handler = [](int) { alone = 1; };
  sigaction(SIGHUP, &action, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGHUP);
  prctl(PR_SET_NAME, "sisyfs-disk");
  void* const at = mmap(nullptr, sizeof(HostChannel), PROT_READ | PROT_WRITE, MAP_SHARED, kHostChannelFd, 0);
  if (at == MAP_FAILED) return 1;
  channel = static_cast<HostChannel*>(at);
  // The kernel may write to this disk to get memory, so nothing here may wait for memory.
  constexpr int kSetIoFlusher = 57;  // PR_SET_IO_FLUSHER
  mlockall(MCL_CURRENT | MCL_FUTURE);
  prctl(kSetIoFlusher, 1, 0, 0, 0);
  work();
  close(kFuseFd);
  remove_loop();
  return 0;
}

}  // namespace
}  // namespace sisyfs::guest

int main() { return sisyfs::guest::run(); }
