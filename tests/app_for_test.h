// Runs `sisyfs app`, for end-to-end tests.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "program.h"

namespace sisyfs {

// Why `sisyfs app` cannot work here; empty: it can.
inline std::string why_no_fuse() {
  const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fd < 0) return "/dev/fuse cannot be opened";
  close(fd);
  if (geteuid() != 0 && run_line("unshare --user --map-root-user --mount true").code != 0)
    return "user namespaces are not allowed";
  return "";
}

// A directory with files, and what `sisyfs app` says of programs that use them.
class AppRun {
 public:
  TemporaryDirectory place;

  // A script; how to call it.
  std::string script(const std::string& name, const std::string& lines) const {
    place.write(name, "#!/bin/sh\n" + lines);
    std::filesystem::permissions(place.file(name), std::filesystem::perms::owner_all);
    return place.file(name);
  }
  // Where a work directory with its first content is made.
  std::string folder() const {
    std::filesystem::create_directories(place.file("folder"));
    return place.file("folder");
  }
  // In that folder.
  Answer app(const std::string& arguments, const std::string& variables = "") const {
    std::filesystem::remove(place.file("result.json"));
    return run_line("cd '" + folder() + "' && " + variables +
                    " '" SISYFS_PROGRAM "' app --progress off --json '" + place.file("result.json") + "' " +
                    arguments);
  }
  // What the last run has written.
  nlohmann::json result() const {
    return nlohmann::json::parse(content_of(place.file("result.json")), nullptr, false);
  }
  // The kinds of findings of the last run.
  std::set<std::string> kinds() const {
    std::set<std::string> out;
    const nlohmann::json whole = result();
    for (const auto& finding : whole["findings"]) out.insert(finding["kind"].get<std::string>());
    return out;
  }
};

}  // namespace sisyfs
