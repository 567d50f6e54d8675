// What a directory holds, as a digest: names, types, data and targets of links. Times, modes and owners do
// not count.
#pragma once

#include <string>
#include <vector>

#include "adapters/fuse/file_store.h"
#include "base/digest.h"

namespace sisyfs {

// `ignored`: patterns of names that are passed over, as in a shell.
Digest contents_of(FileStore& files, const std::vector<std::string>& ignored);

}  // namespace sisyfs
