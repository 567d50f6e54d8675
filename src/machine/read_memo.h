// ReadMemo: a table of answers by what was read of a disk, of fixed size, that forgets.
//
// What comes back after a power cut depends only on the blocks that recovery read. Two crash states that
// differ elsewhere come back alike, and most differ elsewhere: in blocks that nothing points to yet. So an
// answer is kept under the addresses that were read, in order, and what they held, and serves every image
// that holds the same there.
//
//   if (const auto* known = memo.find(start, image)) return known->answer;
//   disk.watch(&reads);
//   Answer answer = work_out(image);
//   return memo.put(start, image, reads.addresses(), answer).answer;
//
// What else the answer depends on goes into the digest `start`. An image is anything that has block(address).
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
#include "disk/first_reads.h"

namespace sisyfs {

template <class Answer>
class ReadMemo {
 public:
  // An answer in its place. The key tells whether it is still the one that it was.
  struct Entry {
    Digest key;
    Answer answer;
  };

  // Up to 2^bits answers.
  explicit ReadMemo(unsigned bits)
      : nodes_(size_t{1} << (bits + kNodesForAnswer)), answers_(size_t{1} << bits), bits_(bits) {}

  // The answer for an image, or null. Its place stays where it is; what is in there lives until it is
  // forgotten. `reads`, if not null, is told what a reader would have read.
  // Of an image that is known just those blocks are asked for, in order, that were read; of others
  // perhaps more.
  template <class ImageLike>
  const Entry* find(const Digest& start, ImageLike&& image, FirstReads* reads = nullptr) {
    Digest path = digest_at(kStart, start);
    passed_.clear();
    for (;;) {
      const Node& node = node_at(path);
      if (node.key != path) return nullptr;
      if (node.count == 0) break;
      path = further(path, image, std::span(node.addresses).first(node.count));
      if (reads != nullptr)
        passed_.insert(passed_.end(), node.addresses.begin(), node.addresses.begin() + node.count);
    }
    const Entry* entry = entry_at(node_at(path));
    if (entry == nullptr || reads == nullptr) return entry;
    for (const uint32_t address : passed_) reads->read(BlockAddress(address));
    return entry;
  }

  // Keeps the answer for an image of which `reads` were read, each once. Where it cannot be found again it is
  // at least there until the next put().
  template <class ImageLike>
  const Entry& put(const Digest& start, ImageLike&& image, std::span<const BlockAddress> reads,
                   Answer answer) {
    const auto place = static_cast<uint32_t>(puts_++ & (answers_.size() - 1));
    Entry& entry = answers_[place];
    entry.answer = std::move(answer);
    const auto fits = [](BlockAddress address) { return address.value <= UINT32_MAX; };
    if (!std::all_of(reads.begin(), reads.end(), fits)) {
      entry.key = digest_at(kNoPath + puts_, start);
      return entry;
    }
    Digest path = digest_at(kStart, start);
    while (!reads.empty()) {
      const Node& node = put_node(path, reads.first(std::min<size_t>(reads.size(), kAddresses)));
      reads = reads.subspan(node.count);
      path = further(path, image, std::span(node.addresses).first(node.count));
    }
    entry.key = path;
    node_at(path) = {.key = path, .addresses = {place}, .count = 0};
    return entry;
  }

 private:
  static constexpr uint32_t kAddresses = 8;       // in a node
  static constexpr unsigned kNodesForAnswer = 3;  // bits
  static constexpr uint64_t kStart = 1, kNoPath = 2;

  struct alignas(64) Node {
    Digest key;
    std::array<uint32_t, kAddresses> addresses{};  // of a leaf the first is the place of its answer
    uint32_t count = 0;                            // of addresses; 0: a leaf
  };

  // The path behind a node. Its addresses follow from the path to it, except for how many there are; so what
  // they hold is just added up, and the processor need not wait for one before it looks at the next.
  template <class ImageLike>
  static Digest further(const Digest& path, ImageLike& image, std::span<const uint32_t> addresses) {
    Digest next = digest_at(addresses.size(), path);
    if (mutant(Mutant::kReadsByPlace)) return next;
    for (const uint32_t address : addresses)
      next += identity(BlockAddress(address), image.block(BlockAddress(address)));
    return next;
  }
  Node& node_at(const Digest& key) { return nodes_[slot_of(key)]; }
  const Node& node_at(const Digest& key) const { return nodes_[slot_of(key)]; }
  size_t slot_of(const Digest& key) const {
    return mul_fold(key.lo ^ 0x9e3779b97f4a7c15u, key.hi) >> (64 - bits_ - kNodesForAnswer);
  }
  const Entry* entry_at(const Node& leaf) const {
    const Entry& entry = answers_[leaf.addresses[0]];
    return entry.key == leaf.key ? &entry : nullptr;
  }

  // Makes sure that there is a node with this past that reads the first of these addresses, at least one.
  const Node& put_node(const Digest& path, std::span<const BlockAddress> reads) {
    Node& node = node_at(path);
    uint32_t same = 0;
    if (node.key == path)
      while (same < node.count && same < reads.size() && node.addresses[same] == reads[same].value) ++same;
    if (same == 0) {
      node.key = path;
      for (; same < reads.size(); ++same) node.addresses[same] = static_cast<uint32_t>(reads[same].value);
    }
    node.count = same;
    return node;
  }

  std::vector<Node> nodes_;
  std::vector<Entry> answers_;
  unsigned bits_;
  uint64_t puts_ = 0;
  std::vector<uint32_t> passed_;  // on the way to the answer
};

}  // namespace sisyfs
