// The script ./sisyfs, in a small temporary repository: the real scripts, with stubs for cmake and apt-get
// that record their calls. Nothing is compiled, installed or downloaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "program.h"

namespace sisyfs::front_door_e2e_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class FrontDoorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sisyfs door XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    home_ = name;
    repo_ = home_ / "repo";
    tools_ = home_ / "tools";
    fs::create_directories(repo_ / "scripts");
    fs::create_directories(repo_ / "src" / "base");
    fs::create_directories(tools_);
    const fs::path source = SISYFS_SOURCE_DIR;
    fs::copy_file(source / "sisyfs", repo_ / "sisyfs");
    fs::copy_file(source / "scripts" / "door.sh", repo_ / "scripts" / "door.sh");
    for (const char* file : {"CMakeLists.txt", "CMakePresets.json", "src/base/thing.cc"})
      write(repo_ / file, "");

    // The only commands there are. Headers are looked for on the real machine, which has them all.
    for (const char* tool : {"awk", "cat", "chmod", "df", "dirname", "env", "find", "flock", "grep", "mkdir",
                             "mv", "readlink", "rm", "sh", "sleep", "tail"}) {
      link_tool(tool);
    }
    script("ninja", "");
    script("c++", "");
    script("id", "echo 0");
    script("cmake", kCmake);
  }
  void TearDown() override { fs::remove_all(home_); }

  // Configures by writing a cache, builds a program that says what it was given.
  static constexpr const char* kCmake = R"sh(
    echo "cmake $*" >>"$CALLS"
    if [ "$1" = --build ]; then
      echo "compiling, said cmake"
      [ -e "$CALLS.slow" ] && sleep 0.5
      [ -e "$CALLS.broken" ] && echo "thing.cc:1: error: expected a thing" && exit 1
      printf '%s\n' '#!/bin/sh' 'echo "in $PWD"' 'printf "[%s]\n" "$@"' 'cat' 'exit 3' >"$2/sisyfs"
      chmod +x "$2/sisyfs"
    else
      echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >"$4/CMakeCache.txt"
    fi)sh";

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  void link_tool(const std::string& name) const {
    for (const char* folder : {"/usr/bin", "/bin"}) {
      if (!fs::exists(fs::path(folder) / name)) continue;
      fs::create_symlink(fs::path(folder) / name, tools_ / name);
      return;
    }
    FAIL() << "no " << name << " on this machine";
  }
  void script(const std::string& name, const std::string& body) const {
    fs::remove(tools_ / name);
    write(tools_ / name, "#!/bin/sh\n" + body + "\n");
    fs::permissions(tools_ / name, fs::perms::owner_all);
  }

  // Runs a line of shell with the stand-ins as its only commands.
  Outcome shell(const std::string& line, const std::string& input = "") const {
    write(home_ / "in", input);
    const auto quoted = [](const fs::path& path) { return "'" + path.string() + "'"; };
    const std::string command =
        "cd " + quoted(home_) + " && unset CXX SISYFS_BUILD_DIR && PATH=" + quoted(tools_) +
        " CALLS=" + quoted(home_ / "calls") + " /bin/sh -c '" + line + "' <in >out 2>err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(home_ / "out"), read(home_ / "err")};
  }
  std::string calls() const { return read(home_ / "calls"); }
  size_t builds() const { return count(calls(), "cmake --build"); }

  // Gives a file a time after that of the last build, whatever the clock's grain.
  void touch(const fs::path& path) const {
    const auto built = fs::last_write_time(repo_ / "build/release/.door-stamp");
    fs::last_write_time(path, built + std::chrono::seconds(1));
  }

  fs::path home_, repo_, tools_;
};

TEST_F(FrontDoorTest, ArgumentsInputAndExitCodeAreThePrograms) {
  const Outcome run = shell("repo/sisyfs check \"two words\" \"\" \"*\" --set a=b", "typed\n");
  EXPECT_EQ(run.code, 3);
  EXPECT_EQ(run.out, "in " + home_.string() + "\n[check]\n[two words]\n[]\n[*]\n[--set]\n[a=b]\ntyped\n");
  EXPECT_EQ(run.err, "sisyfs: building (first start, two or three minutes)\n");
}

TEST_F(FrontDoorTest, RunsThroughASymlink) {
  fs::create_symlink(repo_ / "sisyfs", home_ / "a link");
  const Outcome run = shell("\"./a link\" demo");
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[demo]"));
  EXPECT_TRUE(fs::exists(repo_ / "build/release/sisyfs"));
}

TEST_F(FrontDoorTest, SecondStartIsSilentAndBuildsNothing) {
  shell("repo/sisyfs");
  const std::string before = calls();
  const Outcome run = shell("repo/sisyfs again");
  EXPECT_THAT(run.out, HasSubstr("[again]"));
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(calls(), before);
}

TEST_F(FrontDoorTest, ChangedAddedAndRemovedSourcesAreBuilt) {
  shell("repo/sisyfs");
  ASSERT_EQ(builds(), 1u);
  touch(repo_ / "src/base/thing.cc");
  EXPECT_EQ(shell("repo/sisyfs").err, "sisyfs: building what has changed\n");
  EXPECT_EQ(builds(), 2u);
  fs::last_write_time(repo_ / "src/base/thing.cc", fs::file_time_type::clock::now() - std::chrono::hours(1));

  fs::remove(repo_ / "src/base/thing.cc");
  touch(repo_ / "src/base");
  shell("repo/sisyfs");
  EXPECT_EQ(builds(), 3u) << "the folder's time tells of a file that came or went";
}

TEST_F(FrontDoorTest, ChangedTestBuildsNothing) {
  write(repo_ / "src/base/thing_test.cc", "");
  shell("repo/sisyfs");
  touch(repo_ / "src/base/thing_test.cc");
  shell("repo/sisyfs");
  EXPECT_EQ(builds(), 1u);
}

TEST_F(FrontDoorTest, MovedRepositoryIsBuiltAfresh) {
  shell("repo/sisyfs");
  fs::rename(repo_, home_ / "moved");
  const Outcome run = shell("moved/sisyfs");
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("another place"));
  EXPECT_EQ(builds(), 2u);
}

TEST_F(FrontDoorTest, TwoFirstStartsBuildOnce) {
  write(home_ / "calls.slow", "");
  const Outcome run = shell("repo/sisyfs one & repo/sisyfs two & wait");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(count(run.out, "in " + home_.string()), 2u) << "both ran the program\n" << run.out;
  EXPECT_THAT(run.err, HasSubstr("waiting for another start"));
  EXPECT_EQ(builds(), 1u) << calls();
}

TEST_F(FrontDoorTest, FailedBuildShowsItsOutputAndStaysFailed) {
  write(home_ / "calls.broken", "");
  for (int i = 0; i < 2; ++i) {
    const Outcome run = shell("repo/sisyfs demo");
    EXPECT_EQ(run.code, 4);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr("error: expected a thing"));
    EXPECT_THAT(run.err, HasSubstr("sisyfs: building failed; the whole output is in"));
  }
  fs::remove(home_ / "calls.broken");
  EXPECT_EQ(shell("repo/sisyfs demo").code, 3);
}

TEST_F(FrontDoorTest, FailedRebuildDoesNotRunTheOldProgram) {
  shell("repo/sisyfs");
  touch(repo_ / "src/base/thing.cc");
  write(home_ / "calls.broken", "");
  const Outcome run = shell("repo/sisyfs demo");
  EXPECT_EQ(run.code, 4);
  EXPECT_EQ(run.out, "");
}

TEST_F(FrontDoorTest, PlaceThatCannotBeWrittenIsNamed) {
  write(home_ / "file", "");
  const Outcome run = shell("SISYFS_BUILD_DIR=\"$PWD/file/build\" repo/sisyfs");
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.err,
              HasSubstr("sisyfs: cannot write to " + (home_ / "file/build").string() + " (Not a directory)"));
  EXPECT_EQ(count(run.err, "\n"), 1u) << run.err;
}

TEST_F(FrontDoorTest, BuildsElsewhereWhenTold) {
  const Outcome run = shell("SISYFS_BUILD_DIR=\"else where\" repo/sisyfs demo");
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_TRUE(fs::exists(home_ / "else where/release/sisyfs"));
  EXPECT_FALSE(fs::exists(repo_ / "build"));
}

// --- what is watched, against what is compiled -----------------------------------------------------------

std::set<std::string> lines_in(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

// The files of the repository that `compiled` names by their full paths (after spaces, as ninja prints them),
// from its root. What lies in the build directory was made from others.
std::set<std::string> sources_in(const std::string& compiled, const fs::path& root, const fs::path& build) {
  std::set<std::string> sources;
  for (const std::string& line : lines_in(compiled)) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    const fs::path path = (build / line.substr(begin)).lexically_normal();
    const std::string from_root = path.lexically_relative(root).generic_string();
    const bool is_built = path.lexically_relative(build).generic_string().substr(0, 2) != "..";
    if (from_root.substr(0, 2) != ".." && !is_built) sources.insert(from_root);
  }
  return sources;
}

TEST(FrontDoorWatchTest, SourcesOfTheRepositoryAreTakenFromWhatNinjaPrints) {
  EXPECT_THAT(sources_in("a.o: #deps 3\n    /repo/src/a.cc\n    ../../src/a.h\n    /usr/include/b.h\n"
                         "    generated/c.cc\n",
                         "/repo", "/repo/build/release"),
              testing::ElementsAre("src/a.cc", "src/a.h"));
}

TEST(FrontDoorWatchTest, EverySourceOfTheProgramIsWatched) {
  const fs::path build = fs::path(SISYFS_PROGRAM).parent_path();
  const fs::path root = SISYFS_SOURCE_DIR;
  if (!fs::exists(build / "build.ninja")) GTEST_SKIP() << "not built with ninja";
  // Objects and what they were compiled from, headers included.
  const std::string ninja = "ninja -C '" + build.string() + "' ";
  const Answer compiled = run_line(ninja + "-t inputs sisyfs | grep '[.]o$' | xargs " + ninja + "-t deps");
  const std::set<std::string> sources = sources_in(compiled.text, root, build);
  ASSERT_TRUE(sources.contains("src/cli/main.cc")) << compiled.text.substr(0, 1000);
  ASSERT_TRUE(sources.contains("include/sisyfs/plugin.h"));
  ASSERT_TRUE(sources.contains("bench/costs.cc"));

  const Answer door =
      run_line("root='" + root.string() + "'; . \"$root/scripts/door.sh\"; find_watched -type f -print");
  const std::set<std::string> watched = lines_in(door.text);
  for (const std::string& source : sources) {
    // Plug-ins for tests are built with the program and are no part of it.
    if (source.starts_with("tests/")) continue;
    EXPECT_TRUE(watched.contains(source))
        << source << " is compiled into sisyfs, and ./sisyfs misses its change";
  }
}

// What CMake reads to configure becomes part of the program too: lists of sources, the museum, the skeleton.
TEST(FrontDoorWatchTest, EveryFileThatCMakeReadsIsWatched) {
  const fs::path build = fs::path(SISYFS_PROGRAM).parent_path();
  const fs::path root = SISYFS_SOURCE_DIR;
  if (!fs::exists(build / "build.ninja")) GTEST_SKIP() << "not built with ninja";
  const Answer configured = run_line("ninja -C '" + build.string() + "' -t inputs build.ninja");
  const std::set<std::string> sources = sources_in(configured.text, root, build);
  ASSERT_TRUE(sources.contains("museum/exhibits.toml")) << configured.text.substr(0, 1000);
  const Answer door =
      run_line("root='" + root.string() + "'; . \"$root/scripts/door.sh\"; find_watched -type f -print");
  const std::set<std::string> watched = lines_in(door.text);
  for (const std::string& source : sources) {
    if (source.starts_with("tests/")) continue;
    EXPECT_TRUE(watched.contains(source)) << source;
  }
}

class MissingPackageTest : public FrontDoorTest {
 protected:
  void SetUp() override {
    FrontDoorTest::SetUp();
    fs::rename(tools_ / "cmake", home_ / "cmake");
    fs::remove(tools_ / "ninja");
    script("apt-get", "echo \"apt-get $*\" >>\"$CALLS\"");
  }
};

TEST_F(MissingPackageTest, RootInstallsIt) {
  // The installed cmake appears with the package; the quoting survives a home with a space in its name.
  script("apt-get",
         "echo \"apt-get $*, $DEBIAN_FRONTEND\" >>\"$CALLS\"\n"
         "case $* in *install*) mv \"${CALLS%calls}cmake\" \"${CALLS%calls}tools/cmake\" ;; esac");
  const Outcome run = shell("repo/sisyfs demo");
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_THAT(run.err, HasSubstr("sisyfs: installing cmake ninja-build\n"));
  EXPECT_THAT(calls(),
              testing::MatchesRegex("apt-get [^\n]*update, noninteractive\n"
                                    "apt-get [^\n]*install -y --no-install-recommends cmake ninja-build, "
                                    "noninteractive\n(.|\n)*"));
}

TEST_F(MissingPackageTest, WithoutSudoTheOneCommandIsPrinted) {
  script("id", "echo 1000");
  const Outcome run = shell("repo/sisyfs demo");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("\nsu -c 'apt-get update && apt-get install -y --no-install-recommends "
                                 "cmake ninja-build'\n"));
  EXPECT_EQ(calls(), "") << "nothing was tried";
}

TEST_F(MissingPackageTest, WithSudoThatAsksTheOneCommandIsPrinted) {
  script("id", "echo 1000");
  script("sudo", "exit 1");
  const Outcome run = shell("repo/sisyfs demo");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("\nsudo sh -c 'apt-get update && apt-get install"));
}

TEST_F(MissingPackageTest, WithSudoThatWorksItIsInstalled) {
  script("id", "echo 1000");
  script("sudo", "[ \"$1\" = -n ] && shift && echo as-root >>\"$CALLS\" && exec \"$@\"");
  link_tool("true");
  const Outcome run = shell("repo/sisyfs demo");
  EXPECT_THAT(run.err, HasSubstr("sisyfs: installing cmake ninja-build\n"));
  EXPECT_THAT(calls(), HasSubstr("as-root\napt-get"));
}

TEST_F(MissingPackageTest, WithoutAptGetThePackagesAreNamed) {
  fs::remove(tools_ / "apt-get");
  const Outcome run = shell("repo/sisyfs demo");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("no apt-get to install them: cmake ninja-build\n"));
}

TEST_F(MissingPackageTest, FailedInstallIsShown) {
  script("apt-get", "echo \"E: Unable to locate package\"; exit 100");
  const Outcome run = shell("repo/sisyfs demo");
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.err, HasSubstr("E: Unable to locate package"));
  EXPECT_THAT(run.err, HasSubstr("sisyfs: installing packages failed"));
  EXPECT_THAT(run.err, Not(HasSubstr("building")));
}

}  // namespace
}  // namespace sisyfs::front_door_e2e_test
