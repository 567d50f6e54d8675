// The tree that a guest has read back (guest::WalkEntry), as a Walk.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "adapters/kernel/file_systems.h"
#include "target/target.h"

namespace sisyfs {

class GuestWalk {
 public:
  explicit GuestWalk(const FileSystem& fs) : fs_(fs) {}

  // False: that is more than anyone reads. The walk ends there, with an error.
  bool add(std::span<const std::byte> bytes);
  // What was added, as a tree. Nothing in it is relied on.
  Walk finish();

 private:
  struct Known {
    uint64_t inode;
    NodeId node;
    uint32_t links;
    FileType type;
  };
  int add_entry(std::span<const std::byte>& left);
  int add_attributes(NodeId node, std::span<const std::byte> bytes);

  const FileSystem& fs_;
  std::vector<std::byte> all_;
  bool is_too_much_ = false;
  std::vector<Known> known_;
  Walk out_;
};

}  // namespace sisyfs
