// FileLog: what programs did to the files of a directory, as versions of slots.
//
// A slot is a thing that a power cut keeps or loses by itself: an entry of a directory, the size of a file,
// one page of its data, a mode, an attribute. Each change of a slot is a version. An event is a call of a
// program, and makes one or more versions. The objects of the directory at the start have numbers, and so has
// each object that is created later; a number is never used twice.
//
//   FileLog log;
//   log.begin({.kind = FileEventKind::kRename, .text = "rename a.tmp a"});
//   log.set(log.slot({SlotKind::kEntry, kRootFile, 0, "a"}, old_object), new_object);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/digest.h"

namespace sisyfs {

using FileId = uint32_t;
inline constexpr FileId kNoFile = 0, kRootFile = 1;

// The data of a file is kept in pages, which are the pieces that a power cut keeps or loses.
inline constexpr uint32_t kFilePageBytes = 4096;
using FilePage = std::array<std::byte, kFilePageBytes>;
using FilePageRef = std::shared_ptr<const FilePage>;  // null: zeros

enum class SlotKind : uint8_t {
  kEntry,      // a name in a directory; the value is an object, or kNoFile
  kSize,       // of a file, in bytes
  kPage,       // of a file; the value is a page of FileContents
  kMode,       // permission bits
  kAttribute,  // an extended attribute; the value is a text of FileContents, 0 if there is none
};

struct Slot {
  SlotKind kind = SlotKind::kEntry;
  FileId object = kNoFile;  // the directory or the file
  uint64_t page = 0;        // of kPage
  std::string name;         // of kEntry and kAttribute
  // NOLINTNEXTLINE(modernize-use-nullptr): the zero is that of the standard library.
  friend auto operator<=>(const Slot&, const Slot&) = default;
};
using SlotId = uint32_t;
using EventId = uint32_t;
inline constexpr EventId kAtStart = UINT32_MAX;  // the event of version 0

struct FileVersion {
  EventId event = kAtStart;
  uint64_t value = 0;
};

enum class FileEventKind : uint8_t {
  kCreate,
  kMkdir,
  kSymlink,
  kLink,
  kUnlink,
  kRmdir,
  kRename,
  kExchange,
  kWrite,
  kTruncate,  // also a fallocate that changes data or size
  kMode,
  kAttribute,
  kFsync,      // of a file or a directory
  kFdatasync,  // so
  kSync,       // sync or syncfs
  kClose,      // of a file that was truncated to nothing while it was open
  kAck,        // the program says that something is done
  kExit,       // a command of the workload has ended
};

// What an event makes durable.
enum class FilePromise : uint8_t {
  kNone,
  kData,  // data and size of the object
  kAll,   // of a file also modes and attributes; of a directory its entries
  kEverything,
};

// A version that an event made.
struct FileStep {
  SlotId slot = 0;
  uint32_t version = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): the zero is that of the standard library.
  friend auto operator<=>(const FileStep&, const FileStep&) = default;
};

struct FileEvent {
  FileEventKind kind = FileEventKind::kWrite;
  FilePromise promise = FilePromise::kNone;
  FileId object = kNoFile;    // that is written, renamed, flushed
  FileId replaced = kNoFile;  // by a rename
  uint32_t thread = 0;
  // The arguments of the call: of a rename the second pair is the new name.
  FileId directory = kNoFile, new_directory = kNoFile;
  std::string name, new_name;
  uint64_t offset = 0, length = 0;
  std::string text;  // the call, in words of the program; of kAck what it says
  std::vector<FileStep> steps;
};

// Pages and texts by number. Equal content has an equal number; 0 is a page of zeros, and no text.
class FileContents {
 public:
  static constexpr uint64_t kGarbagePage = 1;

  FileContents();
  uint64_t page(FilePageRef page);
  uint64_t text(const std::string& text);
  const FilePageRef& page_of(uint64_t number) const { return pages_[number]; }
  const std::string& text_of(uint64_t number) const { return texts_[number]; }

 private:
  std::vector<FilePageRef> pages_;
  std::vector<std::string> texts_;
  std::unordered_map<Digest, uint64_t, DigestHash> known_pages_;
  std::map<std::string, uint64_t> known_texts_;
};

class FileLog {
 public:
  // The slot, which is made if there is none yet: then it had this value at the start.
  SlotId slot(const Slot& slot, uint64_t value_at_start);
  const SlotId* find(const Slot& slot) const;

  EventId begin(FileEvent event);
  // A version of the event that was begun last. A second one of the same slot in the same event takes the
  // place of the first.
  void set(SlotId slot, uint64_t value);

  std::span<const FileEvent> events() const { return events_; }
  size_t slots() const { return slots_.size(); }
  const Slot& slot_of(SlotId id) const { return slots_[id]; }
  std::span<const FileVersion> versions(SlotId id) const { return versions_[id]; }
  // Slots of a directory (entries) or of a file (all others), in the order in which they were made.
  std::span<const SlotId> slots_of(FileId object) const;

  FileContents& contents() { return contents_; }
  const FileContents& contents() const { return contents_; }

 private:
  std::vector<FileEvent> events_;
  std::vector<Slot> slots_;
  std::vector<std::vector<FileVersion>> versions_;
  std::map<Slot, SlotId> by_slot_;
  std::map<FileId, std::vector<SlotId>> by_object_;
  FileContents contents_;
};

}  // namespace sisyfs
