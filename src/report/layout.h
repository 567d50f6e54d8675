// How text is laid out for people: colours, and lines that are not wider than the reader's terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sisyfs {

// How text is drawn. Colour is off on a pipe and where NO_COLOR is set; the CLI decides.
struct TextStyle {
  bool colour = false;
  uint32_t width = 110;  // columns of a line
  bool verbose = false;  // stories with everything that they leave out otherwise
};

std::string bold(const TextStyle& style, std::string_view text);
std::string red(const TextStyle& style, std::string_view text);
std::string green(const TextStyle& style, std::string_view text);

// 12345678 as 12,345,678; "1 step", "2,000 steps".
std::string count_text(uint64_t n);
std::string plural(uint64_t n, std::string_view word);

// Columns of a text on a terminal: characters, without the codes of colours.
size_t columns_of(std::string_view text);

// A line with its newline, or several: it is broken between words where it is too wide, and goes on behind
// `hang` blanks. A word that is too wide stays whole.
std::string wrapped(std::string_view line, size_t hang, const TextStyle& style);

}  // namespace sisyfs
