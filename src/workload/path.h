// Path: the text of a path, in 48 bytes, trivially copyable.
//
// Holds up to 47 characters without blanks or control characters, so that a path can be a word of a trace.
// Also used for the target of a symbolic link, which need not be absolute, and for names of attributes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/assert.h"

namespace sisyfs {

class Path {
 public:
  static constexpr size_t kCapacity = 47;

  constexpr Path() = default;
  // holds(text) must be true.
  explicit Path(std::string_view text) {
    SISYFS_ASSERT(holds(text), "a path is short and has no blanks");
    append(text);
  }

  static bool holds(std::string_view text) {
    return text.size() <= kCapacity && std::all_of(text.begin(), text.end(), [](char c) {
             return static_cast<unsigned char>(c) > ' ' && c != 127;
           });
  }
  // Whether a tree accepts the text as a path: "/", or names with a slash before each, none of them "." or
  // "..".
  static bool is_canonical(std::string_view text) {
    if (text == "/") return true;
    if (text.empty()) return false;
    while (!text.empty()) {
      if (text.front() != '/') return false;
      text.remove_prefix(1);
      const std::string_view name = text.substr(0, text.find('/'));
      if (name.empty() || name == "." || name == "..") return false;
      text.remove_prefix(name.size());
    }
    return true;
  }

  std::string_view text() const { return {text_.data(), size_}; }
  operator std::string_view() const { return text(); }
  bool empty() const { return size_ == 0; }

  // Whether child(name) fits into a Path.
  bool has_room_for(std::string_view name) const { return size_ + (size_ > 1) + name.size() <= kCapacity; }
  // The path of `name` in the directory with this path.
  Path child(std::string_view name) const {
    Path out = *this;
    if (size_ != 1 || text_[0] != '/') out.append("/");
    out.append(name);
    return out;
  }

  friend bool operator==(const Path& a, const Path& b) { return a.text() == b.text(); }
  friend auto operator<=>(const Path& a, const Path& b) { return a.text() <=> b.text(); }

 private:
  void append(std::string_view text) {
    SISYFS_ASSERT(size_ + text.size() <= kCapacity, "a path fits into its 47 characters");
    std::copy(text.begin(), text.end(), text_.begin() + size_);
    size_ = static_cast<uint8_t>(size_ + text.size());
  }

  std::array<char, kCapacity> text_{};  // padded with zeros
  uint8_t size_ = 0;
};

}  // namespace sisyfs
