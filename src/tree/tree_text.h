// Trees as text, for reports and tests. Not optimized.
#pragma once

#include <string>

#include "tree/tree.h"

namespace sisyfs {

// The first difference in the order of paths, as one line: "file /b: size 2, expected 1". Empty if the trees
// are equal. Where only what is behind a handle differs: "handle @1: size 0, expected 512".
std::string first_difference(const Tree& got, const Tree& expected);

// One line for each path, in order:
//
//   dir  /
//   file /a        3 bytes, 9c1f03a2
//   file /b        is /a
//   dir  /d
//   link /d/l      -> ../a
//
// The eight digits are a digest of the data. A link count that differs from the number of names is listed,
// and so are a mode that is not that of a new file, extended attributes ("; user.a 3 bytes") and handles
// ("@1   a file without a name, 3 bytes").
std::string listing(const Tree& tree);

}  // namespace sisyfs
