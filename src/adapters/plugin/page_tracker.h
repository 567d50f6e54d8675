// PageTracker: which pages may have changed since they were last looked at.
//
// A tracker may name pages that did not change; the one who looks compares each with what it knows. So a page
// that changes often need not be watched at all: it is named each time, which costs one comparison (50 ns)
// instead of a fault (1 to 5 us). Watching begins again once it has not changed for a while. Three ways to
// watch:
//
//   compare      not at all: every page in use is named. Needs nothing of the system; best for small
//   memories. mprotect     pages are read-only until the first write faults; adapters/plugin/page_fault.h. A
//   system call that
//                writes to such a page (read(2) into a buffer on the heap) does not fault but fails with
//                EFAULT.
//   userfaultfd  the kernel marks the pages that are written (WP_ASYNC, Linux 6.7) and lists them
//   (PAGEMAP_SCAN).
//                Sees system calls too. A child of fork() starts it anew at its first sweep.
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

// CrashPoints at a page; may write to it. Whether it had changed.
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
  // Before the engine itself writes to a page outside of a sweep.
  virtual void will_write(size_t page) { (void)page; }
  // The engine has seen or made all changes until now.
  virtual void synced() {}
};

// Starts to track; what is written from here on is seen. The map must outlive the tracker. An error says what
// the system lacks.
Result<std::unique_ptr<PageTracker>> make_tracker(Tracker tracker, const PageMap& map);

namespace detail {
// When to watch an open page again. A page that changes every few sweeps is cheaper to compare than to watch,
// one that changed once is not. So a page is closed after as many sweeps without a change as its patience
// says, and the patience grows when it is opened again soon after.
class PageHeat {
 public:
  // `soon`: how many comparisons cost as much as to open and close a page.
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
  // Once in a sweep for each open page. Whether to close it now.
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
  uint32_t soon_, sweep_ = 1u << 31;  // at the start nothing was closed for long
  std::vector<Page> pages_;
};

std::unique_ptr<PageTracker> make_compare_tracker(const PageMap& map);
Result<std::unique_ptr<PageTracker>> make_protect_tracker(const PageMap& map);
Result<std::unique_ptr<PageTracker>> make_userfault_tracker(const PageMap& map);
}  // namespace detail

}  // namespace sisyfs
