#include "adapters/plugin/plugin_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "workload/op.h"

namespace sisyfs {
namespace {

constexpr size_t kMostOptions = 64, kLongestOptionText = 400;
constexpr std::string_view kPrefix = "plugin.";

// One option of the table, with copies of its texts.
struct Declared {
  uint32_t type = 0;
  int64_t min = 0, max = 0;
  std::string name, help, fallback, values;
};

// Texts are measured inside the fence, as a pointer may be bad, and copied outside.
bool read_table(const sisyfs_plugin& table, Fence& fence, std::vector<Declared>& all) {
  using Lengths = std::array<size_t, 4>;
  std::vector<Lengths> lengths(table.option_count);
  all.resize(table.option_count);
  const auto texts = [](const sisyfs_option& o) {
    return std::array<const char*, 4>{o.name, o.help, o.fallback, o.values};
  };
  fence.announce(3);
  const bool lived = fence.run([&] {
    for (size_t i = 0; i < lengths.size(); ++i)
      for (size_t t = 0; t < 4; ++t) {
        const char* text = texts(table.options[i])[t];
        lengths[i][t] = text == nullptr ? 0 : strnlen(text, kLongestOptionText);
      }
  });
  if (!lived) return false;
  for (size_t i = 0; i < all.size(); ++i) {
    const sisyfs_option& o = table.options[i];
    std::array<std::string*, 4> to = {&all[i].name, &all[i].help, &all[i].fallback, &all[i].values};
    for (size_t t = 0; t < 4; ++t)
      if (lengths[i][t] != 0) to[t]->assign(texts(o)[t], lengths[i][t]);
    all[i].type = o.type, all[i].min = o.min, all[i].max = o.max;
  }
  return true;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == text.npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

bool is_word(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
}

Error wrong(const Declared& d, std::string_view what) {
  return bad_input(fmt::format("its option '{}' {}", d.name, what));
}

Result<OptionSpec> spec_of(const Declared& d) {
  if (!is_word(d.name)) return wrong(d, "has a name that is not of letters, digits, '-' and '_'");
  std::string name = std::string(kPrefix) + d.name;
  switch (d.type) {
    case SISYFS_BOOL:
      if (d.fallback != "on" && d.fallback != "off") return wrong(d, "is on or off by default");
      return OptionSpec::flag(std::move(name), d.fallback == "on", d.help);
    case SISYFS_INT: {
      int64_t value = 0;
      const char* last = d.fallback.data() + d.fallback.size();
      const auto [end, error] = std::from_chars(d.fallback.data(), last, value);
      if (error != std::errc() || end != last || value < d.min || value > d.max)
        return wrong(d, fmt::format("has a default that is no number from {} to {}", d.min, d.max));
      return OptionSpec::integer(std::move(name), d.min, d.max, value, d.help);
    }
    case SISYFS_CHOICE: {
      std::vector<std::string> values = words_of(d.values);
      if (!std::all_of(values.begin(), values.end(), is_word))
        return wrong(d, "has values that are not words with commas between them");
      if (std::find(values.begin(), values.end(), d.fallback) == values.end())
        return wrong(d, "has a default that is none of its values");
      return OptionSpec::choice(std::move(name), std::move(values), d.fallback, d.help);
    }
    case SISYFS_TEXT:
      if (!OptionSpec::is_text(d.fallback)) return wrong(d, "has a default with blanks, or none");
      return OptionSpec::text(std::move(name), d.fallback, d.help);
    default:
      return wrong(d, "has a type that this program does not know");
  }
}

}  // namespace

Result<std::vector<OptionSpec>> read_plugin_options(const sisyfs_plugin& table, Fence& fence) {
  std::vector<OptionSpec> specs;
  if (table.option_count == 0) return specs;
  if (table.option_count > kMostOptions || table.options == nullptr)
    return bad_input(fmt::format("it has a table of 1 to {} options, or none", kMostOptions));
  std::vector<Declared> all;
  if (!read_table(table, fence, all))
    return bad_input(fmt::format("its options cannot be read: {}", fence.text()));
  for (const Declared& declared : all) {
    Result<OptionSpec> spec = spec_of(declared);
    if (!spec) return spec.error();
    const auto same = [&](const OptionSpec& other) { return other.name == spec->name; };
    if (std::any_of(specs.begin(), specs.end(), same)) return wrong(declared, "is declared twice");
    specs.push_back(*std::move(spec));
  }
  return specs;
}

Status configure_plugin(const sisyfs_plugin& table, Fence& fence, const Options& options) {
  if (table.option_count == 0) return {};
  for (const std::string& full : options.names()) {
    if (!full.starts_with(kPrefix)) continue;
    const std::string name = full.substr(kPrefix.size()), value = options.value_text(full);
    int error = 0;
    fence.announce(4);
    if (!fence.run([&] { error = table.configure(name.c_str(), value.c_str()); }))
      return bad_input(fmt::format("option '{}': the plug-in died of '{}': {}", full, value, fence.text()));
    if (error != 0)
      return bad_input(fmt::format("option '{}': the plug-in refuses '{}' ({})", full, value,
                                   errno_text(error < 0 ? -error : error)));
  }
  return {};
}

}  // namespace sisyfs
