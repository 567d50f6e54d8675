// PluginDisk: a Disk as a plug-in sees it, through the callbacks of sisyfs/plugin.h.
//
// It stays in one place for the life of the plug-in, which may keep the pointer wherever it likes; which disk
// lies behind it changes with each power cut. What a plug-in hands over is copied before it is looked at, so
// that a bad pointer hurts nobody but the plug-in.
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

// What a plug-in asked of the disk in one call, and what it was told: enough to do the call again without
// the disk, and to see whether it does the same.
struct DiskTape {
  std::vector<std::byte> answers;  // of the reads, one after the other: where, how many, errno, bytes
  Digest changes;                  // of the writes, flushes and erasures, in their order
  uint32_t accesses = 0;

  void clear() { answers.clear(), changes = {}, accesses = 0; }
};

class PluginDisk {
 public:
  // The fence is that of the calls in which the plug-in uses the disk.
  PluginDisk(const Geometry& geometry, Fence& fence);
  ~PluginDisk();
  PluginDisk(const PluginDisk&) = delete;
  PluginDisk& operator=(const PluginDisk&) = delete;

  void attach(Disk* disk) { disk_ = disk; }
  Disk* attached() const { return disk_; }
  const sisyfs_disk* face() const { return face_; }

  // From here on what happens is added to the tape; null: no more.
  void record(DiskTape* tape) { recording_ = tape; }
  // From here on the tape answers, and no disk is asked. Until stop_replay(), which says whether all was as
  // the tape has it, and otherwise by which access (from 1) it was not.
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

  // Notes an access and gives its answer; where a tape is replayed it is the answer of that.
  int answer_read(uint64_t block, std::span<std::byte> buffer);
  template <class Ask>
  int answer_change(uint8_t kind, uint64_t block, uint64_t count, std::span<const std::byte> bytes, Ask ask);
  void differ();

  int put(uint64_t block, uint32_t count, const void* bytes, bool through);
  // Room for so many blocks; more than a disk has is as wrong as one more.
  std::span<std::byte> room_for(uint32_t count);

  Fence& fence_;
  Disk* disk_ = nullptr;
  uint64_t block_count_;
  std::vector<std::byte> buffer_;
  DiskTape* recording_ = nullptr;
  const DiskTape* replaying_ = nullptr;
  size_t at_ = 0;      // of the tape's answers
  DiskTape replayed_;  // what happened in the replay
  uint32_t differs_ = 0;
  const sisyfs_disk* face_ = nullptr;  // on a page of its own, which nobody can write to
};

}  // namespace sisyfs
