#include "report/story_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "finding/token.h"

namespace sisyfs {
namespace {

// How much of a story is left out. Each level leaves out what the one before it does.
enum class Brevity : uint8_t {
  kNothing,  // verbose
  kRuns,     // runs of three harmless writes and more are one line
  kPairs,    // all runs of harmless writes are, and runs of lost ones
  kFirst,    // of each kind of finding a step tells the first problem
};

constexpr size_t kScreen = 40;    // lines of a story, if that is possible
constexpr size_t kRoomy = 30;     // with so many there is no need to be briefer
constexpr size_t kIndent = 9;     // of what a step did
constexpr size_t kHang = 13;      // of the lines that go on
constexpr size_t kFewest = 4;     // bytes of a write that are shown at least
constexpr size_t kByteWidth = 3;  // "7f "

const char* status_text(WriteStatus status) {
  switch (status) {
    case WriteStatus::kPending:
      return "in the cache";
    case WriteStatus::kPersisted:
      return "persisted";
    case WriteStatus::kTorn:
      return "TORN";
    case WriteStatus::kLost:
      return "LOST";
  }
  return "";
}

// "2", "2-4"; with disks from the second one on "2 of disk 1".
std::string blocks_of(const WriteRecord& write) {
  const std::string range = write.blocks == 1
                                ? fmt::format("{}", write.address)
                                : fmt::format("{}-{}", write.address, write.address + write.blocks - 1);
  return write.disk == 0 ? range : fmt::format("{} of disk {}", range, write.disk);
}

// "1", "1, 3 to 5".
std::string numbers_text(const std::vector<uint32_t>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", numbers[i]);
    if (end - i > 1) out += fmt::format("{}{}", end - i == 2 ? ", " : " to ", numbers[end - 1]);
    i = end;
  }
  return out;
}

class StoryText {
 public:
  StoryText(const Story& story, const TextStyle& style, Brevity brevity)
      : story_(story), style_(style), brevity_(brevity) {
    // A write that was lost or is spoken of is told, and so is what it lies over.
    for (const WriteRecord& write : story.writes) {
      const bool gone = write.status == WriteStatus::kLost || write.status == WriteStatus::kTorn;
      if (gone || write.is_named) told_.insert(write.number);
      if ((gone || write.is_named) && write.over != 0) told_.insert(write.over);
    }
  }

  std::string take() {
    for (size_t i = 0; i < story_.steps.size(); ++i) tell_step(i);
    return std::move(out_);
  }

 private:
  void line(std::string_view text, size_t hang = kHang) { out_ += wrapped(text, hang, style_); }
  static std::string indented(std::string_view text) { return std::string(kIndent, ' ') += text; }
  const WriteRecord& write(uint32_t number) const { return story_.writes[number - 1]; }

  // The number of a step; of a power cut in the op before it none.
  std::string number_of(size_t i) const {
    const StoryStep& step = story_.steps[i];
    if (i != 0 && story_.steps[i - 1].step == step.step) return std::string(5, ' ');
    return fmt::format("{:>5}", step.step);
  }

  void tell_step(size_t i) {
    const StoryStep& step = story_.steps[i];
    const std::string task = step.task == 0 ? "" : fmt::format(" (task {})", step.task + 1);
    switch (step.kind) {
      case StoryStep::Kind::kCrash:
        line(fmt::format("{}  {}  {}{}", number_of(i), red(style_, "POWER CUT"), printable(step.text),
                         step.lost.empty() ? "" : "; lost: write " + numbers_text(step.lost)),
             kIndent);
        tell_writes(step.writes);
        break;
      case StoryStep::Kind::kWrite: {
        const WriteRecord& one = write(step.writes.front());
        line(fmt::format("{}    write {} of {}{} {}: block {}, {}", number_of(i), one.number,
                         printable(step.op), task, status_text(one.status), blocks_of(one),
                         printable(one.label)));
        line(std::string(kHang, ' ') + printable(one.content));
        break;
      }
      default:
        line(fmt::format("{}  {}{}: {}", number_of(i), bold(style_, printable(step.op)), task,
                         printable(step.text)),
             kIndent);
        tell_writes(step.writes);
    }
    tell_observed(step);
    tell_trial(step);
    for (const std::string& expected : step.expected) line(indented("expected: " + printable(expected)));
  }

  void tell_observed(const StoryStep& step) {
    const char* who = step.kind == StoryStep::Kind::kCrash ? "recovery finds" : "found";
    std::set<FindingKind> seen;
    std::set<std::pair<FindingKind, std::string>> told;
    for (const Observation& one : step.observed) {
      if (!told.emplace(one.kind, one.text).second) continue;
      if (!seen.insert(one.kind).second && brevity_ >= Brevity::kFirst) continue;
      const auto same = [&](const Observation& other) { return other.kind == one.kind; };
      const auto more = std::count_if(step.observed.begin(), step.observed.end(), same) - 1;
      line(indented(fmt::format(
          "{} {} ({}): {}{}", who, info(one.kind).name, info(one.kind).code, printable(one.text),
          more > 0 && brevity_ >= Brevity::kFirst ? fmt::format("; {} more of this kind", more) : "")));
      // The text may end with the innermost one.
      for (const std::string& frame : one.where)
        if (&frame != one.where.data() || !one.text.ends_with(frame))
          line(indented("    at " + printable(frame)));
    }
  }

  // The calls before the one that failed are one line if they have written little.
  void tell_trial(const StoryStep& step) {
    if (step.trial.empty()) return;
    std::string calls;
    for (const TrialCall& call : step.trial) {
      const std::string answer = call.answer.empty() ? "does not return" : call.answer;
      if (brevity_ == Brevity::kNothing) {
        line(indented(fmt::format("  in use, {}: {}", printable(call.call), printable(answer))));
        for (const WriteRecord& one : call.writes) line(write_line(one, "  write"));
        continue;
      }
      calls += fmt::format("{}{}: {}", calls.empty() ? "" : "; ", printable(call.call), printable(answer));
      if (!call.writes.empty())
        calls += fmt::format(" (writes block{} {})",
                             call.writes.size() == 1 && call.writes[0].blocks == 1 ? "" : "s",
                             blocks_text(call.writes, false));
    }
    if (!calls.empty()) line(indented("in use: " + calls));
  }

  bool is_harmless(const WriteRecord& one) const {
    if (told_.contains(one.number)) return false;
    return one.status == WriteStatus::kPersisted || one.status == WriteStatus::kPending;
  }

  // Whether these writes, one after the other, can be told in one line.
  bool alike(const WriteRecord& one, const WriteRecord& next) const {
    if (one.status != next.status || one.is_named || next.is_named) return false;
    if (is_harmless(one) && is_harmless(next)) return true;
    return brevity_ >= Brevity::kPairs && one.status == WriteStatus::kLost;
  }

  void tell_writes(const std::vector<uint32_t>& numbers) {
    const size_t shortest = brevity_ == Brevity::kNothing ? SIZE_MAX : brevity_ == Brevity::kRuns ? 3 : 2;
    for (size_t i = 0; i < numbers.size();) {
      size_t end = i + 1;
      while (end < numbers.size() && alike(write(numbers[end - 1]), write(numbers[end]))) ++end;
      if (end - i >= shortest) {
        tell_run({story_.writes.begin() + numbers[i] - 1, story_.writes.begin() + numbers[end - 1]});
        i = end;
      } else {
        for (; i < end; ++i) line(write_line(write(numbers[i]), "write"));
      }
    }
  }

  // "writes 5 to 8 persisted: block 12, inode table; 13-14; 15, bitmap", as far as there is room.
  void tell_run(std::span<const WriteRecord> run) {
    const std::string head =
        indented(fmt::format("writes {} {} {} {}: ", run.front().number, run.size() == 2 ? "and" : "to",
                             run.back().number, status_text(run.front().status)));
    for (const bool labels : {true, false}) {
      const std::string text = head + "blocks " + blocks_text(run, labels);
      if (columns_of(text) > style_.width) continue;
      out_ += text + "\n";
      return;
    }
    uint64_t count = 0;
    for (const WriteRecord& one : run) count += one.blocks;
    line(head + plural(count, "block"));
  }

  // Blocks that follow each other are one range, unless they have labels.
  static std::string blocks_text(std::span<const WriteRecord> run, bool labels) {
    std::string out;
    for (size_t i = 0; i < run.size();) {
      WriteRecord range = run[i++];
      while (i < run.size() && run[i].disk == range.disk && run[i].address == range.address + range.blocks &&
             (!labels || (run[i].label.empty() && range.label.empty())))
        range.blocks += run[i++].blocks;
      out += (out.empty() ? "" : ", ") + blocks_of(range);
      if (labels && !range.label.empty()) out += fmt::format(" ({})", printable(range.label));
    }
    return out;
  }

  // Bytes are cut to the width of the line, words are not.
  std::string write_line(const WriteRecord& one, const char* what) const {
    const std::string head = indented(fmt::format(
        "{} {} {}{}: block {}{}", what, one.number, status_text(one.status), one.fua ? " (FUA)" : "",
        blocks_of(one), one.label.empty() ? "" : ", " + printable(one.label)));
    const std::string over =
        one.over == 0 ? "" : fmt::format(" [over write {} of '{}']", one.over, printable(write(one.over).op));
    std::string content = printable(one.content);
    const size_t used = columns_of(head) + 2 + columns_of(over);
    if (one.is_bytes && !style_.verbose && used + content.size() > style_.width) {
      const size_t room = style_.width > used + 3 ? (style_.width - used - 3) / kByteWidth : 0;
      content = content.substr(0, std::max(room, kFewest) * kByteWidth) + "...";
    }
    return head + ": " + content + over;
  }

  const Story& story_;
  const TextStyle& style_;
  const Brevity brevity_;
  std::set<uint32_t> told_;  // writes that have a line of their own
  std::string out_;
};

// The least brief text that fits on a screen.
std::string fitting_text(const Story& story, const TextStyle& style, size_t other_lines) {
  if (style.verbose) return StoryText(story, style, Brevity::kNothing).take();
  std::string text;
  for (const Brevity brevity : {Brevity::kRuns, Brevity::kPairs, Brevity::kFirst}) {
    text = StoryText(story, style, brevity).take();
    const size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + other_lines;
    if (lines <= (brevity == Brevity::kRuns ? kRoomy : kScreen)) break;
  }
  return text;
}

std::string found_line(const ToldFinding& told, const TextStyle& style) {
  const FindingInfo& kind = info(told.finding.kind);
  return wrapped(fmt::format("{} {} ({}, {}): {}", red(style, "FOUND"), bold(style, kind.name), kind.code,
                             kind.severity == Severity::kCritical ? "critical" : "repairable", kind.says),
                 6, style);
}

// What was done, in numbers. Ops are not counted where each step is one.
std::string story_summary(const Finding& finding, const Story& story, const TextStyle& style) {
  std::string text = fmt::format("  {}", printable(finding.setup.target));
  for (const std::string& setting : finding.setup.settings) text += " " + printable(setting);
  if (!story.system.empty()) text += " of " + printable(story.system);
  text += ": " + plural(story.length(), "step");
  if (story.ops() != story.length()) text += ", " + plural(story.ops(), "op");
  if (story.crashes() != 0) text += ", " + plural(story.crashes(), "power cut");
  if (!story.writes.empty()) text += ", " + plural(story.writes.size(), "write");
  return wrapped(text, 4, style);
}

// "Confirmed 3 of 3".
std::string confirmed_line(const ToldFinding& told, bool by_name, const TextStyle& style) {
  const Confirmed& confirmed = *told.confirmed;
  std::string text = "  ";
  if (by_name) text += fmt::format("{}: ", info(told.finding.kind).name);
  text += fmt::format("{} {} of {}", by_name ? "confirmed" : "Confirmed", confirmed.times, confirmed.of);
  if (confirmed.times < confirmed.of)
    text += fmt::format(
        " times only: the target does not do the same each time. In a replay without the finding: {}",
        printable(confirmed.differs));
  return wrapped(text, 4, style);
}

bool have_same_steps(const ToldFinding& one, const ToldFinding& other) {
  return one.finding.steps == other.finding.steps && one.finding.setup == other.finding.setup;
}

}  // namespace

std::string tell(std::span<const ToldFinding> findings, const TextStyle& style) {
  std::string out;
  for (const ToldFinding& told : findings) out += found_line(told, style);
  const ToldFinding& first = findings.front();
  out += story_summary(first.finding, first.story, style) + "\n";
  out += fitting_text(first.story, style, 3 + 2 * findings.size());
  out += "\n";
  for (const ToldFinding& told : findings)
    out += fmt::format("  Replay{}: ./sisyfs replay {}\n",
                       findings.size() == 1 ? "" : fmt::format(" {}", info(told.finding.kind).name),
                       make_token(told.finding));
  for (const ToldFinding& told : findings)
    if (told.confirmed) out += confirmed_line(told, findings.size() != 1, style);
  return out;
}

std::string tell(const ToldFinding& finding, const TextStyle& style) {
  return tell(std::span(&finding, 1), style);
}

std::string tell_all(std::span<const ToldFinding> findings, const TextStyle& style) {
  std::string out;
  std::vector<bool> told(findings.size());
  for (size_t i = 0; i < findings.size(); ++i) {
    if (told[i]) continue;
    std::vector<ToldFinding> story;
    for (size_t k = i; k < findings.size(); ++k) {
      if (!have_same_steps(findings[i], findings[k])) continue;
      told[k] = true;
      story.push_back(findings[k]);
    }
    out += tell(story, style) + "\n";
  }
  return out;
}

}  // namespace sisyfs
