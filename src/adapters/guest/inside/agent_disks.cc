// The disks of a guest: network block devices whose other end is in the agent.
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/nbd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "adapters/guest/inside/agent_parts.h"

namespace sisyfs::guest {
namespace {

struct Disk {
  int device = -1, ends[2] = {-1, -1};
};
std::vector<Disk> disks;
std::atomic<bool> muted{false};  // what is written is lost, and the checker is not asked

bool write_all(int fd, const void* from, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    const ssize_t count = write(fd, at, bytes);
    if (count <= 0) return false;
    at += count, bytes -= static_cast<size_t>(count);
  }
  return true;
}

// Many requests come at once. They are read together, asked together and answered together.
struct Queue {
  static constexpr size_t kRoom = kBufferBytes;
  std::vector<std::byte> bytes = std::vector<std::byte>(kRoom);
  size_t size = 0;                 // that were read
  std::vector<nbd_request> asked;  // heads of what is asked now
};
std::vector<Queue> queues;

DiskRequest to_ask(uint32_t number, const nbd_request& head) {
  constexpr uint32_t kWriteZeroes = 6;
  const uint32_t type = be32toh(head.type) & 0xffff;
  const Ask ask = type == NBD_CMD_WRITE   ? Ask::kWrite
                  : type == NBD_CMD_FLUSH ? Ask::kFlush
                  : type == NBD_CMD_TRIM  ? Ask::kDiscard
                  : type == kWriteZeroes  ? Ask::kZeroes
                                          : Ask::kRead;
  return {ask, number, be64toh(head.from), be32toh(head.len), be32toh(head.type) >> 16 & 1};
}

// Asks for the requests at the front of the queue that are there as a whole and whose answers fit. How many
// bytes of the queue these are.
size_t ask_front(uint32_t number, Queue& queue, size_t from) {
  std::byte* const buffer = buffers[kDiskBuffer];
  size_t at = from, out = 0, back = 0;
  queue.asked.clear();
  for (nbd_request head; queue.size - at >= sizeof head;) {
    std::memcpy(&head, queue.bytes.data() + at, sizeof head);
    const DiskRequest request = to_ask(number, head);
    const size_t payload = request.ask == Ask::kWrite ? request.length : 0;
    if (queue.size - at - sizeof head < payload) break;
    const size_t answer = sizeof(DiskAnswer) + (request.ask == Ask::kRead ? request.length : 0);
    if (out + sizeof request + payload > kBufferBytes || back + answer > kBufferBytes) {
      if (queue.asked.empty()) give_up("request");
      break;
    }
    std::memcpy(buffer + out, &request, sizeof request);
    std::memcpy(buffer + out + sizeof request, queue.bytes.data() + at + sizeof head, payload);
    out += sizeof request + payload;
    back += answer;
    at += sizeof head + payload;
    queue.asked.push_back(head);
  }
  if (queue.asked.empty()) return 0;
  muted ? std::memset(buffer, 0, back), void() : ask(kDiskBuffer, out);
  return at - from;
}

// Makes replies of the protocol of the answers, in their place. How many bytes.
size_t to_replies(const Queue& queue) {
  size_t at = 0;
  for (const nbd_request& head : queue.asked) {
    std::byte* const place = buffers[kDiskBuffer] + at;
    DiskAnswer answer;
    std::memcpy(&answer, place, sizeof answer);
    static_assert(sizeof answer == sizeof(nbd_reply));
    nbd_reply reply{htobe32(NBD_REPLY_MAGIC), htobe32(answer.error), {}};
    std::memcpy(&reply.handle, &head.handle, sizeof reply.handle);
    std::memcpy(place, &reply, sizeof reply);
    const bool has_bytes = to_ask(0, head).ask == Ask::kRead && answer.error == 0;
    at += sizeof reply + (has_bytes ? be32toh(head.len) : 0);
  }
  return at;
}

// Reads what is there, at least something.
bool serve_requests(uint32_t number) {
  Queue& queue = queues[number];
  const int end = disks[number].ends[1];
  const ssize_t count = read(end, queue.bytes.data() + queue.size, Queue::kRoom - queue.size);
  if (count <= 0) return false;
  queue.size += static_cast<size_t>(count);
  size_t done = 0;
  while (const size_t taken = ask_front(number, queue, done)) {
    done += taken;
    if (!write_all(end, buffers[kDiskBuffer], to_replies(queue))) return false;
  }
  std::memmove(queue.bytes.data(), queue.bytes.data() + done, queue.size - done);
  queue.size -= done;
  return queue.size < Queue::kRoom;
}

void* serve_disks(void*) {
  std::vector<pollfd> polled;
  polled.reserve(disks.size());
  for (const Disk& disk : disks) polled.push_back({disk.ends[1], POLLIN, 0});
  for (;;) {
    if (polled.size() > 1 && poll(polled.data(), polled.size(), -1) < 0) continue;
    for (uint32_t i = 0; i < polled.size(); ++i)
      if ((polled.size() == 1 || polled[i].revents != 0) && !serve_requests(i))
        give_up("the connection to a disk is lost");
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

}  // namespace

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
    put((queue + "max_sectors_kb").c_str(), "4");
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

int flush_disk() { return of(fsync(disks.at(0).device)); }

// BLKFLSBUF leaves a page in the cache if something still refers to it, and the next mount would read what
// the disk held before: ext4 with fast commits keeps such references. A change of the block size removes all
// pages. It cannot be smaller than the sectors of the device, so these are made small for a moment.
void forget_pages() {
  for (const Disk& disk : disks) {
    ioctl(disk.device, BLKFLSBUF);
    int sector = 0;
    if (ioctl(disk.device, BLKSSZGET, &sector) != 0) give_up("sectors");
    if (sector == int{kPageBytes} && ioctl(disk.device, NBD_SET_BLKSIZE, 512) != 0) give_up("sectors");
    for (const int size : {int{kPageBytes} / 2, int{kPageBytes}})
      if (ioctl(disk.device, BLKBSZSET, &size) != 0) give_up("block size");
    if (sector == int{kPageBytes} && ioctl(disk.device, NBD_SET_BLKSIZE, sector) != 0) give_up("sectors");
  }
}

// The kernel writes back from where it stopped before, and this place is kept for as long as there is a
// device: the order of its writes depended on earlier mounts. After a write to the first page alone it is the
// beginning.
void rewind_writeback() {
  static const std::byte nothing[kPageBytes] = {};
  muted = true;
  for (const Disk& disk : disks)
    if (pwrite(disk.device, nothing, sizeof nothing, 0) != sizeof nothing ||
        sync_file_range(disk.device, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) != 0)
      give_up("the first page of a disk");
  muted = false;
}

void lose_disks() {
  for (const Disk& disk : disks) shutdown(disk.ends[1], SHUT_RDWR);
}

}  // namespace sisyfs::guest
