// ReadMemo: a table of answers by what was read of a disk, of fixed size, that forgets.
//
// What comes back after a power cut depends only on the blocks that recovery read. Two crash states that
// differ elsewhere come back alike, and most differ elsewhere: in blocks that nothing points to yet. So an
// answer is kept under the addresses that were read, in order, and what they held, and serves every image
// that holds the same there.
//
//   const auto block = [&](BlockAddress address) { return image.block(address); };
//   if (const Answer* known = memo.find(block)) return *known;
//   disk.watch(&reads);
//   Answer answer = work_out(image);
//   memo.put(block, reads.addresses(), answer);
//
// A deterministic reader that has read the same so far reads the same address next. So the memo is a tree in
// which what was read selects the branch. Its nodes lie in one hash table, under the digest of all that was
// read on the way; each names the next few addresses. Where a reader parts from those before inside of these
// few, the node is cut short there, and what lay behind it is forgotten and learned again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/digest.h"
#include "base/mutant.h"
#include "disk/block.h"

namespace sisyfs {

template <class Answer>
class ReadMemo {
 public:
  // Up to 2^bits answers.
  explicit ReadMemo(unsigned bits)
      : nodes_(size_t{1} << (bits + kNodesForAnswer)), answers_(size_t{1} << bits), bits_(bits) {}

  // The answer for the disk whose blocks `block` gives by their address, or null. Lives until the next put().
  // Of a disk that is known it asks for just those that were read, in order; of others perhaps for more.
  template <class BlockAt>
  const Answer* find(BlockAt&& block) const {
    Digest path = kStart;
    for (;;) {
      const Node& node = node_at(path);
      if (node.key != path) return nullptr;
      if (node.count == 0) return answer_at(node);
      for (uint32_t i = 0; i < node.count; ++i) path = further(path, block, node.addresses[i]);
    }
  }

  // Keeps the answer for a disk of which `reads` were read, each once. Where that is not possible it is
  // forgotten at once.
  template <class BlockAt>
  void put(BlockAt&& block, std::span<const BlockAddress> reads, Answer answer) {
    if (std::any_of(reads.begin(), reads.end(), [](BlockAddress a) { return a.value > UINT32_MAX; })) return;
    Digest path = kStart;
    while (!reads.empty()) {
      const uint32_t count = put_node(path, reads.first(std::min<size_t>(reads.size(), kAddresses)));
      for (uint32_t i = 0; i < count; ++i) path = further(path, block, static_cast<uint32_t>(reads[i].value));
      reads = reads.subspan(count);
    }
    const auto place = static_cast<uint32_t>(puts_++ & (answers_.size() - 1));
    answers_[place] = {path, std::move(answer)};
    node_at(path) = {.key = path, .addresses = {place}, .count = 0};
  }

 private:
  static constexpr uint32_t kAddresses = 8;       // in a node
  static constexpr unsigned kNodesForAnswer = 3;  // bits
  static constexpr Digest kStart{1, 1};

  struct alignas(64) Node {
    Digest key;
    std::array<uint32_t, kAddresses> addresses{};  // of a leaf the first is the place of its answer
    uint32_t count = 0;                            // of addresses; 0: a leaf
  };
  struct Place {
    Digest key;  // of the leaf
    Answer answer;
  };

  template <class BlockAt>
  static Digest further(const Digest& path, BlockAt& block, uint32_t address) {
    const BlockAddress at(address);
    if (mutant(Mutant::kReadsByPlace)) return digest_at(address, path);
    return digest_at(address, path) + identity(at, block(at));
  }
  Node& node_at(const Digest& key) { return nodes_[slot_of(key)]; }
  const Node& node_at(const Digest& key) const { return nodes_[slot_of(key)]; }
  size_t slot_of(const Digest& key) const {
    return mul_fold(key.lo ^ 0x9e3779b97f4a7c15u, key.hi) >> (64 - bits_ - kNodesForAnswer);
  }
  const Answer* answer_at(const Node& leaf) const {
    const Place& place = answers_[leaf.addresses[0]];
    return place.key == leaf.key ? &place.answer : nullptr;
  }

  // Makes sure that there is a node with this past that reads the first of these addresses. How many it
  // reads.
  uint32_t put_node(const Digest& path, std::span<const BlockAddress> reads) {
    Node& node = node_at(path);
    uint32_t same = 0;
    if (node.key == path)
      while (same < node.count && same < reads.size() && node.addresses[same] == reads[same].value) ++same;
    if (same == 0) {
      node.key = path;
      for (; same < reads.size(); ++same) node.addresses[same] = static_cast<uint32_t>(reads[same].value);
    }
    return node.count = same;
  }

  std::vector<Node> nodes_;
  std::vector<Place> answers_;
  unsigned bits_;
  uint64_t puts_ = 0;
};

}  // namespace sisyfs
