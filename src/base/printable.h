// Text of others, made fit for a terminal: arguments, tokens, file names, and what plug-ins say.
//
//   fmt::format("unknown command '{}'", shown(word));     // cut to 80 characters
//   to_stderr(printable(message) + "\n");
//
// A control character can move the cursor, change colours or hide what was printed. Some characters of
// Unicode turn the direction of the text around. Both are written as \xNN, byte by byte, and so is what is
// not UTF-8. All other text stays as it is. JSON has escapes of its own and needs none of this.
#pragma once

#include <string>
#include <string_view>

namespace sisyfs {

// Escapes control characters (newline and tab too, DEL, U+0080 to U+009F), U+202A to U+202E, U+2066 to U+2069
// and bytes that are not UTF-8.
std::string printable(std::string_view text);

// The same for one argument in a message: cut after `most` characters, with "..." for the rest.
std::string shown(std::string_view argument, size_t most = 80);

// The same for a whole message. A word of more than 200 characters is cut, except a replay token: it was put
// into the message to be copied.
std::string printable_message(std::string_view text);

}  // namespace sisyfs
