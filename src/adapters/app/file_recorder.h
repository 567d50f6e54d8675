// FileRecorder: writes down what is done to a FileStore, as a FileLog.
//
//   FileRecorder recorder(files, log);
//   files.observe(&recorder);
#pragma once

#include <map>
#include <string>

#include "adapters/fuse/file_store.h"
#include "crash/files/file_log.h"

namespace sisyfs {

class FileRecorder : public ObservesFiles {
 public:
  // Both are borrowed.
  FileRecorder(FileStore& files, FileLog& log);

  void begin(FileEvent event) override;
  void entry(FileId directory, const std::string& name, FileId before, FileId after) override;
  void size(FileId file, uint64_t before, uint64_t after) override;
  void page(FileId file, uint64_t page, const FilePageRef& before, const FilePageRef& after) override;
  void mode(FileId object, mode_t before, mode_t after) override;
  void attribute(FileId object, const std::string& name, const std::string* before,
                 const std::string* after) override;

  // A line that the program prints to say that something is done, or the end of a command.
  void acknowledge(FileEventKind kind, const std::string& text, uint32_t thread);
  // Where an object was seen last, from the root: "d/a".
  std::string path_of(FileId object) const;
  const std::map<FileId, std::string>& names() const { return paths_; }

 private:
  std::string path_in(FileId directory, const std::string& name) const;
  std::string text_of(const FileEvent& event) const;
  void know(FileId directory, const std::string& path);

  FileStore& files_;
  FileLog& log_;
  std::map<FileId, std::string> paths_;
};

}  // namespace sisyfs
