// Runs an application once and writes down what it does to its files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "adapters/app/app_plan.h"
#include "adapters/app/crash_files.h"
#include "base/digest.h"
#include "base/result.h"

namespace sisyfs {

struct AppRecording {
  FileRecording files;
  // What the directory held at the start and at each acknowledgement (contents.h).
  std::vector<Digest> contents;
  // Calls that were made and refused, in words.
  std::vector<std::string> refused;
  // Where each object was seen last, from the work directory.
  std::map<FileId, std::string> names;

  std::string name_of(FileId object) const {
    const auto found = names.find(object);
    if (object == kRootFile) return ".";
    return found == names.end() ? "?" : found->second;
  }

  const std::string& ack_text(size_t number) const { return files.log.events()[files.acks[number]].text; }
  bool is_line(size_t number) const {
    return files.log.events()[files.acks[number]].kind == FileEventKind::kAck;
  }
};

// A workload that fails is bad input.
Result<AppRecording> record_app(const AppPlan& plan);

}  // namespace sisyfs
