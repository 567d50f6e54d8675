// For tests: logs of calls to a few files, written out or random.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "crash/files/file_log.h"
#include "crash/files/file_rules.h"
#include "crash/files/file_states.h"

namespace sisyfs {

// A few files in two directories, to which calls are made.
class ToyFiles {
 public:
  FileLog log;

  FileId make(const std::string& name, FileId directory = kRootFile, bool is_directory = false) {
    const FileId made = next_++;
    begin(is_directory ? FileEventKind::kMkdir : FileEventKind::kCreate, made);
    set_entry(directory, name, made);
    (is_directory ? directories_ : files_).push_back(made);
    return made;
  }
  // Pages that are written are whole, but the end of the last one may be inside of it.
  EventId write(FileId file, uint64_t page, uint64_t pages, uint64_t end,
                FilePromise promise = FilePromise::kNone) {
    const EventId event = begin(FileEventKind::kWrite, file, promise);
    for (uint64_t i = page; i < page + pages; ++i) set_page(file, i, filled());
    if (end > sizes_[file]) set_size(file, end);
    return event;
  }
  EventId truncate(FileId file, uint64_t size) {
    const EventId event = begin(FileEventKind::kTruncate, file);
    for (uint64_t page = 0; page < 3; ++page)
      if (page * kFilePageBytes >= size && pages_[{file, page}] != 0) set_page(file, page, 0);
    set_size(file, size);
    return event;
  }
  EventId rename(const std::string& from, const std::string& to, FileId directory = kRootFile,
                 FileId new_directory = kRootFile) {
    const FileId object = names_[{directory, from}], replaced = names_[{new_directory, to}];
    const EventId event = begin(FileEventKind::kRename, object, FilePromise::kNone, replaced);
    set_entry(new_directory, to, object);
    set_entry(directory, from, kNoFile);
    return event;
  }
  EventId exchange(const std::string& from, const std::string& to) {
    const FileId one = names_[{kRootFile, from}], other = names_[{kRootFile, to}];
    const EventId event = begin(FileEventKind::kExchange, one);
    set_entry(kRootFile, to, one);
    set_entry(kRootFile, from, other);
    return event;
  }
  EventId link(FileId file, const std::string& name, FileId directory = kRootFile) {
    const EventId event = begin(FileEventKind::kLink, file);
    set_entry(directory, name, file);
    return event;
  }
  EventId unlink(const std::string& name, FileId directory = kRootFile) {
    const EventId event = begin(FileEventKind::kUnlink, names_[{directory, name}]);
    set_entry(directory, name, kNoFile);
    return event;
  }
  EventId chmod(FileId object, uint64_t mode) {
    const EventId event = begin(FileEventKind::kMode, object);
    log.set(log.slot({SlotKind::kMode, object, 0, ""}, 0644), mode);
    return event;
  }
  EventId set_attribute(FileId object, const std::string& value) {
    const EventId event = begin(FileEventKind::kAttribute, object);
    log.set(log.slot({SlotKind::kAttribute, object, 0, "user.a"}, 0), log.contents().text(value));
    return event;
  }
  EventId fsync(FileId object) { return begin(FileEventKind::kFsync, object, FilePromise::kAll); }
  EventId fdatasync(FileId object) { return begin(FileEventKind::kFdatasync, object, FilePromise::kData); }
  EventId sync() { return begin(FileEventKind::kSync, kNoFile, FilePromise::kEverything); }
  EventId close(FileId file) { return begin(FileEventKind::kClose, file); }

  const std::vector<FileId>& files() const { return files_; }
  const std::vector<FileId>& directories() const { return directories_; }
  FileId at(FileId directory, const std::string& name) const {
    const auto found = names_.find({directory, name});
    return found == names_.end() ? kNoFile : found->second;
  }
  bool is_directory(FileId id) const {
    return std::find(directories_.begin(), directories_.end(), id) != directories_.end();
  }
  uint64_t size(FileId file) const {
    const auto found = sizes_.find(file);
    return found == sizes_.end() ? 0 : found->second;
  }

 private:
  EventId begin(FileEventKind kind, FileId object, FilePromise promise = FilePromise::kNone,
                FileId replaced = kNoFile) {
    FileEvent event;
    event.kind = kind;
    event.promise = promise;
    event.object = object;
    event.replaced = replaced;
    return log.begin(std::move(event));
  }
  // A page that no other one is equal to.
  uint64_t filled() {
    auto page = std::make_shared<FilePage>();
    page->fill(static_cast<std::byte>(1 + written_ % 255));
    (*page)[0] = static_cast<std::byte>(++written_ / 255);
    return log.contents().page(std::move(page));
  }
  void set_entry(FileId directory, const std::string& name, FileId object) {
    FileId& now = names_[{directory, name}];
    log.set(log.slot({SlotKind::kEntry, directory, 0, name}, now), object);
    now = object;
  }
  void set_page(FileId file, uint64_t page, uint64_t value) {
    uint64_t& now = pages_[{file, page}];
    log.set(log.slot({SlotKind::kPage, file, page, ""}, now), value);
    now = value;
  }
  void set_size(FileId file, uint64_t size) {
    uint64_t& now = sizes_[file];
    log.set(log.slot({SlotKind::kSize, file, 0, ""}, now), size);
    now = size;
  }

  FileId next_ = kRootFile + 1;
  uint64_t written_ = 0;
  std::vector<FileId> files_, directories_{kRootFile};
  std::map<std::pair<FileId, std::string>, FileId> names_;
  std::map<std::pair<FileId, uint64_t>, uint64_t> pages_;
  std::map<FileId, uint64_t> sizes_;
};

// Number of assignments of versions to slots.
inline uint64_t assignments(const FileLog& log) {
  uint64_t all = 1;
  for (SlotId slot = 0; slot < log.slots(); ++slot) all *= log.versions(slot).size();
  return all;
}

// Calls until there are so many assignments, or so many calls.
inline ToyFiles random_files(std::mt19937& random, uint64_t most_assignments, size_t most_calls) {
  ToyFiles out;
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const std::vector<std::string> names{"a", "b", "c"};
  std::set<FileId> emptied;
  while (out.log.events().size() < most_calls && assignments(out.log) * 6 < most_assignments) {
    const FileId directory = out.directories()[below(out.directories().size())];
    const std::string& name = names[below(names.size())];
    const FileId named = out.at(directory, name);
    if (out.files().empty() || (named == kNoFile && below(3) == 0)) {
      if (named == kNoFile) out.make(name, directory, out.directories().size() == 1 && below(3) == 0);
      continue;
    }
    const FileId file = out.files()[below(out.files().size())];
    const FileId object = below(3) == 0 ? directory : file;
    switch (below(14)) {
      case 0:
      case 1:
      case 2: {
        const uint64_t page = below(2), pages = 1 + below(2);
        const FilePromise promises[] = {FilePromise::kNone, FilePromise::kNone, FilePromise::kNone,
                                        FilePromise::kData, FilePromise::kAll};
        out.write(file, page, pages, (page + pages) * kFilePageBytes - below(2) * 100, promises[below(5)]);
        break;
      }
      case 3:
        if (const uint64_t size = below(2) * below(3) * kFilePageBytes; size != out.size(file)) {
          out.truncate(file, size);
          if (size != 0) break;
          // As editors do: the new content follows.
          emptied.insert(file);
          if (below(2) == 0) out.write(file, 0, 1, 1 + below(kFilePageBytes));
          if (below(2) == 0) out.close(file);
        }
        break;
      case 4:
        if (emptied.erase(file) != 0) out.close(file);
        break;
      case 5:
      case 6:
        if (const FileId to = out.directories()[below(out.directories().size())]; named != kNoFile) {
          const std::string& other = names[below(names.size())];
          const FileId replaced = out.at(to, other);
          if (replaced == named || out.is_directory(named) || out.is_directory(replaced)) break;
          out.rename(name, other, directory, to);
        }
        break;
      case 7:
        if (out.at(kRootFile, "a") != kNoFile && out.at(kRootFile, "b") != kNoFile) out.exchange("a", "b");
        break;
      case 8:
        if (named == kNoFile)
          out.link(file, name, directory);
        else if (!out.is_directory(named))
          out.unlink(name, directory);
        break;
      case 9:
        if (below(2) == 0)
          out.chmod(object, 0600 + below(8));
        else
          out.set_attribute(object, std::string(1, static_cast<char>('p' + below(8))));
        break;
      case 10:
      case 11:
        out.fsync(object);
        break;
      case 12:
        out.fdatasync(file);
        break;
      default:
        if (below(4) == 0) out.sync();
    }
  }
  return out;
}

// For messages of tests.
inline std::string text_of(const FileLog& log) {
  static constexpr const char* kKinds[] = {"create", "mkdir",     "symlink", "link",     "unlink", "rmdir",
                                           "rename", "exchange",  "write",   "truncate", "chmod",  "setxattr",
                                           "fsync",  "fdatasync", "sync",    "close",    "ack",    "exit"};
  std::string out;
  for (const FileEvent& event : log.events()) {
    out += std::string(kKinds[static_cast<int>(event.kind)]) + " of " + std::to_string(event.object) +
           ", promise " + std::to_string(static_cast<int>(event.promise)) + ":";
    for (const FileStep& step : event.steps)
      out += " slot " + std::to_string(step.slot) + " version " + std::to_string(step.version);
    out += "\n";
  }
  return out;
}

// Flushes of the log that are left out, and some that are added.
inline FlushChanges random_changes(const FileLog& log, std::mt19937& random) {
  FlushChanges out;
  for (EventId e = 0; e < log.events().size(); ++e) {
    if (log.events()[e].promise != FilePromise::kNone && random() % 3 == 0) out.dropped.insert(e);
    const FileId object = log.events()[e].object;
    if (object != kNoFile && random() % 8 == 0)
      out.added.push_back({e, random() % 2 == 0 ? object : kRootFile});
  }
  return out;
}

}  // namespace sisyfs
