#include "cli/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

namespace sisyfs::cli {
namespace {

namespace fs = std::filesystem;

// Whether the path is a device or pipe, which is written to and never replaced by a file.
bool is_device(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) && !fs::is_directory(path, ignored);
}

// Follows symbolic links to the file that is written. A link to a pipe, as in /proc, is not followed: its
// target is not a path.
std::string resolve_links(const std::string& path) {
  if (is_device(path)) return path;
  std::error_code error;
  fs::path to = path;
  for (int followed = 0; followed < 40 && fs::is_symlink(to, error); ++followed) {
    const fs::path next = fs::read_symlink(to, error);
    if (error) break;
    to = to.parent_path() / next;  // an absolute `next` replaces the whole path
  }
  return to.string();
}

// The errno that prevents writing a file at this path, or 0.
int obstacle(const std::string& to) {
  std::error_code ignored;
  if (fs::is_symlink(to, ignored)) return ELOOP;
  return fs::is_directory(to, ignored) ? EISDIR : 0;
}

// Creates a file with a unique name beside the one that it will replace. Returns -1 and sets errno on
// failure.
int create_beside(const std::string& to, std::string& name) {
  for (int n = 0; n < 100; ++n) {
    name = fmt::format("{}.{}-{}.part", to, getpid(), n);
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

// Returns 0 or the errno of the first failure. Always closes the file.
int write_and_close(int file, const std::string& content, bool durable) {
  int why = 0;
  for (size_t done = 0; done < content.size() && why == 0;) {
    const ssize_t n = write(file, content.data() + done, content.size() - done);
    if (n < 0 && errno != EINTR) why = errno;
    if (n > 0) done += static_cast<size_t>(n);
  }
  if (why == 0 && durable && fsync(file) != 0) why = errno;
  if (close(file) != 0 && why == 0) why = errno;
  return why;
}

Error cannot_write(const std::string& path, int why) {
  return bad_input(fmt::format("cannot write {}: {}", path, std::strerror(why)));
}

// A standard stream that is named as a file; null: another file. In a process that runs foreign code its
// number is no longer the checker's (adapters/plugin/process_guard.h).
FILE* stream_named(const std::string& path) {
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path == folder + std::to_string(STDOUT_FILENO)) return stdout;
    if (path == folder + std::to_string(STDERR_FILENO)) return stderr;
  }
  return path == "-" || path == "/dev/stdout" ? stdout : path == "/dev/stderr" ? stderr : nullptr;
}

Error too_large(const std::string& path, size_t most) {
  return bad_input(fmt::format("cannot read {}: it has more than {} bytes", path, most));
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t most) {
  const auto cannot = [&] {
    return bad_input(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  };
  // Without waiting: a pipe without a writer would never open.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return cannot();
  struct stat info {};
  std::optional<Error> problem;
  if (fstat(file, &info) != 0)
    problem = cannot();
  else if (!S_ISREG(info.st_mode))
    problem = bad_input(fmt::format("cannot read {}: it is not a regular file", path));
  else if (static_cast<uint64_t>(info.st_size) > most)
    problem = too_large(path, most);
  std::string text;
  char buffer[65536];
  while (!problem) {
    const ssize_t n = read(file, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) problem = cannot();
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > most) problem = too_large(path, most);  // files in /proc have no size
  }
  close(file);
  if (problem) return *problem;
  return text;
}

Status can_be_library(const std::string& path) {
  constexpr size_t kMost = size_t{4} << 30;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};  // the loader says why, or looks elsewhere
  if (!S_ISREG(info.st_mode))
    return bad_input(fmt::format("{} is no plug-in: it is not a regular file", path));
  if (static_cast<uint64_t>(info.st_size) > kMost) return too_large(path, kMost);
  return {};
}

Status write_file(const std::string& path, const std::string& content) {
  if (FILE* const stream = stream_named(path); stream != nullptr) {
    if (std::fwrite(content.data(), 1, content.size(), stream) == content.size() && std::fflush(stream) == 0)
      return {};
    return system_error(fmt::format("cannot write to standard {}: {}", stream == stderr ? "error" : "output",
                                    std::strerror(errno)));
  }
  const std::string to = resolve_links(path);
  if (is_device(to)) {
    const int file = open(to.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return cannot_write(path, errno);
    if (const int why = write_and_close(file, content, false); why != 0) return cannot_write(path, why);
    return {};
  }
  if (const int why = obstacle(to); why != 0) return cannot_write(path, why);
  std::string part;
  const int file = create_beside(to, part);
  if (file < 0) return cannot_write(path, errno);
  int why = write_and_close(file, content, true);
  if (why == 0 && std::rename(part.c_str(), to.c_str()) != 0) why = errno;
  if (why == 0) return {};
  unlink(part.c_str());
  return cannot_write(path, why);
}

Status can_write(const std::string& path) {
  if (stream_named(path) != nullptr) return {};
  const std::string to = resolve_links(path);
  // Opening a pipe would block until there is a reader.
  if (is_device(to)) return access(to.c_str(), W_OK) == 0 ? Status() : cannot_write(path, errno);
  if (const int why = obstacle(to); why != 0) return cannot_write(path, why);
  std::string part;
  const int file = create_beside(to, part);
  if (file < 0) return cannot_write(path, errno);
  close(file);
  unlink(part.c_str());
  return {};
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  return fs::weakly_canonical(fs::absolute(resolve_links(a), ignored), ignored) ==
         fs::weakly_canonical(fs::absolute(resolve_links(b), ignored), ignored);
}

}  // namespace sisyfs::cli
