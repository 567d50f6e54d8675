#include "finding/write_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace sisyfs {

namespace {

std::vector<std::byte> content_of(const Event& event, const Geometry& geometry) {
  const size_t size = geometry.block_size;
  std::vector<std::byte> bytes(size * event.count.value);
  for (uint64_t i = 0; i < event.count.value; ++i) {
    if (const Block* block = event.block(i))
      std::copy(block->bytes().begin(), block->bytes().end(),
                bytes.begin() + static_cast<ptrdiff_t>(i * size));
  }
  return bytes;
}

}  // namespace

std::string words_of(Target& target, const Event& event, const Geometry& geometry) {
  if (event.kind == EventKind::kDiscard) return geometry.is_flash() ? "erased" : "discarded";
  NamesBlocks* const names = target.names_blocks();
  return names == nullptr ? "" : names->describe_write(event.first.value, content_of(event, geometry));
}

std::string bytes_of(const Event& event, const Geometry& geometry) {
  constexpr size_t kShown = 16;
  const std::vector<std::byte> bytes = content_of(event, geometry);
  std::string text;
  for (size_t i = 0; i < std::min(bytes.size(), kShown); ++i)
    text += fmt::format("{}{:02x}", i == 0 ? "" : " ", static_cast<unsigned>(bytes[i]));
  return bytes.size() > kShown ? text + " ..." : text;
}

StrayText text_of_stray(const Event& event, const Geometry& geometry) {
  if (event.access == Access::kProgramAgain)
    return {FindingKind::kFlashMisuse,
            fmt::format("programs page {}, which is not erased", event.first.value),
            "only erased pages are programmed"};
  if (event.access == Access::kSetBits)
    return {FindingKind::kFlashMisuse,
            fmt::format("programs bits of page {} to 1 that are 0", event.first.value),
            "a program only clears bits, and leaves a byte alone by 0xFF"};
  if (event.access == Access::kErasePart)
    return {FindingKind::kFlashMisuse,
            fmt::format("erases {} from page {} on, with erase units of {} pages",
                        event.count.value == 1 ? "1 page" : fmt::format("{} pages", event.count.value),
                        event.first.value, geometry.erase_blocks),
            "whole units are erased"};
  return {FindingKind::kOutOfRange,
          fmt::format("{} block {} of a disk of {}", event.access == Access::kRead ? "reads" : "writes",
                      event.first.value, geometry.blocks_per_disk()),
          "accesses stay on the disk"};
}

std::string torn_text(const CrashState& cut, uint32_t write) {
  const Epoch& epoch = cut.epoch();
  if (epoch.model().scattered) return "torn";
  const uint64_t disk = epoch.durable().geometry().first_block_of(epoch.writes()[write].disk).value;
  std::string kept;
  const uint64_t begin = epoch.writes()[write].first.value;
  uint64_t last = begin;
  for (uint32_t p = 0; p < epoch.pieces().size(); ++p) {
    if (epoch.pieces()[p].write != write) continue;
    for (const Epoch::Slot& slot : epoch.slots_of(epoch.pieces()[p])) {
      const uint64_t address = epoch.blocks()[slot.block_index].address.value;
      last = std::max(last, address);
      if (cut.piece_kept(p)) kept += fmt::format("{}{}", kept.empty() ? "" : ", ", address - disk);
    }
  }
  return fmt::format("torn: of blocks {} to {} it kept {}", begin - disk, last - disk, kept);
}

std::string cut_off_text(const CrashState& cut, uint32_t write) {
  const Epoch& epoch = cut.epoch();
  if (!epoch.durable().geometry().is_nor() || epoch.writes()[write].discard) return "cut off";
  // The next stage that was not reached begins to change the page here.
  for (uint32_t p = 0; p < epoch.pieces().size(); ++p) {
    const Epoch::Piece& piece = epoch.pieces()[p];
    if (piece.write != write || cut.piece_kept(p)) continue;
    const Epoch::Slot& next = epoch.slots_of(piece).front();
    const BlockAddress address = epoch.blocks()[next.block_index].address;
    std::vector<std::byte> is(epoch.durable().geometry().block_size), would_be(is.size());
    copy_bytes(cut.block(address), is);
    copy_bytes(next.block.get(), would_be);
    const auto at = std::mismatch(is.begin(), is.end(), would_be.begin()).first - is.begin();
    return fmt::format(
        "cut off at byte {} of page {}", at,
        address.value - epoch.durable().geometry().first_block_of(epoch.writes()[write].disk).value);
  }
  return "cut off";
}

std::string problem_text(Target& target, const Problem& problem, std::span<const ProblemKind> kinds) {
  ChecksOffline* const check = target.checks_offline();
  std::string text = check == nullptr ? "" : check->problem_text(problem);
  return text.empty() ? to_text(problem, kinds) : text;
}

}  // namespace sisyfs
