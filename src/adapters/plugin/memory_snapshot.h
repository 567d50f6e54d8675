// PluginMemory: the memory of a plug-in, saved as a value and brought back.
//
// save() gives a MemoryImage: a value that is cheap to copy, whose digest says whether two memories are
// equal. What it costs depends on how much was written since the last save() or load(), not on how large the
// memory is; the same holds for load(), which also copies what differs between the memory at hand and the one
// that is wanted.
//
//   Result<std::unique_ptr<PluginMemory>> memory = PluginMemory::make(plugin.ranges(), Tracker::kCompare);
//   const MemoryImage before = (*memory)->save();
//   call_into_the_plug_in();
//   const MemoryImage after = (*memory)->save();
//   (*memory)->load(before);  // as if it had not been called
//
// Beside the live memory lies a shadow: what was last saved or loaded. A tracker
// (adapters/plugin/page_tracker.h) names the pages that may have changed; these are compared with the shadow
// in pieces of 256 bytes, and only pieces that differ are hashed, kept or copied. So an image holds what an
// op has changed and not the pages that it touched.
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
  // The ranges must be there as long as this is. An error says what the tracker lacks on this system.
  static Result<std::unique_ptr<PluginMemory>> make(std::vector<MemoryRange> ranges, Tracker tracker);
  ~PluginMemory();
  PluginMemory(const PluginMemory&) = delete;
  PluginMemory& operator=(const PluginMemory&) = delete;

  MemoryImage save();
  // Whoever knows that the plug-in has not run since the last save() or load() saves the search for what it
  // changed.
  enum class Since { kMayHaveRun, kHasNotRun };
  void load(const MemoryImage& wanted, Since since = Since::kMayHaveRun);

  // Changes the tracker. Images stay valid. After an error the old tracker is still in use.
  Status use(Tracker tracker);
  Tracker tracker() const { return tracker_kind_; }

  // What the ranges hold in pieces of this size is what is compared and kept.
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
