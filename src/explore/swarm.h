// Swarm: which op a step of a random walk performs.
//
// Each walk performs only some kinds of op, drawn by its seed: each kind with a chance of one half. A bug
// that needs many ops of three kinds is hardly met by a walk over twenty kinds, but it is by the walk that
// happens to have little else. Which kind is drawn first, and then one of its ops, so a kind with many ops
// (the calls that must fail) does not crowd out the others.
//
//   WalkRandom random(seed, walk);
//   Swarm swarm;
//   swarm.begin(random);
//   const uint32_t op = swarm.pick(ops.size(), [&](uint32_t i) { return group_of(ops[i]); }, random);
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/digest.h"

namespace sisyfs {

// xoshiro256**, seeded by splitmix64: small, good, and the same on every platform.
class WalkRandom {
 public:
  WalkRandom(uint64_t seed, uint64_t walk) {
    uint64_t mixed = mix(seed) ^ walk;
    for (uint64_t& word : words_) word = mix(mixed += 0x9e3779b97f4a7c15u);
  }
  uint64_t next() {
    const uint64_t result = std::rotl(words_[1] * 5, 7) * 9, shifted = words_[1] << 17;
    words_[2] ^= words_[0];
    words_[3] ^= words_[1];
    words_[1] ^= words_[2];
    words_[0] ^= words_[3];
    words_[2] ^= shifted;
    words_[3] = std::rotl(words_[3], 45);
    return result;
  }
  // A number below `n`. Its bias is n / 2^64.
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<Uint128>(next()) * n) >> 64); }

 private:
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::array<uint64_t, 4> words_;
};

class Swarm {
 public:
  static constexpr uint32_t kGroups = 128;

  // Kinds from 64 on are drawn with the others, so that walks over few kinds do not depend on how many there
  // could be.
  void begin(WalkRandom& random) {
    const uint64_t drawn = random.next();
    enabled_ = {drawn, WalkRandom(drawn, 0).next()};
  }

  // One of `ops` ops, at least 1. group_of(i) is the kind of op i, below kGroups. If no op is of a kind that
  // this walk performs, it performs any.
  template <class GroupOf>
  uint32_t pick(uint32_t ops, GroupOf group_of, WalkRandom& random) const {
    std::array<uint32_t, kGroups> counts{};
    Groups present{};
    for (uint32_t op = 0; op < ops; ++op) {
      const uint32_t group = group_of(op) % kGroups;
      ++counts[group];
      present[group / 64] |= uint64_t{1} << group % 64;
    }
    Groups groups = {present[0] & enabled_[0], present[1] & enabled_[1]};
    if ((groups[0] | groups[1]) == 0) groups = present;
    const auto low = static_cast<uint64_t>(std::popcount(groups[0]));
    uint64_t skip = random.below(low + static_cast<uint64_t>(std::popcount(groups[1])));
    const size_t half = skip < low ? 0 : 1;
    if (half == 1) skip -= low;
    uint64_t rest = groups[half];
    for (; skip != 0; --skip) rest &= rest - 1;
    const auto group = static_cast<uint32_t>(half * 64) + static_cast<uint32_t>(std::countr_zero(rest));
    uint64_t left = random.below(counts[group]);
    for (uint32_t op = 0;; ++op)
      if (group_of(op) % kGroups == group && left-- == 0) return op;
  }

 private:
  using Groups = std::array<uint64_t, 2>;
  Groups enabled_{~uint64_t{0}, ~uint64_t{0}};
};

}  // namespace sisyfs
