#include "adapters/app/contents.h"

#include <fnmatch.h>

#include <algorithm>
#include <vector>

namespace sisyfs {
namespace {

Digest data_of(FileStore& files, FileId file) {
  Digest all;
  std::vector<std::byte> bytes(kFilePageBytes);
  const uint64_t size = files.stat(file).size;
  for (uint64_t at = 0; at < size; at += kFilePageBytes) {
    const size_t count = files.read(file, at, bytes);
    all += digest_at(at, digest_of(bytes.data(), count));
  }
  return all + digest_at(UINT64_MAX, digest_of(&size, sizeof size));
}

void add(FileStore& files, FileId directory, const std::string& path, const std::vector<std::string>& ignored,
         Digest& all) {
  for (const auto& [name, object] : files.list(directory)) {
    if (std::any_of(ignored.begin(), ignored.end(), [&name = name](const std::string& one) {
          return fnmatch(one.c_str(), name.c_str(), 0) == 0;
        }))
      continue;
    std::string whole = path;
    whole.append("/").append(name);
    const mode_t type = files.type_of(object);
    Digest content = digest_of(&type, sizeof type);
    if (type == S_IFREG) content += digest_at(1, data_of(files, object));
    if (type == S_IFLNK) {
      const std::string& target = files.target(object);
      content += digest_at(2, digest_of(target.data(), target.size()));
    }
    all += digest_at(digest_of(whole.data(), whole.size()).lo, content);
    if (type == S_IFDIR) add(files, object, whole, ignored, all);
  }
}

}  // namespace

Digest contents_of(FileStore& files, const std::vector<std::string>& ignored) {
  Digest all;
  add(files, kRootFile, "", ignored, all);
  return all;
}

}  // namespace sisyfs
