// RemoteWalks: the search's side of a worker elsewhere that takes random walks (worker_link.h).
//
// A walk is named by its number, so any worker takes the same one. A worker that dies or hangs is replaced,
// and the new one is given the same walks. What the old one had sent of them is forgotten.
//
//   Elsewhere elsewhere;                                       // shared by all workers
//   RemoteWalks remote(elsewhere, team, worker, initial, length);
//   remote.take_all(claim, tally, met, count, part_done);
#pragma once

#include <deque>
#include <functional>
#include <mutex>

#include "explore/remote_end.h"
#include "explore/walker.h"

namespace sisyfs {

// What workers elsewhere report beside their walks.
class Elsewhere {
 public:
  // Ends the search with a reason. The first one counts.
  void report_trouble(Team& team, Error error);
  void add(const CrashCounts& counts);
  void add(Team& team, const message::Account& account);
  void conclude(SearchResult& result) const;

 private:
  std::mutex mutex_;
  CrashCounts counts_;
  std::optional<EdgeCount> edges_;
  std::optional<Error> trouble_;
};

class RemoteWalks {
 public:
  RemoteWalks(Elsewhere& elsewhere, Team& team, unsigned number, const Digest& initial, uint32_t length);

  // Takes walks as long as claim() gives one. count() gets the fingerprint of each successor.
  void take_all(const std::function<bool(uint64_t&)>& claim, Tally& tally, detail::WalksMet& met,
                const std::function<void(const Digest&)>& count, const std::function<void()>& part_done);

 private:
  using Heard = RemoteEnd::Heard;

  void order(uint64_t walk);
  // The answer to the order for this walk.
  Heard hear(uint64_t walk, Tally& tally, detail::WalksMet& met,
             const std::function<void(const Digest&)>& count, const std::function<void()>& part_done);

  Elsewhere& elsewhere_;
  Team& team_;
  const uint32_t length_;
  RemoteEnd end_;
};

}  // namespace sisyfs
