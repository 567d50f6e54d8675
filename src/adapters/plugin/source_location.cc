#include "adapters/plugin/source_location.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>

namespace sisyfs {
namespace {

// The output of addr2line; empty if it cannot be run.
std::string ask_addr2line(const char* library, uintptr_t offset) {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) return {};
  std::string library_text = library, offset_text = fmt::format("{:#x}", offset);
  std::string name = "addr2line", flags = "-fCsie", locale = "LC_ALL=C";
  const std::array<char*, 5> words = {name.data(), flags.data(), library_text.data(), offset_text.data(),
                                      nullptr};
  const std::array<char*, 2> environment = {locale.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t child = 0;
  const int error = posix_spawnp(&child, name.c_str(), &actions, nullptr, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string said;
  std::array<char, 512> part;
  for (ssize_t count = 0; error == 0 && (count = read(ends[0], part.data(), part.size())) != 0;) {
    if (count > 0) said.append(part.data(), static_cast<size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  while (error == 0 && waitpid(child, nullptr, 0) == -1 && errno == EINTR) {
  }
  return said;
}

// "rename_entry (notesfs.c:123)", "rename_entry", or nothing.
std::string function_and_line(const std::string& function, std::string_view line) {
  if (function.starts_with("??")) return {};
  line = line.substr(0, line.find_first_of(" \n"));
  if (line.empty() || line.starts_with('?') || line.ends_with(":?") || line.ends_with(":0")) return function;
  return fmt::format("{} ({})", function, line);
}

// The function of an address, and those into which it was inlined, from the inside outwards.
std::vector<std::string> functions_and_lines(const char* library, uintptr_t offset) {
  std::istringstream said(ask_addr2line(library, offset));
  std::vector<std::string> all;
  for (std::string function, line; std::getline(said, function) && std::getline(said, line);) {
    all.push_back(function_and_line(function, line));
    if (all.back().empty()) return all.size() == 1 ? std::vector<std::string>() : (all.pop_back(), all);
  }
  return all;
}

}  // namespace

std::vector<std::string> source_locations(const void* code) {
  Dl_info info{};
  if (code == nullptr || dladdr(code, &info) == 0 || info.dli_fname == nullptr) return {};
  // The same code fails again and again in a search, so texts are cached.
  static std::mutex mutex;
  static std::map<const void*, std::vector<std::string>> known;
  const std::lock_guard lock(mutex);
  std::vector<std::string>& all = known[code];
  if (!all.empty()) return all;
  const auto from = [&](const void* start) {
    return reinterpret_cast<uintptr_t>(code) - reinterpret_cast<uintptr_t>(start);
  };
  all = functions_and_lines(info.dli_fname, from(info.dli_fbase));
  if (all.empty() && info.dli_sname != nullptr)
    all.push_back(fmt::format("{}+{:#x}", info.dli_sname, from(info.dli_saddr)));
  if (all.empty()) all.push_back(fmt::format("{:#x}", from(info.dli_fbase)));
  const std::string_view file = info.dli_fname;
  for (std::string& text : all) text += fmt::format(" in {}", file.substr(file.rfind('/') + 1));
  return all;
}

std::string source_location(const void* code) {
  const std::vector<std::string> all = source_locations(code);
  return all.empty() ? "" : all.front();
}

std::string function_name(const void* code) {
  std::string text = source_location(code);
  const size_t library = text.rfind(" in ");
  if (library == text.npos || text.starts_with("0x")) return text;
  const size_t place = text.find_first_of("(+");
  const size_t name = text.substr(0, place).find_last_not_of(' ') + 1;
  return place < library ? text.substr(0, name) + text.substr(library) : text;
}

}  // namespace sisyfs
