// The tracker by mprotect. A page is closed (read-only) or open (writable); a fault opens it, and when it has
// not changed for a while it is closed again.
#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "adapters/plugin/page_fault.h"
#include "adapters/plugin/page_tracker.h"

namespace sisyfs {
namespace {

bool protect(std::byte* begin, size_t bytes, int protection) {
  return mprotect(begin, bytes, protection) == 0;
}
constexpr int kClosed = PROT_READ, kOpen = PROT_READ | PROT_WRITE;

class ProtectTracker final : public PageTracker {
 public:
  explicit ProtectTracker(const PageMap& map) : map_(map), heat_(map.pages(), kSoon) {
    // The handler of a fault must not allocate.
    open_pages_.reserve(map.pages());
  }
  ~ProtectTracker() override;
  Status start();

  void sweep(PageLook& looker) override {
    heat_.next_sweep();
    for (size_t i = 0; i < open_pages_.size();) {
      const size_t page = open_pages_[i];
      std::byte* const memory = map_.address(page);
      if (heat_.cooled(page, looker.look(page, memory)) && protect(memory, kPageSize, kClosed)) {
        heat_.closed(page);
        open_pages_[i] = open_pages_.back();
        open_pages_.pop_back();
      } else {
        ++i;
      }
    }
  }

  void will_write(size_t page) override {
    if (!heat_.is_open(page)) open(page);
  }

  bool on_fault(void* address) {
    const size_t page = map_.page_of(address);
    return page != PageMap::kNone && !heat_.is_open(page) && open(page);
  }

 private:
  bool open(size_t page) {
    if (!protect(map_.address(page), kPageSize, kOpen)) return open_all();
    note_open(page);
    return true;
  }
  // The kernel limits how many pieces a mapping may have. A piece that is opened as a whole needs no more of
  // them.
  bool open_all() {
    for (const PageSpan& span : map_.spans()) {
      if (!protect(span.begin, span.pages * kPageSize, kOpen)) return false;
      for (size_t page = span.first; page < span.first + span.pages; ++page)
        if (!heat_.is_open(page)) note_open(page);
    }
    return true;
  }
  void note_open(size_t page) {
    heat_.opened(page);
    open_pages_.push_back(static_cast<uint32_t>(page));
  }

  const PageMap& map_;
  static constexpr uint32_t kSoon = 40;
  detail::PageHeat heat_;
  std::vector<uint32_t> open_pages_;
};

// The trackers of the process, for the handler: read in a signal, so without a lock.
constexpr size_t kMaxTrackers = 32;
std::array<std::atomic<ProtectTracker*>, kMaxTrackers> trackers{};

struct sigaction next_action;

void on_segv(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool ours = on_page_fault(info->si_addr);
  errno = error;
  if (ours) return;
  if ((next_action.sa_flags & SA_SIGINFO) != 0) return next_action.sa_sigaction(signal, info, context);
  if (next_action.sa_handler != SIG_DFL && next_action.sa_handler != SIG_IGN)
    return next_action.sa_handler(signal);
  sigaction(SIGSEGV, &next_action, nullptr);  // the fault comes again, and ends the process
}

Status ProtectTracker::start() {
  size_t slot = 0;
  for (ProtectTracker* none = nullptr; slot < kMaxTrackers; ++slot, none = nullptr)
    if (trackers[slot].compare_exchange_strong(none, this)) break;
  if (slot == kMaxTrackers) return system_error("mprotect: too many memories are tracked");
  for (const PageSpan& span : map_.spans())
    if (!protect(span.begin, span.pages * kPageSize, kClosed))
      return system_error(fmt::format("mprotect: {}", std::strerror(errno)));
  return {};
}

ProtectTracker::~ProtectTracker() {
  for (const PageSpan& span : map_.spans()) (void)protect(span.begin, span.pages * kPageSize, kOpen);
  for (std::atomic<ProtectTracker*>& tracker : trackers) {
    ProtectTracker* self = this;
    tracker.compare_exchange_strong(self, nullptr);
  }
}

}  // namespace

bool on_page_fault(void* address) {
  for (const std::atomic<ProtectTracker*>& slot : trackers) {
    ProtectTracker* const tracker = slot.load(std::memory_order_acquire);
    if (tracker != nullptr && tracker->on_fault(address)) return true;
  }
  return false;
}

void install_page_fault_handler() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_segv;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &next_action) == 0;
  }();
  (void)installed;
}

Result<std::unique_ptr<PageTracker>> detail::make_protect_tracker(const PageMap& map) {
  auto tracker = std::make_unique<ProtectTracker>(map);
  if (Status s = tracker->start(); !s) return s.error();
  return std::unique_ptr<PageTracker>(std::move(tracker));
}

}  // namespace sisyfs
