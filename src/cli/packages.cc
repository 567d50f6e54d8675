#include "cli/packages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/cli.h"

namespace sisyfs::cli {

static bool runs(const std::string& command) {
  // The words are ours, and names of packages.
  return std::system((command + " >/dev/null 2>&1 </dev/null").c_str()) == 0;  // NOLINT(cert-env33-c)
}

Status install_packages(const std::vector<std::string>& packages) {
  const std::string all = fmt::format("{}", fmt::join(packages, " "));
  const std::string apt = "apt-get install -y --no-install-recommends " + all;
  const bool is_root = geteuid() == 0;
  if (!runs("command -v apt-get"))
    return bad_input(
        fmt::format("this needs packages that are not installed (by their Debian names): {}", all));
  const bool has_sudo = is_root || runs("command -v sudo");
  if (!is_root && !(has_sudo && runs("sudo -n true")))
    return bad_input(fmt::format(
        "this needs packages that may not be installed from here; run this, then start again:\n{}",
        has_sudo ? fmt::format("sudo sh -c 'apt-get update && {}'", apt)
                 : fmt::format("su -c 'apt-get update && {}'", apt)));
  to_stderr(fmt::format("sisyfs: installing {}\n", all));
  const std::string prefix =
      is_root ? "DEBIAN_FRONTEND=noninteractive " : "sudo -n DEBIAN_FRONTEND=noninteractive ";
  if (runs(prefix + apt)) return {};
  if (runs((is_root ? "" : "sudo -n ") + std::string("apt-get update")) && runs(prefix + apt)) return {};
  return system_error(fmt::format("cannot install {}; run '{}' to see why", all, apt));
}

}  // namespace sisyfs::cli
