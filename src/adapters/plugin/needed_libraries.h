// The libraries that a shared library is linked with, read from its file without loading it.
//
//   for (const std::string& name : needed_libraries("./libmyfs.so")) ...  // "libc.so.6"
#pragma once

#include <string>
#include <vector>

namespace sisyfs {

// Their names as in the file. Empty if it is no shared library for this machine, or is damaged.
std::vector<std::string> needed_libraries(const std::string& path);

}  // namespace sisyfs
