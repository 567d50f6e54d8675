// RemoteEnd: the search's end of the link to one worker that runs elsewhere (worker_link.h): starts it,
// listens to it, and replaces it when it dies.
//
//   RemoteEnd end(team, number, initial, report_trouble);
//   end.start();
//   end.send(order);
//   if (end.listen() == RemoteEnd::Heard::kGone) { end.replace(); end.send(order); }
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "explore/team.h"
#include "explore/worker_link.h"
#include "explore/worker_messages.h"

namespace sisyfs {

class RemoteEnd {
 public:
  enum class Heard : uint8_t { kAnswer, kLost, kStopped, kGone };

  // `initial`: the fingerprint of the initial state. `report` ends the search with a reason.
  RemoteEnd(Team& team, unsigned number, const Digest& initial, std::function<void(Error)> report);

  bool alive() const { return link_ != nullptr; }
  // Starts a worker, unless the search has ended. Afterwards alive() tells.
  void start();
  // If the worker is gone, the next listen() tells.
  void send(const message::Any& message) { link_->send(message::encode(message)); }
  // The next message, in answer(). Tells a worker of a search that has ended to stop, and gives it up if it
  // does not.
  Heard listen();
  const message::Any& answer() const { return answer_; }
  // After kGone: starts another worker, unless several have died over the same work for an unknown reason.
  void replace();
  // The work was done: earlier deaths count no more.
  void worked() { unexplained_ = 0; }
  // Asks for the account, and ends the worker. Nothing if it is gone.
  std::optional<message::Account> finish();
  void end() { link_.reset(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kLookEach{20};    // at the stop flag of the search
  static constexpr std::chrono::milliseconds kLastWords{400};  // for a worker that was told to stop
  static constexpr uint32_t kMostUnexplained = 3;              // deaths over the same work

  void mourn();

  Team& team_;
  const unsigned number_;
  const Digest initial_;
  const std::function<void(Error)> report_;
  std::unique_ptr<WorkerLink> link_;
  std::vector<std::byte> bytes_;
  message::Any answer_;
  std::optional<Clock::time_point> told_to_stop_;
  uint32_t unexplained_ = 0;  // deaths since the last answer
};

}  // namespace sisyfs
