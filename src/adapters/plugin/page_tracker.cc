#include "adapters/plugin/page_tracker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace sisyfs {
namespace {

// Compares a little more than is in use: a write just behind the end of the heap is seen.
constexpr size_t kMargin = 4;

class CompareTracker final : public PageTracker {
 public:
  explicit CompareTracker(const PageMap& map) : map_(map), used_(map.spans().size()) { synced(); }

  void sweep(PageLook& looker) override {
    for (size_t i = 0; i < used_.size(); ++i) {
      const PageSpan& span = map_.spans()[i];
      const size_t end = std::min(std::max(used_[i], span.pages_used()) + kMargin, span.pages);
      for (size_t page = 0; page < end; ++page) looker.look(span.first + page, span.begin + page * kPageSize);
    }
  }

  void synced() override {
    for (size_t i = 0; i < used_.size(); ++i) used_[i] = map_.spans()[i].pages_used();
  }

 private:
  const PageMap& map_;
  std::vector<size_t> used_;  // of each span, when it was last synced
};

}  // namespace

std::string_view name_of(Tracker tracker) {
  switch (tracker) {
    case Tracker::kCompare:
      return "compare";
    case Tracker::kProtect:
      return "mprotect";
    case Tracker::kUserfault:
      return "userfaultfd";
  }
  return "";
}

size_t PageSpan::pages_used() const {
  if (used == nullptr) return pages;
  // The count is the plug-in's to overwrite.
  return std::min<uint64_t>(*used / kPageSize + (*used % kPageSize != 0 ? 1 : 0), pages);
}

PageMap::PageMap(const std::vector<MemoryRange>& ranges) {
  size_t first = 0;
  for (const MemoryRange& range : ranges) {
    if (!range.paged) continue;
    spans_.push_back({range.begin, first, range.size / kPageSize, range.used});
    first += range.size / kPageSize;
  }
}

std::unique_ptr<PageTracker> detail::make_compare_tracker(const PageMap& map) {
  return std::make_unique<CompareTracker>(map);
}

Result<std::unique_ptr<PageTracker>> make_tracker(Tracker tracker, const PageMap& map) {
  if (tracker == Tracker::kCompare) return detail::make_compare_tracker(map);
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(kPageSize))
    return system_error(fmt::format("{}: pages of this machine are not of 4 KiB", name_of(tracker)));
  return tracker == Tracker::kProtect ? detail::make_protect_tracker(map)
                                      : detail::make_userfault_tracker(map);
}

}  // namespace sisyfs
