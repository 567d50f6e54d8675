// A target that plays a log of writes to its disk instead of making the calls itself: a decorator.
//
// After format() and mount() it plays: its only op is play. After a power cut it is the target that it
// decorates, which mounts what came back and is judged. A disk on which everything is written up to an entry
// is mounted once, to see which tree the entries lead to.
#pragma once

#include <functional>
#include <memory>

#include "adapters/recorded/recorded_log.h"
#include "target/target.h"

namespace sisyfs {

// `repairs`: its recovery begins with the repair.
std::unique_ptr<Target> make_played_target(std::shared_ptr<const RecordedLog> log,
                                           std::unique_ptr<Target> inner, bool repairs);

}  // namespace sisyfs
