#include "adapters/plugin/memory_snapshot.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>

#include "base/assert.h"

namespace sisyfs {
namespace {

size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

size_t total_of(const std::vector<MemoryRange>& ranges) {
  size_t total = 0;
  for (const MemoryRange& range : ranges) total += round_up(range.size, kPageSize);
  return total;
}

// Which of the pieces of a page differ, as bits from the lowest: one pass over both pages in wide words,
// where memcmp() would be called for each piece.
uint32_t pieces_that_differ(const std::byte* page, const std::byte* other) {
  if (std::memcmp(page, other, kPageSize) == 0) return 0;
  using Wide [[gnu::vector_size(64), gnu::may_alias]] = uint64_t;
  constexpr size_t kWidePerPiece = PluginMemory::kPiece / sizeof(Wide);
  const auto* a = reinterpret_cast<const Wide*>(page);
  const auto* b = reinterpret_cast<const Wide*>(other);
  uint32_t differ = 0;
  for (uint32_t bit = 1; bit < 1u << (kPageSize / PluginMemory::kPiece); bit <<= 1) {
    Wide wide{};
    for (size_t i = 0; i < kWidePerPiece; ++i) wide |= *a++ ^ *b++;
    const uint64_t any = wide[0] | wide[1] | wide[2] | wide[3] | wide[4] | wide[5] | wide[6] | wide[7];
    differ |= any != 0 ? bit : 0;
  }
  return differ;
}

}  // namespace

struct PluginMemory::Keep final : PageLook {
  explicit Keep(PluginMemory& memory) : memory(memory) {}
  bool look(size_t page, std::byte* live) override {
    const size_t offset = page * kPageSize;
    const uint32_t differ = pieces_that_differ(live, memory.shadow_ + offset);
    for (uint32_t left = differ; left != 0; left &= left - 1) {
      const size_t at = static_cast<size_t>(std::countr_zero(left)) * kPiece;
      memory.save_piece(live + at, offset + at, kPiece);
    }
    return differ != 0;
  }
  PluginMemory& memory;
};

struct PluginMemory::Revert final : PageLook {
  explicit Revert(PluginMemory& memory) : memory(memory) {}
  bool look(size_t page, std::byte* live) override {
    const std::byte* const shadow = memory.shadow_ + page * kPageSize;
    const uint32_t differ = pieces_that_differ(live, shadow);
    for (uint32_t left = differ; left != 0; left &= left - 1) {
      const size_t at = static_cast<size_t>(std::countr_zero(left)) * kPiece;
      std::memcpy(live + at, shadow + at, kPiece);
    }
    return differ != 0;
  }
  PluginMemory& memory;
};

PluginMemory::PluginMemory(std::vector<MemoryRange> ranges, KnownAddresses known)
    : map_(ranges),
      total_(std::max(total_of(ranges), kPageSize)),
      known_(std::move(known)),
      known_stack_(known_.add(nullptr, 0)),
      cursor_(Geometry{.block_size = kPiece, .block_count = BlockCount(total_ / kPiece)}) {
  size_t offset = map_.pages() * kPageSize;
  for (const MemoryRange& range : ranges) {
    if (range.paged) continue;
    unpaged_.push_back(
        {range.begin, offset, range.size, range.tls_module, known_.add(range.begin, range.size)});
    offset += round_up(range.size, kPageSize);
  }
}

PluginMemory::~PluginMemory() {
  tracker_.reset();
  if (shadow_ != nullptr) munmap(shadow_, total_);
  if (base_ != nullptr) munmap(base_, total_);
}

Result<std::unique_ptr<PluginMemory>> PluginMemory::make(std::vector<MemoryRange> ranges, Tracker tracker,
                                                         KnownAddresses known) {
  for (const MemoryRange& range : ranges)
    SISYFS_ASSERT(!range.paged || (reinterpret_cast<uintptr_t>(range.begin) | range.size) % kPageSize == 0,
                  "a paged range is whole pages");
  std::unique_ptr<PluginMemory> memory(new PluginMemory(std::move(ranges), std::move(known)));
  if (Status s = memory->start(tracker); !s) return s.error();
  return memory;
}

Status PluginMemory::start(Tracker tracker) {
  const auto map = [&](std::byte*& memory) {
    void* const at =
        mmap(nullptr, total_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) memory = static_cast<std::byte*>(at);
    return at != MAP_FAILED;
  };
  if (!map(shadow_) || !map(base_))
    return system_error("no address space for the copy of a plug-in's memory");
  use_this_thread();
  for (const Unpaged& range : unpaged_) save_pieces(range.begin, range.offset, range.size);
  const Status used = use(tracker);
  started_ = true;
  return used;
}

void PluginMemory::use_this_thread() {
  // Not by an address or an id of the system: a later thread may have the same.
  static constinit std::atomic<uint64_t> threads{0};
  static constinit thread_local uint64_t here = 0;
  if (here == 0) here = ++threads;
  if (thread_ == here) return;
  thread_ = here;
  for (Unpaged& range : unpaged_) {
    if (!started_ || range.tls_module == 0) continue;
    range.begin = thread_locals(range.tls_module);
    std::memcpy(range.begin, shadow_ + range.offset, range.size);
    known_.move(range.known, range.begin, range.size);
  }
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* stack = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &stack, &size) == 0) known_.move(known_stack_, stack, size);
  pthread_attr_destroy(&attributes);
}

Status PluginMemory::use(Tracker tracker) {
  const bool first = tracker_ == nullptr;
  const Tracker old = tracker_kind_;
  save_all();  // what the old tracker knows is lost
  tracker_.reset();
  Result<std::unique_ptr<PageTracker>> made = make_tracker(tracker, map_);
  tracker_kind_ = made ? tracker : old;
  if (made) {
    tracker_ = std::move(*made);
  } else if (!first) {
    Result<std::unique_ptr<PageTracker>> again = make_tracker(old, map_);
    tracker_ = again ? std::move(*again) : detail::make_compare_tracker(map_);
  }
  return made ? Status() : Status(made.error());
}

void PluginMemory::save_piece(const std::byte* live, size_t offset, size_t size) {
  std::memcpy(shadow_ + offset, live, size);
  if (!started_) std::memcpy(base_ + offset, live, size);
  const size_t piece = offset / kPiece;
  cursor_.change(piece, make_block({shadow_ + offset, kPiece}, digest_of_piece(piece)));
}

// Of words that have not changed since the start it is enough to know that. Some of those are random in each
// process (libc guards pointers with a random number).
Digest PluginMemory::digest_of_piece(size_t piece) const {
  constexpr size_t kWords = kPiece / sizeof(uint64_t);
  uint64_t now[kWords], base[kWords], stable[kWords + 2];
  std::memcpy(now, shadow_ + piece * kPiece, kPiece);
  std::memcpy(base, base_ + piece * kPiece, kPiece);
  uint64_t changed = 0;
  for (size_t i = 0; i < kWords; ++i) {
    const bool differs = now[i] != base[i];
    changed |= uint64_t{differs} << i;
    stable[i] = differs ? known_.stable(now[i]) : 0;
  }
  stable[kWords] = changed;
  stable[kWords + 1] = piece;  // equal digests have to mean equal bytes
  return digest_of(stable, sizeof stable);
}

// The last piece may be cut short by the end of the range; the shadow holds zeros there.
void PluginMemory::save_pieces(const std::byte* live, size_t offset, size_t size) {
  for (size_t at = 0; at < size; at += kPiece) {
    const size_t length = std::min(kPiece, size - at);
    if (std::memcmp(live + at, shadow_ + offset + at, length) != 0)
      save_piece(live + at, offset + at, length);
  }
}

void PluginMemory::revert_pieces(std::byte* live, size_t offset, size_t size) {
  for (size_t at = 0; at < size; at += kPiece) {
    const size_t length = std::min(kPiece, size - at);
    if (std::memcmp(live + at, shadow_ + offset + at, length) != 0)
      std::memcpy(live + at, shadow_ + offset + at, length);
  }
}

void PluginMemory::save_all() {
  if (tracker_ != nullptr) (void)save();
  Keep keep(*this);
  detail::make_compare_tracker(map_)->sweep(keep);
  (void)cursor_.commit();
}

MemoryImage PluginMemory::save() {
  use_this_thread();  // the one before may be gone, with its thread-local variables
  for (const Unpaged& range : unpaged_) save_pieces(range.begin, range.offset, range.size);
  Keep keep(*this);
  tracker_->sweep(keep);
  tracker_->synced();
  return cursor_.commit();
}

void PluginMemory::load(const MemoryImage& wanted, Since since) {
  use_this_thread();
  if (since == Since::kMayHaveRun) {
    for (const Unpaged& range : unpaged_) revert_pieces(range.begin, range.offset, range.size);
    Revert revert(*this);
    tracker_->sweep(revert);
  }
  const size_t paged = map_.pages() * kPageSize;
  cursor_.move_to(wanted, [&](size_t piece, const Block* block) {
    const size_t offset = piece * kPiece;
    if (block == nullptr)
      std::memset(shadow_ + offset, 0, kPiece);
    else
      std::memcpy(shadow_ + offset, block->bytes().data(), kPiece);
    if (offset >= paged) return;  // those follow below
    tracker_->will_write(offset / kPageSize);
    std::memcpy(map_.address(offset / kPageSize) + offset % kPageSize, shadow_ + offset, kPiece);
  });
  for (const Unpaged& range : unpaged_) revert_pieces(range.begin, range.offset, range.size);
  tracker_->synced();
}

TrackerChoice choose_tracker(PluginMemory& memory, const std::function<void()>& work, int rounds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kEnough{
      20};  // for a tracker: with slow calls the choice matters little
  const MemoryImage start = memory.save();
  TrackerChoice choice{memory.tracker(), ""};
  double best = 0;
  std::string others;
  std::vector<std::pair<Tracker, std::string>> costs;
  for (const Tracker tracker : kTrackers) {
    if (Status s = memory.use(tracker); !s) {
      costs.emplace_back(tracker, s.error().message);
      continue;
    }
    std::vector<double> times;
    const Clock::time_point first = Clock::now();
    for (int round = -rounds / 4; round < rounds; ++round) {  // at first pages are still being found
      const Clock::time_point began = Clock::now();
      if (!times.empty() && began - first > kEnough) break;
      work();
      (void)memory.save();
      memory.load(start, PluginMemory::Since::kHasNotRun);
      if (round >= 0)
        times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
    }
    const size_t middle = times.size() / 2;
    std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(middle), times.end());
    const double cost = times[middle];
    costs.emplace_back(tracker, fmt::format("{:.1f} us", cost));
    if (best == 0 || cost < best) choice.tracker = tracker, best = cost;
  }
  (void)memory.use(choice.tracker);
  for (const auto& [tracker, cost] : costs)
    if (tracker != choice.tracker)
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", name_of(tracker), cost);
  choice.why =
      fmt::format("{}: {:.1f} us for a call, a save and a load; {}", name_of(choice.tracker), best, others);
  return choice;
}

}  // namespace sisyfs
