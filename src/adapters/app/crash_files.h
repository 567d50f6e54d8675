// CrashFiles: the files as a power cut left them, decided as they are looked at.
//
//   CrashFiles crash(recording, picks);
//   FileStore files(crash, recording.last.next_object());
#pragma once

#include <map>
#include <string>
#include <vector>

#include "adapters/fuse/file_store.h"
#include "crash/files/file_log.h"
#include "crash/files/file_runs.h"

namespace sisyfs {

// What a workload did.
struct FileRecording {
  FileStore start;  // before it
  FileStore last;   // after it, with all objects that there ever were
  FileLog log;
  std::vector<EventId> acks;  // in their order; the ends of commands are among them
};

class CrashFiles : public DecidesFiles {
 public:
  // Both are borrowed.
  CrashFiles(const FileRecording& recording, FilePicks& picks) : recording_(recording), picks_(picks) {}

  StoredFile object(FileId id) override;
  FileId entry(FileId directory, const std::string& name) override;
  std::vector<std::string> names(FileId directory) override;
  uint64_t size(FileId file) override;
  FilePageRef page(FileId file, uint64_t page) override;
  mode_t mode(FileId object) override;
  std::map<std::string, std::string> attributes(FileId object) override;

 private:
  const FileRecording& recording_;
  FilePicks& picks_;
};

}  // namespace sisyfs
