#include "base/printable.h"

#include <cstdint>

namespace sisyfs {
namespace {

// The bytes of the character at the front of `text`, 0 if it is not UTF-8, and the character.
size_t take_utf8(std::string_view text, uint32_t& character) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  if (size == 0 || size > text.size()) return 0;
  character = size == 1 ? lead : lead & (0x7f >> size);
  for (size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    character = character << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // a shorter form must be used below
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  return character < kLeast[size] || character > 0x10ffff || surrogate ? 0 : size;
}

bool is_harmful(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void escape(std::string_view bytes, std::string& out) {
  constexpr const char* kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
}

// Up to `most` characters; returns whether that was all.
bool put(std::string_view text, size_t most, std::string& out) {
  for (; !text.empty(); --most) {
    if (most == 0) return false;
    uint32_t character = 0;
    const size_t size = take_utf8(text, character);
    if (size == 0)
      escape(text.substr(0, 1), out);
    else if (is_harmful(character))
      escape(text.substr(0, size), out);
    else
      out += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return true;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  put(text, SIZE_MAX, out);
  return out;
}

std::string shown(std::string_view argument, size_t most) {
  std::string out;
  if (!put(argument, most, out)) out += "...";
  return out;
}

std::string printable_message(std::string_view text) {
  constexpr size_t kLongWord = 200;
  std::string out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    out += word.size() > kLongWord && !word.starts_with("s2:") ? shown(word) : printable(word);
    text.remove_prefix(word.size());
    if (text.empty()) break;
    out += ' ';
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace sisyfs
