// A disk image that the user gives: a search begins there instead of on a new file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sisyfs {

inline constexpr uint64_t kMostImageBytes = uint64_t{1} << 30;

// Whether this value of the option start is the path of an image.
bool is_image_path(std::string_view start);

// The content of the file. Bad input, with the reason, if it is no file, cannot be read, is empty, or is more
// than can be held.
Result<std::vector<std::byte>> read_user_image(const std::string& path);
// Why an image of this size cannot be held where so much memory is free; empty: it can.
std::string why_too_large(uint64_t bytes, uint64_t free_bytes);

// What tells two images apart: 32 digits.
std::string image_digest(std::span<const std::byte> image);

}  // namespace sisyfs
