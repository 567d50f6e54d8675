#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace sisyfs {
namespace {

std::string coloured(const TextStyle& style, const char* code, std::string_view text) {
  return style.colour ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

}  // namespace

std::string bold(const TextStyle& style, std::string_view text) { return coloured(style, "1", text); }
std::string red(const TextStyle& style, std::string_view text) { return coloured(style, "1;31", text); }
std::string green(const TextStyle& style, std::string_view text) { return coloured(style, "1;32", text); }

std::string count_text(uint64_t n) {
  const std::string digits = fmt::format("{}", n);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string plural(uint64_t n, std::string_view word) {
  return fmt::format("{} {}{}", count_text(n), word, n == 1 ? "" : "s");
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      i = std::min(text.find('m', i), text.size() - 1);
      continue;
    }
    const bool continues = (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;  // of UTF-8
    columns += continues ? 0 : 1;
  }
  return columns;
}

std::string wrapped(std::string_view line, size_t hang, const TextStyle& style) {
  if (columns_of(line) <= style.width) return std::string(line) + "\n";
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::string out(line.substr(0, indent));
  size_t column = indent;
  bool begun = false;  // the line has a word
  for (std::string_view rest = line.substr(indent);;) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    const size_t width = columns_of(word);
    if (begun && column + 1 + width > style.width && !word.empty()) {
      while (out.ends_with(' ')) out.pop_back();
      out += "\n" + std::string(hang, ' ');
      column = hang;
      begun = false;
    }
    if (begun) out += ' ', ++column;
    out += word;
    column += width;
    begun = true;
    if (end == rest.size()) return out + "\n";
    rest = rest.substr(end + 1);
  }
}

}  // namespace sisyfs
