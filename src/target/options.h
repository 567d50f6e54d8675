// Options: the switches that a target declares, and the values that a user gave them.
//
// A target lists its options once; help, parsing, error messages and the text in a trace all come from
// that list.
//
//   const std::vector<OptionSpec> kOptions = {
//       OptionSpec::choice("order", {"naive", "pointed"}, "pointed", "what is written first"),
//       OptionSpec::integer("files", 1, 4, 4, "number of files"),
//       OptionSpec::flag("cache", true, "a volatile cache in front of the disk")};
//   Options options(kOptions);
//   if (Status s = options.set("order=naive"); !s) return s.error();
//   Order order = options.choice<Order>("order");    // the position in the list, as an enum
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sisyfs {

struct OptionSpec {
  enum class Type : uint8_t { kChoice, kInteger, kFlag };

  std::string name;
  Type type = Type::kFlag;
  std::vector<std::string> values;  // of a choice
  int64_t min = 0, max = 1;         // of an integer
  int64_t fallback = 0;             // without a user's word: a position in `values`, a number, or 0 and 1
  std::string help;                 // one line

  // The fallback is one of the values; an integer lies within its range.
  static OptionSpec choice(std::string name, std::vector<std::string> values, std::string_view fallback,
                           std::string help);
  static OptionSpec integer(std::string name, int64_t min, int64_t max, int64_t fallback, std::string help);
  static OptionSpec flag(std::string name, bool fallback, std::string help);

  // "naive, pointed", "1..4", "on, off"
  std::string allowed() const;
  // A value of this option as a user writes it.
  std::string value_text(int64_t value) const;
};

class Options {
 public:
  // Each option has its fallback. No two have the same name.
  explicit Options(std::vector<OptionSpec> specs);
  // The same, and then each "name=value" in turn.
  static Result<Options> parse(std::vector<OptionSpec> specs, const std::vector<std::string>& assignments);

  // Bad input if two of them have one name: for the words of a user, who would not know which of them counts.
  static Status each_once(const std::vector<std::string>& assignments);

  // "name=value". The last word on an option counts. On error nothing changes, and the message names what
  // would be right.
  Status set(std::string_view assignment);

  bool has(std::string_view name) const { return position(name) != specs_.size(); }
  // Whether it has another value than its fallback.
  bool differs(std::string_view name) const;
  // Asked only for what is declared, as the type that it is declared as.
  int64_t integer(std::string_view name) const { return value(name, OptionSpec::Type::kInteger); }
  bool flag(std::string_view name) const { return value(name, OptionSpec::Type::kFlag) != 0; }
  template <class Enum>
  Enum choice(std::string_view name) const {
    return static_cast<Enum>(value(name, OptionSpec::Type::kChoice));
  }
  std::string_view choice_text(std::string_view name) const;

  const std::vector<OptionSpec>& specs() const { return specs_; }
  // What differs from the fallbacks, in the order of declaration: "order=naive files=2". What parse()
  // makes of its words is equal to this.
  std::string text() const;

 private:
  int64_t value(std::string_view name, OptionSpec::Type type) const;
  size_t position(std::string_view name) const;  // specs_.size() if there is none

  std::vector<OptionSpec> specs_;
  std::vector<int64_t> values_;
};

}  // namespace sisyfs
