// sisyfs/plugin.hpp: plug in a file system that is a C++ class.
//
// Write a class with the functions that your file system has, named as in sisyfs/plugin.h. Functions that the
// class does not have are null in the table. Paths are string_views, failures are negative errnos.
//
//   struct MyFs {
//     static constexpr sisyfs::Plugin kPlugin{.name = "myfs", .contract = SISYFS_FSYNC};
//     static constexpr sisyfs_option kOptions[] = {    // if it has options: --set plugin.safe=off
//         {SISYFS_BOOL, 0, "safe", "flush twice", "on", nullptr, 0, 0}};
//     static int configure(std::string_view name, std::string_view value);   // before format
//     static int format(const sisyfs_disk& disk);
//     explicit MyFs(const sisyfs_disk& disk);
//     int mount();                                     // after the constructor; if not 0, it is destroyed
//     int unmount();                                   // before the destructor
//     int create(std::string_view path);
//     int64_t write(std::string_view path, uint64_t offset, std::span<const std::byte> bytes);
//     int64_t read(std::string_view path, uint64_t offset, std::span<std::byte> bytes);
//     int readdir(std::string_view path, const std::function<void(std::string_view)>& name);
//     int stat(std::string_view path, sisyfs_stat& out);
//     int open(std::string_view path, void*& handle);  // if it has open files
//     int close(void* handle);
//     int stat_handle(void* handle, sisyfs_stat& out);
//     int64_t read_handle(void* handle, uint64_t offset, std::span<std::byte> bytes);
//     int64_t write_handle(void* handle, uint64_t offset, std::span<const std::byte> bytes);
//   };
//   SISYFS_PLUGIN(MyFs)
//
// An exception that leaves a function counts as a crash of the call.
#pragma once

#include <sisyfs/plugin.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <string_view>

namespace sisyfs {

// The claims of a class; the fields are those of sisyfs_plugin.
struct Plugin {
  const char* name;
  const char* summary = nullptr;
  sisyfs_contract contract = SISYFS_ATOMIC;
  uint32_t promises = 0;
  uint32_t block_size = 0, erase_blocks = 0;
  uint64_t block_count = 0;
  uint32_t write_unit = 0, max_name = 0, max_depth = 0, max_files = 0;
  uint64_t max_file_size = 0;
  uint32_t whole_unit = 0;
  uint64_t durable_calls = 0;  // since 1.3
};

namespace plugin_detail {

using Names = std::function<void(std::string_view)>;

inline Names filler(sisyfs_fill fill, void* list) {
  return [=](std::string_view name) { (void)fill(list, std::string(name).c_str()); };
}

template <class Fs>
Fs& of(void* fs) {
  return *static_cast<Fs*>(fs);
}

template <class Fs>
int mount(const sisyfs_disk* disk, void** out) {
  Fs* fs = new (std::nothrow) Fs(*disk);
  if (fs == nullptr) return -ENOMEM;
  if (const int error = fs->mount()) {
    delete fs;
    return error;
  }
  *out = fs;
  return 0;
}

template <class Fs>
int unmount(void* fs) {
  const int error = of<Fs>(fs).unmount();
  delete static_cast<Fs*>(fs);
  return error;
}

template <class Fs>
constexpr sisyfs_plugin table() {
  constexpr const Plugin& about = Fs::kPlugin;
  sisyfs_plugin t{};
  t.size = sizeof t;
  t.major = SISYFS_PLUGIN_MAJOR;
  t.minor = SISYFS_PLUGIN_MINOR;
  t.contract = about.contract;
  t.promises = about.promises;
  t.name = about.name;
  t.summary = about.summary;
  t.block_size = about.block_size;
  t.erase_blocks = about.erase_blocks;
  t.block_count = about.block_count;
  t.write_unit = about.write_unit;
  t.max_name = about.max_name;
  t.max_depth = about.max_depth;
  t.max_files = about.max_files;
  t.max_file_size = about.max_file_size;
  t.whole_unit = about.whole_unit;
  t.durable_calls = about.durable_calls;

  t.format = [](const sisyfs_disk* disk) { return Fs::format(*disk); };
  t.mount = mount<Fs>;
  t.unmount = unmount<Fs>;
  t.readdir = [](void* fs, const char* path, sisyfs_fill fill, void* list) {
    return of<Fs>(fs).readdir(path, filler(fill, list));
  };
  t.stat = [](void* fs, const char* path, sisyfs_stat* out) { return of<Fs>(fs).stat(path, *out); };

#define SISYFS_PATH_CALL(call)                       \
  if constexpr (requires(Fs & fs) { fs.call("/"); }) \
  t.call = [](void* fs, const char* path) { return of<Fs>(fs).call(path); }
  SISYFS_PATH_CALL(create);
  SISYFS_PATH_CALL(mkdir);
  SISYFS_PATH_CALL(unlink);
  SISYFS_PATH_CALL(rmdir);
  SISYFS_PATH_CALL(fsync);
  SISYFS_PATH_CALL(fdatasync);
#undef SISYFS_PATH_CALL
#define SISYFS_TWO_PATHS_CALL(call)                       \
  if constexpr (requires(Fs & fs) { fs.call("/", "/"); }) \
  t.call = [](void* fs, const char* one, const char* two) { return of<Fs>(fs).call(one, two); }
  SISYFS_TWO_PATHS_CALL(rename);
  SISYFS_TWO_PATHS_CALL(link);
  SISYFS_TWO_PATHS_CALL(symlink);
  SISYFS_TWO_PATHS_CALL(removexattr);
#undef SISYFS_TWO_PATHS_CALL
#define SISYFS_WRITE_CALL(call)                                                                             \
  if constexpr (requires(Fs & fs, std::span<const std::byte> bytes) { fs.call("/", uint64_t{}, bytes); })   \
  t.call = [](void* fs, const char* path, uint64_t offset, const void* bytes, uint32_t length) -> int64_t { \
    return of<Fs>(fs).call(path, offset, std::span(static_cast<const std::byte*>(bytes), length));          \
  }
  SISYFS_WRITE_CALL(write);
  SISYFS_WRITE_CALL(write_sync);
#undef SISYFS_WRITE_CALL

  if constexpr (requires(Fs & fs, std::span<std::byte> bytes) { fs.read("/", uint64_t{}, bytes); })
    t.read = [](void* fs, const char* path, uint64_t offset, void* bytes, uint32_t length) -> int64_t {
      return of<Fs>(fs).read(path, offset, std::span(static_cast<std::byte*>(bytes), length));
    };
  if constexpr (requires(Fs & fs) { fs.truncate("/", uint64_t{}); })
    t.truncate = [](void* fs, const char* path, uint64_t size) { return of<Fs>(fs).truncate(path, size); };
  if constexpr (requires(Fs & fs) { fs.sync(); }) t.sync = [](void* fs) { return of<Fs>(fs).sync(); };
  if constexpr (requires(Fs & fs, std::span<char> text) { fs.readlink("/", text); })
    t.readlink = [](void* fs, const char* path, char* content, uint32_t size) -> int64_t {
      return of<Fs>(fs).readlink(path, std::span(content, size));
    };
  if constexpr (requires(Fs & fs, std::span<const std::byte> bytes) { fs.setxattr("/", "n", bytes); }) {
    t.setxattr = [](void* fs, const char* path, const char* name, const void* value, uint32_t length) {
      return of<Fs>(fs).setxattr(path, name, std::span(static_cast<const std::byte*>(value), length));
    };
    t.getxattr = [](void* fs, const char* path, const char* name, void* value, uint32_t size) -> int64_t {
      return of<Fs>(fs).getxattr(path, name, std::span(static_cast<std::byte*>(value), size));
    };
    t.listxattr = [](void* fs, const char* path, sisyfs_fill fill, void* list) {
      return of<Fs>(fs).listxattr(path, filler(fill, list));
    };
  }
  if constexpr (requires(Fs & fs, void*& handle) { fs.open("/", handle); }) {
    t.open = [](void* fs, const char* path, void** handle) { return of<Fs>(fs).open(path, *handle); };
    t.close = [](void* fs, void* handle) { return of<Fs>(fs).close(handle); };
    t.read_handle = [](void* fs, void* handle, uint64_t offset, void* bytes, uint32_t length) -> int64_t {
      return of<Fs>(fs).read_handle(handle, offset, std::span(static_cast<std::byte*>(bytes), length));
    };
    t.stat_handle = [](void* fs, void* handle, sisyfs_stat* out) {
      return of<Fs>(fs).stat_handle(handle, *out);
    };
  }
  if constexpr (requires(Fs & fs, std::span<const std::byte> b) { fs.write_handle(nullptr, uint64_t{}, b); })
    t.write_handle = [](void* fs, void* handle, uint64_t offset, const void* bytes,
                        uint32_t length) -> int64_t {
      return of<Fs>(fs).write_handle(handle, offset, std::span(static_cast<const std::byte*>(bytes), length));
    };
  if constexpr (requires(Fs & fs) { fs.truncate_handle(nullptr, uint64_t{}); })
    t.truncate_handle = [](void* fs, void* handle, uint64_t size) {
      return of<Fs>(fs).truncate_handle(handle, size);
    };
  if constexpr (requires(Fs & fs) { fs.fsync_handle(nullptr); })
    t.fsync_handle = [](void* fs, void* handle) { return of<Fs>(fs).fsync_handle(handle); };
  if constexpr (requires(Fs & fs) { fs.fdatasync_handle(nullptr); })
    t.fdatasync_handle = [](void* fs, void* handle) { return of<Fs>(fs).fdatasync_handle(handle); };
  if constexpr (requires(Fs & fs, uint32_t mode) { fs.chmod("/", mode); }) {
    t.chmod = [](void* fs, const char* path, uint32_t mode) { return of<Fs>(fs).chmod(path, mode); };
    t.mode = [](void* fs, const char* path, uint32_t* mode) { return of<Fs>(fs).mode(path, *mode); };
  }
  using Problem = std::function<void(bool repaired, bool lost, const std::string& text)>;
  if constexpr (requires(const sisyfs_disk& disk, const Problem& problem) { Fs::fsck(disk, true, problem); })
    t.fsck = [](const sisyfs_disk* disk, int repair, sisyfs_problem problem, void* report) {
      return Fs::fsck(*disk, repair != 0, [=](bool repaired, bool lost, const std::string& text) {
        problem(report, repaired ? 1 : 0, lost ? 1 : 0, text.c_str());
      });
    };
  if constexpr (requires { Fs::kOptions; }) {
    t.options = std::data(Fs::kOptions);
    t.option_count = std::size(Fs::kOptions);
    t.configure = [](const char* name, const char* value) {
      return Fs::configure(std::string_view(name), std::string_view(value));
    };
  }
  return t;
}

}  // namespace plugin_detail
}  // namespace sisyfs

#define SISYFS_PLUGIN(Fs)                                                       \
  extern "C" const sisyfs_plugin* sisyfs_plugin_entry(void) {                   \
    static constexpr sisyfs_plugin kTable = sisyfs::plugin_detail::table<Fs>(); \
    return &kTable;                                                             \
  }
