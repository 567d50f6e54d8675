#include "workload/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace sisyfs {
namespace {

// A statement of the text, or a brace.
struct Statement {
  std::string_view text;
  uint32_t line = 0, column = 0;
};

Error wrong_at(const Statement& at, size_t offset, std::string_view what) {
  return bad_input(fmt::format("line {}, column {}: {}", at.line, at.column + offset, what));
}

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

// Statements end with a line, a semicolon or a brace. A comment goes to the end of its line.
std::vector<Statement> statements_of(std::string_view text) {
  std::vector<Statement> all;
  uint32_t line = 1;
  size_t line_start = 0, from = 0;
  bool comment = false;
  const auto add = [&](size_t begin, size_t end) {
    const std::string_view words = trimmed(text.substr(begin, end - begin));
    if (words.empty()) return;
    const auto column = static_cast<uint32_t>(words.data() - text.data() - line_start + 1);
    all.push_back({words, line, column});
  };
  for (size_t at = 0; at <= text.size(); ++at) {
    const char c = at == text.size() ? '\n' : text[at];
    if (comment && c != '\n') continue;
    if (c != '\n' && c != ';' && c != '{' && c != '}' && c != '#') continue;
    if (!comment) add(from, at);
    comment = c == '#';
    if (c == '{' || c == '}') add(at, at + 1);
    from = at + 1;
    if (c != '\n') continue;
    ++line;
    line_start = at + 1;
  }
  return all;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : all_(statements_of(text)) {}

  Status run(std::vector<Script::Line>& out) {
    if (Status s = block(out, nullptr); !s) return s;
    if (at_ < all_.size()) return wrong_at(all_[at_], 0, "'}' closes nothing");
    if (out.empty()) return bad_input("the script has no ops");
    return {};
  }

 private:
  // Up to the end, or to the brace that closes the block.
  Status block(std::vector<Script::Line>& out, const Statement* opened) {
    bool after_op = false;  // the statement before is an op line of this block
    for (; at_ < all_.size(); ++at_) {
      const Statement& here = all_[at_];
      if (here.text == "}") return {};
      if (here.text == "crash" || here.text == "crash after") {
        if (!after_op) return wrong_at(here, 0, "'crash' comes right after the op in which the power may go");
        out.back().crash = true;
        out.back().after = here.text != "crash";
        after_op = false;
        continue;
      }
      if (const bool expects = here.text == "expect" || here.text.starts_with("expect "); expects) {
        if (out.empty()) return wrong_at(here, 0, "'expect' comes after an op");
        if (Status s = expect(here, after_op, out.back()); !s) return s;
        continue;
      }
      if (here.text == "{") return wrong_at(here, 0, "'{' comes after 'repeat' and a number");
      const bool repeats = here.text == "repeat" || here.text.starts_with("repeat ");
      if (Status s = repeats ? repeat(here, out) : ops(here, out); !s) return s;
      if (out.size() > Script::kMostLines)
        return wrong_at(here, 0,
                        fmt::format("the script has more than {} lines, with repetitions written out",
                                    Script::kMostLines));
      after_op = !repeats;
    }
    if (opened != nullptr) return wrong_at(*opened, 0, "the '{' of this 'repeat' is not closed");
    return {};
  }

  Status repeat(const Statement& here, std::vector<Script::Line>& out) {
    const std::string_view word = trimmed(here.text.substr(6));
    uint32_t times = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), times);
    if (error != std::errc() || end != word.data() + word.size() || times == 0 || times > Script::kMostLines)
      return wrong_at(here, 0, fmt::format("'repeat' wants a number from 1 to {}", Script::kMostLines));
    ++at_;
    if (at_ == all_.size() || all_[at_].text != "{") return wrong_at(here, 0, "'repeat' wants a '{'");
    ++at_;
    std::vector<Script::Line> body;
    if (Status s = block(body, &here); !s) return s;
    if (body.empty()) return wrong_at(here, 0, "there is nothing to repeat");
    if (body.size() * times > Script::kMostLines)
      return wrong_at(
          here, 0,
          fmt::format("the script has more than {} lines, with repetitions written out", Script::kMostLines));
    for (uint32_t i = 0; i < times; ++i) out.insert(out.end(), body.begin(), body.end());
    return {};
  }

  // The words after 'expect': an answer, or a fact.
  static Status expect(const Statement& here, bool after_op, Script::Line& line) {
    std::vector<std::string_view> words;
    for (std::string_view rest = here.text; !rest.empty();) {
      const size_t end = std::min(rest.find_first_of(" \t"), rest.size());
      words.push_back(rest.substr(0, end));
      rest = trimmed(rest.substr(end));
    }
    words.erase(words.begin());
    if (words.size() != 1) return fact(here, words, line);
    Script::Answer answer;
    answer.line = here.line, answer.column = here.column;
    uint64_t value = 0;
    const char* const end = words[0].data() + words[0].size();
    if (const int error = errno_named(words[0]); error >= 0) {
      answer.error = error;
    } else if (std::from_chars(words[0].data(), end, value).ptr == end) {
      answer.value = value;
    } else {
      return wrong_at(here, 0, kForms);
    }
    if (!after_op || line.answer)
      return wrong_at(here, 0, "an answer comes right after its op, and there is one");
    for (Op& op : line.ops) op.demand = static_cast<uint16_t>(answer.error + 1);
    line.answer = answer;
    return {};
  }

  static Status fact(const Statement& here, const std::vector<std::string_view>& words, Script::Line& line) {
    using Kind = Script::Fact::Kind;
    static constexpr std::pair<std::string_view, Kind> kKinds[] = {{"file", Kind::kFile},
                                                                   {"directory", Kind::kDirectory},
                                                                   {"symlink", Kind::kSymlink},
                                                                   {"mode", Kind::kMode},
                                                                   {"links", Kind::kLinks}};
    Script::Fact fact;
    fact.line = here.line, fact.column = here.column;
    const bool absent = words.size() == 2 && words[0] == "no";
    if (words.size() < 2 || words.size() > 3) return wrong_at(here, 0, kForms);
    const std::string_view path = absent ? words[1] : words[0];
    const bool handle = Tree::handle_in(path) != Tree::kHandles;
    if (!Path::holds(path) || (!handle && !Path::is_canonical(path)))
      return wrong_at(here, static_cast<size_t>(path.data() - here.text.data()),
                      fmt::format("'{}' is not an absolute path", path));
    fact.path = Path(path);
    if (!absent) {
      const auto* known = std::find_if(std::begin(kKinds), std::end(kKinds),
                                       [&](const auto& kind) { return kind.first == words[1]; });
      if (known == std::end(kKinds)) return wrong_at(here, 0, kForms);
      fact.kind = known->second;
      if (!take_detail(words, fact)) return wrong_at(here, 0, kForms);
    }
    line.facts.push_back(fact);
    return {};
  }

  static bool take_detail(const std::vector<std::string_view>& words, Script::Fact& fact) {
    using Kind = Script::Fact::Kind;
    const bool more = words.size() == 3;
    if (fact.kind == Kind::kSymlink) {
      if (more && Path::holds(words[2])) fact.target = Path(words[2]);
      return !more || Path::holds(words[2]);
    }
    if (fact.kind == Kind::kDirectory || !more) return fact.kind <= Kind::kDirectory && !more;
    if (fact.kind == Kind::kFile) fact.kind = Kind::kSize;
    const char* const end = words[2].data() + words[2].size();
    return std::from_chars(words[2].data(), end, fact.number, fact.kind == Kind::kMode ? 8 : 10).ptr == end;
  }

  static constexpr const char* kForms =
      "'expect' wants an errno, a number, 'no PATH', or 'PATH file', 'PATH file SIZE', 'PATH directory', "
      "'PATH symlink', 'PATH symlink TARGET', 'PATH mode BITS' or 'PATH links NUMBER'";

  static Status ops(const Statement& here, std::vector<Script::Line>& out) {
    Script::Line line{{}, here.text.starts_with('?'), false, false, here.line, here.column, {}, {}};
    std::string_view rest = line.optional ? here.text.substr(1) : here.text;
    while (true) {
      const size_t bar = std::min(rest.find('|'), rest.size());
      const std::string_view part = rest.substr(0, bar), words = trimmed(part);
      const auto offset =
          static_cast<size_t>((words.empty() ? part.data() : words.data()) - here.text.data());
      if (words.empty()) return wrong_at(here, offset, "an op is missing");
      const Result<Op> op = parse_op(words);
      if (!op) return wrong_at(here, offset, op.error().message);
      line.ops.push_back(*op);
      if (bar == rest.size()) break;
      rest.remove_prefix(bar + 1);
    }
    out.push_back(std::move(line));
    return {};
  }

  std::vector<Statement> all_;
  size_t at_ = 0;
};

}  // namespace

Result<Script> Script::parse(std::string_view text) {
  if (text.size() > kMostText) return bad_input(fmt::format("the script has more than {} bytes", kMostText));
  Script script;
  if (Status s = Parser(text).run(script.lines_); !s) return s.error();
  script.has_crashes_ =
      std::any_of(script.lines_.begin(), script.lines_.end(), [](const Line& line) { return line.crash; });
  const auto demands = [](const Op& op) { return op.demand != 0; };
  script.demands_ = std::any_of(script.lines_.begin(), script.lines_.end(), [&](const Script::Line& line) {
    return std::any_of(line.ops.begin(), line.ops.end(), demands);
  });
  return script;
}

Script Script::of(const std::vector<Op>& ops) {
  Script script;
  for (const Op& op : ops) {
    Line line;
    line.ops = {op};
    line.number = static_cast<uint32_t>(script.lines_.size() + 1);
    script.lines_.push_back(std::move(line));
  }
  return script;
}

}  // namespace sisyfs
