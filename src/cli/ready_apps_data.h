// The files of src/adapters/app/ready/, which are a part of the program.
#pragma once

#include <cstddef>
#include <string_view>

namespace sisyfs::cli {

struct ReadyAppFile {
  std::string_view name, content;
};
extern const ReadyAppFile kReadyAppFiles[];
extern const size_t kReadyAppCount;

}  // namespace sisyfs::cli
