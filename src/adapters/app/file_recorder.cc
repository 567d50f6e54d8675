#include "adapters/app/file_recorder.h"

#include <fmt/format.h>

#include <utility>

namespace sisyfs {

FileRecorder::FileRecorder(FileStore& files, FileLog& log) : files_(files), log_(log) { know(kRootFile, ""); }

void FileRecorder::know(FileId directory, const std::string& path) {
  paths_[directory] = path;
  for (const auto& [name, object] : files_.list(directory)) {
    std::string whole = path;
    if (!whole.empty()) whole += '/';
    whole += name;
    if (files_.type_of(object) == S_IFDIR)
      know(object, whole);
    else
      paths_[object] = whole;
  }
}

std::string FileRecorder::path_of(FileId object) const {
  const auto found = paths_.find(object);
  if (object == kRootFile) return ".";
  return found == paths_.end() ? "?" : found->second;
}

std::string FileRecorder::path_in(FileId directory, const std::string& name) const {
  return directory == kRootFile ? name : path_of(directory) + "/" + name;
}

std::string FileRecorder::text_of(const FileEvent& event) const {
  const std::string name = path_in(event.directory, event.name), object = path_of(event.object);
  switch (event.kind) {
    case FileEventKind::kCreate:
      return "create " + name;
    case FileEventKind::kMkdir:
      return "mkdir " + name;
    case FileEventKind::kSymlink:
      return "symlink " + name;
    case FileEventKind::kLink:
      return fmt::format("link {} {}", object, name);
    case FileEventKind::kUnlink:
      return "unlink " + name;
    case FileEventKind::kRmdir:
      return "rmdir " + name;
    case FileEventKind::kRename:
    case FileEventKind::kExchange:
      return fmt::format("{} {} {}", event.kind == FileEventKind::kRename ? "rename" : "exchange", name,
                         path_in(event.new_directory, event.new_name));
    case FileEventKind::kWrite:
      return fmt::format("write {} {}+{}{}", object, event.offset, event.length,
                         event.promise == FilePromise::kAll    ? " (O_SYNC)"
                         : event.promise == FilePromise::kData ? " (O_DSYNC)"
                                                               : "");
    case FileEventKind::kTruncate:
      return event.length == 0 ? fmt::format("truncate {} {}", object, event.offset)
                               : fmt::format("fallocate {} {}+{}", object, event.offset, event.length);
    case FileEventKind::kMode:
      return "chmod " + object;
    case FileEventKind::kAttribute:
      return "setxattr " + object;
    case FileEventKind::kFsync:
      return "fsync " + object;
    case FileEventKind::kFdatasync:
      return "fdatasync " + object;
    case FileEventKind::kSync:
      return "sync";
    case FileEventKind::kClose:
      return "close " + object;
    case FileEventKind::kAck:
    case FileEventKind::kExit:
      break;
  }
  return event.text;
}

void FileRecorder::begin(FileEvent event) {
  event.text = text_of(event);
  log_.begin(std::move(event));
}

void FileRecorder::entry(FileId directory, const std::string& name, FileId before, FileId after) {
  log_.set(log_.slot({SlotKind::kEntry, directory, 0, name}, before), after);
  if (after == kNoFile) return;
  const std::string where = paths_[directory];
  const std::string whole = where.empty() ? name : where + "/" + name;
  if (files_.type_of(after) == S_IFDIR)
    know(after, whole);
  else
    paths_[after] = whole;
}

void FileRecorder::size(FileId file, uint64_t before, uint64_t after) {
  log_.set(log_.slot({SlotKind::kSize, file, 0, ""}, before), after);
}

void FileRecorder::page(FileId file, uint64_t page, const FilePageRef& before, const FilePageRef& after) {
  FileContents& contents = log_.contents();
  log_.set(log_.slot({SlotKind::kPage, file, page, ""}, contents.page(before)), contents.page(after));
}

void FileRecorder::mode(FileId object, mode_t before, mode_t after) {
  log_.set(log_.slot({SlotKind::kMode, object, 0, ""}, before), after);
}

void FileRecorder::attribute(FileId object, const std::string& name, const std::string* before,
                             const std::string* after) {
  // A mark in front tells an empty attribute from none.
  FileContents& contents = log_.contents();
  const auto value = [&](const std::string* text) {
    return text == nullptr ? 0 : contents.text("=" + *text);
  };
  log_.set(log_.slot({SlotKind::kAttribute, object, 0, name}, value(before)), value(after));
}

void FileRecorder::acknowledge(FileEventKind kind, const std::string& text, uint32_t thread) {
  FileEvent event;
  event.kind = kind;
  event.text = text;
  event.thread = thread;
  log_.begin(std::move(event));
}

}  // namespace sisyfs
