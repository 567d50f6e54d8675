// FileStore: the files of a directory, in memory, with the calls of a file system.
//
// What is done to them can be observed, which makes a recording. And what they are can be left open: then
// each name, size and page is asked for when it is first needed, which makes the directory of a crash state.
//
//   FileStore files;
//   files.load("/some/folder", most_bytes);
//   files.observe(&recorder);
//   const int error = files.write(id, 0, bytes);
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crash/files/file_log.h"

namespace sisyfs {

struct StoredFile {
  mode_t type = S_IFREG;  // S_IFDIR, S_IFLNK, ...
  mode_t mode = 0;        // permission bits
  uid_t uid = 0;
  gid_t gid = 0;
  dev_t device = 0;
  timespec changed = {};
  uint32_t links = 1;
  uint64_t size = 0;
  std::string target;                                  // of a symbolic link
  std::map<uint64_t, FilePageRef> pages;               // of a file; those that are missing are zeros
  std::map<std::string, FileId, std::less<>> entries;  // of a directory; kNoFile: known not to be there
  std::map<std::string, std::string> attributes;
  // What is still open. Of pages and entries: those that are not in the map.
  bool open_size = false, open_pages = false, open_entries = false, open_mode = false,
       open_attributes = false;

  bool is_directory() const { return type == S_IFDIR; }
};

// Hears of each change. `begin` comes before the changes of one call.
class ObservesFiles {
 public:
  virtual ~ObservesFiles() = default;
  virtual void begin(FileEvent event) = 0;
  virtual void entry(FileId directory, const std::string& name, FileId before, FileId after) = 0;
  virtual void size(FileId file, uint64_t before, uint64_t after) = 0;
  virtual void page(FileId file, uint64_t page, const FilePageRef& before, const FilePageRef& after) = 0;
  virtual void mode(FileId object, mode_t before, mode_t after) = 0;
  // Null: there is none.
  virtual void attribute(FileId object, const std::string& name, const std::string* before,
                         const std::string* after) = 0;
};

// Decides what is open.
class DecidesFiles {
 public:
  virtual ~DecidesFiles() = default;
  // The object with what never changes, and all that may change open.
  virtual StoredFile object(FileId id) = 0;
  virtual FileId entry(FileId directory, const std::string& name) = 0;
  virtual std::vector<std::string> names(FileId directory) = 0;  // that may be there
  virtual uint64_t size(FileId file) = 0;
  virtual FilePageRef page(FileId file, uint64_t page) = 0;
  virtual mode_t mode(FileId object) = 0;
  virtual std::map<std::string, std::string> attributes(FileId object) = 0;
};

class FileStore {
 public:
  // An empty directory.
  FileStore();
  // Everything is open. New objects get numbers from `next` on.
  FileStore(DecidesFiles& decides, FileId next) : decides_(&decides), next_(next) {}

  // Takes over the content of a folder. Refused if it is larger than this, or cannot be read.
  Status load(const std::string& folder, uint64_t most_bytes);

  void observe(ObservesFiles* observer) { observer_ = observer; }
  FileId next_object() const { return next_; }
  const StoredFile* find(FileId id) const;

  // An object with its mode and, of a file, its size decided.
  const StoredFile& stat(FileId id);
  mode_t type_of(FileId id) { return at(id).type; }
  FileId lookup(FileId directory, const std::string& name);
  // Names and objects.
  std::vector<std::pair<std::string, FileId>> list(FileId directory);
  // Fills `out` with what is there; how many bytes.
  size_t read(FileId file, uint64_t offset, std::span<std::byte> out);
  const std::string& target(FileId link);
  const std::map<std::string, std::string>& attributes(FileId object);

  // The rest answer 0 or an errno. `event` says who calls, and how it is told.
  struct New {
    mode_t mode = 0;  // with the type
    uid_t uid = 0;
    gid_t gid = 0;
    dev_t device = 0;
    std::string target;
  };
  int create(FileEvent event, FileId directory, const std::string& name, const New& wanted, FileId& made);
  int link(FileEvent event, FileId object, FileId directory, const std::string& name);
  int unlink(FileEvent event, FileId directory, const std::string& name);
  int rmdir(FileEvent event, FileId directory, const std::string& name);
  // `flags` of renameat2.
  int rename(FileEvent event, FileId directory, const std::string& name, FileId to,
             const std::string& new_name, unsigned flags);
  int write(FileEvent event, FileId file, uint64_t offset, std::span<const std::byte> bytes);
  int truncate(FileEvent event, FileId file, uint64_t size);
  int fallocate(FileEvent event, FileId file, int mode, uint64_t offset, uint64_t length);
  // A promise is kept for this object.
  void flush(FileEvent event, FileId object);
  // A handle of this file is closed for good.
  void closed(FileEvent event, FileId file);
  int set_mode(FileEvent event, FileId object, mode_t mode);
  // What is not null. No part of crash states.
  void set_unrecorded(FileId object, const uid_t* uid, const gid_t* gid, const timespec* time);
  int set_attribute(FileEvent event, FileId object, const std::string& name, const std::string& value,
                    int flags);
  int remove_attribute(FileEvent event, FileId object, const std::string& name);

 private:
  StoredFile& at(FileId id);
  void decide_size(FileId id, StoredFile& file);
  const FilePageRef& decide_page(FileId id, StoredFile& file, uint64_t page);
  void decide_attributes(FileId id, StoredFile& file);
  void begin(FileEvent event);
  void set_entry(FileId directory, const std::string& name, FileId object);
  void set_size(FileId id, StoredFile& file, uint64_t size);
  // Puts these bytes into a page, or zeros.
  void change_page(FileId id, StoredFile& file, uint64_t page, size_t from, size_t count,
                   const std::byte* bytes);
  void zero(FileId id, StoredFile& file, uint64_t from, uint64_t to);
  void put_size(FileId id, StoredFile& file, uint64_t size);
  Status load_folder(int folder, FileId id, const std::string& path, uint64_t& left);
  Status load_entry(int folder, const char* name, FileId id, const std::string& path, uint64_t& left,
                    std::map<std::pair<dev_t, ino_t>, FileId>& seen);
  static timespec now();

  DecidesFiles* decides_ = nullptr;
  ObservesFiles* observer_ = nullptr;
  FileId next_ = kRootFile + 1;
  std::map<FileId, StoredFile> objects_;
  std::set<FileId> emptied_;                          // that were truncated to nothing, and not closed since
  std::map<std::pair<dev_t, ino_t>, FileId> loaded_;  // files with several names
};

}  // namespace sisyfs
