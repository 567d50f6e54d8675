// Runs the program as a user would, for end-to-end tests.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace sisyfs {

struct Answer {
  int code = -1;
  std::string text;  // standard output and standard error
};

// Runs a shell line to its end.
inline Answer run_line(const std::string& line) {
  Answer out;
  FILE* pipe = popen(("( " + line + " ) 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) != 0;) out.text.append(buffer, n);
  out.code = WEXITSTATUS(pclose(pipe));
  return out;
}

// Runs `sisyfs` with arguments as a shell would split them.
inline Answer run(const std::string& arguments) {
  return run_line(std::string("'") + SISYFS_PROGRAM + "' " + arguments);
}

// The path of a plug-in of this build, quoted for a shell.
inline std::string plugin_library(const std::string& name) {
  return std::string("'" SISYFS_PLUGIN_DIR "/lib") + name + ".so'";
}

// Checks a plug-in of this build.
inline Answer check_plugin(const std::string& name, const std::string& arguments) {
  return run("check " + plugin_library(name) + " --progress off " + arguments);
}

// A directory that goes when the test does.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sisyfs-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name)) << content;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The same text with one blank for each run of blanks and newlines: as if lines were not broken.
inline std::string on_one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!out.empty() && out.back() != ' ')) out += blank ? ' ' : c;
  }
  return out;
}

// The replay token in what the program printed.
inline std::string token_in(const std::string& text) {
  const size_t at = text.find("s2:");
  return at == std::string::npos ? "" : text.substr(at, text.find_first_of(" \n\"", at) - at);
}

}  // namespace sisyfs
