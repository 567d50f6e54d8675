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

uint32_t KernelMachine::serve(uint32_t bytes, std::span<std::byte> buffer) {
  DiskRequest request;
  bytes = std::min(bytes, static_cast<uint32_t>(buffer.size()));
  std::memcpy(&request, buffer.data(), sizeof request);
  if (request.ask == Ask::kCommand) return 0;
  DiskAnswer reply{};
  uint32_t size = sizeof reply;
  switch (request.ask) {
    case Ask::kRead:
      if (request.length > buffer.size() - sizeof reply) {
        reply.error = EIO;
      } else {
        const auto out = buffer.subspan(sizeof reply, request.length);
        if (server_ == nullptr)
          std::fill(out.begin(), out.end(), std::byte{0});
        else
          reply.error = static_cast<uint32_t>(server_->read(request.disk, request.offset, out));
        size += request.length;
      }
      break;
    case Ask::kWrite:
      if (bytes < sizeof request || request.length > bytes - sizeof request)
        reply.error = EIO;
      else if (server_ != nullptr)
        reply.error = static_cast<uint32_t>(server_->write(
            request.disk, request.offset, buffer.subspan(sizeof request, request.length), request.fua != 0));
      break;
    case Ask::kFlush:
      if (server_ != nullptr) reply.error = static_cast<uint32_t>(server_->flush(request.disk));
      break;
    default:
      if (server_ != nullptr)
        reply.error = static_cast<uint32_t>(
            server_->discard(request.disk, request.offset, request.length, request.ask == Ask::kZeroes));
  }
  std::memcpy(buffer.data(), &reply, sizeof reply);
  return size;
}

}  // namespace sisyfs
