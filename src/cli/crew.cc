#include "cli/crew.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include "adapters/plugin/process_guard.h"
#include "base/printable.h"
#include "cli/cli.h"
#include "cli/death.h"
#include "explore/socket_link.h"

namespace sisyfs::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A worker that is in no call and says nothing for so long does not react any more.
constexpr std::chrono::seconds kSilence{20};

class ProcessLink : public WorkerLink {
 public:
  ProcessLink(int socket, pid_t process, BlackBox& box, uint32_t slot)
      : socket_(socket, kSilence), process_(process), box_(box), slot_(slot) {}
  ~ProcessLink() override { end(); }
  ProcessLink(const ProcessLink&) = delete;
  ProcessLink& operator=(const ProcessLink&) = delete;

  bool send(std::span<const std::byte> message) override { return socket_.send(message); }

  Receipt receive(std::vector<std::byte>& message, std::chrono::milliseconds patience) override {
    const Receipt receipt = socket_.receive(message, patience);
    if (receipt == Receipt::kMessage) moved_ = Clock::now();
    return receipt == Receipt::kNothing && is_stuck() ? Receipt::kGone : receipt;
  }

  Result<Obituary> mourn() override {
    const int status = end();
    const bool inside = slot().inside;
    if (is_own_assertion(status, inside))
      return system_error(fmt::format("a worker of the search {}", kOwnAssertion));
    Obituary obituary;
    obituary.text = stuck_     ? kStuck
                    : hung_up_ ? "it took away the connection to the search"
                               : text_of_death(process_, status, inside);
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    const uint64_t call = slot().call;
    if (!is_killed_by_others(status, inside ? call : 0))
      obituary.explained =
          call != 0 && box_.blame(call, obituary.text, !stuck_ && !hung_up_ && !is_killed(status));
    to_stderr(fmt::format("sisyfs: {}; another worker {}\n", printable(obituary.text),
                          obituary.explained ? "tries that call separately" : "tries again"));
    return obituary;
  }

 private:
  const BlackBox::Slot& slot() const { return box_.slots[slot_]; }

  // SIGKILL usually comes from somebody else. The call is to blame only if the signal comes in the same call
  // three times in a row. Some calls have one number for many images (mount), and a worker is in them often.
  bool is_killed_by_others(int status, uint64_t call) const {
    static struct {
      uint64_t call;
      int times;
    } kills[BlackBox::kSlots];
    if (!is_killed(status) || stuck_ || hung_up_) return false;
    auto& last = kills[slot_];
    last.times = last.call == call ? last.times + 1 : 1;
    last.call = call;
    return call == 0 || last.times < 3;
  }

  bool is_stuck() {
    const Clock::time_point now = Clock::now();
    const uint64_t calls = slot().calls;
    if (calls != calls_) {
      calls_ = calls;
      moved_ = now;
    }
    const auto limit = slot().inside ? std::chrono::seconds(slot().seconds + kGraceSeconds) : kSilence;
    stuck_ = now - moved_ > limit;
    return stuck_;
  }

  // Ends the process, unless it has ended by itself. Its status.
  int end() {
    if (process_ended_) return status_;
    hung_up_ = !stuck_ && !has_ended_soon();
    if (stuck_ || hung_up_) send_signal(process_, SIGKILL);
    while (!process_ended_ && waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
    }
    process_ended_ = true;
    return status_;
  }
  // A socket is closed some time before the process is gone.
  bool has_ended_soon() {
    for (int i = 0; i < 50; ++i) {
      if (waitpid(process_, &status_, WNOHANG) == process_) return process_ended_ = true;
      usleep(2000);
    }
    return false;
  }

  SocketLink socket_;
  const pid_t process_;
  BlackBox& box_;
  const uint32_t slot_;
  bool process_ended_ = false, stuck_ = false;
  bool hung_up_ = false;  // its end of the connection is closed, and it still runs
  int status_ = 0;
  uint64_t calls_ = 0;
  Clock::time_point moved_ = Clock::now();  // when it last said something or began a call
};

// Replaces the forked process by a worker. Returns only if that fails.
void become_worker(std::vector<char*>& argv, int socket, int box, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return;  // it has died already
  fcntl(socket, F_SETFD, 0);
  fcntl(box, F_SETFD, 0);
  // Standard output is the report's. The real standard error is kept elsewhere (process_guard.h).
  const int real = fileno(stderr);
  dup2(real, STDERR_FILENO);
  dup2(real, STDOUT_FILENO);
  execv("/proc/self/exe", argv.data());
}

Result<std::unique_ptr<WorkerLink>> start(const Setup& setup, const SharedBlackBox& shared, unsigned worker,
                                          const OwnWorkload& workload) {
  const uint32_t slot = worker + 1;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error(fmt::format("cannot start a worker of the search: {}", std::strerror(errno)));
  // Foreign code may have closed the standard streams. Their numbers get new files in the worker.
  for (int& end : ends) {
    if (end > STDERR_FILENO) continue;
    const int above = fcntl(end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(std::exchange(end, above));
  }
  std::vector<std::string> words{"sisyfs",   "serve-search",
                                 "--socket", std::to_string(ends[1]),
                                 "--box",    std::to_string(shared.descriptor()),
                                 "--slot",   std::to_string(slot)};
  for (const std::string& setting : setup.settings) {
    words.emplace_back("--set");
    words.push_back(setting);
  }
  if (!workload.script.empty()) words.push_back("--script=" + workload.script);
  if (workload.ace != 0) words.push_back(fmt::format("--ace={}", workload.ace));
  words.emplace_back("--");
  words.push_back(setup.target);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  shared.box()->clear(slot);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    become_worker(argv, ends[1], shared.descriptor(), parent);
    _exit(kHarness);
  }
  const int error = errno;
  close(ends[1]);
  if (child > 0)
    return std::unique_ptr<WorkerLink>(std::make_unique<ProcessLink>(ends[0], child, *shared.box(), slot));
  close(ends[0]);
  return system_error(fmt::format("cannot start a worker of the search: {}", std::strerror(error)));
}

}  // namespace

StartWorker crew_of(const Setup& setup, const SharedBlackBox& box, const OwnWorkload& workload) {
  return [setup, &box, workload](unsigned worker) { return start(setup, box, worker, workload); };
}

}  // namespace sisyfs::cli
