// Runs tests/plugins/hostile.c, for end-to-end tests.
#pragma once

#include <chrono>
#include <thread>

#include "running_program.h"

namespace sisyfs {

// The hostile plug-in under a name that no other test uses, so that its processes can be told from others.
class Hostile {
 public:
  Hostile() : path_(dir_.file("libhostile.so")) {
    std::filesystem::copy_file(SISYFS_PLUGIN_DIR "/libhostile.so", path_);
  }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return dir_.file(name); }

  // Runs the program in the directory of the plug-in. `deed`: SISYFS_HOSTILE. Standard error goes to a file.
  // 137 is the code of a run that took too long.
  Answer run(const std::string& deed, const std::string& arguments, int seconds = 150) const {
    const std::string line = "cd '" + dir_.file("") + "' && SISYFS_HOSTILE=" + deed + " timeout -s KILL " +
                             std::to_string(seconds) + " '" SISYFS_PROGRAM "' " + arguments + " 2>" +
                             file("stderr");
    return run_line(line);
  }
  Answer check(const std::string& deed, const std::string& arguments) const {
    return run(deed, "check " + path_ + " --depth 3 --set seconds=1 --progress off " + arguments);
  }
  std::string said() const { return content_of(file("stderr")); }

  bool leaves_no_process() const {
    for (int i = 0; i < 100; ++i) {
      if (!has_process()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  // What is in its directory beside the plug-in and the output of the run.
  std::string left_files() const {
    std::string names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.file(""))) {
      const std::string name = entry.path().filename().string();
      if (name != "libhostile.so" && name != "stderr") names += name + " ";
    }
    return names;
  }

 private:
  bool has_process() const {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (content_of(entry.path().string() + "/cmdline").find(path_) != std::string::npos) return true;
    }
    return false;
  }

  TemporaryDirectory dir_;
  std::string path_;
};

}  // namespace sisyfs
