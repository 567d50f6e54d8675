#include "adapters/kernel/jffs2_image.h"

#include <algorithm>
#include <cstring>

namespace sisyfs {

void make_jffs2(std::span<std::byte> flash) {
  // A node without content (jffs2_unknown_node of linux/jffs2.h): magic 0x1985, type 0x2003, length 12, and
  // the CRC-32 of these 8 bytes.
  static constexpr unsigned char kCleanMark[] = {0x85, 0x19, 0x03, 0x20, 12, 0, 0, 0, 0xb1, 0xb0, 0x1e, 0xe4};
  std::fill(flash.begin(), flash.end(), std::byte{0xff});
  for (size_t at = 0; at < flash.size(); at += kJffs2Unit)
    std::memcpy(flash.data() + at, kCleanMark, sizeof kCleanMark);
}

}  // namespace sisyfs
