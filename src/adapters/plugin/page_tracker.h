// PageTracker: names the pages that may have changed since the last sweep.
//
// A tracker may name pages that did not change; the caller compares each page with its copy. So a page that
// changes often is not watched: it is named in each sweep, which costs one comparison (50 ns) instead of a
// fault (1 to 5 us). It is watched again once it has not changed for a while. There are three trackers:
//
// clang-format off
//   compare      watches nothing and names every page in use. Needs nothing of the system; best for small
//                memories.
//   mprotect     makes pages read-only; the first write faults (adapters/plugin/page_fault.h). A system call
//                that writes to such a page (read(2) into a buffer on the heap) fails with EFAULT.
//   userfaultfd  the kernel marks pages that are written (WP_ASYNC, Linux 6.7) and lists them
//                (PAGEMAP_SCAN). Sees writes by system calls too. A child of fork() starts it anew.
// clang-format on
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "adapters/plugin/memory_range.h"
#include "base/result.h"

namespace sisyfs {

enum class Tracker { kCompare, kProtect, kUserfault };
inline constexpr Tracker kTrackers[] = {Tracker::kCompare, Tracker::kProtect, Tracker::kUserfault};
std::string_view name_of(Tracker tracker);

// The pages of the paged ranges, numbered from 0 in their order.
struct PageSpan {
  std::byte* begin = nullptr;
  size_t first = 0, pages = 0;
  const uint64_t* used = nullptr;  // as in MemoryRange

  // How many pages have bytes in use.
  size_t pages_used() const;
};

class PageMap {
 public:
  explicit PageMap(const std::vector<MemoryRange>& ranges);
  static constexpr size_t kNone = SIZE_MAX;

  const std::vector<PageSpan>& spans() const { return spans_; }
  size_t pages() const { return spans_.empty() ? 0 : spans_.back().first + spans_.back().pages; }
  std::byte* address(size_t page) const {
    for (const PageSpan& span : spans_)
      if (page - span.first < span.pages) return span.begin + (page - span.first) * kPageSize;
    return nullptr;
  }
  // The page that has this address, or kNone.
  size_t page_of(const void* address) const {
    for (const PageSpan& span : spans_) {
      const size_t offset = static_cast<size_t>(static_cast<const std::byte*>(address) - span.begin);
      if (offset < span.pages * kPageSize) return span.first + offset / kPageSize;
    }
    return kNone;
  }

 private:
  std::vector<PageSpan> spans_;
};

// Compares a page with its copy, and may write to it. True if the page had changed.
class PageLook {
 public:
  virtual bool look(size_t page, std::byte* memory) = 0;

 protected:
  ~PageLook() = default;
};

class PageTracker {
 public:
  virtual ~PageTracker() = default;
  // Names each page that may have changed since the last sweep, once, in any order.
  virtual void sweep(PageLook& looker) = 0;
  // Call this before the engine itself writes to a page outside of a sweep.
  virtual void will_write(size_t page) { (void)page; }
  // The engine has seen or made all changes until now.
  virtual void synced() {}
};

// Starts to track: writes from here on are seen. The map must outlive the tracker. An error says what
// the system lacks.
Result<std::unique_ptr<PageTracker>> make_tracker(Tracker tracker, const PageMap& map);

namespace detail {
// Decides when to watch an open (writable) page again. A page that changes every few sweeps is cheaper to
// compare than to watch. So a page is closed after `patience` sweeps without a change, and its patience grows
// if it is opened again soon after.
class PageHeat {
 public:
  // `soon`: as many comparisons cost as much as opening and closing a page.
  PageHeat(size_t pages, uint32_t soon) : soon_(soon), pages_(pages) {}

  bool is_open(size_t page) const { return pages_[page].open; }
  void next_sweep() { ++sweep_; }
  void opened(size_t page) {
    Page& p = pages_[page];
    if (sweep_ - p.closed < soon_)
      p.patience = static_cast<uint8_t>(p.patience < kMost / 4 ? p.patience * 4 : kMost);
    else
      p.patience = static_cast<uint8_t>(p.patience < 2 * kLeast ? kLeast : p.patience / 2);
    p.open = true;
    p.idle = 0;
  }
  void closed(size_t page) {
    pages_[page].open = false;
    pages_[page].closed = sweep_;
  }
  // Called once in a sweep for each open page. True if it is to be closed now.
  bool cooled(size_t page, bool changed) {
    Page& p = pages_[page];
    p.idle = changed ? 0 : static_cast<uint8_t>(p.idle + 1);
    return p.idle >= p.patience;
  }

 private:
  static constexpr uint8_t kLeast = 1, kMost = 64;
  struct Page {
    uint32_t closed = 0;
    uint8_t idle = 0, patience = kLeast;
    bool open = false;
  };
  uint32_t soon_, sweep_ = 1u << 31;  // large: at the start no page was closed recently
  std::vector<Page> pages_;
};

std::unique_ptr<PageTracker> make_compare_tracker(const PageMap& map);
Result<std::unique_ptr<PageTracker>> make_protect_tracker(const PageMap& map);
Result<std::unique_ptr<PageTracker>> make_userfault_tracker(const PageMap& map);
}  // namespace detail

}  // namespace sisyfs
