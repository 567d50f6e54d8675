// The crew of a search: worker processes that run the foreign code of a target (explore/worker_link.h).
//
// A plug-in can run once in a process. So a search of a plug-in starts this program again for each worker
// ('sisyfs serve-search', which is not for users), connected by a pair of sockets. A worker that dies or does
// not react any more is replaced. The call that it was in becomes deadly (adapters/plugin/black_box.h): the
// new worker tries it in a forked process, and goes on with a finding if it dies there too.
//
//   options.start_worker = crew_of(named.setup, shared_box);
#pragma once

#include <cstdint>
#include <string>

#include "adapters/plugin/black_box.h"
#include "explore/worker_link.h"
#include "finding/finding.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sisyfs::cli {

// What a search follows instead of the usual workload.
struct OwnWorkload {
  std::string script;  // its text; empty: none
  uint32_t ace = 0;    // core ops of the workloads of ACE; 0: not those
};

// Workers of a target with these settings, for a search that follows this workload. Borrows the box.
StartWorker crew_of(const Setup& setup, const SharedBlackBox& box, const OwnWorkload& workload = {});

// Adds the hidden subcommand of a worker.
void add_serve_search(CLI::App& app);

}  // namespace sisyfs::cli
