#include "cli/packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace sisyfs::cli::packages_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

// A folder that stands for all programs of the system.
class Programs {
 public:
  Programs() {
    std::string pattern = (fs::temp_directory_path() / "sisyfs-packages-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    chmod(path_.c_str(), 0777);
  }
  ~Programs() { fs::remove_all(path_); }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;
  void add(const std::string& name, const std::string& line) const {
    const std::string file = (path_ / name).string();
    std::ofstream(file) << "#!/bin/sh\necho \"" << name << " $*\" >>" << (path_ / "log").string() << "\n"
                        << line << "\n";
    chmod(file.c_str(), 0755);
  }
  std::string log() const {
    std::ifstream file(path_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // What install_packages() says there, as this user: "" or the message. In a process of its own.
  std::string install(uid_t user) const {
    const std::string answer = (path_ / "answer").string();
    const pid_t child = fork();
    if (child == 0) {
      setenv("PATH", path_.c_str(), 1);
      if (user != 0 && setuid(user) != 0) _exit(1);
      const Status status = install_packages({"user-mode-linux", "xfsprogs"});
      std::ofstream(answer) << (status ? "" : status.error().message);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    std::ifstream file(answer);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  fs::path path_;
};

// Where tests do not run as root, they cannot try what root does.
uid_t user() { return geteuid() == 0 ? kNobody : geteuid(); }

TEST(PackagesTest, WithoutAPackageManagerThePackagesAreNamed) {
  const Programs programs;
  EXPECT_EQ(programs.install(user()),
            "this needs packages that are not installed (by their Debian names): user-mode-linux xfsprogs");
}

TEST(PackagesTest, WhereNothingMayBeInstalledTheMessageIsOneCommand) {
  const Programs programs;
  programs.add("apt-get", "exit 0");
  EXPECT_THAT(programs.install(user()),
              HasSubstr("run this, then start again:\nsu -c 'apt-get update && apt-get install -y "
                        "--no-install-recommends user-mode-linux xfsprogs'"));
  programs.add("sudo", "exit 1");
  EXPECT_THAT(programs.install(user()), HasSubstr("\nsudo sh -c 'apt-get update && apt-get install -y "));
  EXPECT_THAT(programs.log(), testing::Not(HasSubstr("apt-get "))) << "nothing is tried";
}

TEST(PackagesTest, SudoThatAsksForNothingIsUsed) {
  const Programs programs;
  programs.add("apt-get", "exit 0");
  programs.add("sudo", "exit 0");
  EXPECT_EQ(programs.install(user()), "");
  EXPECT_THAT(programs.log(), HasSubstr("sudo -n DEBIAN_FRONTEND=noninteractive apt-get install -y "
                                        "--no-install-recommends user-mode-linux xfsprogs"));
}

TEST(PackagesTest, RootInstallsAndListsArePutRightFirst) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  const Programs programs;
  programs.add("apt-get", "exit 1");
  EXPECT_THAT(programs.install(0),
              HasSubstr("cannot install user-mode-linux xfsprogs; run 'apt-get install"));
  EXPECT_THAT(programs.log(), HasSubstr("xfsprogs\napt-get update\n"));
}

}  // namespace
}  // namespace sisyfs::cli::packages_test
