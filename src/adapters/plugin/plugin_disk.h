// PluginDisk: gives a plug-in access to a Disk, through the callbacks of sisyfs/plugin.h.
//
// The struct that the plug-in gets has the same address for the life of the plug-in, which may keep the
// pointer. The Disk behind it changes with each power cut. Data from a plug-in is copied inside the fence, so
// a bad pointer is a fault of the plug-in.
#pragma once

#include <sisyfs/plugin.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "adapters/plugin/fence.h"
#include "base/digest.h"
#include "disk/disk.h"

namespace sisyfs {

// The disk accesses of one call and their answers: enough to repeat the call without the disk, and to see
// whether the plug-in makes the same accesses again.
struct DiskTape {
  std::vector<std::byte> answers;  // of the accesses, in order: block, size, errno, bytes read
  Digest changes;                  // digest of the writes, flushes and erases, in order
  uint32_t accesses = 0;

  void clear() { answers.clear(), changes = {}, accesses = 0; }
};

class PluginDisk {
 public:
  // `fence` is the fence of the calls in which the plug-in uses the disk, `minor` the version of its
  // interface.
  PluginDisk(const Geometry& geometry, Fence& fence, uint32_t minor);
  ~PluginDisk();
  PluginDisk(const PluginDisk&) = delete;
  PluginDisk& operator=(const PluginDisk&) = delete;

  void attach(Disk* disk) { disk_ = disk; }
  Disk* attached() const { return disk_; }
  const sisyfs_disk* face() const { return face_; }

  // Adds all accesses from here on to the tape; null: stops.
  void record(DiskTape* tape) { recording_ = tape; }
  // From here on answers come from the tape and not from the disk, until stop_replay(). That returns whether
  // all accesses were those of the tape; if not, *differs is the number of the first other one, from 1.
  void replay(const DiskTape& tape);
  bool stop_replay(uint32_t* differs);

 private:
  static PluginDisk& of(const sisyfs_disk* face) { return *static_cast<PluginDisk*>(face->engine); }
  static int read(const sisyfs_disk* face, uint64_t block, uint32_t count, void* bytes);
  static int write(const sisyfs_disk* face, uint64_t block, uint32_t count, const void* bytes);
  static int write_through(const sisyfs_disk* face, uint64_t block, uint32_t count, const void* bytes);
  static int flush(const sisyfs_disk* face);
  static int erase(const sisyfs_disk* face, uint64_t block, uint64_t count);
  static void stable(const sisyfs_disk* face, int this_too);

  // Records an access and returns its answer, from the disk or from the tape that is replayed.
  int answer_read(uint64_t block, std::span<std::byte> buffer);
  template <class Ask>
  int answer_change(uint8_t kind, uint64_t block, uint64_t count, std::span<const std::byte> bytes, Ask ask);
  void differ();

  int put(uint64_t block, uint32_t count, const void* bytes, bool through);
  // A buffer for so many blocks, at most one more than the disk has: that is out of range too.
  std::span<std::byte> room_for(uint32_t count);

  Fence& fence_;
  Disk* disk_ = nullptr;
  uint64_t block_count_;
  int uncorrectable_;  // the errno for a page that cannot be corrected
  std::vector<std::byte> buffer_;
  DiskTape* recording_ = nullptr;
  const DiskTape* replaying_ = nullptr;
  size_t at_ = 0;      // of the tape's answers
  DiskTape replayed_;  // the accesses of the replay
  uint32_t differs_ = 0;
  const sisyfs_disk* face_ = nullptr;  // on a read-only page of its own
};

}  // namespace sisyfs
