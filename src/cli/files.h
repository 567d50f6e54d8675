// Files that the user names. They are read completely, and written completely or not at all.
//
//   if (Status s = can_write(path); !s) return fail(s.error());   // before a long search
//   ...
//   if (Status s = write_file(path, text); !s) return fail(s.error());
#pragma once

#include <string>

#include "base/result.h"

namespace sisyfs::cli {

// The largest files that are read: data of the museum, and runs with their findings.
inline constexpr size_t kMostExhibits = size_t{16} << 20;
inline constexpr size_t kMostRun = size_t{256} << 20;

// Bad input unless it is a regular file of at most `most` bytes. Never waits for a pipe or a device.
Result<std::string> read_file(const std::string& path, size_t most);

// Bad input if the path is there and is no regular file, or one that is too large for a library.
Status can_be_library(const std::string& path);

// Replaces the content of a file. On an error the old file is unchanged. A symbolic link is followed; a
// device or pipe is written to and not replaced; "-" is standard output.
Status write_file(const std::string& path, const std::string& content);

// Whether write_file() will probably work. Changes no existing file.
Status can_write(const std::string& path);

// Whether two paths lead to the same file, which need not exist.
bool same_file(const std::string& a, const std::string& b);

}  // namespace sisyfs::cli
