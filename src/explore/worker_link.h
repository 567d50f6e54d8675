// WorkerLink: the connection between a search and one worker that runs elsewhere: in another process, in a
// guest, on another computer. What travels are choices and fingerprints, never states.
//
// A search by generations, or by random walks, is given a StartWorker (SearchOptions::start_worker). It then
// expands no state itself: each of its threads starts a worker, sends it the choices that lead to a state or
// the number of a walk, and receives what the successors are (worker_messages.h). The other end is
// serve_search() (serve_search.h).
//
//   Result<std::unique_ptr<WorkerLink>> link = options.start_worker(0);
//   (*link)->send(message);
//   if ((*link)->receive(message, std::chrono::milliseconds(50)) == Receipt::kGone) ...
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace sisyfs {

enum class Receipt : uint8_t {
  kMessage,
  kNothing,  // no message has arrived in time
  kGone,     // the other end is gone, or does not react any more
};

// Why a worker is gone.
struct Obituary {
  std::string text = "a worker of the search is gone";
  bool explained = false;  // another worker will not die of it
};

class WorkerLink {
 public:
  virtual ~WorkerLink() = default;  // also ends a worker that is still there

  // Waits until the message is on its way. False if the other end is gone.
  virtual bool send(std::span<const std::byte> message) = 0;
  // The next message. Waits for it, but not longer than `patience`.
  virtual Receipt receive(std::vector<std::byte>& message, std::chrono::milliseconds patience) = 0;

  // Called by the search after kGone, once. An error ends the search. Otherwise a new worker tries the same
  // work again.
  virtual Result<Obituary> mourn() { return Obituary{}; }
};

// Starts the worker with this number, or its replacement. Called from several threads.
using StartWorker = std::function<Result<std::unique_ptr<WorkerLink>>(unsigned worker)>;

}  // namespace sisyfs
