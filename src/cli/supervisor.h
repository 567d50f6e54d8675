// The supervisor: runs the search of a plug-in in a child process, and restarts it if the process dies.
//
// The fence (adapters/plugin/fence.h) catches most faults of a plug-in. Others, such as a sanitizer that ends
// the process or a wild write into the checker, end the process of the search. The supervisor then restarts
// the search and tells it the deadly call. Before the new search makes that call, it tries the call in
// another process, sees that process die, and continues with a finding. Searches are deterministic, so the
// restarted search reaches the same call.
//
// A search by generations has workers in further processes (crew.h), which are replaced one by one. Then the
// process of the search runs foreign code only to begin and to tell findings.
//
//   return supervise([&](const SharedBlackBox& box) { return search_and_report(named, options, output); });
#pragma once

#include <functional>

#include "adapters/plugin/black_box.h"

namespace sisyfs::cli {

// Runs `search` and returns the exit code of the process that completed it. Must be called while the process
// has only one thread.
int supervise(const std::function<int(const SharedBlackBox& box)>& search);

}  // namespace sisyfs::cli
