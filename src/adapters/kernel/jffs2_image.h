// An empty JFFS2: erased units, each of which begins with a mark that says that its erase was not
// interrupted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sisyfs {

// Bytes of an erase unit. With smaller ones a page of a file would not fit into one.
inline constexpr uint32_t kJffs2Unit = 8192;

// Writes it over the whole flash, a multiple of kJffs2Unit.
void make_jffs2(std::span<std::byte> flash);

}  // namespace sisyfs
