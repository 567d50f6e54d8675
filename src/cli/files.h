// Files that the user names: read whole, written whole or not at all.
//
//   if (Status s = can_write(path); !s) return fail(s.error());   // before hours of work
//   ...
//   if (Status s = write_file(path, text); !s) return fail(s.error());
#pragma once

#include <string>

#include "base/result.h"

namespace sisyfs::cli {

Result<std::string> read_file(const std::string& path);

// Writes a whole file, or says why not and leaves what is there; nothing beside it is touched. A symbolic
// link stays one, a device or a pipe is written to and not replaced, "-" is standard output.
Status write_file(const std::string& path, const std::string& content);

// Whether write_file() will work, found out without touching what is there.
Status can_write(const std::string& path);

// Whether two paths lead to one file, be it there or not.
bool same_file(const std::string& a, const std::string& b);

}  // namespace sisyfs::cli
