#include "explore/remote_end.h"

#include <utility>

namespace sisyfs {

RemoteEnd::RemoteEnd(Team& team, unsigned number, const Digest& initial, std::function<void(Error)> report)
    : team_(team), number_(number), initial_(initial), report_(std::move(report)) {}

void RemoteEnd::start() {
  while (link_ == nullptr && !team_.stopped()) {
    Result<std::unique_ptr<WorkerLink>> link = team_.options().start_worker(number_);
    if (!link) return report_(link.error());
    link_ = *std::move(link);
    told_to_stop_.reset();
    const SearchOptions& options = team_.options();
    send(message::Begin{options.order, options.dedup, options.prints, options.shape_ops});
    switch (listen()) {
      case Heard::kGone:
        mourn();
        break;
      case Heard::kLost:
      case Heard::kStopped:
        link_.reset();
        break;
      case Heard::kAnswer:
        if (const auto* refused = std::get_if<message::Refused>(&answer_))
          return report_(system_error(refused->why));
        const auto* ready = std::get_if<message::Ready>(&answer_);
        if (ready == nullptr || ready->initial != initial_)
          report_(system_error(
              "the target is not deterministic: its initial state is another one in each process"));
    }
  }
}

// A single death may come from outside, for example from a system that is out of memory. Several deaths over
// the same work for an unknown reason end the search.
void RemoteEnd::mourn() {
  const Result<Obituary> obituary = link_->mourn();
  link_.reset();
  if (!obituary) return report_(obituary.error());
  if (!obituary->explained && ++unexplained_ > kMostUnexplained)
    report_(system_error("workers of the search die over and over: " + obituary->text));
}

void RemoteEnd::replace() {
  mourn();
  start();
}

RemoteEnd::Heard RemoteEnd::listen() {
  for (;;) {
    switch (link_->receive(bytes_, kLookEach)) {
      case Receipt::kGone:
        return Heard::kGone;
      case Receipt::kMessage:
        if (std::optional<message::Any> answer = message::decode(bytes_)) {
          answer_ = *std::move(answer);
          return Heard::kAnswer;
        }
        return Heard::kGone;
      case Receipt::kNothing:
        if (!team_.stopped()) break;
        if (!told_to_stop_) {
          told_to_stop_ = Clock::now();
          send(message::Stop{});
        } else if (Clock::now() - *told_to_stop_ > kLastWords) {
          return Heard::kStopped;
        }
    }
  }
}

std::optional<message::Account> RemoteEnd::finish() {
  std::optional<message::Account> account;
  if (link_ == nullptr) return account;
  send(message::End{});
  while (!account && listen() == Heard::kAnswer)
    if (const auto* said = std::get_if<message::Account>(&answer_)) account = *said;
  link_.reset();
  return account;
}

}  // namespace sisyfs
