// PluginMemory: saves the memory of a plug-in as a value, and loads it again.
//
// save() gives a MemoryImage, which is cheap to copy; equal digests mean equal memories. The cost of save()
// depends on how much was written since the last save() or load(), not on the size of the memory. load() also
// copies what differs between the current and the wanted memory.
//
//   Result<std::unique_ptr<PluginMemory>> memory = PluginMemory::make(plugin.ranges(), Tracker::kCompare);
//   const MemoryImage before = (*memory)->save();
//   call_into_the_plug_in();
//   const MemoryImage after = (*memory)->save();
//   (*memory)->load(before);  // as if it had not been called
//
// A shadow copy holds what was last saved or loaded. A tracker (adapters/plugin/page_tracker.h) names the
// pages that may have changed. These are compared with the shadow in pieces of 256 bytes, and only pieces
// that differ are hashed, stored or copied.
//
// The images of one PluginMemory are loaded by it alone, or by one over the same ranges in a process forked
// from this one. One thread at a time; the plug-in does not run during a call.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adapters/plugin/memory_image.h"
#include "adapters/plugin/memory_range.h"
#include "adapters/plugin/page_tracker.h"
#include "base/result.h"

namespace sisyfs {

class PluginMemory {
 public:
  // The ranges must outlive this object. An error says what the tracker lacks on this system.
  static Result<std::unique_ptr<PluginMemory>> make(std::vector<MemoryRange> ranges, Tracker tracker);
  ~PluginMemory();
  PluginMemory(const PluginMemory&) = delete;
  PluginMemory& operator=(const PluginMemory&) = delete;

  MemoryImage save();
  // kHasNotRun: the plug-in has not run since the last save() or load(), so there are no changes to look for.
  enum class Since { kMayHaveRun, kHasNotRun };
  void load(const MemoryImage& wanted, Since since = Since::kMayHaveRun);

  // Changes the tracker. Images stay valid. After an error the old tracker is still in use.
  Status use(Tracker tracker);
  Tracker tracker() const { return tracker_kind_; }

  // Bytes of a piece: the unit that is compared and stored.
  static constexpr size_t kPiece = 256;

 private:
  struct Keep;    // looks at pages for save()
  struct Revert;  // and for load()

  explicit PluginMemory(std::vector<MemoryRange> ranges);
  Status start(Tracker tracker);
  void save_all();
  void save_piece(const std::byte* live, size_t offset, size_t size);
  void save_pieces(const std::byte* live, size_t offset, size_t size);
  void revert_pieces(std::byte* live, size_t offset, size_t size);

  // Offsets count through all ranges, each of which begins at a whole page: first the paged ones.
  struct Unpaged {
    std::byte* begin;
    size_t offset, size;
  };
  PageMap map_;
  std::vector<Unpaged> unpaged_;
  size_t total_;  // bytes, rounded up to pages
  std::byte* shadow_ = nullptr;
  ImageCursor cursor_;  // at the image that the shadow holds
  Tracker tracker_kind_ = Tracker::kCompare;
  std::unique_ptr<PageTracker> tracker_;
};

// Which tracker is the cheapest for this plug-in on this machine. The choice is one of speed alone: what is
// saved and loaded is the same with each.
struct TrackerChoice {
  Tracker tracker;
  std::string
      why;  // one line: "mprotect: 2.3 us for a call, a save and a load; compare 3.1 us, userfaultfd 9.8 us"
};

// Runs `work`, a call or a few into the plug-in, with a save and a load, some rounds with each tracker that
// the system has; leaves the memory as it was and the cheapest in use. Uses the clock.
TrackerChoice choose_tracker(PluginMemory& memory, const std::function<void()>& work, int rounds = 200);

}  // namespace sisyfs
