// Shared by the tests of the house rules: the sources of the repository as values, and a simple lexer that
// separates code, comments and literals.
//
//   for (const Source& source : files_in({"src"}, kCodeTypes)) {
//     for (const std::string& line : lines_of(code_of(source.text))) ...
//   }
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sisyfs::house {

// The rooms, in the order of docs/ARCHITECTURE.md. An include points to the same room or to an earlier one.
inline constexpr std::array<std::string_view, 18> kRooms = {
    "sisyfs",  "base",  "disk",    "crash",  "tree",     "expect", "workload", "target", "explore",
    "machine", "judge", "finding", "models", "adapters", "guard",  "report",   "cli",    "bench"};

inline const std::vector<std::string> kCodeTypes = {".h", ".hpp", ".c", ".cc", ".cpp"};
inline const std::vector<std::string> kCodeFolders = {"include", "src", "tests", "bench", "examples"};

struct Source {
  std::string path;  // from the root of the repository: src/disk/image.h
  std::string text;
};

// Each fault as "path:line: sentence".
using Faults = std::vector<std::string>;

inline std::string at(const Source& source, size_t line, std::string_view what) {
  return source.path + ":" + std::to_string(line) + ": " + std::string(what);
}

inline size_t line_of(std::string_view text, size_t offset) {
  return 1 +
         static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(offset), '\n'));
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

inline bool is_under(const Source& source, std::string_view folder) {
  return source.path.starts_with(folder);
}
inline bool is_header(const Source& source) {
  return source.path.ends_with(".h") || source.path.ends_with(".hpp");
}
inline bool is_test(const Source& source) { return source.path.ends_with("_test.cc"); }

// The room of a file of src/ or include/, "" of any other.
inline std::string room_of(const Source& source) {
  if (!is_under(source, "src/") && !is_under(source, "include/")) return "";
  const size_t begin = source.path.find('/') + 1;
  return source.path.substr(begin, source.path.find('/', begin) - begin);
}

enum class Part : char { kCode, kComment, kLiteral };

// For each character of the text whether it is code, comment, or the inside of a literal.
inline std::vector<Part> parts_of(const std::string& text) {
  std::vector<Part> parts(text.size(), Part::kCode);
  const auto fill = [&parts](size_t from, size_t to, Part part) {
    for (size_t i = from; i < std::min(to, parts.size()); ++i) parts[i] = part;
  };
  const auto end_of = [&text](std::string_view closing, size_t from) {
    const size_t found = text.find(closing, from);
    return found == std::string::npos ? text.size() : found;
  };
  for (size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      const size_t end = end_of("\n", i);
      fill(i, end, Part::kComment);
      i = end;
    } else if (text.compare(i, 2, "/*") == 0) {
      const size_t end = end_of("*/", i + 2) + 2;
      fill(i, end, Part::kComment);
      i = end;
    } else if (text.compare(i, 2, "R\"") == 0) {
      const size_t open = end_of("(", i);
      const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
      const size_t end = end_of(close, open);
      fill(i + 2, end + close.size() - 1, Part::kLiteral);
      i = end + close.size();
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !is_word(text[i - 1])))) {
      size_t end = i + 1;
      while (end < text.size() && text[end] != text[i]) end += text[end] == '\\' ? 2 : 1;
      fill(i + 1, end, Part::kLiteral);
      i = end + 1;
    } else {
      ++i;
    }
  }
  return parts;
}

// The text with all but the parts that `keep` names blanked out. Every line stays where it was.
inline std::string only(const std::string& text, const std::function<bool(Part)>& keep) {
  const std::vector<Part> parts = parts_of(text);
  std::string left = text;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] != '\n' && !keep(parts[i])) left[i] = ' ';
  }
  return left;
}
inline std::string code_of(const std::string& text) {
  return only(text, [](Part part) { return part == Part::kCode; });
}
inline std::string comments_of(const std::string& text) {
  return only(text, [](Part part) { return part == Part::kComment; });
}
inline std::string without_literals(const std::string& text) {
  return only(text, [](Part part) { return part != Part::kLiteral; });
}

// A block with a head in the form of a call: `name(arguments) {`, so a function or a TEST.
struct Block {
  std::string name, arguments, body;
  size_t line;
};

inline std::vector<Block> blocks_of(const std::string& code) {
  std::vector<Block> blocks;
  for (size_t open = code.find('{'); open != std::string::npos; open = code.find('{', open + 1)) {
    size_t close_head = code.find_last_not_of(" \n", open - (open > 0));
    for (const std::string_view word : {"override", "const"}) {
      if (close_head == std::string::npos || close_head + 1 < word.size()) continue;
      if (code.compare(close_head + 1 - word.size(), word.size(), word) != 0) continue;
      close_head = code.find_last_not_of(" \n", close_head - word.size());
    }
    if (close_head == std::string::npos || code[close_head] != ')') continue;
    size_t open_head = close_head;
    for (int depth = 1; depth > 0 && open_head > 0;) {
      --open_head;
      depth += (code[open_head] == ')') - (code[open_head] == '(');
    }
    size_t name = open_head;
    while (name > 0 && is_word(code[name - 1])) --name;
    size_t end = open;
    for (int depth = 0; end < code.size(); ++end) {
      depth += (code[end] == '{') - (code[end] == '}');
      if (depth == 0) break;
    }
    blocks.push_back({code.substr(name, open_head - name),
                      code.substr(open_head + 1, close_head - open_head - 1), code.substr(open, end - open),
                      line_of(code, name)});
  }
  return blocks;
}

inline const std::filesystem::path kRoot = SISYFS_SOURCE_DIR;

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The files of these types in these folders and at the root, by path. A folder that does not exist has none.
inline std::vector<Source> files_in(const std::vector<std::string>& folders,
                                    const std::vector<std::string>& types) {
  namespace fs = std::filesystem;
  std::vector<Source> files;
  const auto add = [&](const fs::path& path) {
    if (std::find(types.begin(), types.end(), path.extension()) == types.end()) return;
    files.push_back({fs::relative(path, kRoot).generic_string(), read_text(path)});
  };
  for (const std::string& folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) add(entry.path());
  }
  for (const auto& entry : fs::directory_iterator(kRoot)) add(entry.path());
  std::sort(files.begin(), files.end(), [](const Source& a, const Source& b) { return a.path < b.path; });
  return files;
}

// Applies a rule to every source of the tree, in C and in C++.
inline void expect_everywhere(const std::function<Faults(const Source&)>& rule) {
  const std::vector<Source> sources = files_in(kCodeFolders, kCodeTypes);
  ASSERT_FALSE(sources.empty()) << "the tree lies in " << SISYFS_SOURCE_DIR;
  for (const Source& source : sources) {
    for (const std::string& fault : rule(source)) ADD_FAILURE() << fault;
  }
}

}  // namespace sisyfs::house
