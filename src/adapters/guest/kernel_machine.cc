#include "adapters/guest/kernel_machine.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace sisyfs {

using guest::Answer;
using guest::Ask;
using guest::DiskAnswer;
using guest::DiskRequest;

// The checker and its kernel take turns, so they share a core: to wake a process on another one takes longer
// than most commands.
void KernelMachine::share_core(int cpu) {
  thread_local int mine = -1;
  if (cpu < 0 || mine == cpu) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) mine = cpu;
}

uint32_t KernelMachine::put_command(guest::Command command, const Texts& texts,
                                    std::span<const std::byte> bytes, std::span<std::byte> buffer) {
  size_t size = sizeof command + bytes.size();
  for (const std::string_view text : texts) size += text.size();
  SISYFS_ASSERT(size <= buffer.size(), "a command fits into the buffer of the agent");
  size = sizeof command;
  for (size_t i = 0; i < texts.size(); ++i) {
    command.texts[i] = static_cast<uint32_t>(texts[i].size());
    std::memcpy(buffer.data() + size, texts[i].data(), texts[i].size());
    size += texts[i].size();
  }
  command.bytes = static_cast<uint32_t>(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data() + size, bytes.data(), bytes.size());
  size += bytes.size();
  std::memcpy(buffer.data(), &command, sizeof command);
  return static_cast<uint32_t>(size);
}

KernelMachine::Reply KernelMachine::reply_in(std::span<const std::byte> buffer) {
  Answer answer;
  std::memcpy(&answer, buffer.data(), sizeof answer);
  const auto most = static_cast<uint32_t>(buffer.size() - sizeof answer);
  return {true, answer.error, answer.number, buffer.subspan(sizeof answer, std::min(answer.bytes, most)),
          answer.more != 0};
}

// One request to a disk, whose bytes are the front of `rest`, answered at `out`. How many bytes the answer
// has; 0: there is no room for it.
size_t KernelMachine::serve_one(const DiskRequest& request, std::span<const std::byte> rest,
                                std::span<std::byte> out) {
  DiskAnswer reply{};
  size_t size = sizeof reply;
  if (out.size() < size || (request.ask == Ask::kRead && out.size() - size < request.length)) return 0;
  int error = 0;
  switch (request.ask) {
    case Ask::kRead: {
      const auto bytes = out.subspan(size, request.length);
      if (server_ == nullptr)
        std::fill(bytes.begin(), bytes.end(), std::byte{0});
      else
        error = server_->read(request.disk, request.offset, bytes);
      if (error == 0) size += request.length;
      break;
    }
    case Ask::kWrite:
      if (server_ != nullptr)
        error = server_->write(request.disk, request.offset, rest.first(request.length), request.fua != 0);
      break;
    case Ask::kFlush:
      if (server_ != nullptr) error = server_->flush(request.disk);
      break;
    default:
      if (server_ != nullptr)
        error = server_->discard(request.disk, request.offset, request.length, request.ask == Ask::kZeroes);
  }
  reply.error = static_cast<uint32_t>(error);
  std::memcpy(out.data(), &reply, sizeof reply);
  return size;
}

uint32_t KernelMachine::serve(uint32_t bytes, std::span<std::byte> buffer) {
  bytes = std::min(bytes, static_cast<uint32_t>(buffer.size()));
  Ask first{};
  std::memcpy(&first, buffer.data(), sizeof first);
  if (first == Ask::kCommand) return 0;
  // The answers take the place of the requests.
  requests_.assign(buffer.begin(), buffer.begin() + bytes);
  std::span<const std::byte> rest(requests_);
  size_t size = 0;
  for (DiskRequest request; rest.size() >= sizeof request;) {
    std::memcpy(&request, rest.data(), sizeof request);
    rest = rest.subspan(sizeof request);
    const size_t payload = request.ask == Ask::kWrite ? request.length : 0;
    if (payload > rest.size()) break;
    const size_t added = serve_one(request, rest, buffer.subspan(size));
    if (added == 0) break;
    size += added;
    rest = rest.subspan(payload);
  }
  if (size != 0) return static_cast<uint32_t>(size);
  const DiskAnswer refused{.error = EIO, .unused = {}};
  std::memcpy(buffer.data(), &refused, sizeof refused);
  return sizeof refused;
}

}  // namespace sisyfs
