#include "adapters/plugin_code.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

namespace sisyfs {
namespace {

// The table of version 1.0, which no plug-in falls short of.
constexpr size_t kSmallestTable = offsetof(sisyfs_plugin, name_block) + sizeof(sisyfs_plugin::name_block);
constexpr uint32_t kPromises = SISYFS_DURABLE_OPS | SISYFS_MOUNT_RECOVERS | SISYFS_FSYNC_NAMES |
                               SISYFS_FSYNC_ALL | SISYFS_RENAME_BOTH | SISYFS_LIMITED_SPACE;

std::string missing(const sisyfs_plugin& table) {
  std::vector<const char*> names;
  if (table.format == nullptr) names.push_back("format");
  if (table.mount == nullptr) names.push_back("mount");
  if (table.unmount == nullptr) names.push_back("unmount");
  if (table.readdir == nullptr) names.push_back("readdir");
  if (table.stat == nullptr) names.push_back("stat");
  if (table.write != nullptr && table.read == nullptr) names.push_back("read");
  if (table.symlink != nullptr && table.readlink == nullptr) names.push_back("readlink");
  if (table.setxattr != nullptr && (table.getxattr == nullptr || table.listxattr == nullptr))
    names.push_back("getxattr and listxattr");
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_name(const char* text) {
  const std::string_view name = text == nullptr ? "" : text;
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
}

}  // namespace

Result<std::shared_ptr<PluginCode>> PluginCode::open(const std::string& path, const FenceLimits& limits) {
  std::error_code ignored;
  if (path.find('/') != std::string::npos && !std::filesystem::exists(path, ignored))
    return bad_input(fmt::format("there is no file {}", path));
  auto code = std::shared_ptr<PluginCode>(new PluginCode(path, limits));
  if (Status s = code->load(); !s) return s.error();
  return code;
}

Status PluginCode::load() {
  void* library = nullptr;
  std::string trouble;
  // Its constructors run here and may do anything.
  const bool lived = fence_.run([&] {
    library = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const Fence::Gate gate(fence_);
      trouble = dlerror();
    }
  });
  if (!lived) return bad_input(fmt::format("{} died while it was loaded: {}", path_, fence_.text()));
  if (library == nullptr) return bad_input(fmt::format("{} is no library that can be loaded: {}", path_, trouble));
  using Entry = const sisyfs_plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "sisyfs_plugin_entry"));
  if (entry == nullptr)
    return bad_input(fmt::format(
        "{} is no plug-in: it has no function sisyfs_plugin_entry (see sisyfs/plugin.h, or 'sisyfs new-plugin')",
        path_));
  const sisyfs_plugin* table = nullptr;
  if (!fence_.run([&] { table = entry(); }))
    return bad_input(fmt::format("{}: sisyfs_plugin_entry died: {}", path_, fence_.text()));
  if (table == nullptr) return bad_input(fmt::format("{}: sisyfs_plugin_entry returns a null pointer", path_));
  return take_table(table);
}

Status PluginCode::take_table(const sisyfs_plugin* table) {
  if (table->major != SISYFS_PLUGIN_MAJOR)
    return bad_input(
        fmt::format("{} was built for version {}.{} of the plug-in interface and this program knows version {}.{}: "
                    "build it again with the sisyfs/plugin.h of this program",
                    path_, table->major, table->minor, SISYFS_PLUGIN_MAJOR, SISYFS_PLUGIN_MINOR));
  if (table->size < kSmallestTable)
    return bad_input(fmt::format("{}: its table has {} bytes, which is too small: begin it with "
                                 "SISYFS_PLUGIN_HEADER",
                                 path_, table->size));
  std::memcpy(&table_, table, std::min<size_t>(table->size, sizeof table_));
  if (const std::string names = missing(table_); !names.empty())
    return bad_input(fmt::format("{}: the plug-in must have {}", path_, names));
  if (!is_name(table_.name))
    return bad_input(fmt::format("{}: the plug-in's name is of letters, digits, '-' and '_'", path_));
  if (table_.contract > SISYFS_STRUCTURE || (table_.promises & ~kPromises) != 0)
    return bad_input(fmt::format("{}: the plug-in has a contract or a promise that this program does not know", path_));
  return {};
}

}  // namespace sisyfs
