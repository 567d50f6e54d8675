// A plug-in on a disk in memory, for its own tests: without snapshots, crash states or a search.
//
//   LoadedPlugin plugin("libext2fs");       // build/PRESET/plugins/libsisyfs_libext2fs.so
//   if (!plugin) GTEST_SKIP();
//   PlainDisk disk(plugin->block_size, plugin->block_count);
//   PluginRun run(*plugin, &disk);
//   ASSERT_EQ(run.mount(), 0);
//   OpResult answer = run.apply(op);        // to be compared with apply(op, tree)
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sisyfs/plugin.h"
#include "tree/tree.h"
#include "workload/op.h"
#include "workload/workload.h"

namespace sisyfs {

class LoadedPlugin {
 public:
  explicit LoadedPlugin(const std::string& name) {
    const std::string path = std::string(SISYFS_PLUGIN_DIR) + "/libsisyfs_" + name + ".so";
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return;
    using Entry = const sisyfs_plugin* (*)();
    const Entry entry = reinterpret_cast<Entry>(dlsym(library_, "sisyfs_plugin_entry"));
    if (entry != nullptr) plugin_ = entry();
  }
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;
  ~LoadedPlugin() {
    if (library_ != nullptr) dlclose(library_);
  }

  explicit operator bool() const { return plugin_ != nullptr; }
  const sisyfs_plugin& operator*() const { return *plugin_; }
  const sisyfs_plugin* operator->() const { return plugin_; }

 private:
  void* library_ = nullptr;
  const sisyfs_plugin* plugin_ = nullptr;
};

// A disk that keeps its content as bytes, and all that was written in order.
class PlainDisk {
 public:
  struct Write {
    uint64_t block = 0;
    std::vector<char> bytes;  // none: a flush
    friend bool operator==(const Write&, const Write&) = default;
  };

  PlainDisk(uint32_t block_size, uint64_t block_count) : content_(block_size * block_count) {
    disk_.size = sizeof disk_;
    disk_.block_size = block_size;
    disk_.block_count = block_count;
    disk_.now = 1000000000;
    disk_.engine = this;
    disk_.read = [](const sisyfs_disk* disk, uint64_t block, uint32_t count, void* bytes) {
      return of(disk).read(block, count, static_cast<char*>(bytes));
    };
    disk_.write = [](const sisyfs_disk* disk, uint64_t block, uint32_t count, const void* bytes) {
      return of(disk).write(block, count, static_cast<const char*>(bytes));
    };
    disk_.write_through = disk_.write;
    disk_.flush = [](const sisyfs_disk* disk) {
      of(disk).log_.push_back({});
      return 0;
    };
    disk_.erase = [](const sisyfs_disk*, uint64_t, uint64_t) { return 0; };
    disk_.stable = [](const sisyfs_disk*, int) {};
  }
  PlainDisk(const PlainDisk&) = delete;
  PlainDisk& operator=(const PlainDisk&) = delete;

  const sisyfs_disk* callbacks() const { return &disk_; }
  uint32_t block_size() const { return disk_.block_size; }
  std::vector<char>& content() { return content_; }
  std::vector<Write>& log() { return log_; }
  // Puts a write of a log onto some content.
  void replay(const Write& write, std::vector<char>* content) const {
    std::copy(write.bytes.begin(), write.bytes.end(),
              content->begin() + static_cast<ptrdiff_t>(write.block * disk_.block_size));
  }

 private:
  static PlainDisk& of(const sisyfs_disk* disk) { return *static_cast<PlainDisk*>(disk->engine); }
  bool has(uint64_t block, uint32_t count) const {
    return block <= disk_.block_count && count <= disk_.block_count - block;
  }
  int read(uint64_t block, uint32_t count, char* bytes) {
    if (!has(block, count)) return -EINVAL;
    std::memcpy(bytes, content_.data() + block * disk_.block_size, size_t{count} * disk_.block_size);
    return 0;
  }
  int write(uint64_t block, uint32_t count, const char* bytes) {
    if (!has(block, count)) return -EINVAL;
    log_.push_back({block, std::vector<char>(bytes, bytes + size_t{count} * disk_.block_size)});
    replay(log_.back(), &content_);
    return 0;
  }

  sisyfs_disk disk_{};
  std::vector<char> content_;
  std::vector<Write> log_;
};

// What a plug-in's fsck said.
struct FsckAnswer {
  int error = 0;
  std::vector<std::string> repaired, left, lost;  // texts; lost ones are in one of the others too
};

class PluginRun {
 public:
  PluginRun(const sisyfs_plugin& plugin, PlainDisk* disk) : plugin_(plugin), disk_(disk) {}
  PluginRun(const PluginRun&) = delete;
  PluginRun& operator=(const PluginRun&) = delete;
  ~PluginRun() {
    if (fs_ != nullptr) unmount();
  }

  int format() { return plugin_.format(disk_->callbacks()); }
  int mount() { return plugin_.mount(disk_->callbacks(), &fs_); }
  int unmount() { return plugin_.unmount(std::exchange(fs_, nullptr)); }

  FsckAnswer fsck(bool repair) {
    FsckAnswer answer;
    const auto add = [](void* report, int repaired, int lost, const char* text) {
      FsckAnswer& to = *static_cast<FsckAnswer*>(report);
      (repaired ? to.repaired : to.left).push_back(text);
      if (lost) to.lost.push_back(text);
    };
    answer.error = plugin_.fsck(disk_->callbacks(), repair, add, &answer);
    return answer;
  }

  OpResult apply(const Op& op) {
    const std::string path(op.path.text()), other(op.other.text());
    const char* const p = path.c_str();
    switch (op.kind) {
      case OpKind::kCreate:
        return of(plugin_.create(fs_, p));
      case OpKind::kMkdir:
        return of(plugin_.mkdir(fs_, p));
      case OpKind::kUnlink:
        return of(plugin_.unlink(fs_, p));
      case OpKind::kRmdir:
        return of(plugin_.rmdir(fs_, p));
      case OpKind::kRename:
        return of(plugin_.rename(fs_, p, other.c_str()));
      case OpKind::kLink:
        return of(plugin_.link(fs_, p, other.c_str()));
      case OpKind::kSymlink:
        return of(plugin_.symlink(fs_, other.c_str(), p));
      case OpKind::kWrite:
        return write(op, op.offset);
      case OpKind::kAppend: {
        sisyfs_stat stat{};
        const int error = plugin_.stat(fs_, p, &stat);
        return error != 0 ? of(error) : write(op, stat.size);
      }
      case OpKind::kTruncate:
        return of(plugin_.truncate(fs_, p, op.offset));
      case OpKind::kRead:
        return read(path, op.offset, op.length);
      case OpKind::kReaddir: {
        OpResult result;
        const int error = plugin_.readdir(fs_, p, add_name, &result);
        return error != 0 ? of(error) : result;
      }
      case OpKind::kFsync:
        return of(plugin_.fsync(fs_, p));
      case OpKind::kFdatasync:
        return of(plugin_.fdatasync(fs_, p));
      case OpKind::kSync:
        return of(plugin_.sync(fs_));
      case OpKind::kRemount: {
        const int error = unmount();
        return error != 0 ? of(error) : of(mount());
      }
      case OpKind::kSetxattr: {
        std::vector<std::byte> value(op.length);
        fill_value(op, value);
        return of(plugin_.setxattr(fs_, p, other.c_str(), value.data(), op.length));
      }
      case OpKind::kGetxattr: {
        std::vector<std::byte> value(65536);
        const int64_t got = plugin_.getxattr(fs_, p, other.c_str(), value.data(), 65536);
        return got < 0 ? of(static_cast<int>(got)) : OpResult::read(std::span(value).first(size_t(got)));
      }
      case OpKind::kListxattr: {
        OpResult result;
        const int error = plugin_.listxattr(fs_, p, add_name, &result);
        return error != 0 ? of(error) : result;
      }
      case OpKind::kRemovexattr:
        return of(plugin_.removexattr(fs_, p, other.c_str()));
      default:
        return OpResult::of(ENOSYS);
    }
  }

  // Everything that can be read, one line for each name: type, links, size or content, attributes. A line
  // that begins with "!" is something that could not be read.
  std::vector<std::string> walk() {
    std::vector<std::string> lines;
    walk_into("/", &lines);
    return lines;
  }

 private:
  static OpResult of(int error) { return OpResult::of(-error); }
  static int add_name(void* result, const char* name) {
    if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) {
      static_cast<OpResult*>(result)->add_name(name);
    }
    return 0;
  }
  OpResult write(const Op& op, uint64_t offset) {
    std::vector<std::byte> bytes(op.length);
    fill_data(op, offset, bytes);
    const int64_t got =
        plugin_.write(fs_, std::string(op.path.text()).c_str(), offset, bytes.data(), op.length);
    return got < 0 ? of(static_cast<int>(got)) : OpResult{0, static_cast<uint64_t>(got), {}};
  }
  OpResult read(const std::string& path, uint64_t offset, uint32_t length) {
    std::vector<std::byte> bytes(length);
    const int64_t got = plugin_.read(fs_, path.c_str(), offset, bytes.data(), length);
    return got < 0 ? of(static_cast<int>(got)) : OpResult::read(std::span(bytes).first(size_t(got)));
  }

  void walk_into(const std::string& path, std::vector<std::string>* lines) {
    sisyfs_stat stat{};
    const auto fail = [&](const char* what, int64_t error) {
      lines->push_back("!" + path + " " + what + " " + std::to_string(error));
    };
    if (const int error = plugin_.stat(fs_, path.c_str(), &stat)) return fail("stat", error);
    std::string line = path + " " + std::to_string(stat.type) + " " + std::to_string(stat.links);
    if (stat.type == SISYFS_FILE) {
      const OpResult data = read(path, 0, static_cast<uint32_t>(stat.size));
      if (data.error != 0 || data.value != stat.size) return fail("read", data.error);
      line += " " + std::to_string(stat.size) + " " + std::to_string(data.data.lo);
    } else if (stat.type == SISYFS_SYMLINK) {
      char content[4096];
      const int64_t size = plugin_.readlink(fs_, path.c_str(), content, sizeof content);
      if (size < 0) return fail("readlink", size);
      line += " " + std::string(content, static_cast<size_t>(size));
    }
    lines->push_back(line);
    if (stat.type != SISYFS_DIRECTORY) return;
    std::set<std::string> names;
    const auto fill = [](void* list, const char* name) {
      static_cast<std::set<std::string>*>(list)->insert(name);
      return 0;
    };
    if (const int error = plugin_.readdir(fs_, path.c_str(), fill, &names)) return fail("readdir", error);
    for (const std::string& name : names) {
      if (name != "." && name != "..") walk_into((path == "/" ? "" : path) + "/" + name, lines);
    }
  }

  const sisyfs_plugin& plugin_;
  PlainDisk* disk_;
  void* fs_ = nullptr;
};

// The reference model in the same words as PluginRun::walk(). Without `directories` their link counts are 0.
inline std::vector<std::string> walk_of(const Tree& tree, bool directories) {
  std::vector<std::string> lines;
  const auto walk = [&](const auto& self, NodeId id, const std::string& path) -> void {
    const Tree::Node& node = tree.node(id);
    const int type = node.type == FileType::kFile        ? SISYFS_FILE
                     : node.type == FileType::kDirectory ? SISYFS_DIRECTORY
                                                         : SISYFS_SYMLINK;
    const uint32_t links = node.type != FileType::kDirectory || directories ? node.links : 0;
    std::string line = path + " " + std::to_string(type) + " " + std::to_string(links);
    if (node.type == FileType::kFile) {
      std::vector<std::byte> bytes(node.data.size());
      node.data.read(0, bytes);
      line += " " + std::to_string(bytes.size()) + " " + std::to_string(digest_of(bytes).lo);
    } else if (node.type == FileType::kSymlink) {
      line += " " + node.data.text();
    }
    lines.push_back(line);
    if (node.type != FileType::kDirectory) return;
    for (const Tree::Entry& entry : tree.children(id)) {
      self(self, entry.node, (path == "/" ? "" : path) + "/" + std::string(entry.name()));
    }
  };
  walk(walk, kRootNode, "/");
  return lines;
}

// Ops on a plug-in and on the reference model, chosen by a generator of the test.
class Walkabout {
 public:
  Walkabout(const sisyfs_plugin& plugin, PlainDisk* disk, Bounds bounds, uint64_t seed)
      : run(plugin, disk), workload_(std::move(*Workload::make(std::move(bounds)))), random_(seed) {}

  // The op, with its answers where they differ; empty text if they agree.
  std::string step() {
    workload_.from(tree, &ops_);
    const Candidate& chosen = ops_[random_() % ops_.size()];
    const OpResult expected = sisyfs::apply(chosen.op, tree);
    const OpResult answer = run.apply(chosen.op);
    if (answer == expected) return {};
    return to_text(chosen.op) + ": " + errno_text(answer.error) + " " + std::to_string(answer.value) +
           " instead of " + errno_text(expected.error) + " " + std::to_string(expected.value);
  }

  PluginRun run;
  Tree tree;

 private:
  Workload workload_;
  std::mt19937_64 random_;
  std::vector<Candidate> ops_;
};

}  // namespace sisyfs
