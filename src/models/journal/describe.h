// Names and content of the blocks of the journal model, for reports.
//
//   name_block(layout, 26);                      // "block bitmap"
//   describe_write(layout, 2, bytes);            // "record 3: copies for 25 26 27"
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "models/journal/layout.h"

namespace sisyfs::journal {

std::string name_block(const Layout& layout, uint64_t address);
// Empty if the content is not known.
std::string describe_write(const Layout& layout, uint64_t address, std::span<const std::byte> bytes);

}  // namespace sisyfs::journal
