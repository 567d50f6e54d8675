#include "finding/pack.h"

#include <algorithm>
#include <array>
#include <vector>

namespace sisyfs {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr size_t kLeastCopy = 3;
constexpr size_t kMostLiterals = 128;
constexpr uint8_t kCopy = 0x80;
constexpr size_t kMostCodedCopy = 0x7F;  // added to kLeastCopy; from here on a number says the rest
constexpr size_t kCandidates = 32;       // earlier places that are tried for a copy

// Chains of the earlier places of each three bytes.
class Places {
 public:
  explicit Places(std::string_view bytes) : bytes_(bytes), before_(bytes.size(), kNone) { last_.fill(kNone); }

  void add(size_t at) {
    if (at + kLeastCopy > bytes_.size()) return;
    uint32_t& last = last_[slot(at)];
    before_[at] = last;
    last = static_cast<uint32_t>(at);
  }

  // The longest copy that could stand at `at`, as length and distance; the nearest one of several.
  std::pair<size_t, size_t> longest(size_t at) const {
    std::pair<size_t, size_t> best{0, 0};
    if (at + kLeastCopy > bytes_.size()) return best;
    uint32_t from = last_[slot(at)];
    for (size_t tries = 0; from != kNone && tries < kCandidates; ++tries, from = before_[from]) {
      size_t length = 0;
      while (at + length < bytes_.size() && bytes_[from + length] == bytes_[at + length]) ++length;
      if (length > best.first) best = {length, at - from};
    }
    return best;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  size_t slot(size_t at) const {
    uint32_t three = 0;
    for (size_t i = 0; i < kLeastCopy; ++i) three = three << 8 | static_cast<unsigned char>(bytes_[at + i]);
    return (three * 0x9e3779b1u) >> 20;
  }

  std::string_view bytes_;
  std::array<uint32_t, 4096> last_{};
  std::vector<uint32_t> before_;
};

void append_literals(std::string& out, std::string_view literals) {
  while (!literals.empty()) {
    const std::string_view now = literals.substr(0, kMostLiterals);
    out += static_cast<char>(now.size() - 1);
    out += now;
    literals.remove_prefix(now.size());
  }
}

void append_copy(std::string& out, size_t length, size_t distance) {
  const size_t coded = std::min(length - kLeastCopy, kMostCodedCopy);
  out += static_cast<char>(kCopy + coded);
  if (coded == kMostCodedCopy) append_number(out, length - kLeastCopy - coded);
  append_number(out, distance);
}

}  // namespace

std::string base64url(std::string_view bytes) {
  std::string text;
  uint32_t bits = 0;
  int held = 0;
  for (const char byte : bytes) {
    bits = (bits << 8 | static_cast<unsigned char>(byte)) & 0xFFFF;
    for (held += 8; held >= 6; held -= 6) text += kAlphabet[bits >> (held - 6) & 63];
  }
  if (held > 0) text += kAlphabet[bits << (6 - held) & 63];
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<uint32_t>(value)) & 0xFFFF;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xFF);
  }
  if (held >= 6 || (bits & ((1u << held) - 1)) != 0) return std::nullopt;
  return bytes;
}

void append_number(std::string& bytes, uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  bytes += static_cast<char>(number);
}

std::optional<uint64_t> take_number(std::string_view& bytes) {
  uint64_t number = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (shift == 63 && byte > 1) return std::nullopt;
    number |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte >= 0x80) continue;
    if (byte == 0 && shift != 0) return std::nullopt;
    return number;
  }
  return std::nullopt;
}

std::string pack(std::string_view bytes) {
  std::string out;
  Places places(bytes);
  size_t literals = 0;  // where those begin that are not written yet
  for (size_t at = 0; at < bytes.size();) {
    const auto [length, distance] = places.longest(at);
    if (length < kLeastCopy) {
      places.add(at++);
      continue;
    }
    append_literals(out, bytes.substr(literals, at - literals));
    append_copy(out, length, distance);
    for (const size_t end = at + length; at < end;) places.add(at++);
    literals = at;
  }
  append_literals(out, bytes.substr(literals));
  return out;
}

std::optional<std::string> unpack(std::string_view packed, size_t limit) {
  std::string out;
  while (!packed.empty()) {
    const auto control = static_cast<unsigned char>(packed.front());
    packed.remove_prefix(1);
    if (control < kCopy) {
      const size_t count = control + size_t{1};
      if (count > packed.size() || count > limit - out.size()) return std::nullopt;
      out += packed.substr(0, count);
      packed.remove_prefix(count);
      continue;
    }
    uint64_t length = static_cast<uint64_t>(control - kCopy) + kLeastCopy;
    if (control - kCopy == kMostCodedCopy) {
      const std::optional<uint64_t> more = take_number(packed);
      if (!more || *more > limit) return std::nullopt;
      length += *more;
    }
    const std::optional<uint64_t> distance = take_number(packed);
    if (!distance || *distance == 0 || *distance > out.size() || length > limit - out.size())
      return std::nullopt;
    for (uint64_t i = 0; i < length; ++i) out += out[out.size() - *distance];
  }
  return out;
}

}  // namespace sisyfs
