// Byte strings for tokens: base64url, and a small compression of the LZ77 kind (docs/formats/token.md).
//
//   std::string word = base64url(pack(bytes));
//   std::optional<std::string> bytes = unpack(*from_base64url(word), 1 << 20);
//
// The readers are total: every input gives either the one result or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sisyfs {

// RFC 4648, section 5, without padding: letters, digits, '-' and '_'.
std::string base64url(std::string_view bytes);
// Nothing for other characters, for an impossible length, and where bits beyond the last byte are set.
std::optional<std::string> from_base64url(std::string_view text);

// Appends a number, seven bits in each byte, the lowest first; every byte but the last has bit 7 set.
void append_number(std::string& bytes, uint64_t number);
// Takes a number off the front. Nothing where the bytes end in it, where it has more than 64 bits, or where
// it is longer than append_number() writes it; then `bytes` is unspecified.
std::optional<uint64_t> take_number(std::string_view& bytes);

// A sequence of items. A control byte c below 128: c + 1 literal bytes follow. Otherwise a copy: its length
// is (c - 128) + 3, and for c = 255 a number follows that is added to it; then follows its distance, a number
// from 1: the copy starts that many bytes before the end of the output, and may run into what it writes.
std::string pack(std::string_view bytes);
// Nothing for what pack() cannot have written, and for more than `limit` bytes.
std::optional<std::string> unpack(std::string_view packed, size_t limit);

}  // namespace sisyfs
