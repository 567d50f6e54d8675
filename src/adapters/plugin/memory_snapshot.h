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
// from this one. Digests can be compared with those of any process that has loaded the same libraries: a
// digest is of what has changed since make(), with known addresses in a form that is the same everywhere
// (known_addresses.h).
//
// One thread at a time; the plug-in does not run during a call. A thread that begins to use it calls
// use_this_thread() before the plug-in runs there, because each thread has thread-local variables of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adapters/plugin/known_addresses.h"
#include "adapters/plugin/memory_image.h"
#include "adapters/plugin/memory_range.h"
#include "adapters/plugin/page_tracker.h"
#include "base/result.h"

namespace sisyfs {

class PluginMemory {
 public:
  // The ranges must outlive this object. An error says what the tracker lacks on this system.
  static Result<std::unique_ptr<PluginMemory>> make(std::vector<MemoryRange> ranges, Tracker tracker,
                                                    KnownAddresses known = {});
  ~PluginMemory();
  PluginMemory(const PluginMemory&) = delete;
  PluginMemory& operator=(const PluginMemory&) = delete;

  MemoryImage save();
  // kHasNotRun: the plug-in has not run since the last save() or load(), so there are no changes to look for.
  enum class Since { kMayHaveRun, kHasNotRun };
  void load(const MemoryImage& wanted, Since since = Since::kMayHaveRun);

  // What stands for an address in digests.
  uint64_t stable(const void* address) const { return known_.stable(reinterpret_cast<uintptr_t>(address)); }
  // Gives the thread-local variables of this thread the content that was last saved or loaded.
  void use_this_thread();

  // Changes the tracker. Images stay valid. After an error the old tracker is still in use.
  Status use(Tracker tracker);
  Tracker tracker() const { return tracker_kind_; }

  // Bytes of a piece: the unit that is compared and stored.
  static constexpr size_t kPiece = 256;

 private:
  struct Keep;    // looks at pages for save()
  struct Revert;  // and for load()

  PluginMemory(std::vector<MemoryRange> ranges, KnownAddresses known);
  Status start(Tracker tracker);
  void save_all();
  // Of the content that the shadow has for this piece.
  Digest digest_of_piece(size_t piece) const;
  void save_piece(const std::byte* live, size_t offset, size_t size);
  void save_pieces(const std::byte* live, size_t offset, size_t size);
  void revert_pieces(std::byte* live, size_t offset, size_t size);

  // Offsets count through all ranges, each of which begins at a whole page: first the paged ones.
  struct Unpaged {
    std::byte* begin;
    size_t offset, size;
    size_t tls_module;  // as in MemoryRange
    size_t known;       // its number in known_
  };
  PageMap map_;
  std::vector<Unpaged> unpaged_;
  size_t total_;  // bytes, rounded up to pages
  std::byte* shadow_ = nullptr;
  std::byte* base_ = nullptr;  // the content at the start
  bool started_ = false;       // base_ is complete
  KnownAddresses known_;
  size_t known_stack_;   // the stack of the current thread
  uint64_t thread_ = 0;  // stands for the current thread
  ImageCursor cursor_;   // at the image that the shadow holds
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
