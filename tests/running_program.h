// The program while it runs, for end-to-end tests that send signals to it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

namespace sisyfs {

// How long to wait for the output of a search. Under a sanitizer a search takes a hundred times as long.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr std::chrono::minutes kPatience{30};
#else
inline constexpr std::chrono::minutes kPatience{2};
#endif

// Starts the program with arguments that have no spaces; standard output and standard error go to a file.
class Running {
 public:
  Running(const std::string& arguments, const std::string& output) {
    std::vector<std::string> words{SISYFS_PROGRAM};
    std::istringstream in(arguments);
    for (std::string word; in >> word;) words.push_back(word);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Running() {
    if (!ended_) end(SIGKILL);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void send(int signal) const { kill(pid_, signal); }
  // Sends a signal (0: none) and waits for the end. Returns the status of waitpid().
  int end(int signal = 0) {
    if (signal != 0) send(signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    ended_ = true;
    return status;
  }

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
};

// Waits until a text is in a file.
inline bool says(const std::string& path, const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < kPatience) {
    if (content_of(path).find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace sisyfs
