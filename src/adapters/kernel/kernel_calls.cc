#include "adapters/kernel/kernel_calls.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "tree/tree.h"

namespace sisyfs {
namespace {

using guest::Call;
using guest::Command;
using guest::Do;

// The system call of an op, with its flags.
struct Plan {
  Call call;
  uint32_t flags = 0;
};
std::optional<Plan> system_call_of(OpKind kind) {
  switch (kind) {
    case OpKind::kCreate:
      return Plan{Call::kCreate, kNewModes[0]};
    case OpKind::kMkdir:
      return Plan{Call::kMkdir, kNewModes[1]};
    case OpKind::kUnlink:
      return Plan{Call::kUnlink};
    case OpKind::kRmdir:
      return Plan{Call::kRmdir};
    case OpKind::kRename:
      return Plan{Call::kRename};
    case OpKind::kLink:
      return Plan{Call::kLink};
    case OpKind::kSymlink:
      return Plan{Call::kSymlink};
    case OpKind::kWrite:
    case OpKind::kWriteHandle:
      return Plan{Call::kWrite};
    case OpKind::kWriteSync:
      return Plan{Call::kWrite, O_SYNC};
    case OpKind::kAppend:
    case OpKind::kAppendHandle:
      return Plan{Call::kAppend};
    case OpKind::kTruncate:
    case OpKind::kTruncateHandle:
      return Plan{Call::kTruncate};
    case OpKind::kRead:
    case OpKind::kReadHandle:
      return Plan{Call::kRead};
    case OpKind::kReaddir:
      return Plan{Call::kReaddir};
    case OpKind::kStat:
    case OpKind::kStatHandle:
      return Plan{Call::kStat};
    case OpKind::kFsync:
    case OpKind::kFsyncHandle:
      return Plan{Call::kFsync};
    case OpKind::kFdatasync:
    case OpKind::kFdatasyncHandle:
      return Plan{Call::kFdatasync};
    case OpKind::kSync:
      return Plan{Call::kSync};
    case OpKind::kSetxattr:
      return Plan{Call::kSetxattr};
    case OpKind::kGetxattr:
      return Plan{Call::kGetxattr};
    case OpKind::kListxattr:
      return Plan{Call::kListxattr};
    case OpKind::kRemovexattr:
      return Plan{Call::kRemovexattr};
    case OpKind::kChmod:
      return Plan{Call::kChmod};
    case OpKind::kFallocate:
      return Plan{Call::kFallocate};
    case OpKind::kFallocateKeep:
      return Plan{Call::kFallocate, FALLOC_FL_KEEP_SIZE};
    case OpKind::kPunchHole:
      return Plan{Call::kFallocate, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE};
    case OpKind::kZeroRange:
      return Plan{Call::kFallocate, FALLOC_FL_ZERO_RANGE};
    case OpKind::kExchange:
      return Plan{Call::kRename, RENAME_EXCHANGE};
    case OpKind::kRenameNew:
      return Plan{Call::kRename, RENAME_NOREPLACE};
    case OpKind::kWriteDirect:
      return Plan{Call::kWrite, O_DIRECT};
    case OpKind::kWriteMapped:
      return Plan{Call::kWriteMapped};
    case OpKind::kMsync:
      return Plan{Call::kMsync};
    case OpKind::kSyncfs:
    case OpKind::kCommit:
      return Plan{Call::kSyncfs};
    case OpKind::kOpenHandle:
      return Plan{Call::kOpen};
    case OpKind::kCloseHandle:
      return Plan{Call::kClose};
    default:
      return std::nullopt;
  }
}

bool writes_bytes(Call call) {
  return call == Call::kWrite || call == Call::kAppend || call == Call::kWriteMapped;
}

// Names, each behind its length.
OpResult names_in(std::span<const std::byte> bytes) {
  OpResult result;
  while (bytes.size() >= sizeof(uint32_t)) {
    uint32_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes = bytes.subspan(sizeof length);
    if (length > bytes.size()) break;
    const std::string_view name(reinterpret_cast<const char*>(bytes.data()), length);
    result.add_name(name);
    bytes = bytes.subspan(length);
  }
  return result;
}

}  // namespace

// The bytes of an append depend on the size of the file.
OpResult KernelCalls::write(const Op& op, Command& command, const Run& run) {
  uint64_t offset = op.offset;
  if (static_cast<Call>(command.number) == Call::kAppend) {
    Command stat = command;
    stat.number = static_cast<uint32_t>(Call::kStat);
    const Guest::Reply reply = run(stat, {op.path.text(), "", ""}, {});
    if (!reply.alive) return OpResult::of(EIO);
    if (reply.error != 0) return OpResult::of(reply.error);
    offset = reply.number;
  }
  bytes_.resize(op.length);
  fill_data(op, offset, bytes_);
  const Guest::Reply reply = run(command, {op.path.text(), "", ""}, bytes_);
  if (!reply.alive) return OpResult::of(EIO);
  return reply.error != 0 ? OpResult::of(reply.error) : OpResult{0, reply.number, {}};
}

OpResult KernelCalls::apply(const Op& op, const Run& run) {
  const std::optional<Plan> plan = system_call_of(op.kind);
  if (!plan) return OpResult::of(ENOSYS);
  Command command{.what = Do::kCall, .number = static_cast<uint32_t>(plan->call), .flags = plan->flags};
  command.offset = op.offset;
  command.length = op.length;
  const bool opens = op.kind == OpKind::kOpenHandle;
  if (kHandleOps.has(op.kind)) command.handle = Tree::handle_in(opens ? op.other : op.path);
  if (kHandleOps.has(op.kind)) command.process = process_of(op, processes_);
  if (op.kind == OpKind::kChmod) command.flags = op.length;
  if (writes_bytes(plan->call)) return write(op, command, run);
  bytes_.clear();
  if (op.kind == OpKind::kSetxattr) {
    bytes_.resize(op.length);
    fill_value(op, bytes_);
  }
  const Guest::Reply reply = run(command, {op.path.text(), op.other.text(), ""}, bytes_);
  if (!reply.alive) return OpResult::of(EIO);
  if (reply.error != 0) return OpResult::of(reply.error);
  if (opens) open_ |= 1u << command.handle;
  if (op.kind == OpKind::kCloseHandle) open_ &= ~(1u << command.handle);
  switch (plan->call) {
    case Call::kRead:
    case Call::kGetxattr:
      return OpResult::read(reply.bytes);
    case Call::kReaddir:
    case Call::kListxattr:
      return names_in(reply.bytes);
    case Call::kStat:
      return {0, reply.number, {}};
    default:
      return {};
  }
}

}  // namespace sisyfs
