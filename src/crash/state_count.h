// StateCount: a number of crash states, up to 2^128 - 1, and "at least that" beyond.
//
// Epochs of a few hundred writes have more crash states than any machine word holds. The count saturates at
// its largest value instead of wrapping, and saturated() says so.
#pragma once

#include <cstdint>
#include <string>

#include "base/digest.h"

namespace sisyfs {

class StateCount {
 public:
  constexpr StateCount(uint64_t n = 0) : value_(n) {}

  // A number that is not known, and taken for too large.
  static constexpr StateCount most() {
    StateCount count;
    count.value_ = kMost;
    return count;
  }

  // True if the number was too large: the value is then a lower bound.
  bool saturated() const { return value_ == kMost; }

  StateCount& operator*=(const StateCount& o) {
    if (value_ != 0 && o.value_ > kMost / value_) {
      value_ = kMost;
    } else {
      value_ *= o.value_;
    }
    return *this;
  }
  StateCount& operator+=(const StateCount& o) {
    value_ = o.value_ > kMost - value_ ? kMost : value_ + o.value_;
    return *this;
  }
  // `o` is not larger. A saturated count stays saturated.
  StateCount& operator-=(const StateCount& o) {
    if (!saturated()) value_ -= o.value_;
    return *this;
  }
  friend StateCount operator*(StateCount a, const StateCount& b) { return a *= b; }
  friend StateCount operator+(StateCount a, const StateCount& b) { return a += b; }
  friend StateCount operator-(StateCount a, const StateCount& b) { return a -= b; }
  friend bool operator==(const StateCount&, const StateCount&) = default;
  friend bool operator<(const StateCount& a, const StateCount& b) { return a.value_ < b.value_; }
  friend bool operator<=(const StateCount& a, const StateCount& b) { return a.value_ <= b.value_; }

  // The number, if it fits into a word.
  uint64_t low() const { return static_cast<uint64_t>(value_); }
  double approximate() const { return static_cast<double>(value_); }
  // In decimal digits; a saturated count begins with ">=".
  std::string text() const {
    std::string digits;
    for (Uint128 rest = value_; rest != 0 || digits.empty(); rest /= 10) {
      digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    }
    return saturated() ? ">=" + digits : digits;
  }

 private:
  static constexpr Uint128 kMost = ~Uint128{0};
  Uint128 value_;
};

}  // namespace sisyfs
