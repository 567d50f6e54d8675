// For tests: random calls to a FileStore, recorded, with what the files were after each of them.
#pragma once

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <random>
#include <string>
#include <vector>

#include "adapters/app/crash_files.h"
#include "adapters/app/file_recorder.h"
#include "adapters/fuse/file_trees_for_test.h"

namespace sisyfs {

inline void random_store_call(FileStore& files, std::mt19937& random) {
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const auto event = [](FileEventKind kind, FilePromise promise = FilePromise::kNone) {
    FileEvent out;
    out.kind = kind;
    out.promise = promise;
    return out;
  };
  std::vector<FileId> folders{kRootFile}, objects;
  for (size_t i = 0; i < folders.size(); ++i)
    for (const auto& [name, object] : files.list(folders[i])) {
      objects.push_back(object);
      if (files.type_of(object) == S_IFDIR) folders.push_back(object);
    }
  static const std::vector<std::string> kNames{"a", "b", "c", "d"};
  const FileId folder = folders[below(folders.size())], other = folders[below(folders.size())];
  const std::string &name = kNames[below(4)], &new_name = kNames[below(4)];
  FileId made = kNoFile;
  FileStore::New wanted;
  if (objects.empty() || below(5) == 0) {
    static constexpr mode_t kTypes[] = {S_IFREG, S_IFREG, S_IFDIR, S_IFLNK};
    static constexpr FileEventKind kKinds[] = {FileEventKind::kCreate, FileEventKind::kCreate,
                                               FileEventKind::kMkdir, FileEventKind::kSymlink};
    const size_t type = below(4);
    wanted.mode = kTypes[type] | 0640;
    if (wanted.mode == (S_IFLNK | 0640)) wanted.target = "target";
    files.create(event(kKinds[type]), folder, name, wanted, made);
    return;
  }
  const FileId object = objects[below(objects.size())];
  const bool is_file = files.type_of(object) == S_IFREG;
  switch (below(12)) {
    case 0:
      files.link(event(FileEventKind::kLink), object, folder, name);
      break;
    case 1:
      files.unlink(event(FileEventKind::kUnlink), folder, name);
      break;
    case 2:
      files.rmdir(event(FileEventKind::kRmdir), folder, name);
      break;
    case 3: {
      // Folders stay where they are, or one could be moved into itself.
      const FileId from = files.lookup(folder, name), to = files.lookup(other, new_name);
      const auto is_folder = [&](FileId id) { return id != kNoFile && files.type_of(id) == S_IFDIR; };
      if (folder != other && (is_folder(from) || is_folder(to))) break;
      files.rename(event(FileEventKind::kRename), folder, name, other, new_name,
                   below(3) == 0 ? RENAME_EXCHANGE : 0);
      break;
    }
    case 4:
    case 5:
    case 6: {
      const std::string bytes(1 + below(9000), static_cast<char>('a' + below(26)));
      if (is_file)
        files.write(event(FileEventKind::kWrite), object, below(9000), std::as_bytes(std::span(bytes)));
      break;
    }
    case 7:
      if (is_file) files.truncate(event(FileEventKind::kTruncate), object, below(2) * below(12000));
      break;
    case 8:
      if (is_file)
        files.fallocate(event(FileEventKind::kTruncate), object,
                        below(2) == 0 ? 0 : FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, below(9000),
                        1 + below(9000));
      break;
    case 9:
      files.set_mode(event(FileEventKind::kMode), object, 0600 + below(0100));
      break;
    case 10:
      if (below(3) == 0)
        files.remove_attribute(event(FileEventKind::kAttribute), object, "user.a");
      else
        files.set_attribute(event(FileEventKind::kAttribute), object, "user.a", std::string(below(5), 'v'),
                            0);
      break;
    default:
      files.flush(event(FileEventKind::kFsync, FilePromise::kAll), below(2) == 0 ? object : folder);
  }
}

struct RandomRecording {
  FileRecording files;
  std::vector<FileTree> trees;  // after so many events

  explicit RandomRecording(uint32_t seed, int calls = 80) {
    std::mt19937 random(seed);
    FileStore store;
    for (int i = 0; i < calls / 2; ++i) random_store_call(store, random);
    files.start = store;
    FileRecorder recorder(store, files.log);
    store.observe(&recorder);
    trees.push_back(tree_of(store));
    for (int i = 0; i < calls; ++i) {
      random_store_call(store, random);
      if (files.log.events().size() == trees.size()) trees.push_back(tree_of(store));
    }
    store.observe(nullptr);
    files.last = store;
  }
};

// How many links a file has is not part of a crash state.
inline FileTree without_links(FileTree tree) {
  for (auto& [path, text] : tree) {
    const size_t from = text.find(", ");
    text.erase(from, text.find(" links") - from);
  }
  return tree;
}

}  // namespace sisyfs
