#include "target/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace sisyfs {
namespace {

Result<int64_t> parse_value(const OptionSpec& spec, std::string_view word) {
  int64_t value = 0;
  switch (spec.type) {
    case OptionSpec::Type::kChoice:
    case OptionSpec::Type::kText: {
      const auto at = std::find(spec.values.begin(), spec.values.end(), word);
      if (at != spec.values.end()) return at - spec.values.begin();
      break;
    }
    case OptionSpec::Type::kFlag:
      if (word == "on" || word == "true") return 1;
      if (word == "off" || word == "false") return 0;
      break;
    case OptionSpec::Type::kInteger: {
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      const bool whole = error == std::errc() && end == word.data() + word.size();
      if (whole && value >= spec.min && value <= spec.max) return value;
      break;
    }
  }
  return bad_input(
      fmt::format("option '{}': '{}' is not allowed; it takes {}", spec.name, word, spec.allowed()));
}

}  // namespace

OptionSpec OptionSpec::choice(std::string name, std::vector<std::string> values, std::string_view fallback,
                              std::string help) {
  const auto at = std::find(values.begin(), values.end(), fallback);
  SISYFS_ASSERT(at != values.end(), "the fallback of an option is one of its values");
  const int64_t position = at - values.begin();
  const auto last = static_cast<int64_t>(values.size()) - 1;
  return {std::move(name), Type::kChoice, std::move(values), 0, last, position, std::move(help)};
}

OptionSpec OptionSpec::integer(std::string name, int64_t min, int64_t max, int64_t fallback,
                               std::string help) {
  SISYFS_ASSERT(min <= fallback && fallback <= max, "the fallback of an option lies in its range");
  return {std::move(name), Type::kInteger, {}, min, max, fallback, std::move(help)};
}

OptionSpec OptionSpec::flag(std::string name, bool fallback, std::string help) {
  return {std::move(name), Type::kFlag, {}, 0, 1, fallback ? 1 : 0, std::move(help)};
}

OptionSpec OptionSpec::text(std::string name, std::string fallback, std::string help) {
  SISYFS_ASSERT(is_text(fallback), "the fallback of an option is one of its values");
  return {std::move(name), Type::kText, {std::move(fallback)}, 0, INT64_MAX, 0, std::move(help)};
}

bool OptionSpec::is_text(std::string_view text) {
  return !text.empty() && text.size() <= 200 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

std::string OptionSpec::allowed() const {
  switch (type) {
    case Type::kChoice:
      return fmt::format("{}", fmt::join(values, ", "));
    case Type::kInteger:
      return fmt::format("{}..{}", min, max);
    case Type::kFlag:
      return "on, off";
    case Type::kText:
      return "a text without blanks";
  }
  return {};
}

std::string OptionSpec::value_text(int64_t value) const {
  switch (type) {
    case Type::kChoice:
    case Type::kText:
      return values[static_cast<size_t>(value)];
    case Type::kInteger:
      return fmt::format("{}", value);
    case Type::kFlag:
      return value ? "on" : "off";
  }
  return {};
}

Options::Options(std::vector<OptionSpec> specs) : specs_(std::move(specs)) {
  for (const OptionSpec& spec : specs_) {
    SISYFS_ASSERT(position(spec.name) == values_.size(), "an option is declared once");
    values_.push_back(spec.fallback);
  }
}

Result<Options> Options::parse(std::vector<OptionSpec> specs, const std::vector<std::string>& assignments) {
  Options options(std::move(specs));
  for (const std::string& assignment : assignments) {
    if (const Status status = options.set(assignment); !status) return status.error();
  }
  return options;
}

Status Options::each_once(const std::vector<std::string>& assignments) {
  std::vector<std::string_view> names;
  for (const std::string_view assignment : assignments) {
    names.push_back(assignment.substr(0, assignment.find('=')));
    if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1)
      return bad_input(fmt::format("option '{}' is given twice; say it once", names.back()));
  }
  return {};
}

Status Options::set(std::string_view assignment) {
  const size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  const size_t at = position(name);
  if (at == specs_.size()) {
    if (specs_.empty()) return bad_input(fmt::format("unknown option '{}'; this target has none", name));
    std::vector<std::string_view> known;
    for (const OptionSpec& spec : specs_) known.push_back(spec.name);
    return bad_input(fmt::format("unknown option '{}'; options are {}", name, fmt::join(known, ", ")));
  }
  if (equals == assignment.npos) {
    return bad_input(fmt::format("option '{}' wants a value: {}={}; it takes {}", name, name,
                                 specs_[at].value_text(specs_[at].fallback), specs_[at].allowed()));
  }
  const std::string_view word = assignment.substr(equals + 1);
  std::vector<std::string>& texts = specs_[at].values;
  if (specs_[at].type == OptionSpec::Type::kText && OptionSpec::is_text(word) &&
      std::find(texts.begin(), texts.end(), word) == texts.end())
    texts.emplace_back(word);
  const Result<int64_t> value = parse_value(specs_[at], word);
  if (!value) return value.error();
  values_[at] = *value;
  return {};
}

bool Options::differs(std::string_view name) const {
  const size_t at = position(name);
  SISYFS_ASSERT(at != specs_.size(), "an option that is asked for is declared");
  return values_[at] != specs_[at].fallback;
}

size_t Options::position(std::string_view name) const {
  const auto at =
      std::find_if(specs_.begin(), specs_.end(), [&](const OptionSpec& s) { return s.name == name; });
  return static_cast<size_t>(at - specs_.begin());
}

int64_t Options::value(std::string_view name, OptionSpec::Type type) const {
  const size_t at = position(name);
  SISYFS_ASSERT(at < specs_.size() && specs_[at].type == type, "an option is asked for as it was declared");
  return values_[at];
}

std::string_view Options::choice_text(std::string_view name) const {
  return specs_[position(name)].values[static_cast<size_t>(value(name, OptionSpec::Type::kChoice))];
}

std::string Options::value_text(std::string_view name) const {
  const size_t at = position(name);
  SISYFS_ASSERT(at < specs_.size(), "an option that is asked for is declared");
  return specs_[at].value_text(values_[at]);
}

std::string Options::text() const {
  std::string out;
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (values_[i] == specs_[i].fallback) continue;
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", specs_[i].name, specs_[i].value_text(values_[i]));
  }
  return out;
}

}  // namespace sisyfs
