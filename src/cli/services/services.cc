#include "cli/services/services.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "base/assert.h"

namespace sisyfs::cli {
namespace {

constexpr Contract kPromised = Contract::kPromised;
constexpr Contract kWhole = Contract::kWhole;

#define SYNC_ALL      \
  "create /a\n"       \
  "? append /a 16U\n" \
  "mkdir /d\n"        \
  "? rename /a /b | link /a /b | unlink /a | truncate /a 1U | chmod /a 600 | rename /a /d/a\n"

// The other file gives back blocks, which the first one may take.
#define TWO_FILES    \
  "create /a\n"      \
  "? append /a 1U\n" \
  "create /b\n"      \
  "append /b 16U\n"  \
  "? sync\n"         \
  "? truncate /b 0U | unlink /b | link /a /c\n"

#define CHANGE_DATA "append /a 1U | write /a 0U 1U | append /a 16U\n"

constexpr Service kServices[] = {
    {"sync_mount", "sync mount", "mounted with the option sync, each call is durable when it returns",
     kPromised, false, true, false,
     "create /a\n"
     "append /a 1U\n"
     "mkdir /d\n"
     "create /b | mkdir /e | append /a 1U | rename /a /b | link /a /b | unlink /a | truncate /a 0U | "
     "rename /a /d/a | write /a 0U 1U\n"
     "crash after\n"},
    {"sync_mount_chmod", "sync chmod", "mounted with the option sync, chmod is durable when it returns",
     kPromised, false, true, false,
     "create /a\n"
     "? append /a 1U\n"
     "chmod /a 600\n"
     "crash after\n"},
    {"sync", "sync", "all is durable when sync returns", kPromised, false, false, false,
     SYNC_ALL "sync\ncrash after\n"},
    {"syncfs", "syncfs", "all is durable when syncfs returns", kPromised, false, false, false,
     SYNC_ALL "syncfs\ncrash after\n"},
    {"fsync", "fsync", "the content of a file is durable when fsync of it returns", kPromised, false, false,
     false, TWO_FILES CHANGE_DATA "fsync /a\ncrash after\n"},
    {"fsync_name", "new name", "so is the name of a new file, without fsync of its directory", kPromised,
     true, false, false,
     "mkdir /d\n"
     "create /b\n"
     "append /b 1U\n"
     "? rename /b /a | link /b /a | rename /b /d/b\n"
     "fsync /b | fsync /a | fsync /d/b\n"
     "crash after\n"},
    {"fdatasync", "fdatasync", "the bytes of a file are durable when fdatasync of it returns", kPromised,
     false, false, false, TWO_FILES CHANGE_DATA "fdatasync /a\ncrash after\n"},
    {"o_sync", "O_SYNC", "the bytes of a write with O_SYNC are durable when it returns", kPromised, false,
     false, false,
     TWO_FILES "write_sync /a 0U 1U | write_sync /a 1U 1U | write_sync /a 2U 16U\ncrash after\n"},
    {"fsync_directory", "dir fsync",
     "names in a directory, of files that are durable, are durable when fsync of it returns", kPromised,
     false, false, false,
     "mkdir /d\n"
     "create /b\n"
     "sync\n"
     "create /a | mkdir /a | rename /b /a | link /b /a | unlink /b | create /d/a | rename /b /d/a\n"
     "fsync /a | fsync /d/a\n"
     "fsync / | fsync /d\n"
     "crash after\n"},
    {"rename", "rename", "a rename over another file is done or not, never a part of it", Contract::kAtomic,
     false, false, true,
     "create /a; append /a 1U; mkdir /d\n"
     "create /b; append /b 2U; create /d/b; append /d/b 2U\n"
     "sync\n"
     "rename /a /b | rename /a /d/b\n"
     "commit\n"
     "crash\n"},
    {"replace", "replace", "a file that is replaced by rename, without fsync, has its old or new content",
     kWhole, false, false, true,
     "create /a; append /a 1U; create /c\n"
     "sync\n"
     "create /b\n"
     "append /b 2U\n"
     "rename /b /a\n"
     "commit | fsync /c\n"
     "crash\n"},
    {"append", "append", "an append is there whole or not at all", kWhole, false, false, true,
     "create /a; create /c\n"
     "? append /a H\n"
     "sync\n"
     "append /a 1U | append /a 4U\n"
     "commit | fsync /c\n"
     "crash\n"},
    {"truncate", "truncate", "a truncate is durable when fsync after it returns", kPromised, false, false,
     false,
     "create /a\n"
     "append /a 1U | append /a 16U\n"
     "sync\n"
     "truncate /a 0U | truncate /a H | truncate /a 20U\n"
     "? append /a 1U\n"
     "fsync /a\n"
     "crash after\n"},
    {"fresh", "never stale", "no file ever has bytes that were not written to it", Contract::kFresh, false,
     false, true,
     "create /a; append /a 4U; create /b; create /c\n"
     "sync\n"
     "? unlink /a\n"
     "append /b 4U | write /b 2U H\n"
     "commit | fsync /c\n"
     "crash\n"},
};

#undef SYNC_ALL
#undef TWO_FILES
#undef CHANGE_DATA

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Sizes in bytes.
std::string in_bytes(std::string_view script, uint32_t unit) {
  std::string out;
  for (size_t at = 0; at < script.size(); ++at) {
    size_t end = at;
    while (end < script.size() && std::isdigit(static_cast<unsigned char>(script[end])) != 0) ++end;
    if (end > at && end < script.size() && script[end] == 'U') {
      out += std::to_string(std::stoull(std::string(script.substr(at, end - at))) * unit);
      at = end;
    } else if (script[at] == 'H') {
      out += std::to_string(unit / 2);
    } else {
      out += script[at];
    }
  }
  return out;
}

}  // namespace

std::span<const Service> services() { return kServices; }

std::optional<std::string> script_of(const Service& service, OpSet ops, uint32_t unit) {
  const std::string text = in_bytes(service.script, unit);
  std::string out;
  for (size_t from = 0; from < text.size();) {
    const size_t end = text.find_first_of(";\n", from);
    std::string_view line = trimmed(std::string_view(text).substr(from, end - from));
    from = end + 1;
    const bool optional = line.starts_with('?');
    if (line.starts_with("crash")) {
      out += std::string(line) + "\n";
      continue;
    }
    if (optional) line.remove_prefix(1);
    std::string kept;
    while (!line.empty()) {
      const size_t bar = std::min(line.find('|'), line.size());
      const std::string_view words = trimmed(line.substr(0, bar));
      const Result<Op> op = parse_op(words);
      SISYFS_ASSERT(op, "scripts of services hold ops");
      if (ops.has(op->kind)) kept += (kept.empty() ? "" : " | ") + std::string(words);
      line.remove_prefix(std::min(bar + 1, line.size()));
    }
    if (kept.empty() && !optional) return std::nullopt;
    if (!kept.empty()) out += (optional ? "? " : "") + kept + "\n";
  }
  return out;
}

}  // namespace sisyfs::cli
