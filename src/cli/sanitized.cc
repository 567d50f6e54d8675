#include "cli/sanitized.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "adapters/plugin/needed_libraries.h"
#include "adapters/plugin/plugin_check.h"
#include "cli/files.h"

namespace sisyfs::cli {
namespace {

// Set in the process that was restarted with the runtime. The value is the prefix of its report files.
constexpr const char* kLog = "SISYFS_SANITIZER_LOG";

// The runtime that the library needs, such as "libasan.so.8"; empty if it needs none.
std::string runtime_of(const std::string& path) {
  for (std::string& name : needed_libraries(path))
    if (name.starts_with("libasan.so")) return std::move(name);
  return {};
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

Status start_with_sanitizer(const std::string& target) {
  if (!is_plugin(target)) return {};
  const Result<std::string> path_of = plugin_path(target);
  if (!path_of) return path_of.error();
  const std::string& path = *path_of;
  if (Status s = can_be_library(path); !s) return s;
  const std::string runtime = runtime_of(path);
  if (runtime.empty() || std::getenv(kLog) != nullptr) return {};
  void* library = dlopen(runtime.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) return {};  // this program itself was built with it
  std::error_code ignored;
  const std::string log =
      fmt::format("{}/sisyfs-asan-{}", std::filesystem::temp_directory_path(ignored).string(), getpid());
  setenv(kLog, log.c_str(), 1);
  setenv("LD_PRELOAD", runtime.c_str(), 1);
  // The process ends with the first report. Sisyfs looks for leaks itself and installs its own signal
  // handlers.
  const char* wanted = std::getenv("ASAN_OPTIONS");
  setenv("ASAN_OPTIONS",
         fmt::format("{}{}log_path={}:exitcode=86:detect_leaks=0:allow_user_segv_handler=1",
                     wanted == nullptr ? "" : wanted, wanted == nullptr ? "" : ":", log)
             .c_str(),
         1);
  std::vector<std::string> words = own_arguments();
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  return system_error(fmt::format("cannot restart with {}: {}", runtime, std::strerror(errno)));
}

}  // namespace sisyfs::cli
