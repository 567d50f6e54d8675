// Options: the options that a target declares, and the values that a user sets.
//
// A target declares its options in one list; help, parsing, error messages and the text in a finding come
// from it.
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
  enum class Type : uint8_t { kChoice, kInteger, kFlag, kText };

  std::string name;
  Type type = Type::kFlag;
  std::vector<std::string> values;  // of a choice; of a text: those that it has had
  int64_t min = 0, max = 1;         // of an integer
  int64_t fallback = 0;             // the default: a position in `values`, a number, or 0 and 1
  std::string help;                 // one line; empty: the option is for tests, and not listed

  // The fallback must be one of the values, or within the range.
  static OptionSpec choice(std::string name, std::vector<std::string> values, std::string_view fallback,
                           std::string help);
  static OptionSpec integer(std::string name, int64_t min, int64_t max, int64_t fallback, std::string help);
  static OptionSpec flag(std::string name, bool fallback, std::string help);
  // Any text for which is_text() is true.
  static OptionSpec text(std::string name, std::string fallback, std::string help);
  // 1 to 200 characters of ASCII, without blanks and control characters.
  static bool is_text(std::string_view text);

  // "naive, pointed", "1..4", "on, off"
  std::string allowed() const;
  // A value of this option as a user writes it.
  std::string value_text(int64_t value) const;
};

class Options {
 public:
  // All options have their fallbacks. Names must be different.
  explicit Options(std::vector<OptionSpec> specs);
  // Also sets each "name=value", in order.
  static Result<Options> parse(std::vector<OptionSpec> specs, const std::vector<std::string>& assignments);

  // Bad input if two assignments have the same name. For what a user types.
  static Status each_once(const std::vector<std::string>& assignments);

  // Sets one "name=value"; a later one overrides an earlier one. On error nothing changes, and the message
  // lists the allowed values.
  Status set(std::string_view assignment);

  // All names, in the order of their declaration.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const OptionSpec& spec : specs_) all.push_back(spec.name);
    return all;
  }
  bool has(std::string_view name) const { return position(name) != specs_.size(); }
  // Whether its value is not the fallback.
  bool differs(std::string_view name) const;
  // The option must be declared with this type.
  int64_t integer(std::string_view name) const { return value(name, OptionSpec::Type::kInteger); }
  bool flag(std::string_view name) const { return value(name, OptionSpec::Type::kFlag) != 0; }
  template <class Enum>
  Enum choice(std::string_view name) const {
    return static_cast<Enum>(value(name, OptionSpec::Type::kChoice));
  }
  std::string_view choice_text(std::string_view name) const;
  // The value of an option of any type, as a user writes it.
  std::string value_text(std::string_view name) const;

  const std::vector<OptionSpec>& specs() const { return specs_; }
  // The values that differ from the fallbacks, in the order of declaration: "order=naive files=2". parse() of
  // these words gives equal options.
  std::string text() const;

 private:
  int64_t value(std::string_view name, OptionSpec::Type type) const;
  size_t position(std::string_view name) const;  // specs_.size() if not declared

  std::vector<OptionSpec> specs_;
  std::vector<int64_t> values_;
};

}  // namespace sisyfs
