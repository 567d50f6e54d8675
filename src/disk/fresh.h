// The content of a disk before it is formatted: zeros, or garbage that can be recognised.
//
// A new file system often lies on a disk that held another one. Bytes of that one in a file are stale data.
// On a disk of zeros they cannot be told from a hole, so the garbage is bytes that no op writes: a text that
// names its block and its offset, "<old 00c:000010>".
//
//   Image image = fresh_image(geometry, FreshContent::kGarbage);
//   find_garbage(bytes_of_a_file);   // block 12, if these are the bytes of block 12 of a fresh disk
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "disk/image.h"

namespace sisyfs {

enum class FreshContent : uint8_t {
  kZeros,
  kGarbage,  // text that names its block and its offset
};

// The disks before the format. Raw flash has no garbage: its format erases it.
Image fresh_image(const Geometry& geometry, FreshContent content);

// The block of the first garbage in these bytes; nothing if there is none. On disks of more than 1024 blocks
// the number is modulo 1024: the garbage repeats there, so that a large disk needs little memory.
std::optional<uint64_t> find_garbage(std::span<const std::byte> bytes);

}  // namespace sisyfs
