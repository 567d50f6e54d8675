// The version of an overwrite. Private to src/workload.
#pragma once

#include <cstdint>

#include "tree/file_data.h"
#include "workload/op.h"

namespace sisyfs {

// The write with the version after that of the bytes that are there, so that it always changes something.
Op next_version(Op op, const FileData& data, uint32_t versions);

}  // namespace sisyfs
