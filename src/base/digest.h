// Digest: a 128-bit hash of content that can be added and subtracted.
//
// Two values with equal digests are taken to be equal. The digest of a set of parts is the sum of their
// digests, so it is updated by subtracting the old part and adding the new one:
//
//   image.digest += digest_at(address, new_block) - digest_at(address, old_block);
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sisyfs {

struct Digest {
  uint64_t hi = 0;
  uint64_t lo = 0;

  friend bool operator==(const Digest&, const Digest&) = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): the zero is that of the standard library.
  friend auto operator<=>(const Digest&, const Digest&) = default;
  Digest& operator+=(const Digest& o) {
    hi += o.hi;
    lo += o.lo;
    return *this;
  }
  Digest& operator-=(const Digest& o) {
    hi -= o.hi;
    lo -= o.lo;
    return *this;
  }
  friend Digest operator+(Digest a, const Digest& b) { return a += b; }
  friend Digest operator-(Digest a, const Digest& b) { return a -= b; }
};

// The digest of a sequence of bytes.
inline Digest digest_of(const void* data, size_t size, uint64_t seed = 0) {
  const XXH128_hash_t h = XXH3_128bits_withSeed(data, size, seed);
  return {h.high64, h.low64};
}
inline Digest digest_of(std::span<const std::byte> bytes, uint64_t seed = 0) {
  return digest_of(bytes.data(), bytes.size(), seed);
}

// The 128-bit product of two words folded to 64 bits: the mixing step of every hash here.
__extension__ using Uint128 = unsigned __int128;
inline uint64_t mul_fold(uint64_t a, uint64_t b) {
  const Uint128 product = static_cast<Uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// A digest bound to a position (a block address, an index in a list), so that equal parts at different
// positions do not cancel when they are added.
inline Digest digest_at(uint64_t position, const Digest& part) {
  const uint64_t p = mul_fold(position + 0x9e3779b97f4a7c15u, 0xd1342543de82ef95u);
  return {mul_fold(part.hi ^ p, 0xa0761d6478bd642fu ^ part.lo),
          mul_fold(part.lo + p, 0xe7037ed1a0b428dbu ^ part.hi)};
}

struct DigestHash {
  size_t operator()(const Digest& d) const { return d.lo ^ (d.hi * 0x9e3779b97f4a7c15u); }
};

}  // namespace sisyfs
