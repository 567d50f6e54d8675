#include "adapters/guest/initrd.h"

#include <fmt/format.h>

namespace sisyfs {

void Initrd::add(const std::string& path, unsigned mode, std::span<const std::byte> bytes) {
  const std::string head =
      fmt::format("070701{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}",
                  next_++, mode, 0, 0, 1, 0, bytes.size(), 0, 0, 0, 0, path.size() + 1, 0);
  const auto* const text = reinterpret_cast<const std::byte*>(head.data());
  out_.insert(out_.end(), text, text + head.size());
  const auto* const name = reinterpret_cast<const std::byte*>(path.c_str());
  out_.insert(out_.end(), name, name + path.size() + 1);
  pad();
  out_.insert(out_.end(), bytes.begin(), bytes.end());
  pad();
}

void Initrd::pad() { out_.resize((out_.size() + 3) / 4 * 4); }

std::vector<std::byte> Initrd::finish() {
  add("TRAILER!!!", 0, {});
  return std::move(out_);
}

}  // namespace sisyfs
