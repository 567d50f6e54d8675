#include "cli/death.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/printable.h"
#include "cli/cli.h"

namespace sisyfs::cli {
namespace {

// Prints the report that a sanitizer wrote for a process (cli/sanitized.h) and returns its summary; empty if
// none.
std::string report_of(pid_t process) {
  const char* prefix = std::getenv("SISYFS_SANITIZER_LOG");
  if (prefix == nullptr) return {};
  const std::string path = fmt::format("{}.{}", prefix, process);
  std::ifstream report(path);
  std::string summary;
  for (std::string line; std::getline(report, line);) {
    to_stderr(fmt::format("{}\n", printable(line)));
    if (line.starts_with("SUMMARY: ")) summary = line.substr(9);
  }
  std::remove(path.c_str());
  return summary;
}

}  // namespace

std::string text_of_death(pid_t process, int status, bool inside) {
  if (std::string report = report_of(process); !report.empty()) return report;
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("it ended the process by {}", strsignal(WTERMSIG(status)))
                              : fmt::format("it ended the process with exit code {}", WEXITSTATUS(status));
  return inside ? how : how + " after the call had returned; it must have written to memory of the checker";
}

void remove_reports() {
  const char* prefix = std::getenv("SISYFS_SANITIZER_LOG");
  if (prefix == nullptr) return;
  const std::filesystem::path all = prefix;
  std::error_code ignored;
  std::vector<std::filesystem::path> reports;
  for (const auto& entry : std::filesystem::directory_iterator(all.parent_path(), ignored))
    if (entry.path().filename().string().starts_with(all.filename().string() + "."))
      reports.push_back(entry.path());
  for (const auto& report : reports) std::filesystem::remove(report, ignored);
}

bool is_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

bool is_own_assertion(int status, bool inside) {
  return !inside && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace sisyfs::cli
