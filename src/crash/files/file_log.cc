#include "crash/files/file_log.h"

#include <string_view>
#include <utility>

#include "base/assert.h"

namespace sisyfs {

FileContents::FileContents() : pages_{nullptr}, texts_{""} {
  known_pages_.emplace(digest_of(FilePage{}.data(), kFilePageBytes), 0);
  static constexpr std::string_view kGarbage = "garbage ";
  auto garbage = std::make_shared<FilePage>();
  for (size_t at = 0; at < kFilePageBytes; ++at)
    (*garbage)[at] = static_cast<std::byte>(kGarbage[at % kGarbage.size()]);
  const uint64_t number = page(std::move(garbage));
  SISYFS_ASSERT(number == kGarbagePage, "the first page");
}

uint64_t FileContents::page(FilePageRef page) {
  if (page == nullptr) return 0;
  const auto [known, is_new] = known_pages_.emplace(digest_of(page->data(), kFilePageBytes), pages_.size());
  if (is_new) pages_.push_back(std::move(page));
  return known->second;
}

uint64_t FileContents::text(const std::string& text) {
  const auto [known, is_new] = known_texts_.emplace(text, texts_.size());
  if (is_new) texts_.push_back(text);
  return known->second;
}

SlotId FileLog::slot(const Slot& slot, uint64_t value_at_start) {
  const auto [known, is_new] = by_slot_.emplace(slot, static_cast<SlotId>(slots_.size()));
  if (is_new) {
    slots_.push_back(slot);
    versions_.push_back({{kAtStart, value_at_start}});
    by_object_[slot.object].push_back(known->second);
  }
  return known->second;
}

const SlotId* FileLog::find(const Slot& slot) const {
  const auto found = by_slot_.find(slot);
  return found == by_slot_.end() ? nullptr : &found->second;
}

EventId FileLog::begin(FileEvent event) {
  events_.push_back(std::move(event));
  return static_cast<EventId>(events_.size() - 1);
}

void FileLog::set(SlotId slot, uint64_t value) {
  SISYFS_ASSERT(!events_.empty(), "a version belongs to an event");
  std::vector<FileVersion>& versions = versions_[slot];
  const auto event = static_cast<EventId>(events_.size() - 1);
  if (versions.back().event == event) {
    versions.back().value = value;
    return;
  }
  events_.back().steps.push_back({slot, static_cast<uint32_t>(versions.size())});
  versions.push_back({event, value});
}

std::span<const SlotId> FileLog::slots_of(FileId object) const {
  const auto found = by_object_.find(object);
  if (found == by_object_.end()) return {};
  return found->second;
}

}  // namespace sisyfs
