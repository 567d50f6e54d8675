#include "workload/name_pool.h"

#include <algorithm>
#include <bit>
#include <cctype>

#include "workload/path.h"

namespace sisyfs {
namespace {

constexpr size_t kNames = 8;

// The word of Thue and Morse over two letters: letter i is `odd` if i has an odd number of one bits. A word
// and the one with exchanged letters differ by the polynomial (1 - x)(1 - x^2)(1 - x^4)..., which is
// divisible by a power of two for each odd x.
std::string thue_morse(size_t length, char even, char odd) {
  std::string word;
  for (size_t i = 0; i < length; ++i) word += std::popcount(i) % 2 != 0 ? odd : even;
  return word;
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

void add_once(std::vector<std::string>& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

// Names that differ from the first in the last character.
void add_last_letters(std::vector<std::string>& names) {
  for (char last = 'a'; names.size() < kNames && last <= 'z'; ++last) {
    std::string name = names.front();
    name.back() = last;
    add_once(names, std::move(name));
  }
}

}  // namespace

std::vector<std::string> names_of(NameStyle style, uint64_t max_name, uint32_t depth) {
  const size_t room = std::max<size_t>(Path::kCapacity / std::max<uint32_t>(depth, 1), 2) - 1;
  const auto longest = static_cast<size_t>(std::min<uint64_t>(room, max_name));
  std::vector<std::string> names;
  switch (style) {
    case NameStyle::kPlain:
      names = {"a"};
      break;
    case NameStyle::kLong:
      names = {std::string(longest, 'a')};
      break;
    case NameStyle::kColliding: {
      const size_t length = std::min<size_t>(std::bit_floor(longest), 8);
      const std::string one = thue_morse(length, 'a', 'b'), two = thue_morse(length, 'b', 'a');
      names = {one, two};
      std::string cased = one;
      cased.front() = 'A';
      for (const std::string& name : {cased, in_capitals(two), in_capitals(one)}) add_once(names, name);
      break;
    }
  }
  add_last_letters(names);
  return names;
}

}  // namespace sisyfs
