#include "disk/fresh.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <string_view>
#include <vector>

namespace sisyfs {
namespace {

constexpr uint64_t kDistinctBlocks = 1024;  // a power of the fan-out of an image
constexpr std::string_view kMark = "<old ";
constexpr size_t kDigits = 3, kPiece = 16;

// The digit of a number in base 16 at this position from the right.
char digit_of(uint64_t number, size_t position) { return "0123456789abcdef"[number >> (4 * position) & 15]; }

// "<old 00c:000010>" for block 12 from offset 16 on.
char garbage_at(uint64_t block, uint64_t offset) {
  const size_t at = offset % kPiece, piece = offset - at;
  if (at < kMark.size()) return kMark[at];
  if (at < kMark.size() + kDigits) return digit_of(block, kMark.size() + kDigits - 1 - at);
  if (at == kMark.size() + kDigits) return ':';
  return at == kPiece - 1 ? '>' : digit_of(piece, kPiece - 2 - at);
}

Image garbage_image(const Geometry& geometry) {
  std::vector<BlockRef> blocks;
  std::vector<std::byte> bytes(geometry.block_size);
  const uint64_t count = std::min(geometry.block_count.value, kDistinctBlocks);
  for (uint64_t block = 0; block < count; ++block) {
    for (uint64_t offset = 0; offset < bytes.size(); ++offset)
      bytes[offset] = static_cast<std::byte>(garbage_at(block, offset));
    blocks.push_back(make_block(bytes));
  }
  return {geometry, blocks};
}

}  // namespace

Image fresh_image(const Geometry& geometry, FreshContent content) {
  if (content == FreshContent::kZeros || geometry.is_flash()) return Image(geometry);
  // All threads share the garbage of a geometry. Counted references to it would be their bottleneck: most
  // blocks of most images are garbage that nobody has written over.
  static std::mutex mutex;
  static auto& images = *new std::vector<Image>;  // never destroyed, like the permanent content in it
  const std::lock_guard lock(mutex);
  for (const Image& image : images)
    if (image.geometry() == geometry) return image;
  images.push_back(garbage_image(geometry));
  images.back().make_permanent();
  return images.back();
}

std::optional<uint64_t> find_garbage(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + 1)) {
    const std::string_view digits = text.substr(at + kMark.size(), kDigits);
    uint64_t block = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), block, 16);
    if (error == std::errc() && digits.size() == kDigits && end == digits.data() + kDigits) return block;
  }
  return std::nullopt;
}

}  // namespace sisyfs
