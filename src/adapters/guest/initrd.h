// The root of a guest: a file of the kernel's own format (cpio, newc) with the agent and the modules.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sisyfs {

class Initrd {
 public:
  void add_directory(const std::string& path) { add(path, 040755, {}); }
  void add_file(const std::string& path, std::span<const std::byte> bytes) { add(path, 0100755, bytes); }
  // All of it. Nothing can be added afterwards.
  std::vector<std::byte> finish();

 private:
  void add(const std::string& path, unsigned mode, std::span<const std::byte> bytes);
  void pad();

  std::vector<std::byte> out_;
  unsigned next_ = 1;
};

}  // namespace sisyfs
