// shelf: the smallest plug-in that is a C++ class, for tests of sisyfs/plugin.hpp.
//
// Empty files, whose names lie in block 0, each with its length before it. A call writes the block through.
#include <sisyfs/plugin.hpp>

#include <cstring>
#include <set>
#include <string>
#include <vector>

class Shelf {
 public:
  static constexpr sisyfs::Plugin kPlugin{.name = "shelf",
                                          .summary = "empty files in one block",
                                          .contract = SISYFS_ATOMIC,
                                          .promises = SISYFS_DURABLE_OPS | SISYFS_LIMITED_SPACE,
                                          .block_size = 128,
                                          .block_count = 2,
                                          .max_depth = 1};

  static int format(const sisyfs_disk& disk) { return Shelf(disk).save(); }
  explicit Shelf(const sisyfs_disk& disk) : disk_(disk) {}

  int mount() {
    std::vector<unsigned char> block(disk_.block_size);
    if (const int error = disk_.read(&disk_, 0, 1, block.data())) return error;
    for (size_t at = 0; at < block.size() && block[at] != 0; at += 1 + block[at]) {
      if (at + 1 + block[at] > block.size()) return -EIO;
      names_.emplace(reinterpret_cast<const char*>(&block[at + 1]), block[at]);
    }
    return 0;
  }
  int unmount() { return 0; }

  int create(std::string_view path) {
    if (!names_.emplace(path.substr(1)).second) return -EEXIST;
    const int error = save();
    if (error != 0) names_.erase(std::string(path.substr(1)));
    return error;
  }
  int unlink(std::string_view path) {
    if (names_.erase(std::string(path.substr(1))) == 0) return -ENOENT;
    return save();
  }
  int readdir(std::string_view path, const std::function<void(std::string_view)>& name) {
    if (path != "/") return -ENOTDIR;
    for (const std::string& each : names_) name(each);
    return 0;
  }
  int stat(std::string_view path, sisyfs_stat& out) {
    out = {};
    out.type = path == "/" ? SISYFS_DIRECTORY : SISYFS_FILE;
    return path == "/" || names_.count(std::string(path.substr(1))) != 0 ? 0 : -ENOENT;
  }

 private:
  int save() const {
    std::vector<unsigned char> block(disk_.block_size);
    size_t at = 0;
    for (const std::string& name : names_) {
      if (at + 1 + name.size() >= block.size()) return -ENOSPC;
      block[at++] = static_cast<unsigned char>(name.size());
      std::memcpy(&block[at], name.data(), name.size());
      at += name.size();
    }
    return disk_.write_through(&disk_, 0, 1, block.data());
  }

  const sisyfs_disk& disk_;
  std::set<std::string> names_;
};

SISYFS_PLUGIN(Shelf)
