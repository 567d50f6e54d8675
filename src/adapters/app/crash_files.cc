#include "adapters/app/crash_files.h"

#include <algorithm>
#include <set>

#include "base/assert.h"

namespace sisyfs {

StoredFile CrashFiles::object(FileId id) {
  const StoredFile* const last = recording_.last.find(id);
  SISYFS_ASSERT(last != nullptr, "an object that was recorded");
  // It may have been removed later.
  const uint32_t links = std::max(last->links, 1U);
  if (const StoredFile* const start = recording_.start.find(id);
      start != nullptr && recording_.log.slots_of(id).empty()) {
    StoredFile out = *start;
    out.links = links;
    return out;
  }
  StoredFile out = *last;
  out.pages.clear();
  out.entries.clear();
  out.attributes.clear();
  out.links = links;
  out.open_size = out.open_pages = out.type == S_IFREG;
  out.open_entries = out.is_directory();
  out.open_mode = out.open_attributes = true;
  return out;
}

FileId CrashFiles::entry(FileId directory, const std::string& name) {
  if (const SlotId* const slot = recording_.log.find({SlotKind::kEntry, directory, 0, name}))
    return static_cast<FileId>(picks_.value(*slot));
  const StoredFile* const start = recording_.start.find(directory);
  if (start == nullptr) return kNoFile;
  const auto found = start->entries.find(name);
  return found == start->entries.end() ? kNoFile : found->second;
}

std::vector<std::string> CrashFiles::names(FileId directory) {
  std::set<std::string> all;
  if (const StoredFile* const start = recording_.start.find(directory))
    for (const auto& [name, object] : start->entries) all.insert(name);
  for (const SlotId slot : recording_.log.slots_of(directory))
    if (recording_.log.slot_of(slot).kind == SlotKind::kEntry) all.insert(recording_.log.slot_of(slot).name);
  return {all.begin(), all.end()};
}

uint64_t CrashFiles::size(FileId file) {
  if (const SlotId* const slot = recording_.log.find({SlotKind::kSize, file, 0, ""}))
    return picks_.value(*slot);
  const StoredFile* const start = recording_.start.find(file);
  return start == nullptr ? 0 : start->size;
}

FilePageRef CrashFiles::page(FileId file, uint64_t page) {
  if (const SlotId* const slot = recording_.log.find({SlotKind::kPage, file, page, ""}))
    return recording_.log.contents().page_of(picks_.value(*slot));
  const StoredFile* const start = recording_.start.find(file);
  if (start == nullptr) return nullptr;
  const auto found = start->pages.find(page);
  return found == start->pages.end() ? nullptr : found->second;
}

mode_t CrashFiles::mode(FileId object) {
  if (const SlotId* const slot = recording_.log.find({SlotKind::kMode, object, 0, ""}))
    return static_cast<mode_t>(picks_.value(*slot));
  const StoredFile* const start = recording_.start.find(object);
  return start != nullptr ? start->mode : recording_.last.find(object)->mode;
}

std::map<std::string, std::string> CrashFiles::attributes(FileId object) {
  std::map<std::string, std::string> out;
  if (const StoredFile* const start = recording_.start.find(object)) out = start->attributes;
  for (const SlotId slot : recording_.log.slots_of(object)) {
    if (recording_.log.slot_of(slot).kind != SlotKind::kAttribute) continue;
    const std::string& name = recording_.log.slot_of(slot).name;
    const uint64_t value = picks_.value(slot);
    if (value == 0)
      out.erase(name);
    else
      out[name] = recording_.log.contents().text_of(value).substr(1);
  }
  return out;
}

}  // namespace sisyfs
