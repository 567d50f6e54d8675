// The libraries that a shared library is linked with, read from its file: what can be known before it is
// loaded.
//
//   for (const std::string& name : needed_libraries("./libmyfs.so")) ...  // "libc.so.6"
#pragma once

#include <string>
#include <vector>

namespace sisyfs {

// Their names as the file has them; none if it is no shared library of this machine, or is damaged.
std::vector<std::string> needed_libraries(const std::string& path);

}  // namespace sisyfs
