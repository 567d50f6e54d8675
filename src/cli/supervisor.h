// The supervisor: runs a search of foreign code in a process of its own, and again if that dies with it.
//
// Most of what foreign code does wrong the fence catches. What it cannot (a sanitizer that ends the process,
// a wild write into the checker) ends the process of the search. Then the search is begun again in a new one,
// which knows the deadly call: before it makes that call it tries it in a third process, sees it die and goes
// on with a finding. Searches are deterministic, so that this leads to the same place.
//
//   return supervise([&] { return search_and_report(named, options, output); });
#pragma once

#include <functional>

namespace sisyfs::cli {

// The exit code of the life that came to its end. Only where there is one thread yet.
int supervise(const std::function<int()>& life);

}  // namespace sisyfs::cli
