// Reads exhibits from TOML. The only file that uses the TOML library.
#include "cli/museum/exhibits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "cli/cli.h"
#include "report/search_names.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace sisyfs::cli {
namespace {

// One entry of the data file while it is read. Keeps the first error. Later reads still return values, so
// that the functions below need not check each key.
class Entry {
 public:
  Entry(const toml::table& table, std::string kind, std::string file)
      : table_(table), kind_(std::move(kind)), file_(std::move(file)) {
    name_ = table["name"].value_or(std::string());
  }

  // Text that must not be empty.
  std::string text(const char* key) {
    std::string value = text_or(key, "");
    if (value.empty()) complain(table_, fmt::format("'{}' is missing or empty", key));
    return value;
  }
  std::string text_or(const char* key, const char* fallback) {
    const toml::node* node = take(key);
    if (node == nullptr) return fallback;
    if (!node->is_string()) complain(*node, fmt::format("'{}' must be text in quotes", key));
    return node->value_or(std::string());
  }
  std::vector<std::string> list(const char* key) {
    const toml::node* node = take(key);
    std::vector<std::string> values;
    if (node == nullptr) return values;
    if (!node->is_array() || !node->as_array()->is_homogeneous(toml::node_type::string)) {
      if (!node->is_array() || !node->as_array()->empty())
        complain(*node, fmt::format("'{}' must be a list of texts, like [\"a\", \"b\"]", key));
      return values;
    }
    for (const toml::node& value : *node->as_array()) values.push_back(value.value_or(std::string()));
    return values;
  }
  // A whole number from 1 on.
  uint32_t count_or(const char* key, uint32_t fallback) {
    const toml::node* node = take(key);
    if (node == nullptr) return fallback;
    const int64_t value = node->is_integer() ? node->value_or(int64_t{0}) : 0;
    if (value >= 1 && value <= 65533) return static_cast<uint32_t>(value);
    complain(*node, fmt::format("'{}' must be a whole number from 1 to 65533", key));
    return fallback;
  }
  bool flag(const char* key) {
    const toml::node* node = take(key);
    if (node != nullptr && !node->is_boolean())
      complain(*node, fmt::format("'{}' must be true or false", key));
    return node != nullptr && node->value_or(false);
  }
  // Findings by code or name, in the order of the catalogue.
  std::vector<FindingKind> findings(const char* key) {
    std::set<FindingKind> kinds;
    for (const std::string& word : list(key)) {
      const auto kind = find_kind(word);
      if (!kind) {
        complain(*table_.get(key), fmt::format("'{}': unknown finding '{}'", key, word));
        break;
      }
      kinds.insert(kind->kind);
    }
    return {kinds.begin(), kinds.end()};
  }
  // The value of one of these words; the first is the default.
  template <class Value>
  Value one_of(const char* key, std::initializer_list<std::pair<const char*, Value>> words) {
    const std::string said = text_or(key, words.begin()->first);
    std::vector<const char*> names;
    for (const auto& [name, value] : words) {
      if (said == name) return value;
      names.push_back(name);
    }
    complain(table_, fmt::format("'{}' must be one of {}, not '{}'", key, fmt::join(names, ", "), said));
    return words.begin()->second;
  }

  bool has(const char* key) const { return table_.contains(key); }
  void complain(const toml::node& where, const std::string& what) {
    if (problem_) return;
    problem_ = bad_input(fmt::format("{}:{}: {}{}: {}", file_, where.source().begin.line, kind_,
                                     name_.empty() ? "" : fmt::format(" '{}'", name_), what));
  }
  void complain(const std::string& what) { complain(table_, what); }

  // The first error, if any. A key that was never read is an error, too.
  std::optional<Error> problem() {
    for (const auto& [key, value] : table_)
      if (!asked_.contains(std::string(key.str())))
        complain(value, fmt::format("unknown key '{}'", key.str()));
    return problem_;
  }
  bool well_so_far() const { return !problem_; }

 private:
  const toml::node* take(const char* key) {
    asked_.insert(key);
    return table_.get(key);
  }

  const toml::table& table_;
  std::string kind_, file_, name_;
  std::set<std::string> asked_;
  std::optional<Error> problem_;
};

// The name of an entry. It is used in commands and as a heading, so it must be a plain word.
std::string read_name(Entry& entry, std::set<std::string>& names) {
  std::string name = entry.text("name");
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  if (!std::all_of(name.begin(), name.end(), plain))
    entry.complain("'name' has other characters than a to z, 0 to 9 and -");
  if (!names.insert(name).second) entry.complain("there is another entry with this name");
  return name;
}

// Checks that the registry accepts the settings, and that the target can have these findings.
void try_settings(Entry& entry, const std::string& target, const std::vector<std::string>& settings,
                  std::vector<FindingKind> findings) {
  if (!entry.well_so_far()) return;
  const Result<NamedCheck> named = registry().make(target, settings);
  if (!named) return entry.complain(named.error().message);
  std::erase_if(findings, [&](FindingKind kind) { return named->check->kinds().bit_or_none(kind) != 0; });
  if (!findings.empty())
    entry.complain(
        fmt::format("{} cannot have the finding {} with these settings", target, codes_of(findings)));
}

Exhibit read_exhibit(Entry& entry, std::set<std::string>& names) {
  Exhibit e;
  e.name = read_name(entry, names);
  e.title = entry.text("title");
  e.source = entry.text("source");
  e.takes = entry.text("takes");
  e.target = entry.text("target");
  e.wrong = entry.list("wrong");
  e.set = entry.list("set");
  if (e.wrong.empty())
    entry.complain("'wrong' is missing or empty: it lists the settings that plant the bug");
  if (entry.has("waits")) {
    e.waits = entry.text("waits");
    try_settings(entry, e.target, wrong_settings(e), {});
    return e;
  }
  e.only = entry.findings("only");
  e.finds = entry.findings("finds");
  e.at = entry.count_or("at", 0);
  if (e.finds.empty()) entry.complain("'finds' is missing or empty: it lists the expected findings");
  if (e.at == 0) entry.complain("'at' is missing: it is the depth of the finding");
  e.depth = entry.count_or("depth", e.at);
  const std::string search = entry.text_or("search", "bfs"), dedup = entry.text_or("dedup", "exact");
  const auto order = find_order(search);
  if (!order || *order == SearchOrder::kWalk) entry.complain(fmt::format("unknown search '{}'", search));
  e.search = order.value_or(SearchOrder::kBreadthFirst);
  const auto known_again = find_dedup(dedup);
  if (!known_again) entry.complain(fmt::format("unknown dedup '{}'", dedup));
  e.dedup = known_again.value_or(Dedup::kExact);
  e.twin = entry.one_of<Twin>(
      "twin", {{"clean", Twin::kClean}, {"no-finding", Twin::kNoFinding}, {"other", Twin::kOther}});
  e.in_long_run = entry.flag("long");
  std::vector<FindingKind> named = e.only;
  named.insert(named.end(), e.finds.begin(), e.finds.end());
  try_settings(entry, e.target, wrong_settings(e), std::move(named));
  try_settings(entry, e.target, e.set, {});
  return e;
}

RightModel read_model(Entry& entry, std::set<std::string>& names) {
  RightModel m;
  m.name = read_name(entry, names);
  m.title = entry.text("title");
  m.target = entry.text("target");
  m.set = entry.list("set");
  m.depth = entry.count_or("depth", SearchBounds::kNoDepth);
  m.long_depth = entry.count_or("long_depth", m.depth);
  m.in_long_run = entry.flag("long");
  try_settings(entry, m.target, m.set, {});
  return m;
}

// Calls `read` for each entry of one kind.
template <class Read>
std::optional<Error> each_entry(const toml::table& all, const char* kind, const std::string& file,
                                Read read) {
  const toml::node* node = all.get(kind);
  if (node == nullptr) return std::nullopt;
  const toml::array* entries = node->as_array();
  if (entries == nullptr || !entries->is_homogeneous(toml::node_type::table))
    return bad_input(fmt::format("{}:{}: '{}' must be entries, each under [[{}]]", file,
                                 node->source().begin.line, kind, kind));
  for (const toml::node& item : *entries) {
    Entry entry(*item.as_table(), kind, file);
    read(entry);
    if (std::optional<Error> problem = entry.problem()) return problem;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> wrong_settings(const Exhibit& exhibit) {
  std::vector<std::string> all = exhibit.wrong;
  all.insert(all.end(), exhibit.set.begin(), exhibit.set.end());
  return all;
}

namespace {

// The library reads a dotted key by recursion, and dies of a very long one. The line of such a key, or 0.
// Strings and comments may have as many dots as they like.
size_t line_of_long_key(std::string_view text) {
  constexpr int kMostDots = 32;
  size_t line = 1;
  int dots = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '"' || c == '\'') {
      const std::string_view three(text.substr(i, 3));
      const bool block = three.size() == 3 && three[1] == c && three[2] == c;
      for (i += block ? 3 : 1; i < text.size(); ++i) {
        line += text[i] == '\n' ? 1 : 0;
        if (text[i] == '\\' && c == '"')
          ++i;
        else if (block ? text.substr(i, 3) == three : text[i] == c || text[i] == '\n')
          break;
      }
      i += block ? 2 : 0;
    } else if (c == '.') {
      if (++dots > kMostDots) return line;
    } else if (c == '\n' || c == '=' || c == ',' || c == '{') {
      line += c == '\n' ? 1 : 0;
      dots = 0;
    }
  }
  return 0;
}

}  // namespace

Result<Museum> parse_museum(std::string_view text, const std::string& file) {
  if (const size_t line = line_of_long_key(text); line != 0)
    return bad_input(fmt::format("{}:{}: a key has too many dots", file, line));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return bad_input(fmt::format("{}:{}: this is not TOML: {}", file, parsed.error().source().begin.line,
                                 parsed.error().description()));
  const toml::table& all = parsed.table();
  for (const auto& [key, value] : all)
    if (key.str() != "exhibit" && key.str() != "model")
      return bad_input(fmt::format("{}:{}: unknown key '{}'; entries are [[exhibit]] and [[model]]", file,
                                   value.source().begin.line, key.str()));
  Museum museum;
  std::set<std::string> names;
  if (auto problem = each_entry(all, "exhibit", file,
                                [&](Entry& entry) { museum.exhibits.push_back(read_exhibit(entry, names)); }))
    return *problem;
  if (auto problem = each_entry(all, "model", file,
                                [&](Entry& entry) { museum.models.push_back(read_model(entry, names)); }))
    return *problem;
  if (museum.exhibits.empty() && museum.models.empty())
    return bad_input(fmt::format("{}: no [[exhibit]] and no [[model]] in it", file));
  return museum;
}

}  // namespace sisyfs::cli
