// RemoteWorker: the search's side of a worker that runs elsewhere (worker_link.h). A thread of a search by
// generations has one instead of expanding states itself.
//
// A worker that dies or hangs is replaced, and the new one is given the same states. What the old one had
// sent of them is forgotten.
//
//   RemoteWorker remote(harvest, team, worker);
//   while (!harvest.over()) {
//     remote.work_round();
//     ...                        // wait for the other workers
//   }
//   remote.finish();
#pragma once

#include <deque>

#include "explore/harvest.h"
#include "explore/remote_end.h"

namespace sisyfs {

class RemoteWorker {
 public:
  RemoteWorker(Harvest& harvest, Team& team, unsigned number);

  // Expands nodes until the round ends.
  void work_round();
  // Asks for the account, and ends the worker.
  void finish();

 private:
  using Heard = RemoteEnd::Heard;

  // A range of the generation.
  struct Range {
    uint32_t begin = 0, end = 0;
  };
  // What an expansion adds to the worker's hand is taken back if the worker is lost.
  struct Before {
    size_t candidates;
    Agenda::MarkCounts marks;
    Tally tally;
    FirstMet met;
  };

  void order(const Range& range);
  // The answer to the order for this range.
  Heard hear(const Range& range);
  void add(const message::Part& part, const Range& range);
  Before before() const;
  void take_back(const Before& before);

  Harvest& harvest_;
  Team& team_;
  const unsigned number_;
  Hand& hand_;
  RemoteEnd end_;
  Trace path_;                 // the last one that was sent
  std::deque<Range> ordered_;  // and not answered
  CrashCounts counts_;         // of all answers
};

}  // namespace sisyfs
