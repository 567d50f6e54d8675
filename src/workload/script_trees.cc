#include "workload/script_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "workload/right_errnos.h"

namespace sisyfs {
namespace {

using FactKind = Script::Fact::Kind;

// A place on a path of the script.
struct Reached {
  Tree tree;
  std::optional<Tree> saved;  // by the op snapshot
  std::vector<std::string> path;
};

constexpr size_t kMostReached = 100'000;  // in all
constexpr size_t kToldOps = 6;            // of a path

std::string path_text(const Reached& place) {
  const size_t count = place.path.size(), first = count - std::min(count, kToldOps);
  std::string text = first == 0 ? "" : "...";
  for (size_t i = first; i < count; ++i) text += (text.empty() ? "" : "; ") + place.path[i];
  return text.empty() ? "at the start" : "after " + text;
}

Error wrong(uint32_t line, uint32_t column, const std::string& what, const Reached& place) {
  return bad_input(fmt::format("line {}, column {}: {} ({})", line, column, what, path_text(place)));
}

std::string what_is(const Tree& tree, const Script::Fact& fact) {
  Stat stat;
  if (tree.lstat(fact.path, &stat) != 0) return fmt::format("there is no {}", fact.path.text());
  switch (stat.type) {
    case FileType::kDirectory:
      return fmt::format("{} is a directory, mode {:o}", fact.path.text(), stat.mode);
    case FileType::kSymlink:
      return fmt::format("{} is a symbolic link to {}", fact.path.text(), tree.node(stat.node).data.text());
    case FileType::kFile:
      break;
  }
  return fmt::format("{} is a file of {} byte{}, mode {:o}, links {}", fact.path.text(), stat.size,
                     stat.size == 1 ? "" : "s", stat.mode, stat.links);
}

bool is_true(const Tree& tree, const Script::Fact& fact) {
  Stat stat;
  if (tree.lstat(fact.path, &stat) != 0) return fact.kind == FactKind::kAbsent;
  switch (fact.kind) {
    case FactKind::kAbsent:
      return false;
    case FactKind::kFile:
      return stat.type == FileType::kFile;
    case FactKind::kDirectory:
      return stat.type == FileType::kDirectory;
    case FactKind::kSymlink:
      return stat.type == FileType::kSymlink &&
             (fact.target.empty() || tree.node(stat.node).data.text() == fact.target.text());
    case FactKind::kSize:
      return stat.type == FileType::kFile && stat.size == fact.number;
    case FactKind::kMode:
      return stat.mode == fact.number;
    case FactKind::kLinks:
      return stat.links == fact.number;
  }
  return false;
}

std::string answer_text(const OpResult& result) {
  return result.error != 0 ? errno_text(result.error) : fmt::format("{}", result.value);
}

class Follower {
 public:
  Follower(const Script& script, const std::function<bool(OpKind)>& may_be_full)
      : lines_(script.lines()), may_be_full_(may_be_full) {}

  Status run(const Tree& start) {
    std::vector<Reached> here = {{start, {}, {}}};
    for (const Script::Line& line : lines_) {
      std::vector<Reached> next;
      for (const Reached& place : here) {
        if (Status s = follow(line, place, next); !s) return s;
        if (line.optional) add(place, next);
      }
      for (const Reached& place : next)
        for (const Script::Fact& fact : line.facts)
          if (!is_true(place.tree, fact))
            return wrong(fact.line, fact.column, what_is(place.tree, fact), place);
      count_ += next.size();
      if (count_ > kMostReached)
        return bad_input(
            fmt::format("line {}: the script has more than {} trees on its paths, too many to hold "
                        "its 'expect' lines against",
                        line.number, kMostReached));
      here = std::move(next);
      known_.clear();
    }
    return {};
  }

 private:
  Status follow(const Script::Line& line, const Reached& place, std::vector<Reached>& next) {
    for (const Op& op : line.ops) {
      if (op.kind == OpKind::kRestore && !place.saved) continue;  // the path ends
      Reached after = place;
      const OpResult result = apply(op, after.tree);
      if (const std::optional<Script::Answer> answer = answer_of(line, op)) {
        const bool full = answer->error == ENOSPC && result.error == 0 && may_be_full_(op.kind);
        if (!full && !agrees(op, place.tree, result, *answer))
          return wrong(answer->line, answer->column,
                       fmt::format("'{}' answers {}", to_text(without_demand(op)), answer_text(result)),
                       place);
        if (full) after.tree = place.tree;
      }
      if (op.kind == OpKind::kSnapshot && result.error == 0) after.saved = place.tree;
      if (op.kind == OpKind::kRestore && result.error == 0) {
        after.tree = *place.saved;
        after.saved.reset();
      }
      after.path.push_back(to_text(without_demand(op)));
      add(std::move(after), next);
    }
    return {};
  }

  // Of all ops of a line, or of one of them.
  static std::optional<Script::Answer> answer_of(const Script::Line& line, const Op& op) {
    if (line.answer || op.demand == 0) return line.answer;
    return Script::Answer{op.demanded(), {}, line.number, line.column};
  }

  static Op without_demand(Op op) {
    op.demand = 0;
    return op;
  }

  static bool agrees(const Op& op, const Tree& tree, const OpResult& result, const Script::Answer& answer) {
    if (answer.error != 0)
      return answer.error == result.error || is_right_errno(op, tree, result.error, answer.error);
    return result.error == 0 && (!answer.value || *answer.value == result.value);
  }

  // Equal trees are one place; what is told of it is the first path.
  void add(Reached place, std::vector<Reached>& next) {
    const auto print = [](const Tree& tree) { return tree.digest() + digest_at(1, tree.open_digest()); };
    Digest key = print(place.tree);
    if (place.saved) key += digest_at(2, print(*place.saved));
    if (known_.insert(key).second) next.push_back(std::move(place));
  }

  const std::vector<Script::Line>& lines_;
  const std::function<bool(OpKind)>& may_be_full_;
  std::set<Digest> known_;  // places after the line at hand
  size_t count_ = 0;
};

}  // namespace

Status check_expectations(const Script& script, const Tree& start,
                          const std::function<bool(OpKind)>& may_be_full) {
  const auto expects = [](const Script::Line& line) {
    const auto demands = [](const Op& op) { return op.demand != 0; };
    return !line.facts.empty() || std::any_of(line.ops.begin(), line.ops.end(), demands);
  };
  if (std::none_of(script.lines().begin(), script.lines().end(), expects)) return {};
  return Follower(script, may_be_full).run(start);
}

}  // namespace sisyfs
