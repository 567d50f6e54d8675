// FlashServer: raw flash that is read and programmed by bytes, on a disk that is read and programmed by
// pages.
//
//   FlashServer flash(pages, 512);
//   machine.attach(&flash);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "adapters/guest/kernel_machine.h"

namespace sisyfs {

class FlashServer : public ServesDisks {
 public:
  // `pages` answers for whole pages of NOR flash; borrowed.
  FlashServer(ServesDisks& pages, uint32_t page_bytes) : pages_(pages), size_(page_bytes) {}

  int read(uint32_t disk, uint64_t offset, std::span<std::byte> out) override;
  // The rest of the first and the last page is programmed with 0xff, which asks for nothing. All of them are
  // read before: what a page holds afterwards depends on what it held.
  int write(uint32_t disk, uint64_t offset, std::span<const std::byte> bytes, bool fua) override;
  int flush(uint32_t disk) override { return pages_.flush(disk); }
  int discard(uint32_t disk, uint64_t offset, uint64_t length, bool zeroes) override {
    return pages_.discard(disk, offset, length, zeroes);
  }

 private:
  // Reads the pages that hold these bytes into `whole_`.
  int read_pages(uint32_t disk, uint64_t offset, uint64_t length);

  ServesDisks& pages_;
  const uint32_t size_;
  std::vector<std::byte> whole_;
};

}  // namespace sisyfs
