// What a kernel prints when something is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sisyfs {

enum class Complaint : uint8_t {
  kNone,
  kFileSystem,  // the file system finds its own disk wrong, or gives up
  kKernel,      // the kernel finds itself wrong: BUG, WARNING, an oops, lockdep, KASAN
};

struct Complained {
  Complaint what = Complaint::kNone;
  std::string line;  // the first one of the gravest kind
};

// Looks through lines of the console.
Complained complaint_in(std::string_view printed);

}  // namespace sisyfs
