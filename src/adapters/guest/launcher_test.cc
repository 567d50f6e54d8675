#include "adapters/guest/launcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace sisyfs::launcher_test {
namespace {

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
  }
  ~Pipe() {
    close_end();
    close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int end() const { return ends_[1]; }
  void close_end() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  // All that comes, up to the end.
  std::string read_all() {
    close_end();
    std::string all;
    char bytes[256];
    for (ssize_t n; (n = read(ends_[0], bytes, sizeof bytes)) > 0;) all.append(bytes, static_cast<size_t>(n));
    return all;
  }
  // What comes with one read.
  std::string read_some() const {
    char bytes[256];
    const ssize_t n = read(ends_[0], bytes, sizeof bytes);
    return n > 0 ? std::string(bytes, static_cast<size_t>(n)) : "";
  }

 private:
  int ends_[2] = {-1, -1};
};

LaunchOrder shell(const std::string& line) {
  LaunchOrder order;
  order.program = "/bin/sh";
  order.arguments = {"sh", "-c", line};
  order.environment = {"PATH=/usr/bin:/bin"};
  return order;
}

int end_of(pid_t process) {
  int status = 0;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  return status;
}

std::string output_of(LaunchOrder order) {
  Pipe pipe;
  order.descriptors.emplace_back(pipe.end(), STDOUT_FILENO);
  const pid_t process = launch(order);
  EXPECT_GT(process, 0);
  const std::string all = pipe.read_all();
  EXPECT_EQ(end_of(process), 0);
  return all;
}

// Whether a process is there and is not a zombie.
bool lives(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name = text.rfind(')');
  return name != std::string::npos && text.substr(name + 2, 1) != "Z";
}

bool ends_soon(pid_t process) {
  for (int i = 0; i < 500 && lives(process); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !lives(process);
}

TEST(LauncherTest, AProcessHasItsArgumentsItsEnvironmentAndASession) {
  LaunchOrder order = shell("echo $0 $1; echo $A; ps -o sid= -p $$ | tr -d ' '; echo $$");
  order.arguments.insert(order.arguments.end(), {"zero", "one"});
  order.environment.emplace_back("A=b c");
  const std::string all = output_of(order);
  EXPECT_TRUE(all.starts_with("zero one\nb c\n")) << all;
  const std::string rest = all.substr(std::string("zero one\nb c\n").size());
  const size_t line = rest.find('\n');
  EXPECT_EQ(rest.substr(0, line + 1), rest.substr(line + 1)) << "is the leader of its session";
}

TEST(LauncherTest, OnlyWhatIsOrderedIsOpen) {
  Pipe pipe;
  const int kept_open = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GE(kept_open, 0);
  LaunchOrder order = shell("cd /proc/self/fd && echo *");
  order.descriptors = {{pipe.end(), 61}, {pipe.end(), 5}};
  // The shell itself opens the folder for a moment.
  const std::string all = " " + output_of(order);
  close(kept_open);
  for (const char* wanted : {" 0 ", " 1 ", " 2 ", " 5 ", " 61"})
    EXPECT_NE(all.find(wanted), std::string::npos) << wanted << " in" << all;
  EXPECT_LE(std::count(all.begin(), all.end(), ' '), 6) << all;
}

TEST(LauncherTest, DescriptorsMayChangePlaces) {
  Pipe one, two;
  LaunchOrder order =
      shell("echo first >&" + std::to_string(two.end()) + "; echo second >&" + std::to_string(one.end()));
  order.descriptors = {{one.end(), two.end()}, {two.end(), one.end()}};
  const pid_t process = launch(order);
  ASSERT_GT(process, 0);
  EXPECT_EQ(one.read_all(), "first\n");
  EXPECT_EQ(two.read_all(), "second\n");
  EXPECT_EQ(end_of(process), 0);
}

TEST(LauncherTest, AProcessIsPinned) {
  LaunchOrder order = shell("grep Cpus_allowed_list /proc/self/status");
  order.cpu = 0;
  EXPECT_EQ(output_of(order), "Cpus_allowed_list:\t0\n");
}

TEST(LauncherTest, AProgramThatIsNotThereAnswers127) {
  LaunchOrder order = shell("");
  order.program = "/nonexistent/program";
  const pid_t process = launch(order);
  ASSERT_GT(process, 0);
  const int status = end_of(process);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 127);
}

TEST(LauncherTest, ThreadsLaunchAtOnceAndTheirProcessesOutliveThem) {
  std::vector<std::thread> threads;
  std::vector<pid_t> processes(8);
  for (pid_t& process : processes)
    threads.emplace_back([&process] { process = launch(shell("sleep 0.2; exit 7")); });
  for (std::thread& thread : threads) thread.join();
  for (const pid_t process : processes) {
    ASSERT_GT(process, 0);
    const int status = end_of(process);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
  }
}

// A process that is killed cannot clean up: the kernel does.
TEST(LauncherTest, AProcessDiesWithItsParent) {
  (void)end_of(launch(shell("exit 0")));  // so that this process has a launcher, which the forked one has not
  Pipe pipe;
  const pid_t parent = fork();
  if (parent == 0) {
    LaunchOrder order = shell("echo $$; sleep 1000 & wait");
    order.descriptors.emplace_back(pipe.end(), STDOUT_FILENO);
    (void)launch(order);
    for (;;) pause();
  }
  ASSERT_GT(parent, 0);
  pipe.close_end();
  const pid_t child = std::stoi("0" + pipe.read_some());
  EXPECT_GT(child, 0);
  EXPECT_TRUE(lives(child));
  EXPECT_EQ(kill(parent, SIGKILL), 0);
  end_of(parent);
  EXPECT_TRUE(ends_soon(child)) << child;
  kill(-child, SIGKILL);  // the sleeper, which is not ours to look after
}

}  // namespace
}  // namespace sisyfs::launcher_test
