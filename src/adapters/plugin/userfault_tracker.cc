// The tracker by userfaultfd. With WP_ASYNC the kernel opens a write-protected page by itself at the first
// write, and PAGEMAP_SCAN lists the pages that are open. As with mprotect, a page stays open while it keeps
// changing.
//
// The scan takes a page that was never touched for an open one, so these are protected too: up to the end of
// a page table (2 MiB) that covers what is in use, and further when the use grows.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "adapters/plugin/page_tracker.h"
#include "adapters/plugin/process_guard.h"
#include "base/assert.h"

namespace sisyfs {
namespace {

// Newer than the headers of Debian 12; linux/userfaultfd.h and linux/fs.h of Linux 6.7 have them.
constexpr uint64_t kFeatureWpUnpopulated = 1u << 13, kFeatureWpAsync = 1u << 15;
constexpr int kUserModeOnly = 1;
struct PageRegion {
  uint64_t start, end, categories;
};
struct ScanArguments {
  uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages;
  uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanArguments);
constexpr uint64_t kPageIsWritten = 1u << 1, kProtectMatching = 1u << 0, kCheckWpAsync = 1u << 1;

class UserfaultTracker final : public PageTracker {
 public:
  explicit UserfaultTracker(const PageMap& map)
      : map_(map), heat_(map.pages(), kSoon), covered_(map.spans().size()) {
    closing_.reserve(map.pages());
  }
  ~UserfaultTracker() override { stop(); }
  UserfaultTracker(const UserfaultTracker&) = delete;
  UserfaultTracker& operator=(const UserfaultTracker&) = delete;

  Status start();

  void sweep(PageLook& looker) override {
    if (getpid() != process_) start_again(looker);
    heat_.next_sweep();
    for (size_t i = 0; i < covered_.size(); ++i) {
      const PageSpan& span = map_.spans()[i];
      for (size_t page = covered_[i]; page < span.pages_used(); ++page)
        looker.look(span.first + page, span.begin + page * kPageSize);
      SISYFS_ASSERT(cover(i), "memory that could be protected at the start can be later");
      uint64_t from = reinterpret_cast<uint64_t>(span.begin);
      const uint64_t end = from + covered_[i] * kPageSize;
      while (from < end) {
        const int count = scan(from, end);
        SISYFS_ASSERT(count >= 0, "a scan that worked at the start works later");
        for (size_t n = 0; n < static_cast<size_t>(count); ++n) look_at(span, regions_[n], looker);
      }
      close_cooled();
    }
  }

 private:
  void stop() {
    if (pagemap_ >= 0) close_kept(pagemap_);
    if (userfault_ >= 0) close_kept(userfault_);  // ends the protection too
    pagemap_ = userfault_ = -1;
  }

  // In a child of the process that started it nothing is tracked: any page may have changed.
  void start_again(PageLook& looker) {
    stop();
    for (const PageSpan& span : map_.spans())
      for (size_t page = 0; page < std::max(span.pages_used(), covered_[index_of(span)]); ++page)
        looker.look(span.first + page, span.begin + page * kPageSize);
    covered_.assign(covered_.size(), 0);
    heat_ = detail::PageHeat(map_.pages(), kSoon);
    SISYFS_ASSERT(start(), "what worked in the parent works in the child");
  }
  size_t index_of(const PageSpan& span) const { return static_cast<size_t>(&span - map_.spans().data()); }

  // Fills in regions_ and moves `from` on. The number of regions, or -1.
  int scan(uint64_t& from, uint64_t end) {
    ScanArguments arguments{};
    arguments.size = sizeof arguments;
    arguments.flags = kCheckWpAsync;
    arguments.start = from;
    arguments.end = end;
    arguments.regions = reinterpret_cast<uint64_t>(regions_.data());
    arguments.region_count = regions_.size();
    arguments.category_mask = kPageIsWritten;
    arguments.return_mask = kPageIsWritten;
    const int count = ioctl(pagemap_, kPagemapScan, &arguments);
    from = arguments.walk_end;
    return count;
  }

  void look_at(const PageSpan& span, const PageRegion& region, PageLook& looker) {
    for (uint64_t at = region.start; at < region.end; at += kPageSize) {
      auto* const memory = reinterpret_cast<std::byte*>(at);
      const size_t page = span.first + static_cast<size_t>(memory - span.begin) / kPageSize;
      if (!heat_.is_open(page)) heat_.opened(page);
      if (!heat_.cooled(page, looker.look(page, memory))) continue;
      heat_.closed(page);
      closing_.push_back(memory);
    }
  }

  // One by one, or all pages between the first and the last at once: then those that keep changing are closed
  // too, and are opened by the next write for less than a call costs.
  void close_cooled() {
    if (closing_.size() > kOneByOne) {
      ScanArguments arguments{};
      arguments.size = sizeof arguments;
      arguments.flags = kCheckWpAsync | kProtectMatching;
      arguments.start = reinterpret_cast<uint64_t>(closing_.front());
      arguments.end = reinterpret_cast<uint64_t>(closing_.back()) + kPageSize;
      arguments.category_mask = kPageIsWritten;
      SISYFS_ASSERT(ioctl(pagemap_, kPagemapScan, &arguments) >= 0,
                    "a scan that worked at the start works later");
    } else {
      for (std::byte* const memory : closing_) (void)watch(memory, 1);
    }
    closing_.clear();
  }

  // Protects all that is in use and was not covered before.
  bool cover(size_t i) {
    const PageSpan& span = map_.spans()[i];
    const size_t had = covered_[i];
    if (had >= span.pages_used()) return true;
    constexpr size_t kTable = 512;
    covered_[i] = std::min((span.pages_used() + kTable - 1) / kTable * kTable, span.pages);
    return watch(span.begin + had * kPageSize, covered_[i] - had);
  }

  bool watch(std::byte* memory, size_t pages) const {
    uffdio_writeprotect protect{};
    protect.range = {reinterpret_cast<uint64_t>(memory), pages * kPageSize};
    protect.mode = UFFDIO_WRITEPROTECT_MODE_WP;
    return pages == 0 || ioctl(userfault_, UFFDIO_WRITEPROTECT, &protect) == 0;
  }

  const PageMap& map_;
  static constexpr uint32_t kSoon = 12;
  static constexpr size_t kOneByOne = 6;
  detail::PageHeat heat_;
  std::vector<std::byte*> closing_;  // pages of one span that a sweep has found to be idle, in order
  std::vector<size_t> covered_;      // pages from the start of each span
  std::array<PageRegion, 256> regions_{};
  int userfault_ = -1, pagemap_ = -1;
  pid_t process_ = 0;
};

Status UserfaultTracker::start() {
  const auto failed = [](const char* what) {
    return system_error(fmt::format("userfaultfd: {}: {}", what, std::strerror(errno)));
  };
  process_ = getpid();
  userfault_ = keep_descriptor(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly)));
  if (userfault_ < 0) return failed("not available");
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = kFeatureWpAsync | kFeatureWpUnpopulated | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  if (ioctl(userfault_, UFFDIO_API, &api) != 0) return failed("the kernel lacks WP_ASYNC (Linux 6.7)");
  pagemap_ = keep_descriptor(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (pagemap_ < 0) return failed("/proc/self/pagemap");
  for (const PageSpan& span : map_.spans()) {
    uffdio_register range{};
    range.range = {reinterpret_cast<uint64_t>(span.begin), span.pages * kPageSize};
    range.mode = UFFDIO_REGISTER_MODE_WP;
    if (ioctl(userfault_, UFFDIO_REGISTER, &range) != 0) return failed("cannot register memory");
    if (!cover(index_of(span))) return failed("cannot protect memory");
    uint64_t from = range.range.start;
    if (scan(from, from + kPageSize) < 0) return failed("the kernel lacks PAGEMAP_SCAN (Linux 6.7)");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<PageTracker>> detail::make_userfault_tracker(const PageMap& map) {
  auto tracker = std::make_unique<UserfaultTracker>(map);
  if (Status s = tracker->start(); !s) return s.error();
  return std::unique_ptr<PageTracker>(std::move(tracker));
}

}  // namespace sisyfs
