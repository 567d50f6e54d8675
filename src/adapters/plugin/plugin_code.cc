#include "adapters/plugin/plugin_code.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/plugin/needed_libraries.h"
#include "adapters/plugin/plugin_options.h"
#include "adapters/plugin/process_guard.h"
#include "adapters/plugin/source_location.h"

namespace sisyfs {
namespace {

// The size of the table of version 1.0, the smallest.
constexpr size_t kSmallestTable = offsetof(sisyfs_plugin, name_block) + sizeof(sisyfs_plugin::name_block);
constexpr uint32_t kPromises = SISYFS_DURABLE_OPS | SISYFS_MOUNT_RECOVERS | SISYFS_FSYNC_NAMES |
                               SISYFS_FSYNC_ALL | SISYFS_RENAME_BOTH | SISYFS_LIMITED_SPACE |
                               SISYFS_SPLIT_WRITES | SISYFS_STALE_DATA | SISYFS_RETRIES_SYNC |
                               SISYFS_ANY_BYTE | SISYFS_HANDLES_BAD_UNITS | SISYFS_NOR_FLASH;
constexpr uint64_t kCalls = 2 * SISYFS_CALL_CHMOD - 1;

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
  if (table.open != nullptr) {
    if (table.close == nullptr) names.push_back("close");
    if (table.read_handle == nullptr) names.push_back("read_handle");
    if (table.stat_handle == nullptr) names.push_back("stat_handle");
  }
  if (table.chmod != nullptr && table.mode == nullptr) names.push_back("mode");
  if (table.option_count != 0 && table.configure == nullptr) names.push_back("configure");
  return fmt::format("{}", fmt::join(names, ", "));
}

// A number that the disk or the workload cannot have; empty: there is none. Zero is the default of each.
std::string impossible_limit(const sisyfs_plugin& table) {
  const struct {
    const char* name;
    uint64_t value, most;
  } limits[] = {{"block_size", table.block_size, 65536},
                {"block_count", table.block_count, uint64_t{1} << 32},
                {"erase_blocks", table.erase_blocks, 65536},
                {"write_unit", table.write_unit, 65536},
                {"whole_unit", table.whole_unit, uint32_t{1} << 30}};
  for (const auto& limit : limits)
    if (limit.value > limit.most)
      return fmt::format("{} is {}, and {} is the most", limit.name, limit.value, limit.most);
  return {};
}

bool is_name(const char* text) {
  const std::string_view name = text == nullptr ? "" : text;
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
}

}  // namespace

namespace {

// Called by the arena when the plug-in aborts or exits: ends the current call.
void on_end(sisyfs_arena_control* control, const sisyfs_arena_end* end) {
  auto& fence = *static_cast<Fence*>(control->engine);
  std::array<char, 400> text{};
  switch (end->kind) {
    case SISYFS_END_ASSERT:
      std::snprintf(text.data(), text.size(), "assertion '%s' failed in %s (%s:%u)",
                    end->text == nullptr ? "?" : end->text, end->function == nullptr ? "?" : end->function,
                    end->file == nullptr ? "?" : end->file, end->line);
      break;
    case SISYFS_END_EXIT:
      std::snprintf(text.data(), text.size(), "it ends the process with exit code %d", end->status);
      break;
    case SISYFS_END_STACK_SMASHED:
      std::snprintf(text.data(), text.size(), "its stack is smashed");
      break;
    case SISYFS_END_STARTS:
      std::snprintf(text.data(), text.size(), "it calls %s, and a plug-in must not start threads or fork",
                    end->text);
      break;
    case SISYFS_END_PROCESS:
      std::snprintf(text.data(), text.size(),
                    "it calls %s, and a plug-in must not change its process or signal others", end->text);
      break;
    case SISYFS_END_ABORT:
      std::snprintf(text.data(), text.size(), "abort()");
      break;
  }
  fence.die_at(kDied, text.data(), call_before(end->caller));
}

const char* text_of(uint32_t fault) {
  switch (fault) {
    case SISYFS_FAULT_NOT_LIVE:
      return "frees or resizes memory that is not allocated, or not any more";
    case SISYFS_FAULT_FOREIGN:
      return "frees or resizes memory that malloc has not given";
    case SISYFS_FAULT_OVERRUN:
      return "has written beyond the end of a block of memory";
    case SISYFS_FAULT_WRITE_AFTER_FREE:
      return "has written to memory that was free";
    default:
      return "has damaged the heap";
  }
}

void on_fault(sisyfs_arena_control* control) {
  auto& fence = *static_cast<Fence*>(control->engine);
  const uint32_t fault = control->fault;
  control->fault = SISYFS_FAULT_NONE;
  fence.die_at(kHeapMisused, text_of(fault), call_before(control->fault_caller));
}

// Whether the library was built with a sanitizer, whose runtime must be loaded first.
bool is_sanitized(const std::string& path) {
  const std::vector<std::string> needed = needed_libraries(path);
  return std::any_of(needed.begin(), needed.end(), [](const std::string& name) {
    return name.starts_with("libasan.so") || name.starts_with("libtsan.so") ||
           name.starts_with("libubsan.so");
  });
}

}  // namespace

Result<std::shared_ptr<PluginCode>> PluginCode::open(const std::string& path, bool pages) {
  std::error_code ignored;
  if (path.find('/') != std::string::npos && !std::filesystem::exists(path, ignored))
    return bad_input(fmt::format("there is no file {}", path));
  auto code = std::shared_ptr<PluginCode>(new PluginCode(path));
  if (Status s = code->load(pages); !s) return s.error();
  return code;
}

PluginCode::~PluginCode() {
  if (namespace_ && process_is_guarded()) namespace_->abandon();
}

// Its constructors run here, inside the fence.
Status PluginCode::load_pages() {
  std::optional<Result<PluginNamespace>> loaded;
  fence_.announce(1);
  const auto prepare = [this](sisyfs_arena_control& control) {
    control.engine = &fence_;
    control.on_end = on_end;
    control.on_fault = on_fault;
    control.kept_first = kept_descriptors().first;
    control.kept_count = kept_descriptors().count;
  };
  if (!fence_.run([&] { loaded.emplace(PluginNamespace::load(path_, prepare)); }))
    return bad_input(fmt::format("{} died while it was loaded: {}", path_, fence_.text()));
  if (!*loaded) return loaded->error();
  namespace_ = **std::move(loaded);
  return {};
}

Result<void*> PluginCode::load_plainly() {
  void* library = nullptr;
  std::string trouble;
  fence_.announce(1);
  const bool lived = fence_.run([&] {
    library = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const Fence::Gate gate(fence_);
      trouble = dlerror();
    }
  });
  if (!lived) return bad_input(fmt::format("{} died while it was loaded: {}", path_, fence_.text()));
  if (library == nullptr)
    return bad_input(fmt::format("{} is no library that can be loaded: {}", path_, trouble));
  return library;
}

Status PluginCode::load(bool pages) {
  if (!pages)
    why_not_pages_ = "that was asked for";
  else if (is_sanitized(path_))
    why_not_pages_ = "it was built with a sanitizer";
  else if (Status s = load_pages(); !s && s.error().kind == ErrorKind::kBadInput)
    return s;
  else if (!s)
    why_not_pages_ = s.error().message;
  void* symbol = nullptr;
  if (namespace_) {
    symbol = namespace_->symbol("sisyfs_plugin_entry");
  } else {
    const Result<void*> library = load_plainly();
    if (!library) return library.error();
    symbol = dlsym(*library, "sisyfs_plugin_entry");
  }
  if (symbol == nullptr)
    return bad_input(
        fmt::format("{} is no plug-in: it has no function sisyfs_plugin_entry (see sisyfs/plugin.h, or "
                    "'sisyfs new-plugin')",
                    path_));
  const auto entry = reinterpret_cast<decltype(&sisyfs_plugin_entry)>(symbol);
  const sisyfs_plugin* table = nullptr;
  fence_.announce(2);
  if (!fence_.run([&] { table = entry(); }))
    return bad_input(fmt::format("{}: sisyfs_plugin_entry died: {}", path_, fence_.text()));
  if (table == nullptr)
    return bad_input(fmt::format("{}: sisyfs_plugin_entry returns a null pointer", path_));
  return take_table(table);
}

namespace {

// What is read before it is known to be a table: it may be any pointer.
struct TableHead {
  uint32_t size, major, minor;
};
constexpr size_t kLongestText = 400;
using Text = std::array<char, kLongestText + 1>;

void copy_text(const char* from, Text& to) {
  if (from != nullptr) std::memcpy(to.data(), from, strnlen(from, kLongestText));
}

}  // namespace

// The table and its texts may be bad pointers, so that they are read inside the fence.
Status PluginCode::copy_table(const sisyfs_plugin* table) {
  TableHead head{};
  Text name{}, summary{};
  const bool lived = fence_.run([&] {
    std::memcpy(&head, table, sizeof head);
    if (head.major != SISYFS_PLUGIN_MAJOR || head.size < kSmallestTable) return;
    std::memcpy(&table_, table, std::min<size_t>(head.size, sizeof table_));
    copy_text(table_.name, name);
    copy_text(table_.summary, summary);
  });
  if (!lived)
    return bad_input(
        fmt::format("{}: the table of sisyfs_plugin_entry cannot be read: {}", path_, fence_.text()));
  table_.size = head.size;
  table_.major = head.major;
  table_.minor = head.minor;
  name_ = name.data();
  summary_ = summary.data();
  if (table_.name != nullptr) table_.name = name_.c_str();
  if (table_.summary != nullptr) table_.summary = summary_.c_str();
  return {};
}

Status PluginCode::take_table(const sisyfs_plugin* wanted) {
  if (Status s = copy_table(wanted); !s) return s;
  const sisyfs_plugin* const table = &table_;
  if (table->major != SISYFS_PLUGIN_MAJOR)
    return bad_input(fmt::format(
        "{} was built for version {}.{} of the plug-in interface and this program knows version {}.{}: "
        "build it again with the sisyfs/plugin.h of this program",
        path_, table->major, table->minor, SISYFS_PLUGIN_MAJOR, SISYFS_PLUGIN_MINOR));
  if (table->size < kSmallestTable)
    return bad_input(
        fmt::format("{}: its table has {} bytes, which is too small: begin it with "
                    "SISYFS_PLUGIN_HEADER",
                    path_, table->size));
  if (const std::string names = missing(table_); !names.empty())
    return bad_input(fmt::format("{}: the plug-in must have {}", path_, names));
  if (!is_name(table_.name))
    return bad_input(fmt::format("{}: the plug-in's name is of letters, digits, '-' and '_'", path_));
  if (const std::string limit = impossible_limit(table_); !limit.empty())
    return bad_input(fmt::format("{}: the plug-in's {}", path_, limit));
  if (table_.contract > SISYFS_NAMES || (table_.promises & ~kPromises) != 0 ||
      (table_.durable_calls & ~kCalls) != 0)
    return bad_input(
        fmt::format("{}: the plug-in has a contract, a promise or a durable call that this program does not "
                    "know",
                    path_));
  Result<std::vector<OptionSpec>> options = read_plugin_options(table_, fence_);
  if (!options) return bad_input(fmt::format("{}: {}", path_, options.error().message));
  options_ = *std::move(options);
  return {};
}

}  // namespace sisyfs
