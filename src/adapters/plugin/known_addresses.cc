#include "adapters/plugin/known_addresses.h"

#include <link.h>

#include <algorithm>
#include <span>

namespace sisyfs {

size_t KnownAddresses::add(const void* begin, size_t size) {
  ranges_.push_back({});
  move(ranges_.size() - 1, begin, size);
  return ranges_.size() - 1;
}

void KnownAddresses::move(size_t number, const void* begin, size_t size) {
  ranges_[number] = {reinterpret_cast<uintptr_t>(begin), size};
  update_bounds();
}

int KnownAddresses::add_object(dl_phdr_info* object, size_t, void* known) {
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (const ElfW(Phdr) & h : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (h.p_type != PT_LOAD) continue;
    begin = std::min<uintptr_t>(begin, object->dlpi_addr + h.p_vaddr);
    end = std::max<uintptr_t>(end, object->dlpi_addr + h.p_vaddr + h.p_memsz);
  }
  if (begin < end)
    static_cast<KnownAddresses*>(known)->add(reinterpret_cast<const void*>(begin), end - begin);
  return 0;
}

void KnownAddresses::add_loaded_objects() { dl_iterate_phdr(add_object, this); }

// No address of a process has these upper bits.
uint64_t KnownAddresses::named(uint64_t word) const {
  constexpr uint64_t kMark = uint64_t{0xADD2} << 48;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const uint64_t offset = word - ranges_[i].begin;
    if (offset < ranges_[i].size) return kMark | (i + 1) << 40 | (offset & ((uint64_t{1} << 40) - 1));
  }
  return word;
}

void KnownAddresses::update_bounds() {
  uint64_t lowest = UINT64_MAX, end = 0;
  for (const Range& range : ranges_) {
    if (range.size == 0) continue;
    lowest = std::min(lowest, range.begin);
    end = std::max(end, range.begin + range.size);
  }
  lowest_ = lowest;
  extent_ = end > lowest ? end - lowest : 0;
}

}  // namespace sisyfs
