// StableWords: where in the log of an op the target said that it was stable (Disk::say_stable).
//
// A promise of a call is made when the call has returned. A target that commits on its own account may say so
// in the middle of one, and that counts for every power cut from there on, also within the same call:
//
//   words.restart(disk.state().log);                         // right after the call
//   words.said();                                            // what holds once the call has returned
//   while (const CrashPoint* point = ...) words.by(point->promises);  // and at each crash point
#pragma once

#include <algorithm>
#include <vector>

#include "disk/disk.h"

namespace sisyfs {

class StableWords {
 public:
  // The log holds no promises but those of the op. O(1) where there are none, as nearly always.
  void restart(const Log& log) {
    said_.clear();
    if (log.promises() == 0) return;
    Stable most = Stable::kNothing;
    for (const Event* event : log.events(events_)) {
      if (event->kind != EventKind::kBoundary || event->boundary.kind != BoundaryKind::kPromise) continue;
      most = std::max(most, static_cast<Stable>(event->boundary.number));
      said_.push_back(most);
    }
  }

  size_t count() const { return said_.size(); }
  Stable said() const { return by(said_.size()); }
  // What had been said after so many promises of the log, at most count().
  Stable by(size_t promises) const { return promises == 0 ? Stable::kNothing : said_[promises - 1]; }

 private:
  std::vector<Stable> said_;
  std::vector<const Event*> events_;
};

}  // namespace sisyfs
