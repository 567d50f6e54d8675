// Names for a workload: plain ones, or ones that are hard for the directory code of a file system.
//
//   Bounds bounds;
//   bounds.names = names_of(NameStyle::kColliding, 255, 2);   // "abbabaab", "baababba", ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sisyfs {

enum class NameStyle : uint8_t {
  kPlain,  // one letter: "a", "b", ...
  // As long as allowed. The names differ in their last character alone, so a system that cuts off or compares
  // too little takes one for another.
  kLong,
  // All of one length. The first two have the same letters, so the same sum and the same xor. They also have
  // the same polynomial hash (31, 33, 65599 or any other odd multiplier) modulo 2^8 at least, if there is
  // room for 8 letters, so they share a bucket in most tables. The next differ from the first in the case,
  // and in the last letter.
  kColliding,
};

// Eight different names of at most `max_name` bytes, of which `depth` make a path. Fewer if the names are too
// short for eight. At least one byte must be allowed, and a path must have room for names of one byte.
std::vector<std::string> names_of(NameStyle style, uint64_t max_name, uint32_t depth);

}  // namespace sisyfs
