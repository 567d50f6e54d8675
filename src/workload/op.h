// Op: one call into a file system, as a value.
//
// An op is small, trivially copyable and complete: the op and the tree that it is applied to determine the
// whole effect of the call, including the bytes that it writes. Its text form is one line of a trace.
//
//   Op op = Op::write(Path("/a"), 0, 4096);
//   OpResult expected = apply(op, tree);     // on the reference model
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/digest.h"
#include "base/result.h"
#include "tree/tree.h"
#include "workload/path.h"

namespace sisyfs {

enum class OpKind : uint8_t {
  kCreate,       // PATH: open with O_CREAT | O_EXCL, and close
  kMkdir,        // PATH
  kUnlink,       // PATH
  kRmdir,        // PATH
  kRename,       // PATH OTHER
  kLink,         // PATH OTHER: a second name for the file PATH
  kSymlink,      // OTHER PATH: a symbolic link PATH to OTHER
  kWrite,        // PATH OFFSET LENGTH [vVERSION]
  kAppend,       // PATH LENGTH [vVERSION]: write at the end
  kTruncate,     // PATH SIZE
  kRead,         // PATH OFFSET LENGTH
  kReaddir,      // PATH
  kStat,         // PATH
  kFsync,        // PATH
  kFdatasync,    // PATH
  kSync,         //
  kRemount,      // unmount and mount
  kOpen,         // PATH: open a handle for reading and writing; later ops on the file use it
  kClose,        // PATH: close that handle
  kSnapshot,     // the system saves its state
  kRestore,      // the system returns to the saved state and drops it
  kFsck,         // for a system that is not mounted: check, repair and mount
  kWriteSync,    // PATH OFFSET LENGTH [vVERSION]: write to a file that was opened with O_SYNC
  kSetxattr,     // PATH NAME LENGTH [vVERSION]: an extended attribute
  kGetxattr,     // PATH NAME
  kListxattr,    // PATH
  kRemovexattr,  // PATH NAME
  // On a numbered handle, which outlives the names of its file. HANDLE is "@1", "@2", ... in place of a path.
  kOpenHandle,       // PATH HANDLE: open for reading and writing
  kCloseHandle,      // HANDLE
  kWriteHandle,      // HANDLE OFFSET LENGTH [vVERSION]
  kAppendHandle,     // HANDLE LENGTH [vVERSION]
  kTruncateHandle,   // HANDLE SIZE
  kReadHandle,       // HANDLE OFFSET LENGTH
  kStatHandle,       // HANDLE
  kFsyncHandle,      // HANDLE
  kFdatasyncHandle,  // HANDLE
  kChmod,            // PATH MODE: permission bits, octal
  // Ranges of a file, as fallocate(2). All but kFallocateKeep change what the file reads as.
  kFallocate,      // PATH OFFSET LENGTH: room for these bytes, and a file that is long enough to have them
  kFallocateKeep,  // PATH OFFSET LENGTH: room for them, also behind the end, and nothing that can be seen
  kPunchHole,      // PATH OFFSET LENGTH: zeros, as far as the file goes
  kZeroRange,      // PATH OFFSET LENGTH: zeros, and a file that is long enough to have them
  kExchange,       // PATH OTHER: what has one name gets the other one
  kRenameNew,      // PATH OTHER: a rename that replaces nothing
  kWriteDirect,    // PATH OFFSET LENGTH [vVERSION]: write to a file that was opened with O_DIRECT
  kWriteMapped,    // PATH OFFSET LENGTH [vVERSION]: store into a shared mapping, within the file
  kMsync,          // PATH: msync(MS_SYNC) of a mapping of the whole file
  kSyncfs,         //
  kCommit,         // the system writes back on its own account, as its background threads do
  kPlay,           // ENTRY: no call; writes that were recorded elsewhere are played up to this entry
};
inline constexpr size_t kOpKinds = 49;

// "create", "mkdir", "write", "write @" for a write to a handle, ...
const char* op_name(OpKind kind);

// The op by path that does the same as this one on a handle; of other ops the op itself.
constexpr OpKind by_path(OpKind kind) {
  switch (kind) {
    case OpKind::kOpenHandle:
      return OpKind::kOpen;
    case OpKind::kCloseHandle:
      return OpKind::kClose;
    case OpKind::kWriteHandle:
      return OpKind::kWrite;
    case OpKind::kAppendHandle:
      return OpKind::kAppend;
    case OpKind::kTruncateHandle:
      return OpKind::kTruncate;
    case OpKind::kReadHandle:
      return OpKind::kRead;
    case OpKind::kStatHandle:
      return OpKind::kStat;
    case OpKind::kFsyncHandle:
      return OpKind::kFsync;
    case OpKind::kFdatasyncHandle:
      return OpKind::kFdatasync;
    default:
      return kind;
  }
}

// A set of kinds.
class OpSet {
 public:
  constexpr OpSet() = default;
  template <class... Kinds>
  constexpr explicit OpSet(Kinds... kinds)
      : bits_(((uint64_t{1} << static_cast<uint32_t>(kinds)) | ... | 0)) {}
  // All that are calls.
  static constexpr OpSet all() {
    return OpSet(
        Bits{((uint64_t{1} << kOpKinds) - 1) & ~(uint64_t{1} << static_cast<uint32_t>(OpKind::kPlay))});
  }

  static constexpr OpSet of_bits(uint64_t bits) { return OpSet(Bits{bits}); }
  constexpr uint64_t bits() const { return bits_; }

  constexpr bool has(OpKind kind) const { return (bits_ >> static_cast<uint32_t>(kind)) & 1; }
  friend constexpr OpSet operator|(OpSet a, OpSet b) { return OpSet(Bits{a.bits_ | b.bits_}); }
  friend constexpr OpSet operator&(OpSet a, OpSet b) { return OpSet(Bits{a.bits_ & b.bits_}); }
  friend constexpr OpSet operator-(OpSet a, OpSet b) { return OpSet(Bits{a.bits_ & ~b.bits_}); }
  friend constexpr bool operator==(OpSet, OpSet) = default;

 private:
  struct Bits {
    uint64_t value;
  };
  constexpr explicit OpSet(Bits bits) : bits_(bits.value) {}
  uint64_t bits_ = 0;
};

// All ops on numbered handles.
inline constexpr OpSet kHandleOps(OpKind::kOpenHandle, OpKind::kCloseHandle, OpKind::kWriteHandle,
                                  OpKind::kAppendHandle, OpKind::kTruncateHandle, OpKind::kReadHandle,
                                  OpKind::kStatHandle, OpKind::kFsyncHandle, OpKind::kFdatasyncHandle);

// The ops that change how a range of a file is kept.
inline constexpr OpSet kRangeOps(OpKind::kFallocate, OpKind::kFallocateKeep, OpKind::kPunchHole,
                                 OpKind::kZeroRange);

// All that file systems of a kernel have and others hardly do.
inline constexpr OpSet kLinuxOps =
    kRangeOps | OpSet(OpKind::kExchange, OpKind::kRenameNew) |
    OpSet(OpKind::kWriteDirect, OpKind::kWriteMapped, OpKind::kMsync, OpKind::kSyncfs, OpKind::kCommit);

struct Op;
// Which of two processes does this op, from 0: the second one has the upper half of the handles, and the
// first one does all that is done by path.
uint32_t process_of(const Op& op, uint32_t processes);

struct Op {
  OpKind kind = OpKind::kSync;
  uint8_t version = 0;  // selects the written bytes; below kVersions
  // Which of several right answers is demanded, by a script: 0 any, 1 success in full, or an errno plus one.
  uint16_t demand = 0;
  uint32_t length = 0;  // in bytes; the mode for chmod
  uint64_t offset = 0;  // in bytes; the new size for truncate
  Path path;            // or a handle, for an op on one
  Path other;  // a second path, the target of a link, the name of an attribute, or the handle to open

  static Op of(OpKind kind, const Path& path = {}, const Path& other = {}) {
    return {kind, 0, 0, 0, 0, path, other};
  }
  static Op write(const Path& path, uint64_t offset, uint32_t length, uint8_t version = 0) {
    return {OpKind::kWrite, version, 0, length, offset, path, {}};
  }
  static Op write_sync(const Path& path, uint64_t offset, uint32_t length, uint8_t version = 0) {
    return {OpKind::kWriteSync, version, 0, length, offset, path, {}};
  }
  // One of kRangeOps, or a write of another kind.
  static Op range(OpKind kind, const Path& path, uint64_t offset, uint32_t length, uint8_t version = 0) {
    return {kind, version, 0, length, offset, path, {}};
  }
  static Op setxattr(const Path& path, std::string_view name, uint32_t length, uint8_t version = 0) {
    return {OpKind::kSetxattr, version, 0, length, 0, path, Path(name)};
  }
  static Op append(const Path& path, uint32_t length, uint8_t version = 0) {
    return {OpKind::kAppend, version, 0, length, 0, path, {}};
  }
  static Op truncate(const Path& path, uint64_t size) { return {OpKind::kTruncate, 0, 0, 0, size, path, {}}; }
  static Op read(const Path& path, uint64_t offset, uint32_t length) {
    return {OpKind::kRead, 0, 0, length, offset, path, {}};
  }
  static Op chmod(const Path& path, uint32_t mode) { return {OpKind::kChmod, 0, 0, mode, 0, path, {}}; }
  static Op play(uint64_t entry) { return {OpKind::kPlay, 0, 0, 0, entry, {}, {}}; }

  // The errno that is demanded, 0 for success.
  int demanded() const { return demand - 1; }

  friend bool operator==(const Op&, const Op&) = default;
};
static_assert(std::is_trivially_copyable_v<Op> && sizeof(Op) == 112);

// What the checker says where a call has no errno to say it with. Beyond all errnos; errno_text() has the
// words.
enum OwnError : int {
  kNoErrno = 1 << 16,  // the call answers a negative number that is no errno
  kTooManyBytes,       // the call says that it read more than it was asked for
  kNoDirectory,        // the root is no directory
  kBadName,            // a directory lists a name that cannot be one
  kNameTwice,          // a directory lists a name twice
  kLongName,           // a path is longer than the checker can follow
  kBadType,            // something has no type, or one that is none
  kOtherType,          // each of its names has another type
  kBadMode,            // its mode has more than permission bits
  kTooManyObjects,     // more than the checker follows
  kTooLarge,           // a file is larger than any that was written
  kShortFile,          // a file ends before its size
  kBadLink,            // a symbolic link has no content, or more than there can be
};

// The answer of a call.
struct OpResult {
  int error = 0;       // 0, an errno or an OwnError; then the other fields are zero
  uint64_t value = 0;  // write, write_sync, write_direct, write_mapped, append, read, getxattr: number of
                       // bytes; stat: size; also of these on handles; readdir, listxattr: number of names;
                       // otherwise 0
  Digest data;         // read, getxattr: digest of the bytes; readdir, listxattr: digest of the names, in any
                       // order; otherwise zero

  // An errno, or success if it is 0.
  static OpResult of(int error) { return {error, 0, {}}; }
  static OpResult read(std::span<const std::byte> bytes) { return {0, bytes.size(), digest_of(bytes)}; }
  // Adds the name of a directory entry or attribute.
  void add_name(std::string_view name) { ++value, data += digest_of(name.data(), name.size()); }

  friend bool operator==(const OpResult&, const OpResult&) = default;
};

// The bytes that a write or append puts at `offset` of its file: a hash of the op's path and the offset,
// shifted by the version. They are never zero, so written bytes differ from holes. Two versions below
// kVersions differ in every byte.
inline constexpr uint32_t kVersions = 255;
void fill_data(const Op& op, uint64_t offset, std::span<std::byte> out);

// The value that setxattr gives an attribute. It also depends on the name, and has the same properties.
void fill_value(const Op& op, std::span<std::byte> out);

// Performs the op on the reference model. An op that fails changes nothing. sync always succeeds; remount,
// fsck, snapshot and restore answer EBUSY while a file is open. fsync and fdatasync change nothing, and fail
// if the path cannot be opened. restore changes nothing here: the caller of snapshot keeps the tree to return
// to. syncfs and commit are like sync. A mapping needs bytes of the file: write_mapped answers EINVAL if a
// byte lies behind the end or there is none to store, and msync for an empty file. play changes nothing here:
// what it leads to the recording knows.
OpResult apply(const Op& op, Tree& tree);

// The text form, such as "rename /a /b"; see OpKind. A demanded answer follows: "append /a 512 expect
// ENOSPC".
std::string to_text(const Op& op);
// The inverse of to_text(). The error names the column: "unknown op 'renam' in column 1".
Result<Op> parse_op(std::string_view line);

// "ENOENT"; "0" for 0; "a number that is no errno" for an OwnError.
std::string errno_text(int error);
// The errno with this name, 0 for "0", or -1 if there is none.
int errno_named(std::string_view text);

}  // namespace sisyfs
