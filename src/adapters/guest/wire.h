// What the checker, the guest kernel and the agent inside of it share. Plain data: three programs are built
// with this header.
//
// The guest kernel is a process of the host. It is started with a library (inside/shim.cc) that answers some
// of its calls into libc. The agent (inside/agent.cc) is its only program. Between the checker and the guest
// there is one piece of shared memory, the Channel, and always just one of the two runs: the agent puts a
// request into a buffer of its own and writes a Packet to a serial line; the library sees that write, copies
// the request to the channel, and waits there until the checker has answered. So the guest stands still
// meanwhile, and its clock does too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sisyfs::guest {

inline constexpr uint32_t kBuffers = 2, kCommands = 0, kDiskBuffer = 1;  // of the agent
inline constexpr uint32_t kBufferBytes = 1 << 19;                        // of each
inline constexpr uint32_t kPageBytes = 4096;
inline constexpr uint32_t kBufferPages = kBufferBytes / kPageBytes;

// The folder for the kernel's own files. There is none.
inline constexpr char kNowhere[] = "/nonexistent";

// Where a file system is mounted that lies below the one that is checked.
inline constexpr char kBelow[] = "/below";

// Descriptors of the guest's process.
inline constexpr int kChannelFd = 60, kLineFd = 61, kConsoleFd = 62, kInitrdFd = 63;

enum class Turn : uint32_t { kGuest, kHost };

// Why the guest will not go on by itself.
enum class Trouble : uint32_t {
  kNone,
  kStuck,  // nothing happens in it any more, and its clock has run for kMostIdle
};
inline constexpr uint64_t kMostIdle = 1'000'000'000ull * 600;

struct Channel {
  std::atomic<Turn> turn;
  std::atomic<Trouble> trouble;
  std::atomic<uint32_t> buffer;  // of the agent, that holds the request
  std::atomic<uint32_t> bytes;   // of the request, then of the answer
  std::atomic<uint64_t> now;     // nanoseconds of the guest's clock since its start
  // What the guest prints on its console: the last kConsoleBytes of it.
  static constexpr uint32_t kConsoleBytes = 1 << 16;
  std::atomic<uint64_t> printed;
  char console[kConsoleBytes];
  alignas(kPageBytes) std::byte data[kBufferBytes];
};

// What the agent writes to the serial line.
struct Packet {
  enum Kind : uint32_t {
    kRequest = 0x51534953,
    kPages = 0x50534953,    // the page frames of a buffer, whose numbers follow
    kReplace = 0x52534953,  // a function of the kernel, whose address follows, is replaced
    kFlash = 0x46534953,    // so one of the driver of the flash
  };
  uint32_t kind;
  uint32_t which;  // a buffer, a Replaced, a FlashCall
  uint32_t count;  // bytes of the request, or page frames
};

// Functions of the kernel that give random numbers, and the one by which sync lets threads write back beside
// it.
enum class Replaced : uint32_t { kBytes, k8, k16, k32, k64, kBelow, kFlushers, kMost };
inline constexpr const char* kReplacedNames[] = {
    "get_random_bytes", "get_random_u8",          "get_random_u16",         "get_random_u32",
    "get_random_u64",   "__get_random_u32_below", "wakeup_flusher_threads",
};

// Functions of the driver mtdram, which keeps a flash in memory. What takes their place asks the checker.
// There is no direct look at the flash (kPoint). JFFS2 takes another erased unit after each mount, by a
// number that it keeps in memory from mount to mount (kRotate): here it does not.
enum class FlashCall : uint32_t { kRead, kWrite, kErase, kPoint, kRotate, kMost };
inline constexpr const char* kFlashNames[] = {"ram_read", "ram_write", "ram_erase", "ram_point",
                                              "jffs2_rotate_lists"};
// Mount calls the flash itself this. UBI makes volumes on it: a name with "ubi0:" in front is one of them.
inline constexpr char kFlashDevice[] = "mtd0", kVolumePrefix[] = "ubi0:";

// --- requests of the agent --------------------------------------------------------------------------

enum class Ask : uint32_t {
  kCommand,  // Answer of the last command (none at first); the answer to this is a Command
  kRead,     // of these there may be several in a row: DiskRequests
  kWrite,
  kFlush,
  kDiscard,
  kZeroes,
};

// What is in the queue of a disk is asked at once, and carried out one by one: the answer is a DiskAnswer for
// each, in the same order. After that of a read without an error come its bytes.
struct DiskRequest {
  Ask ask;
  uint32_t disk;
  uint64_t offset;  // bytes
  uint32_t length;  // bytes; of a write they follow
  uint32_t fua;
};
// As long as the head of a reply of the NBD protocol, which the agent puts in its place.
struct DiskAnswer {
  uint32_t error;  // 0 or an errno of Linux
  uint32_t unused[3];
};

// --- commands of the checker ------------------------------------------------------------------------

enum class Do : uint32_t {
  kModule,  // text 0: a module of the agent's root
  kDisks,   // number: how many; offset: bytes of each; length: bytes of a block
  kFlash,   // instead: the flash of the kernel, mtdram, is the first disk
  // Text 0: type; 1: options; number: MS_ flags. Mounts the first disk at kBelow, and nothing is entered.
  // kUnmount unmounts that too.
  kMountBelow,
  kMount,     // text 0: type; 1: options; 2: what is mounted, a disk by default; number: MS_ flags.
              // UBI is attached before its volume is mounted, and detached after the unmount.
  kFlush,     // the first disk, as a device flushes its cache now and then
  kUnmount,   // closes all handles before; number: 1 if nothing of it is needed any more
  kCall,      // number: a Call; the rest are its arguments
  kWalk,      // number: 0 the whole tree, 1 more of it
  kMakeTree,  // makes the directories that text 0 lists, below the place of mounts; ':' between them
  kClock,     // nothing but to set the clock
  kRelease,   // the answer: the release of the kernel, as a text
  kMemory,    // the answer: bytes that are free or can be freed
  kMessage,   // prints text 0 on the console, as the kernel does
  kPlant,     // number: a Plant
  kPowerOff,
};

// What tests let go wrong in a guest.
enum class Plant : uint32_t {
  kPanic,    // the kernel panics
  kLoop,     // the call computes for ever
  kStuck,    // the call waits for ever
  kLost,     // the connection to the disks breaks
  kMemory,   // all memory is taken
  kWarning,  // the kernel prints a warning, and the call is made
  kExit,     // the agent ends
  kForgets,  // a call of the second process is not made, and succeeds
};
inline constexpr const char* kPlantNames[] = {"panic",  "loop",    "stuck", "lost",
                                              "memory", "warning", "exit",  "forgets"};

// System calls on the mounted file system. Paths begin at its root.
enum class Call : uint32_t {
  kCreate,  // open with O_CREAT | O_EXCL; flags: mode
  kMkdir,   // flags: mode
  kUnlink,
  kRmdir,
  kRename,  // flags: of renameat2
  kLink,
  kSymlink,  // text 0: the link; 1: what it says
  kWrite,    // the bytes follow; flags: for open
  kAppend,
  kTruncate,  // offset: the size
  kRead,
  kReaddir,
  kStat,
  kFsync,  // flags: for open
  kFdatasync,
  kSync,
  kSyncfs,
  kFallocate,  // flags: its mode
  kWriteMapped,
  kMsync,
  kSetxattr,  // text 1: the name; the bytes follow
  kGetxattr,
  kListxattr,
  kRemovexattr,
  kChmod,  // flags: the mode
  kOpen,   // handle: the number that it gets
  kClose,
};
inline constexpr uint32_t kNoHandle = UINT32_MAX, kHandles = 4;

struct Command {
  Do what = Do::kPowerOff;
  uint32_t number = 0;
  uint32_t handle = kNoHandle;  // or the call is on this one, and not by path
  uint32_t flags = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t clock = 0;      // the time of day in seconds that is set before; 0: it goes on
  uint32_t texts[3] = {};  // lengths of the texts that follow
  uint32_t bytes = 0;      // that follow the texts
  uint32_t process = 0;    // kCall: which of the two processes of the guest makes it
  uint32_t unused = 0;
};

struct Answer {
  Ask ask;        // kCommand
  int32_t error;  // 0 or an errno of Linux
  uint64_t number;
  uint32_t bytes;  // that follow
  uint32_t more;   // kWalk has more to say
};

// One file, directory or symbolic link of a walk. Path, target, attributes and data follow. An attribute is
// two lengths of 32 bits, its name and its value.
struct WalkEntry {
  int32_t error;  // an errno at this path, and the walk ends here
  uint32_t path_bytes, target_bytes, xattr_bytes;
  uint32_t mode, links;
  uint64_t inode, size;
};

}  // namespace sisyfs::guest
