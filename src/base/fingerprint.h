// fingerprint_of: the digest of a small plain state, computed with AES instructions if the processor has
// them.
//
// A search fingerprints every successor, so this is the hottest function of the program. With AES, each 16
// bytes pass through four rounds with their own keys, the results are added, and two more rounds finish (the
// construction of PMAC, with a reduced cipher). After four rounds no differential has a probability above
// 2^-113, so structured states, which differ in a few bits, collide no more often than random ones. Without
// AES the function is XXH3.
//
// The value is only valid inside one process: it differs between processors with and without AES.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/digest.h"

#if defined(__AES__) && defined(__SSE4_1__)
#include <immintrin.h>
#endif

namespace sisyfs {

#if defined(__AES__) && defined(__SSE4_1__)

inline constexpr const char* kFingerprintKind = "aes";  // written into files that hold fingerprints

namespace detail {

// Digits of pi: nothing up the sleeve.
alignas(16) inline constexpr uint64_t kRoundKeys[][2] = {
    {0x243F6A8885A308D3, 0x13198A2E03707344}, {0xA4093822299F31D0, 0x082EFA98EC4E6C89},
    {0x452821E638D01377, 0xBE5466CF34E90C6C}, {0xC0AC29B7C97C50DD, 0x3F84D5B5B5470917},
    {0x9216D5D98979FB1B, 0xD1310BA698DFB5AC}, {0x2FFD72DBD01ADFB7, 0xB8E1AFED6A267E96},
    {0xBA7C9045F12C7F99, 0x24A19947B3916CF7}, {0x0801F2E2858EFC16, 0x636920D871574E69},
    {0xA458FEA3F4933D7E, 0x0D95748F728EB658}, {0x718BCD5882154AEE, 0x7B54A41DC25A59B5},
};

inline __m128i round_key(size_t i) {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundKeys[i % 10]));
}

}  // namespace detail

template <size_t kSize>
Digest fingerprint_bytes(const void* data) {
  static_assert(kSize >= 16 && kSize <= 160);
  using detail::round_key;
  constexpr size_t kLanes = (kSize + 15) / 16;
  __m128i sum = _mm_set_epi64x(0, kSize);
  for (size_t lane = 0; lane < kLanes; ++lane) {  // the last lane overlaps the one before it
    const size_t at = lane + 1 == kLanes ? kSize - 16 : lane * 16;
    __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(static_cast<const char*>(data) + at));
    x = _mm_xor_si128(x, round_key(lane));
    x = _mm_aesenc_si128(x, round_key(lane + 3));
    x = _mm_aesenc_si128(x, round_key(lane + 5));
    x = _mm_aesenc_si128(x, round_key(lane + 6));
    x = _mm_aesenc_si128(x, round_key(lane + 8));
    sum = _mm_add_epi64(sum, x);
  }
  sum = _mm_aesenc_si128(sum, round_key(2));
  sum = _mm_aesenc_si128(sum, round_key(7));
  return {static_cast<uint64_t>(_mm_extract_epi64(sum, 1)), static_cast<uint64_t>(_mm_cvtsi128_si64(sum))};
}

#else

inline constexpr const char* kFingerprintKind = "xxh3";

template <size_t kSize>
Digest fingerprint_bytes(const void* data) {
  return digest_of(data, kSize);
}

#endif

// The fingerprint of a plain value. Covers padding, so the type must have none, or keep it zero.
template <class T>
Digest fingerprint_of(const T& value) {
  return fingerprint_bytes<sizeof(T)>(&value);
}

}  // namespace sisyfs
